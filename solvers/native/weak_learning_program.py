"""Recognition of weak-learning programs:  max  sum_i w_i max_{x in B_i} u(x)  over a ball of u.

The weights w are affine in one parameter p (the prices). The ball is  ||a||_1 <= radius  for the coefficients a of u
over a dictionary, or  ||u|| <= radius  in the kernel's space. The column that the oracle returns to the master has one
entry per bag. Each entry must be a factor times the maximum over that bag, plus a constant. The objective is called the
edge.
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
from milopt.declaration.programs.leaves import Function, FunctionEvaluation, Parameter
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import Oracle


@dataclass(frozen=True, eq=False)
class WeakLearningProgram:
    """Parts of a recognised weak-learning program; u, w, p and B_i are those of the module docstring."""

    function: Function
    """The function u."""
    master_bags: Bags
    """Bags of the master (the program to which the oracle adds columns)."""
    bags: Bags
    """Bags B_i at whose instances u is evaluated: the bags of the master, or bags of their windows."""
    radius: float
    """Radius of the ball."""
    prices: Parameter
    """The parameter p."""
    slope: sp.csr_array
    """Matrix in  w = slope @ p + offset."""
    offset: Vector
    """Constant part of the weights w."""
    column_factors: Vector
    """Factors in  column = column_factors * maxima + constant."""
    constant: Vector
    """Constant part of the column."""
    sign: float
    """+1 if the declared objective is the edge sum_i w_i max u(x), -1 if it is minus the edge."""

    def bag_weights(self, prices: Mapping[Parameter, Vector]) -> Vector:
        """Return the bag weights w at these prices."""
        w: Vector = self.slope @ prices[self.prices]
        w += self.offset
        return w

    def master_column(self, maxima: Vector) -> Vector:
        """Return the column of the master, one entry per bag; `maxima` has the maximum of u in each bag."""
        return self.column_factors * maxima + self.constant


def recognise_weak_learning_program(
    oracle: Oracle, bags: Bags, ball: type[Norm1] | type[Norm]
) -> WeakLearningProgram | None:
    """Recognise the program of an oracle as a weak-learning program over a ball.

    `bags` are the bags of the master. `ball` is `Norm1` for the ball of the coefficients, `Norm` for the ball in the
    kernel's space. Returns None if the program has another structure.
    """
    program = oracle.program
    radius = ball_radius(program, ball)
    edge = program.minimized_objective()
    # A parameter times an expression also gives a term for the expression's constant, which is 0 here: ignore it.
    terms = [(leaf, by) for leaf, by in edge.terms if by.products or by.matrix.count_nonzero()]
    if radius is None or len(terms) != 1 or edge.constant.any():
        return None
    leaf, coefficient = terms[0]
    evaluation = _evaluation_inside_bag_max(leaf)
    column = oracle.column(bags)
    weights = affine_weights(coefficient)
    if evaluation is None or weights is None or not _is_only_unknown(program, evaluation.function):
        return None
    assert isinstance(leaf, BagMax)
    over = leaf.argument_bags
    column_factors = _column_factors(column, evaluation.function, over)
    prices, slope, offset = weights
    if column_factors is None or prices not in oracle.prices or not prices.shape:
        return None
    sign = 1.0 if program.maximizes else -1.0
    return WeakLearningProgram(
        evaluation.function,
        bags,
        over,
        radius,
        prices,
        sp.csr_array(-slope),
        -offset,
        column_factors,
        column.constant,
        sign,
    )


def _evaluation_inside_bag_max(leaf: Expression) -> FunctionEvaluation | None:
    """Return the evaluation f(x) if `leaf` is max_{x in B_i} f(x) over the instances of bags, else None."""
    if not isinstance(leaf, BagMax):
        return None
    inner = leaf.argument
    if len(inner.terms) != 1 or inner.constant.any():
        return None
    evaluation, coefficient = inner.terms[0]
    if not isinstance(evaluation, FunctionEvaluation) or not coefficient.is_identity:
        return None
    return evaluation if evaluation.points is leaf.argument_bags.instances else None


def affine_weights(coefficient: Coefficient) -> tuple[Parameter, sp.csr_array, Vector] | None:
    """Return (p, S, s) if a coefficient is a row (S p + s)' that depends on exactly one parameter p, else None."""
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


def _column_factors(column: Expression, function: Function, bags: Bags) -> Vector | None:
    """Return one factor per bag if `column` is  factors * maxima + constant,  with the function's maxima over the bags.

    Returns None otherwise.
    """
    if len(column.terms) != 1 or column.shape != (len(bags),):
        return None
    leaf, coefficient = column.terms[0]
    evaluation = _evaluation_inside_bag_max(leaf)
    diagonal: Vector = coefficient.matrix.diagonal()
    if evaluation is None or not isinstance(leaf, BagMax) or leaf.argument_bags is not bags:
        return None
    if evaluation.function is not function or coefficient.products:
        return None
    return diagonal if coefficient.matrix.count_nonzero() == np.count_nonzero(diagonal) else None


def ball_radius(program: Program, ball: type[Norm1] | type[Norm]) -> float | None:
    """Return the radius if the only constraint is a ball of this kind for the program's only function, else None."""
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


def _is_only_unknown(program: Program, function: Function) -> bool:
    """Return True if this function (or its dictionary coefficients) is the only unknown of the program."""
    if program.functions.get(function.name) is not function:
        return False
    unknowns = list(program.variables.values())
    if function.dictionary is None:
        return not unknowns
    # The coefficients are declared by the function itself: they have no bounds and are not integer.
    return len(unknowns) == 1 and unknowns[0] is function.coefficients
