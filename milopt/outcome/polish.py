"""Polishing: guess the active rows and bounds, then solve the KKT system of this guess with iterative refinement.

Only LPs and QPs are polished:  min 1/2 x'Px + q'x  s.t.  F x + g >= 0 or = 0,  l <= x <= u,  with multipliers z of the
rows. A non-negative row is guessed to be active if its multiplier exceeds its slack, a bound if its reduced cost
exceeds the distance to it. The system is regularised by a small delta on both diagonals and refined against the system
without delta, so that degenerate guesses do no harm. The caller uses the polished point only if its certificate is
better.

Both the guess and the regularisation depend on the units. `equilibrate` returns the program in units that give rows,
columns and the objective about the same size, for programs whose own units differ widely. A guess may make the system
singular; for small systems, least squares is then more accurate than the regularisation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Matrix, Vector
from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.scaling import equilibrated_units
from milopt.compilation.standard_form import RowBlock, StandardForm
from milopt.cones import ZERO

MAX_DENSE_SIZE = 3000
"""Largest size of a KKT system that is factorised densely."""
RELATIVE_REGULARISATION = 1e-9
"""Value added to both diagonals of a KKT matrix, relative to the largest diagonal entry of P."""
MAX_LEAST_SQUARES_SIZE = 700
"""Largest size of a KKT system that is solved by least squares; its eigenvectors take a fraction of a second."""
SINGULARITY_TOLERANCE = 1e-12
"""Share of the largest eigenvalue of a KKT matrix up to which an eigenvalue counts as 0."""

KktSolveFunction = Callable[[Vector], Vector]
"""Function that solves the KKT system for one right-hand side."""
FactoriseFunction = Callable[[StandardForm, sp.csr_array, Index], KktSolveFunction]
"""Function that returns a `KktSolveFunction` for the active rows F and the free columns of a program."""


def polish(form: StandardForm, x: Vector, z: Vector, factorise: FactoriseFunction) -> tuple[Vector, Vector]:
    """Return the refined point (x, z); the same point if the guessed active set leaves no free column and has no row.

    `factorise` factorises the KKT system: `factorise_regularised` or `factorise_least_squares`.
    """
    slack = form.F @ x + form.g
    reduced = form.P.times(x) + form.q - form.F.T @ z
    with np.errstate(invalid="ignore"):
        at_lower = np.isfinite(form.lower) & (reduced > x - form.lower)
        at_upper = np.isfinite(form.upper) & (-reduced > form.upper - x)
    fixed = at_lower | at_upper | (form.lower == form.upper)
    active = z > slack
    active[form.rows_in(ZERO)] = True
    free, rows = np.flatnonzero(~fixed), np.flatnonzero(active)
    if free.size + rows.size == 0:
        return x, z
    start = np.where(fixed, np.where(at_upper, form.upper, form.lower), x)
    return _refine_by_newton_steps(form, start, np.where(active, z, 0.0), free, rows, factorise)


@dataclass(frozen=True)
class EquilibratedProgram:
    """Program in scaled units u and v: x = column * u, and multipliers z = objective * row * v."""

    form: StandardForm
    row: Vector
    column: Vector
    objective: float

    def to_scaled(self, x: Vector, z: Vector) -> tuple[Vector, Vector]:
        """Return a point of the original program in the scaled units."""
        return x / self.column, z / (self.objective * self.row)

    def to_original(self, u: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return a point in scaled units in the units of the original program."""
        return u * self.column, v * (self.objective * self.row)


def equilibrate(form: StandardForm) -> EquilibratedProgram:
    """Return an LP or QP in units of powers of two, chosen by Ruiz equilibration of the entries of F and P."""
    P = sp.csr_array(form.P.sparse)
    rows = (*form.rows, RowBlock("quadratic", ZERO, form.m, form.m + form.n))
    units = equilibrated_units(sp.csr_array(sp.vstack([form.F, P])), rows, np.zeros(form.n, dtype=bool))
    row, d = units.row[: form.m], units.column
    sizes = np.concatenate([np.abs(form.q) * d, np.abs(form.P.diagonal) * d**2])
    largest = float(sizes.max(initial=0.0))
    s = float(np.exp2(np.round(np.log2(largest)))) if largest > 0.0 else 1.0
    columns = sp.diags_array(d)
    scaled = replace(
        form,
        P=Quadratic(
            form.n,
            tuple(QuadraticPiece(sp.csr_array(piece.rows @ columns), piece.weight / s) for piece in form.P.pieces),
        ),
        q=form.q * d / s,
        F=sp.csr_array(sp.diags_array(row) @ form.F @ columns),
        g=form.g * row,
        lower=form.lower / d,
        upper=form.upper / d,
    )
    return EquilibratedProgram(scaled, row, d, s)


def _refine_by_newton_steps(
    form: StandardForm,
    x: Vector,
    z: Vector,
    free: Index,
    rows: Index,
    factorise: FactoriseFunction,
) -> tuple[Vector, Vector]:
    """Apply Newton steps to P x + q = F'z (free columns) and F x + g = 0 (active rows), with one factorisation.

    The iteration stops when a step no longer reduces the residual by a tenth, or after 12 steps. Return the best point.
    `free` and `rows` are the indices of the free columns and of the active rows.
    """
    F = sp.csr_array(form.F[rows][:, free])
    n = free.size
    solve = factorise(form, F, free)
    x, z = x.copy(), z.copy()
    best, size = (x.copy(), z.copy()), np.inf
    for _ in range(12):
        top = -(form.P.times(x) + form.q - form.F.T @ z)[free]
        bottom = -(form.F @ x + form.g)[rows]
        now = max(float(np.max(np.abs(top), initial=0.0)), float(np.max(np.abs(bottom), initial=0.0)))
        if not np.isfinite(now) or now > 0.9 * size:
            break
        best, size = (x.copy(), z.copy()), now
        step = solve(np.concatenate([top, bottom]))
        x[free] += step[:n]
        z[rows] -= step[n:]
    return best


def factorise_regularised(form: StandardForm, F: sp.csr_array, free: Index) -> KktSolveFunction:
    """Return a function that solves systems with [[P + delta I, F'], [F, -delta I]], factorised once.

    P is restricted to the free columns. F has the active rows and the free columns. The last part of a solution is the
    step of -z.
    """
    m, n = F.shape
    delta = RELATIVE_REGULARISATION * max(1.0, float(np.max(np.abs(form.P.diagonal), initial=0.0)))
    if n + m <= MAX_DENSE_SIZE:
        from scipy.linalg import lu_factor, lu_solve

        matrix = _kkt_matrix(form, F, free)
        matrix[np.arange(n), np.arange(n)] += delta
        matrix[np.arange(n, n + m), np.arange(n, n + m)] -= delta
        factor = lu_factor(matrix, check_finite=False)
        return lambda b: np.asarray(lu_solve(factor, b, check_finite=False))
    from scipy.sparse.linalg import splu

    P = sp.csc_array(form.P.sparse[free][:, free])
    top = sp.hstack([P + delta * sp.eye_array(n), F.T])
    whole = sp.csc_array(sp.vstack([top, sp.hstack([F, -delta * sp.eye_array(m)])]))
    factorised = splu(whole)
    return lambda b: np.asarray(factorised.solve(b))


def factorise_least_squares(form: StandardForm, F: sp.csr_array, free: Index) -> KktSolveFunction:
    """Return a function for minimum-norm least-squares solutions of [[P, F'], [F, 0]], with P of the free columns only.

    A system larger than `MAX_LEAST_SQUARES_SIZE` is factorised by `factorise_regularised` instead.
    """
    if sum(F.shape) > MAX_LEAST_SQUARES_SIZE:
        return factorise_regularised(form, F, free)
    from scipy.linalg import eigh

    eigenvalues, vectors = eigh(_kkt_matrix(form, F, free), check_finite=False)
    kept = np.abs(eigenvalues) > SINGULARITY_TOLERANCE * float(np.abs(eigenvalues).max(initial=0.0))
    eigenvalues, vectors = eigenvalues[kept], vectors[:, kept]
    return lambda b: np.asarray(vectors @ ((vectors.T @ b) / eigenvalues))


def _kkt_matrix(form: StandardForm, F: sp.csr_array, free: Index) -> Matrix:
    """Return [[P, F'], [F, 0]] as a dense matrix, with P restricted to the free columns."""
    m, n = F.shape
    matrix = np.zeros((n + m, n + m))
    matrix[:n, :n] = form.P.submatrix(free)
    matrix[:n, n:] = F.T.toarray()
    matrix[n:, :n] = matrix[:n, n:].T
    return matrix
