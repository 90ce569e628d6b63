"""The programs of weak learners, recognised by their structure:  max  sum_i w_i max_{x in B_i} u(x)  over a ball of u.

The weights w are affine in one parameter p (the prices), and the ball is  ||a||_1 <= radius  for the coefficients of u
over a dictionary, or  ||u|| <= radius  in the kernel's space. The column is a multiple of the same maxima, bag by bag.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.declaration.atoms.maximum import BagMax
from milopt.declaration.atoms.norm import Norm
from milopt.declaration.atoms.norm1 import Norm1
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.leaves import Evaluation, Function, Parameter
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import Oracle


@dataclass(frozen=True, eq=False)
class EdgeProgram:
    """The parts of such a program."""

    function: Function
    given: Bags
    """The bags of the master."""
    bags: Bags
    """Those that the function meets: the given ones, or their windows."""
    radius: float
    prices: Parameter
    slope: sp.csr_array
    """w = slope @ p + offset."""
    offset: Vector
    multiple: Vector
    """The column is multiple * maxima + constant."""
    constant: Vector
    sign: float
    """+1 where the declared objective is the edge, -1 where it is minus the edge."""

    def weights(self, prices: Mapping[Parameter, Vector]) -> Vector:
        """w at these prices."""
        w: Vector = self.slope @ prices[self.prices]
        w += self.offset
        return w

    def column(self, maxima: Vector) -> Vector:
        """The column where u has these maxima."""
        return self.multiple * maxima + self.constant


def edge_program(oracle: Oracle, bags: Bags, ball: type[Norm1] | type[Norm]) -> EdgeProgram | None:
    """The oracle's program as one of these, with that kind of ball; None where it is anything else."""
    program = oracle.program
    radius = _radius(program, ball)
    edge = program.minimized()
    # The product of a parameter with an expression leaves the parameter times the expression's constant, 0, as a term.
    terms = [(leaf, by) for leaf, by in edge.terms if by.products or by.matrix.count_nonzero()]
    if radius is None or len(terms) != 1 or edge.constant.any():
        return None
    leaf, coefficient = terms[0]
    evaluation = _maximised(leaf)
    column = oracle.column(bags)
    weights = _weights(coefficient)
    if evaluation is None or weights is None or not _is_alone(program, evaluation.function):
        return None
    assert isinstance(leaf, BagMax)
    over = leaf.over
    multiple = _multiple(column, evaluation.function, over)
    prices, slope, offset = weights
    if multiple is None or prices not in oracle.prices or not prices.shape:
        return None
    sign = 1.0 if program.maximizes else -1.0
    return EdgeProgram(
        evaluation.function, bags, over, radius, prices, sp.csr_array(-slope), -offset, multiple, column.constant, sign
    )


def _maximised(leaf: Expression) -> Evaluation | None:
    """The evaluation at the instances of bags whose maxima over these a leaf is."""
    if not isinstance(leaf, BagMax):
        return None
    inner = leaf.argument
    if len(inner.terms) != 1 or inner.constant.any():
        return None
    evaluation, coefficient = inner.terms[0]
    if not isinstance(evaluation, Evaluation) or not coefficient.is_identity:
        return None
    return evaluation if evaluation.points is leaf.over.instances else None


def _weights(coefficient: Coefficient) -> tuple[Parameter, sp.csr_array, Vector] | None:
    """(p, S, s) of a row  (S p + s)'  that depends on one parameter."""
    if len(coefficient.products) != 1 or coefficient.matrix.count_nonzero():
        return None
    product = coefficient.products[0]
    terms, right = product.scale.terms, product.right
    if len(terms) != 1 or terms[0][1].products or right.count_nonzero() != np.count_nonzero(right.diagonal()):
        return None
    parameter, inner = terms[0]
    if not isinstance(parameter, Parameter):
        return None
    factor = product.left.toarray()[0] * right.diagonal()
    return parameter, sp.csr_array(sp.diags_array(factor) @ inner.matrix), factor * product.scale.constant


def _multiple(column: Expression, function: Function, bags: Bags) -> Vector | None:
    """The factors of a column that is a multiple of the function's maxima, bag by bag."""
    if len(column.terms) != 1 or column.shape != (len(bags),):
        return None
    leaf, coefficient = column.terms[0]
    evaluation = _maximised(leaf)
    diagonal: Vector = coefficient.matrix.diagonal()
    if evaluation is None or not isinstance(leaf, BagMax) or leaf.over is not bags:
        return None
    if evaluation.function is not function or coefficient.products:
        return None
    return diagonal if coefficient.matrix.count_nonzero() == np.count_nonzero(diagonal) else None


def _radius(program: Program, ball: type[Norm1] | type[Norm]) -> float | None:
    """The radius of a ball that is the program's only constraint."""
    if len(program.constraints) != 1 or len(program.functions) != 1:
        return None
    constraint, function = next(iter(program.constraints.values())), next(iter(program.functions.values()))
    expression = constraint.expression
    if constraint.equality or expression.shape or len(expression.terms) != 1:
        return None
    leaf, coefficient = expression.terms[0]
    slope = float(coefficient.matrix.sum())
    if not isinstance(leaf, ball) or coefficient.products or slope >= 0 or expression.constant[0] <= 0:
        return None
    if isinstance(leaf, Norm1):
        inner = leaf.argument
        if len(inner.terms) != 1 or inner.constant.any() or not inner.terms[0][1].is_identity:
            return None
        if function.dictionary is None or inner.terms[0][0] is not function.coefficients:
            return None
    elif leaf.function is not function:
        return None
    return float(expression.constant[0]) / -slope


def _is_alone(program: Program, function: Function) -> bool:
    """Whether the program has no other unknowns than the function, and those without bounds."""
    if program.functions.get(function.name) is not function:
        return False
    unknowns = list(program.variables.values())
    if function.dictionary is None:
        return not unknowns
    # Declared by the function itself: without bounds, and not integer.
    return len(unknowns) == 1 and unknowns[0] is function.coefficients
