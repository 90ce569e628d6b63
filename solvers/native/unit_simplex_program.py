"""Pricing of oracles that are linear over a simplex:  min  (S p + s)' R x   over  x >= 0,  1'x = 1.

p is a parameter (the prices); S, s and R are constant. An objective that is maximised is negated first. The optimum is
the vertex of the smallest entry of (S p + s)' R, found by one vector-matrix product. That entry is also a lower bound,
so the answer is certified. Weak learning over single patterns is such a program.
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
from milopt.solving.pricing import PricedColumn, Pricing, PricingResult


@dataclass(frozen=True, eq=False)
class UnitSimplexProgram:
    """Parts of a recognised program over a simplex; p, S, s and R are those of the module docstring."""

    x: Variable
    """Variable that lies in the simplex."""
    prices: Parameter
    """The parameter p."""
    slope: sp.csr_array
    """The matrix S."""
    offset: Vector
    """The vector s."""
    payoffs: Matrix
    """The matrix R: the objective, as a minimisation, is (slope @ p + offset)' R x."""
    vertex_columns: Matrix
    """Matrix whose j-th column is the master's column for the j-th vertex of the simplex, without the constant."""
    constant: Vector
    """Constant part of the columns."""
    sign: float
    """-1 if the declared objective is maximised, else +1. The declared objective is `sign` times the minimised one."""


def recognise_unit_simplex_program(oracle: Oracle, bags: Bags) -> UnitSimplexProgram | None:
    """Recognise the program of an oracle as linear over a simplex; return None if it has another structure."""
    program = oracle.program
    x = _simplex_variable(program)
    if x is None:
        return None
    objective = program.minimized_objective()
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
    return UnitSimplexProgram(
        x,
        scale[0][0],
        slope,
        factor * product.scale.constant,
        product.right.toarray(),
        column.terms[0][1].matrix.toarray(),
        column.constant,
        sign,
    )


def _simplex_variable(program: Program) -> Variable | None:
    """Return the only variable x if it is continuous and the only constraints are x >= 0 and 1'x = 1, else None."""
    if program.functions or len(program.variables) != 1 or len(program.constraints) != 1:
        return None
    x = next(iter(program.variables.values()))
    if x.integer or (x.lower != 0).any() or np.isfinite(x.upper).any():
        return None
    constraint = next(iter(program.constraints.values()))
    return x if constraint.equality and _is_sum_minus_one(constraint.expression, x) else None


def _is_sum_minus_one(expression: Expression, x: Variable) -> bool:
    """Return True if an expression is a nonzero multiple of 1'x - 1."""
    if expression.shape or len(expression.terms) != 1 or expression.terms[0][0] is not x:
        return False
    coefficient = expression.terms[0][1]
    row = coefficient.matrix.toarray().ravel()
    return not coefficient.products and bool(
        row[0] != 0 and (row == row[0]).all() and expression.constant[0] == -row[0]
    )


class UnitSimplexPricing(Pricing):
    """Pricing by enumeration of the vertices of a simplex."""

    solver = "native"

    def __init__(self, choice: UnitSimplexProgram) -> None:
        self._choice = choice

    def price(self, prices: Mapping[Parameter, Vector], starts: int, clock: Clock) -> PricingResult:
        """Return the column of the best vertex, with its objective as the bound. `starts` and `clock` are not used."""
        choice = self._choice
        weights = choice.slope @ prices[choice.prices] + choice.offset
        values = weights @ choice.payoffs
        best = int(np.argmin(values))
        x = np.zeros(choice.x.size)
        x[best] = 1.0
        value = float(values[best])
        column = choice.vertex_columns[:, best] + choice.constant
        certificate = Certificate(0.0, 0.0, 0.0, 0.0, value, 0.0)
        priced = PricedColumn(column, {choice.x.name: x}, {}, choice.sign * value, certificate)
        return PricingResult((priced,), choice.sign * value)
