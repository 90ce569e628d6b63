"""A flat program as a cvxpy problem that keeps the names of its blocks.

One variable a column block, one constraint a row block, bounds as constraints of their own, and the quadratic objective
piece by piece: `1/2 ||W^(1/2) R x||^2` where W is diagonal, `1/2 (R x)' W (R x)` where it is dense.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from milopt.arrays import Matrix, Vector
from milopt.compilation.quadratic import Piece, Quadratic
from milopt.compilation.standard_form import RowBlock, StandardForm
from milopt.cones import in_cvxpy
from milopt.errors import ConvexityError

if TYPE_CHECKING:
    import cvxpy as cp


SLACK = 1e-10
"""How negative an eigenvalue may be, relative to the largest diagonal entry, and still count as rounding."""


@dataclass(frozen=True)
class CvxpyModel:
    """A cvxpy problem and its parts by name, in the order of the form's blocks (empty blocks are left out)."""

    problem: cp.Problem
    variables: dict[str, cp.Variable]
    constraints: dict[str, cp.Constraint]
    columns: dict[str, npt.NDArray[np.intp]]
    """The form's columns that each variable holds."""

    def point(self) -> Vector | None:
        """The variables' values as one vector of the form's columns; None before a solve, or when it left no point."""
        x = np.full(sum(index.size for index in self.columns.values()), np.nan)
        for name, variable in self.variables.items():
            if variable.value is None:
                return None
            x[self.columns[name]] = variable.value
        return x

    def multipliers(self, form: StandardForm) -> Vector | None:
        """The rows' multipliers in K*; None when the solver gave none."""
        z = np.zeros(form.m)
        blocks = [block for block in form.rows if block.size]
        for block, constraint in zip(blocks, self.constraints.values(), strict=True):
            found = in_cvxpy.multipliers(block.cone, constraint, block.cone_sizes)
            if found is None:
                return None
            z[block.start : block.stop] = found
        return z


def to_cvxpy(form: StandardForm) -> CvxpyModel:
    """The form as a cvxpy problem; `ConvexityError` when its quadratic objective is not convex.

    Columns of one block of which only some are integer become two variables, the second named `<block>.integer`.
    """
    import cvxpy as cp

    variables: dict[str, cp.Variable] = {}
    columns: dict[str, npt.NDArray[np.intp]] = {}
    for block in form.columns:
        index = np.arange(block.start, block.stop, dtype=np.intp)
        whole = form.integer[index]
        mixed = whole.any() and not whole.all()
        for part, integer, suffix in ((index[~whole], False, ""), (index[whole], True, ".integer" if mixed else "")):
            if part.size:
                name = _free_name(block.name + suffix, variables)
                variables[name] = cp.Variable(part.size, name=name, integer=integer)
                columns[name] = part

    def times(matrix: sp.csr_array) -> Any:
        """matrix @ x, written over the variables that it touches (over one at least)."""
        by_column = sp.csc_array(matrix)
        used = np.diff(by_column.indptr) > 0
        touched = [name for name in variables if used[columns[name]].any()] or list(variables)[:1]
        return sum(by_column[:, columns[name]] @ variables[name] for name in touched)

    constraints: dict[str, cp.Constraint] = {}
    for row in form.rows:
        if row.size:
            constraints[_free_name(row.name, constraints)] = _constraint(form, row, times)
    objective = sum(form.q[columns[name]] @ variable for name, variable in variables.items()) + form.constant
    for piece in _convex_pieces(form.P):
        objective = objective + 0.5 * _square(piece, times)
    bounds = [bound for name, variable in variables.items() for bound in _bounds(form, variable, columns[name])]
    for name, constraint in constraints.items():
        # Labels came after cvxpy 1.5; they only make a printed problem readable.
        if hasattr(constraint, "set_label"):
            constraint.set_label(name)
    return CvxpyModel(
        cp.Problem(cp.Minimize(objective), [*constraints.values(), *bounds]), variables, constraints, columns
    )


def _constraint(form: StandardForm, block: RowBlock, times: Any) -> Any:
    rows = slice(block.start, block.stop)
    expression = times(sp.csr_array(form.F[rows])) + form.g[rows]
    return in_cvxpy.constraint(block.cone, expression, block.cone_sizes)


def _convex_pieces(P: Quadratic) -> tuple[Piece, ...]:
    """Pieces that are each convex and sum to P: the declared ones, or one dense piece when only their sum is convex."""
    if all(_is_convex(piece.weight) for piece in P.pieces):
        return P.pieces
    if not _is_convex(P.dense):
        raise ConvexityError(
            "The quadratic objective has a direction of negative curvature, and cvxpy takes convex programs only; "
            "write an LP or MPS file, or choose a solver that takes non-convex quadratics."
        )
    return (Piece(sp.csr_array(sp.eye_array(P.size)), P.dense),)


def _is_convex(weight: Vector | Matrix) -> bool:
    if weight.ndim == 1:
        return bool((weight >= 0).all())
    shift = SLACK * float(np.abs(np.diagonal(weight)).max(initial=0.0))
    if shift == 0:
        return not weight.any()
    try:
        scipy.linalg.cholesky(weight + shift * np.eye(weight.shape[0]), check_finite=False)
    except scipy.linalg.LinAlgError:
        return False
    return True


def _square(piece: Piece, times: Any) -> Any:
    """(R x)' W (R x)."""
    import cvxpy as cp

    if piece.weight.ndim == 1:
        used = np.flatnonzero(piece.weight)
        if used.size == 0:
            return 0.0
        return cp.sum_squares(times(sp.csr_array(sp.diags_array(np.sqrt(piece.weight[used])) @ piece.rows[used])))
    return cp.quad_form(times(piece.rows), cp.psd_wrap((piece.weight + piece.weight.T) / 2))


def _bounds(form: StandardForm, variable: Any, index: npt.NDArray[np.intp]) -> list[Any]:
    lower, upper = form.lower[index], form.upper[index]
    below, above = np.isfinite(lower), np.isfinite(upper)
    result = []
    if below.any():
        result.append(variable >= lower if below.all() else variable[below] >= lower[below])
    if above.any():
        result.append(variable <= upper if above.all() else variable[above] <= upper[above])
    return result


def _free_name(name: str, taken: dict[str, Any]) -> str:
    candidate, copy = name, 1
    while candidate in taken:
        copy += 1
        candidate = f"{name}_{copy}"
    return candidate
