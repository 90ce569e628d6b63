"""The atoms a model author writes: `bag_max` and its linear siblings, norms and quadratics."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.declaration.bags import Bags
from milopt.declaration.constants import real
from milopt.declaration.expression import Expression, Operand, as_expression
from milopt.declaration.leaves import BagMax, FeatureWeight, Norm, Norm1, QuadForm, SumSquares
from milopt.errors import DeclarationError


def bag_max(expression: Expression, bags: Bags | None = None) -> Expression:
    """(max_{x in B_i} e_x)_i: one entry a bag, of an expression over the bags' instances."""
    return BagMax(expression, _bags_of(expression, bags, "bag_max"))


def bag_sum(expression: Expression, bags: Bags | None = None) -> Expression:
    """(sum_{x in B_i} e_x)_i."""
    return sp.csr_array(_bags_of(expression, bags, "bag_sum").membership.T) @ expression


def bag_mean(expression: Expression, bags: Bags | None = None) -> Expression:
    """(1/n_i sum_{x in B_i} e_x)_i."""
    over = _bags_of(expression, bags, "bag_mean")
    return sp.csr_array(sp.diags_array(1.0 / over.sizes) @ over.membership.T) @ expression


def norm(expression: Operand) -> Expression:
    """||e||_2, a scalar."""
    return Norm(as_expression(expression))


def norm1(expression: Operand) -> Expression:
    """||e||_1, a scalar."""
    return Norm1(as_expression(expression))


def sum_squares(expression: Operand) -> Expression:
    """||e||_2^2, a scalar."""
    return SumSquares(as_expression(expression))


def quad_form(expression: Operand, weight: npt.ArrayLike | FeatureWeight) -> Expression:
    """e'We for a symmetric matrix W, or e'diag(w)e for a vector w; any sign, the program's curvature decides."""
    inner = as_expression(expression)
    if isinstance(weight, FeatureWeight) and weight.size == inner.size:
        return QuadForm(inner, weight)
    matrix = real(weight, "The weight of quad_form")
    if matrix.shape not in ((inner.size,), (inner.size, inner.size)):
        raise DeclarationError(
            f"quad_form of an expression with {inner.size} entries needs {inner.size} weights or a "
            f"{inner.size} x {inner.size} matrix, not shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        raise DeclarationError("quad_form got a weight that is NaN or infinite.")
    if matrix.ndim == 2 and abs(matrix - matrix.T).max(initial=0.0) > 1e-10 * abs(matrix).max(initial=0.0):
        raise DeclarationError("quad_form needs a symmetric matrix; give (W + W') / 2.")
    return QuadForm(inner, matrix)


def _bags_of(expression: Expression, bags: Bags | None, atom: str) -> Bags:
    if not isinstance(expression, Expression):
        raise DeclarationError(f"{atom} takes an expression over instances, not {type(expression).__name__}.")
    over = bags if bags is not None else expression.bags
    if over is not None and not isinstance(over, Bags):
        raise DeclarationError(f"{atom} takes Bags as its second argument, not {type(over).__name__}; see as_bags.")
    if over is None:
        raise DeclarationError(
            f"{atom} needs an expression over instances, such as f(bags), or the bags as its second argument; with a "
            "kernel of bags f(bags) has one value a bag already, so take a kernel of instances."
        )
    if expression.size != over.offsets[-1]:
        hint = "; one value a bag is what a kernel of bags gives" if expression.size == len(over) else ""
        raise DeclarationError(f"{atom}: {expression.size} entries for {int(over.offsets[-1])} instances{hint}.")
    return over
