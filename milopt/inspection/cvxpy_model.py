"""Conversion of a program in standard form to a cvxpy problem that keeps the names of the form's blocks.

There is one variable per column block (two if only some of its columns are integer), one constraint per row block, and
separate constraints for bounds. The quadratic objective is a sum of pieces with a matrix R and a weight W:
`1/2 ||W^(1/2) R x||^2` if W is stored as a vector (diagonal), `1/2 (R x)' W (R x)` if W is a matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from milopt.arrays import Matrix, Vector
from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.standard_form import RowBlock, StandardForm
from milopt.cones import cvxpy_constraints
from milopt.errors import ConvexityError

if TYPE_CHECKING:
    import cvxpy as cp


PSD_TOLERANCE = 1e-10
"""Eigenvalues above minus this fraction of the largest absolute diagonal entry count as nonnegative (rounding)."""


@dataclass(frozen=True)
class CvxpyModel:
    """A cvxpy problem with its parts by name, in the order of the form's blocks (without empty blocks).

    Attributes
    ----------
    problem : cvxpy.Problem
        The problem.
    variables, constraints : dict
        Variables and constraints by name.
    columns : dict of str to ndarray of int
        Columns of the form that each variable represents.
    """

    problem: cp.Problem
    variables: dict[str, cp.Variable]
    constraints: dict[str, cp.Constraint]
    columns: dict[str, npt.NDArray[np.intp]]

    def point(self) -> Vector | None:
        """Return the values of all variables in the order of the form's columns.

        Returns
        -------
        ndarray of shape (n_columns,) or None
            None before a solve, or if the solver returned no point.
        """
        x = np.full(sum(index.size for index in self.columns.values()), np.nan)
        for name, variable in self.variables.items():
            if variable.value is None:
                return None
            x[self.columns[name]] = variable.value
        return x

    def multipliers(self, form: StandardForm) -> Vector | None:
        """Return the multipliers of the rows, which lie in the dual cone K* of the cone K of the rows.

        Parameters
        ----------
        form : StandardForm
            Form that the model was made from.

        Returns
        -------
        ndarray of shape (n_rows,) or None
            None if the solver returned no multipliers.
        """
        z = np.zeros(form.m)
        blocks = [block for block in form.rows if block.size]
        for block, constraint in zip(blocks, self.constraints.values(), strict=True):
            values = cvxpy_constraints.read_multipliers(block.cone, constraint, block.cone_sizes)
            if values is None:
                return None
            z[block.start : block.stop] = values
        return z


def to_cvxpy(form: StandardForm) -> CvxpyModel:
    """Convert a program in standard form to a cvxpy problem.

    A column block with continuous and integer columns becomes two variables; the second is named `<block>.integer`.

    Raises
    ------
    ConvexityError
        If the quadratic objective is not convex.
    """
    import cvxpy as cp

    variables: dict[str, cp.Variable] = {}
    columns: dict[str, npt.NDArray[np.intp]] = {}
    for block in form.columns:
        index = np.arange(block.start, block.stop, dtype=np.intp)
        is_integer = form.integer[index]
        suffix_of_integers = ".integer" if is_integer.any() and not is_integer.all() else ""
        for part, integer, suffix in ((index[~is_integer], False, ""), (index[is_integer], True, suffix_of_integers)):
            if part.size:
                name = _make_unique(block.name + suffix, variables)
                variables[name] = cp.Variable(part.size, name=name, integer=integer)
                columns[name] = part

    def times(matrix: sp.csr_array) -> Any:
        """Return matrix @ x as a cvxpy expression, which contains only variables with nonzero entries in the matrix.

        An empty matrix gives an expression of the first variable, because cvxpy needs one.
        """
        by_column = sp.csc_array(matrix)
        used = np.diff(by_column.indptr) > 0
        touched = [name for name in variables if used[columns[name]].any()] or list(variables)[:1]
        return sum(by_column[:, columns[name]] @ variables[name] for name in touched)

    constraints: dict[str, cp.Constraint] = {}
    for row in form.rows:
        if row.size:
            constraints[_make_unique(row.name, constraints)] = _write_constraint(form, row, times)
    objective = sum(form.q[columns[name]] @ variable for name, variable in variables.items()) + form.constant
    for piece in _convex_pieces(form.P):
        objective = objective + 0.5 * _quadratic_form(piece, times)
    bounds = [
        bound for name, variable in variables.items() for bound in _bound_constraints(form, variable, columns[name])
    ]
    for name, constraint in constraints.items():
        # cvxpy has labels since version 1.6. They only make a printed problem readable.
        if hasattr(constraint, "set_label"):
            constraint.set_label(name)
    return CvxpyModel(
        cp.Problem(cp.Minimize(objective), [*constraints.values(), *bounds]), variables, constraints, columns
    )


def _write_constraint(form: StandardForm, block: RowBlock, times: Any) -> Any:
    """Return the cvxpy constraint of a row block; `times` maps a matrix to the cvxpy expression matrix @ x."""
    rows = slice(block.start, block.stop)
    expression = times(sp.csr_array(form.F[rows])) + form.g[rows]
    return cvxpy_constraints.write_constraint(block.cone, expression, block.cone_sizes)


def _convex_pieces(P: Quadratic) -> tuple[QuadraticPiece, ...]:
    """Return convex pieces that sum to P: the pieces of P, or one dense piece if only the sum of them is convex.

    Raises
    ------
    ConvexityError
        If P itself is not convex.
    """
    if all(_is_convex(piece.weight) for piece in P.pieces):
        return P.pieces
    if not _is_convex(P.dense):
        raise ConvexityError(
            "The quadratic objective has a direction of negative curvature, and cvxpy only supports convex programs; "
            "write an LP or MPS file, or choose a solver that supports non-convex quadratics."
        )
    return (QuadraticPiece(sp.csr_array(sp.eye_array(P.size)), P.dense),)


def _is_convex(weight: Vector | Matrix) -> bool:
    """Return True if a vector of weights is nonnegative, or a matrix positive semidefinite up to rounding errors."""
    if weight.ndim == 1:
        return bool((weight >= 0).all())
    shift = PSD_TOLERANCE * float(np.abs(np.diagonal(weight)).max(initial=0.0))
    if shift == 0:
        return not weight.any()
    try:
        scipy.linalg.cholesky(weight + shift * np.eye(weight.shape[0]), check_finite=False)
    except scipy.linalg.LinAlgError:
        return False
    return True


def _quadratic_form(piece: QuadraticPiece, times: Any) -> Any:
    """Return (R x)' W (R x) for the rows R and the weight W of a piece; `times` maps a matrix to matrix @ x."""
    import cvxpy as cp

    if piece.weight.ndim == 1:
        used = np.flatnonzero(piece.weight)
        if used.size == 0:
            return 0.0
        return cp.sum_squares(times(sp.csr_array(sp.diags_array(np.sqrt(piece.weight[used])) @ piece.rows[used])))
    return cp.quad_form(times(piece.rows), cp.psd_wrap((piece.weight + piece.weight.T) / 2))


def _bound_constraints(form: StandardForm, variable: Any, index: npt.NDArray[np.intp]) -> list[Any]:
    """Return the constraints of the finite bounds of a cvxpy variable; `index` are its columns in the form."""
    lower, upper = form.lower[index], form.upper[index]
    below, above = np.isfinite(lower), np.isfinite(upper)
    result = []
    if below.any():
        result.append(variable >= lower if below.all() else variable[below] >= lower[below])
    if above.any():
        result.append(variable <= upper if above.all() else variable[above] <= upper[above])
    return result


def _make_unique(name: str, taken: dict[str, Any]) -> str:
    """Return the name, with `_2`, `_3`, ... appended if the name is already a key of `taken`."""
    candidate, copy = name, 1
    while candidate in taken:
        copy += 1
        candidate = f"{name}_{copy}"
    return candidate
