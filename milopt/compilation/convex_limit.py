"""Largest factor by which the concave terms of an objective can be multiplied so that the objective is convex.

    sup { s >= 0 : P+ - s P- is positive semidefinite }

Here P+ is the Hessian of the convex terms, and P- the negated Hessian of the concave terms.

The supremum is 1 / mu, where mu is the largest eigenvalue of  |W-|^1/2 S |W-|^1/2  with S = R- (P+)^-1 R-'. R- are the
rows  r- = A- x + E- f  of the concave terms and W- <= 0 their weights, so that P- = R-'|W-|R-. A+, E+ and W+ are the
same for the convex terms. If f is a function in a kernel's space and the convex terms are  1/2 (c ||f||^2 + r+'W+ r+),
S is the covariance matrix of a Gaussian posterior. It is computed from the kernel matrix K of the points of f:

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
"""Largest number of rows of the concave terms for which a dense eigenvalue solver is used, which misses no eigenvalue.

For more rows, the Lanczos method is tried first.
"""


def largest_convex_factor(program: Program) -> float:
    """Return the supremum of the module docstring for a program's objective.

    It is inf if there are no concave terms, and 0 if no positive factor is admissible. For a program with concave
    terms, raise an `UnsupportedError` if a term is indefinite, if there are rows, or if a squared norm has a negative
    weight; in the presence of functions, also if there are several functions or if a weight is not diagonal.
    """
    form = Lowering(program).form()
    squares = form.objective.squares
    convex = [square for square in squares if is_semidefinite(square.weight)]
    concave = [square for square in squares if not is_semidefinite(square.weight)]
    if not concave:
        return np.inf
    wrong = [square.term for square in concave if not is_semidefinite(-square.weight)]
    if wrong or form.rows.count or min(form.objective.ridge, default=0.0) < 0:
        raise UnsupportedError(
            f"The largest convex factor of {program.name!r} is only defined if every term is convex or concave and "
            "there are no rows."
        )
    largest = (
        _largest_eigenvalue_in_columns(form, concave)
        if not form.spaces
        else _largest_eigenvalue_in_space(form, convex, concave)
    )
    return np.inf if largest == 0.0 else 1.0 / largest


def _largest_eigenvalue_in_columns(form: EvaluationForm, concave: list[SquaredTerm]) -> float:
    """Return the largest eigenvalue mu of  P- x = mu P+ x  for a program without functions, with dense matrices.

    The result is inf if P+ is not positive definite. `concave` are the concave terms.
    """
    compiled = compile_form(form, "primal", np.arange(0)).form
    difference = compiled.P.dense
    negated_concave = sum(np.asarray(s.rows.A.T @ _weighted_rows(s.weight, s.rows.A.toarray())) for s in concave)
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


def _largest_eigenvalue_in_space(form: EvaluationForm, convex: list[SquaredTerm], concave: list[SquaredTerm]) -> float:
    """Return the largest eigenvalue of |W-|^1/2 S |W-|^1/2 (see the module docstring), computed from kernel values.

    `convex` and `concave` are the convex and the concave terms. The result is inf if a column occurs in no convex term.
    """
    if len(form.spaces) > 1 or any(square.weight.ndim > 1 for square in (*convex, *concave)):
        raise UnsupportedError(
            f"The largest convex factor of {form.name!r} is only computed for one function and diagonal weights."
        )
    space, ridge = KernelSpace(form.spaces[0]), form.objective.ridge[0]
    K = space.gram(np.arange(space.count), np.arange(space.count)) / ridge
    minus = stack_affine_rows([square.rows for square in concave])
    root = np.sqrt(-np.concatenate([square.weight for square in concave]))
    A, E = minus.A.toarray(), minus.E[0]
    known, weight = _convex_rows(form, convex)
    between = np.asarray(E @ (known.E[0] @ K).T)
    seen = np.asarray(known.E[0] @ (known.E[0] @ K).T) + np.diag(1.0 / weight)
    corner = np.zeros((form.n, form.n))
    system = np.block([[seen, known.A.toarray()], [known.A.toarray().T, corner]])
    sides = np.hstack([between, A])
    scale = equilibration_scale(system)
    scale = np.ones(system.shape[0]) if scale is None else scale
    condition = np.linalg.cond(scale[:, None] * system * scale)
    if not np.isfinite(condition) or condition > 1e14:
        # The system is singular up to rounding, so some column occurs in no convex term.
        return np.inf
    factors = lu_factor(scale[:, None] * system * scale)
    sides = sides * scale

    def apply_operator(vector: Vector) -> Vector:
        """Return the product of |W-|^1/2 S |W-|^1/2 and a vector."""
        scaled = root * vector.ravel()
        return np.asarray(root * (E @ (K @ (E.T @ scaled)) - sides @ lu_solve(factors, sides.T @ scaled)))

    def dense_operator() -> Matrix:
        """Return |W-|^1/2 S |W-|^1/2 as a dense matrix."""
        scaled = np.asarray((E @ (E @ K).T).T) - sides @ lu_solve(factors, sides.T)
        return np.asarray(root[:, None] * (scaled + scaled.T) * (root / 2))

    size = root.size
    if size > MAX_DENSE_ROWS:
        operator = LinearOperator((size, size), matvec=apply_operator, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(size)
        try:
            return max(0.0, float(eigsh(operator, k=1, which="LA", return_eigenvectors=False, v0=start)[0]))
        except ArpackNoConvergence:
            # Lanczos cannot separate eigenvalues that nearly coincide, as they do if all points are far apart.
            pass
    return max(0.0, float(eigh(dense_operator(), eigvals_only=True, subset_by_index=(size - 1, size - 1))[0]))


def _convex_rows(form: EvaluationForm, convex: list[SquaredTerm]) -> tuple[Rows, Vector]:
    """Return (rows, weights) of the convex terms, without rows of weight 0."""
    if not convex:
        return Rows.empty(form.n, form.point_counts), np.zeros(0)
    rows, weight = (
        stack_affine_rows([square.rows for square in convex]),
        np.concatenate([square.weight for square in convex]),
    )
    counts = np.flatnonzero(weight)
    return rows.take(counts), weight[counts]


def _weighted_rows(weight: Matrix | Vector, rows: Matrix) -> Matrix:
    """Return W @ rows; `weight` is the matrix W, or its diagonal if W is diagonal."""
    return np.asarray(weight[:, None] * rows if weight.ndim == 1 else weight @ rows)
