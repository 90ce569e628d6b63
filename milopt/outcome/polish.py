"""Polish: guess which rows and bounds are active, then solve the KKT system of that guess with refinement.

For LP and QP only. The guess: a non-negative row is active when its multiplier exceeds its slack, a bound when the
reduced cost exceeds the distance. The system is regularised by a small delta on both diagonals and refined against the
unregularised one, so degenerate guesses do no harm. Whoever calls keeps the outcome only if its certificate is better.

Both the guess and the regularisation depend on the units. `equilibrated` returns the program in units that give rows,
columns and the objective about the same size, for programs whose own units are far apart. A guess may make the system
singular; then least squares, for small systems, are more accurate than the regularisation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Matrix, Vector
from milopt.compilation.quadratic import Piece, Quadratic
from milopt.compilation.scaling import equilibrated_units
from milopt.compilation.standard_form import RowBlock, StandardForm
from milopt.cones import ZERO

DENSE_BELOW = 3000
"""KKT systems up to this size are factorised densely."""
REGULARISATION = 1e-9
"""Of both diagonals of a KKT matrix, relative to the largest diagonal entry of P."""
LARGEST_LEAST_SQUARES = 700
"""KKT systems up to this size are solved by least squares: their eigenvectors take a fraction of a second."""
SINGULAR = 1e-12
"""Eigenvalues of a KKT matrix up to this share of the largest one are 0."""

Solve = Callable[[Vector], Vector]
Factorisation = Callable[[StandardForm, sp.csr_array, Index], Solve]


def polish(form: StandardForm, x: Vector, z: Vector, by: Factorisation) -> tuple[Vector, Vector]:
    """A refined (x, z), by `regularised` or `least_squares`; the same point where there is nothing to refine."""
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
    return _solve(form, start, np.where(active, z, 0.0), free, rows, by)


@dataclass(frozen=True)
class Equilibrated:
    """A program in other units: x = column * u, and multipliers z = objective * row * v."""

    form: StandardForm
    row: Vector
    column: Vector
    objective: float

    def inwards(self, x: Vector, z: Vector) -> tuple[Vector, Vector]:
        """Return a point of the program in the new units."""
        return x / self.column, z / (self.objective * self.row)

    def outwards(self, u: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return a point in the units of the program itself."""
        return u * self.column, v * (self.objective * self.row)


def equilibrated(form: StandardForm) -> Equilibrated:
    """Return a program with linear rows in units of powers of two, chosen by the entries of F and P (Ruiz)."""
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
        P=Quadratic(form.n, tuple(Piece(sp.csr_array(one.rows @ columns), one.weight / s) for one in form.P.pieces)),
        q=form.q * d / s,
        F=sp.csr_array(sp.diags_array(row) @ form.F @ columns),
        g=form.g * row,
        lower=form.lower / d,
        upper=form.upper / d,
    )
    return Equilibrated(scaled, row, d, s)


def _solve(
    form: StandardForm,
    x: Vector,
    z: Vector,
    free: Index,
    rows: Index,
    by: Factorisation,
) -> tuple[Vector, Vector]:
    """Newton on P x + q = F'z (free columns), F x + g = 0 (active rows); one factorisation, a few refinements."""
    F = sp.csr_array(form.F[rows][:, free])
    n = free.size
    solve = by(form, F, free)
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


def regularised(form: StandardForm, F: sp.csr_array, free: Index) -> Solve:
    """[[P + delta I, F'], [F, -delta I]] as a solve function; the multiplier's sign is turned by the caller."""
    m, n = F.shape
    delta = REGULARISATION * max(1.0, float(np.max(np.abs(form.P.diagonal), initial=0.0)))
    if n + m <= DENSE_BELOW:
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


def least_squares(form: StandardForm, F: sp.csr_array, free: Index) -> Solve:
    """[[P, F'], [F, 0]] as a function for smallest least-squares solutions; `regularised` if it is large."""
    if sum(F.shape) > LARGEST_LEAST_SQUARES:
        return regularised(form, F, free)
    from scipy.linalg import eigh

    eigenvalues, vectors = eigh(_kkt_matrix(form, F, free), check_finite=False)
    kept = np.abs(eigenvalues) > SINGULAR * float(np.abs(eigenvalues).max(initial=0.0))
    eigenvalues, vectors = eigenvalues[kept], vectors[:, kept]
    return lambda b: np.asarray(vectors @ ((vectors.T @ b) / eigenvalues))


def _kkt_matrix(form: StandardForm, F: sp.csr_array, free: Index) -> Matrix:
    m, n = F.shape
    matrix = np.zeros((n + m, n + m))
    matrix[:n, :n] = form.P.submatrix(free)
    matrix[:n, n:] = F.T.toarray()
    matrix[n:, :n] = matrix[:n, n:].T
    return matrix
