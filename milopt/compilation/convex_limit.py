"""Factor by which the concave terms of an objective may grow before the objective stops being convex.

    sup { s >= 0 : P+ - s P- is positive semidefinite },   P+ the convex terms, P- the negated concave terms

The supremum is 1 / the largest eigenvalue of  |W-|^1/2 S |W-|^1/2  with S = R- (P+)^-1 R-'. Here R- are the rows
r- = A- x + E- f of the concave terms and W- <= 0 their weights, so that P- = R-'|W-|R-. With a function f in a kernel's
space and  P+ = c ||f||^2 + r+'W+ r+,  S is a posterior covariance. It is computed from kernel values:

    S = E- K E-'/c - [E- K E+'/c, A-] M^-1 [E+ K E-'/c; A-'],    M = [E+ K E+'/c + W+^-1, A+; A+', 0]
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, lu_factor, lu_solve
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from milopt.arrays import Matrix, Vector
from milopt.compilation.compile_program import compile_form
from milopt.compilation.equilibration import equilibration_scale
from milopt.compilation.evaluation_form import EvaluationForm, SquaredTerm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.compilation.rows import Rows, stack_affine_rows
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semidefinite import is_semidefinite
from milopt.errors import UnsupportedError

MAX_DENSE_ROWS = 500
"""Largest number of rows of the concave terms for which all eigenvalues are computed, so that none is missed."""


def convex_limit(program: Program) -> float:
    """Return the supremum s of the module docstring; inf without concave terms, 0 if no positive s is admissible.

    With concave terms, raise an `UnsupportedError` if a term is indefinite, if the program has rows, or if a squared
    norm has a negative weight; with functions, also if there are several or if a weight is not diagonal.
    """
    form = Lowering(program).form()
    squares = form.objective.squares
    up = [square for square in squares if is_semidefinite(square.weight)]
    down = [square for square in squares if not is_semidefinite(square.weight)]
    if not down:
        return np.inf
    wrong = [square.term for square in down if not is_semidefinite(-square.weight)]
    if wrong or form.rows.count or min(form.objective.ridge, default=0.0) < 0:
        raise UnsupportedError(
            f"The convex limit of {program.name!r} is only defined if every term is convex or concave and there are no "
            "rows."
        )
    largest = (
        _largest_eigenvalue_in_columns(form, down) if not form.spaces else _largest_eigenvalue_in_space(form, up, down)
    )
    return np.inf if largest == 0.0 else 1.0 / largest


def _largest_eigenvalue_in_columns(form: EvaluationForm, down: list[SquaredTerm]) -> float:
    """Return the largest eigenvalue mu of  P- x = mu P+ x,  for dense P- and P+; inf if P+ is not positive definite.

    `down` are the concave terms.
    """
    flat = compile_form(form, "primal", np.arange(0)).form
    difference = flat.P.dense
    negated_concave = sum(np.asarray(s.rows.A.T @ _apply_weight(s.weight, s.rows.A.toarray())) for s in down)
    negated_concave = -np.asarray(negated_concave)
    try:
        return float(
            eigh(
                negated_concave,
                difference + negated_concave,
                eigvals_only=True,
                subset_by_index=(form.n - 1, form.n - 1),
            )[0]
        )
    except np.linalg.LinAlgError:
        return np.inf


def _largest_eigenvalue_in_space(form: EvaluationForm, up: list[SquaredTerm], down: list[SquaredTerm]) -> float:
    """Return the largest eigenvalue of |W-|^1/2 S |W-|^1/2 (see the module docstring), computed from kernel values.

    `up` are the convex and `down` the concave terms. The result is inf if a column occurs in no convex term.
    """
    if len(form.spaces) > 1 or any(square.weight.ndim > 1 for square in (*up, *down)):
        raise UnsupportedError(
            f"The convex limit of {form.name!r} is only computed for one function and diagonal weights."
        )
    space, ridge = KernelSpace(form.spaces[0]), form.objective.ridge[0]
    K = space.gram(np.arange(space.count), np.arange(space.count)) / ridge
    minus = stack_affine_rows([square.rows for square in down])
    root = np.sqrt(-np.concatenate([square.weight for square in down]))
    A, E = minus.A.toarray(), minus.E[0]
    known, weight = _convex_rows(form, up)
    between = np.asarray(E @ (known.E[0] @ K).T)
    seen = np.asarray(known.E[0] @ (known.E[0] @ K).T) + np.diag(1.0 / weight)
    corner = np.zeros((form.n, form.n))
    system = np.block([[seen, known.A.toarray()], [known.A.toarray().T, corner]])
    sides = np.hstack([between, A])
    scale = equilibration_scale(system)
    scale = np.ones(system.shape[0]) if scale is None else scale
    condition = np.linalg.cond(scale[:, None] * system * scale)
    if not np.isfinite(condition) or condition > 1e14:
        # Some column occurs in no convex term, up to rounding.
        return np.inf
    factors = lu_factor(scale[:, None] * system * scale)
    sides = sides * scale

    def times(vector: Vector) -> Vector:
        """Return the product of |W-|^1/2 S |W-|^1/2 with a vector."""
        scaled = root * vector.ravel()
        return np.asarray(root * (E @ (K @ (E.T @ scaled)) - sides @ lu_solve(factors, sides.T @ scaled)))

    def whole() -> Matrix:
        """Return |W-|^1/2 S |W-|^1/2 as a dense matrix."""
        scaled = np.asarray((E @ (E @ K).T).T) - sides @ lu_solve(factors, sides.T)
        return np.asarray(root[:, None] * (scaled + scaled.T) * (root / 2))

    size = root.size
    if size > MAX_DENSE_ROWS:
        operator = LinearOperator((size, size), matvec=times, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(size)
        try:
            return max(0.0, float(eigsh(operator, k=1, which="LA", return_eigenvectors=False, v0=start)[0]))
        except ArpackNoConvergence:
            # Lanczos cannot separate eigenvalues that nearly coincide, as they do for points far from each other.
            pass
    return max(0.0, float(eigh(whole(), eigvals_only=True, subset_by_index=(size - 1, size - 1))[0]))


def _convex_rows(form: EvaluationForm, up: list[SquaredTerm]) -> tuple[Rows, Vector]:
    """Return the rows and weights of the convex terms `up`, without rows of weight 0."""
    if not up:
        return Rows.empty(form.n, form.point_counts), np.zeros(0)
    rows, weight = stack_affine_rows([square.rows for square in up]), np.concatenate([square.weight for square in up])
    counts = np.flatnonzero(weight)
    return rows.take(counts), weight[counts]


def _apply_weight(weight: Matrix | Vector, rows: Matrix) -> Matrix:
    """Return W rows, for a matrix W or a diagonal W given as a vector."""
    return np.asarray(weight[:, None] * rows if weight.ndim == 1 else weight @ rows)
