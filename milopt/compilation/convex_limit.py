"""How far the terms that bend down may grow before the objective stops being convex.

    sup { s >= 0 : P+ - s P- is positive semidefinite },   P+ the terms that bend up, P- those that bend down

It is 1 / the largest eigenvalue of  |W-|^1/2 S |W-|^1/2, S what P+^-1 makes of the rows r- = A- x + E- f of P-.
With a function f of a kernel's space and  P+ = c ||f||^2 + r+'W+ r+,  S is a posterior covariance: by kernel values,

    S = E- K E-'/c - [E- K E+'/c, A-] M^-1 [E+ K E-'/c; A-'],    M = [E+ K E+'/c + W+^-1, A+; A+', 0]
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, lu_factor, lu_solve
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from milopt.arrays import Matrix, Vector
from milopt.compilation.compile_program import compile_form
from milopt.compilation.equilibration import equilibration
from milopt.compilation.evaluation_form import EvaluationForm, Square
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.compilation.rows import Rows, stack
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semidefinite import is_semidefinite
from milopt.errors import UnsupportedError

FEW_ROWS = 500
"""Rows of what bends down, up to which all eigenvalues cost little and none is missed."""


def convex_limit(program: Program) -> float:
    """The s of the module; inf where nothing bends down, 0 where any of it is too much."""
    form = Lowering(program).form()
    squares = form.objective.squares
    up = [square for square in squares if is_semidefinite(square.weight)]
    down = [square for square in squares if not is_semidefinite(square.weight)]
    if not down:
        return np.inf
    wrong = [square.term for square in down if not is_semidefinite(-square.weight)]
    if wrong or form.rows.count or min(form.objective.ridge, default=0.0) < 0:
        raise UnsupportedError(
            f"How far {program.name!r} may bend down is told for terms of one sign each and without rows."
        )
    largest = _in_columns(form, down) if not form.spaces else _in_space(form, up, down)
    return np.inf if largest == 0.0 else 1.0 / largest


def _in_columns(form: EvaluationForm, down: list[Square]) -> float:
    """The largest eigenvalue of P- against P+, both dense."""
    flat = compile_form(form, "coordinates", np.arange(0)).form
    whole = flat.P.dense
    bent = sum(np.asarray(s.rows.A.T @ _weighted(s.weight, s.rows.A.toarray())) for s in down)
    bent = -np.asarray(bent)
    try:
        return float(eigh(bent, whole + bent, eigvals_only=True, subset_by_index=(form.n - 1, form.n - 1))[0])
    except np.linalg.LinAlgError:
        return np.inf


def _in_space(form: EvaluationForm, up: list[Square], down: list[Square]) -> float:
    if len(form.spaces) > 1 or any(square.weight.ndim > 1 for square in (*up, *down)):
        raise UnsupportedError(f"How far {form.name!r} may bend down is told for one function and diagonal weights.")
    space, ridge = KernelSpace(form.spaces[0]), form.objective.ridge[0]
    K = space.gram(np.arange(space.count), np.arange(space.count)) / ridge
    minus = stack([square.rows for square in down])
    root = np.sqrt(-np.concatenate([square.weight for square in down]))
    A, E = minus.A.toarray(), minus.E[0]
    known, weight = _observed(form, up)
    between = np.asarray(E @ (known.E[0] @ K).T)
    seen = np.asarray(known.E[0] @ (known.E[0] @ K).T) + np.diag(1.0 / weight)
    corner = np.zeros((form.n, form.n))
    system = np.block([[seen, known.A.toarray()], [known.A.toarray().T, corner]])
    sides = np.hstack([between, A])
    scale = equilibration(system)
    scale = np.ones(system.shape[0]) if scale is None else scale
    condition = np.linalg.cond(scale[:, None] * system * scale)
    if not np.isfinite(condition) or condition > 1e14:
        # Some column is held by nothing that bends up.
        return np.inf
    factors = lu_factor(scale[:, None] * system * scale)
    sides = sides * scale

    def times(vector: Vector) -> Vector:
        scaled = root * vector.ravel()
        return np.asarray(root * (E @ (K @ (E.T @ scaled)) - sides @ lu_solve(factors, sides.T @ scaled)))

    def whole() -> Matrix:
        scaled = np.asarray((E @ (E @ K).T).T) - sides @ lu_solve(factors, sides.T)
        return np.asarray(root[:, None] * (scaled + scaled.T) * (root / 2))

    size = root.size
    if size > FEW_ROWS:
        operator = LinearOperator((size, size), matvec=times, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(size)
        try:
            return max(0.0, float(eigsh(operator, k=1, which="LA", return_eigenvectors=False, v0=start)[0]))
        except ArpackNoConvergence:
            # Lanczos does not tell eigenvalues apart that nearly coincide, as those of points far from each other do.
            pass
    return max(0.0, float(eigh(whole(), eigvals_only=True, subset_by_index=(size - 1, size - 1))[0]))


def _observed(form: EvaluationForm, up: list[Square]) -> tuple[Rows, Vector]:
    """The rows of what bends up, those of weight 0 left out."""
    if not up:
        return Rows.empty(form.n, form.point_counts), np.zeros(0)
    rows, weight = stack([square.rows for square in up]), np.concatenate([square.weight for square in up])
    counts = np.flatnonzero(weight)
    return rows.take(counts), weight[counts]


def _weighted(weight: Matrix | Vector, rows: Matrix) -> Matrix:
    return np.asarray(weight[:, None] * rows if weight.ndim == 1 else weight @ rows)
