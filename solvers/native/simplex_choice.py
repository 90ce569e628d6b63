"""Oracles that are linear over a simplex, priced by a search:  max  (S p + s)' R x   over  x >= 0,  1'x = 1.

The optimum is the vertex of the largest entry of (S p + s)' R, one product of a vector with a matrix, and that entry is
the bound that proves it. Weak learning over single patterns is such a program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Matrix, Vector
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.leaves import Parameter, Variable
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import Oracle
from milopt.outcome.certificate import Certificate
from milopt.solving.clock import Clock
from milopt.solving.pricing import Found, Priced, Pricing


@dataclass(frozen=True, eq=False)
class Choice:
    """The parts of such a program."""

    x: Variable
    prices: Parameter
    slope: sp.csr_array
    offset: Vector
    payoffs: Matrix
    """R, so that the minimised objective is (slope @ p + offset)' R x."""
    columns: Matrix
    """A column of the master for each vertex."""
    constant: Vector
    sign: float
    """-1 where the declared objective is maximised."""


def simplex_choice(oracle: Oracle, bags: Bags) -> Choice | None:
    """The oracle's program as one of these; None where it is anything else."""
    program = oracle.program
    x = _simplex(program)
    if x is None:
        return None
    objective = program.minimized()
    terms = [(leaf, by) for leaf, by in objective.terms if by.products or by.matrix.count_nonzero()]
    if len(terms) != 1 or terms[0][0] is not x or objective.constant.any():
        return None
    coefficient = terms[0][1]
    column = oracle.column(bags)
    if len(coefficient.products) != 1 or coefficient.matrix.count_nonzero() or column.shape != (len(bags),):
        return None
    if len(column.terms) != 1 or column.terms[0][0] is not x or column.terms[0][1].products:
        return None
    product = coefficient.products[0]
    scale = product.scale.terms
    if len(scale) != 1 or scale[0][1].products or not isinstance(scale[0][0], Parameter):
        return None
    factor = product.left.toarray()[0]
    slope = sp.csr_array(sp.diags_array(factor) @ scale[0][1].matrix)
    sign = -1.0 if program.maximizes else 1.0
    return Choice(
        x,
        scale[0][0],
        slope,
        factor * product.scale.constant,
        product.right.toarray(),
        column.terms[0][1].matrix.toarray(),
        column.constant,
        sign,
    )


def _simplex(program: Program) -> Variable | None:
    """The program's only variable, where x >= 0 and 1'x = 1 is all that it has to satisfy."""
    if program.functions or len(program.variables) != 1 or len(program.constraints) != 1:
        return None
    x = next(iter(program.variables.values()))
    if x.integer or (x.lower != 0).any() or np.isfinite(x.upper).any():
        return None
    constraint = next(iter(program.constraints.values()))
    return x if constraint.equality and _is_total(constraint.expression, x) else None


def _is_total(expression: Expression, x: Variable) -> bool:
    """Whether an expression is a multiple of 1'x - 1."""
    if expression.shape or len(expression.terms) != 1 or expression.terms[0][0] is not x:
        return False
    coefficient = expression.terms[0][1]
    row = coefficient.matrix.toarray().ravel()
    return not coefficient.products and bool(
        row[0] != 0 and (row == row[0]).all() and expression.constant[0] == -row[0]
    )


class ChoicePricing(Pricing):
    """By the largest entry of a product."""

    solver = "native"

    def __init__(self, choice: Choice) -> None:
        self._choice = choice

    def price(self, prices: Mapping[Parameter, Vector], starts: int, clock: Clock) -> Found:
        """The best vertex: what it is worth is its own bound."""
        choice = self._choice
        weights = choice.slope @ prices[choice.prices] + choice.offset
        values = weights @ choice.payoffs
        best = int(np.argmin(values))
        x = np.zeros(choice.x.size)
        x[best] = 1.0
        value = float(values[best])
        column = choice.columns[:, best] + choice.constant
        proof = Certificate(0.0, 0.0, 0.0, 0.0, value, 0.0)
        found = Priced(column, {choice.x.name: x}, {}, choice.sign * value, proof)
        return Found((found,), choice.sign * value)
