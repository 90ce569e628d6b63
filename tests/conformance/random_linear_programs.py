"""Random small linear programs of every status, and their true status, computed without milopt.

The true status is computed by scipy from two linear programs: one for a feasible point (no objective), one for a
direction of recession along which the objective decreases:

    infeasible                    no feasible point, whatever the directions are
    unbounded                     a feasible point and such a direction
    optimal                       a feasible point and no such direction
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult, linprog

from milopt import Program
from milopt.compilation.status import Termination

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LinearProgram:
    """min q'x  s.t.  A x <= b,  E x = h,  lower <= x <= upper."""

    q: Vector
    A: Matrix
    b: Vector
    E: Matrix
    h: Vector
    lower: Vector
    upper: Vector

    def declare(self) -> Program:
        """Declare the program in milopt."""
        program = Program("random")
        x = program.variable("x", self.q.size, lower=self.lower, upper=self.upper)
        program.minimize(self.q @ x)
        if self.b.size:
            program.subject_to(self.A @ x <= self.b, name="inequalities")
        if self.h.size:
            program.subject_to(self.E @ x == self.h, name="equations")
        return program

    def true_status(self) -> tuple[Termination, float]:
        """Return the status according to scipy, and the optimum, nan if there is none."""
        bounds = np.column_stack([self.lower, self.upper])
        row, column = _units(np.vstack([self.A, self.E]))
        split = self.b.size
        A, E = (self.A * column) * row[:split, None], (self.E * column) * row[split:, None]
        b, h = self.b * row[:split], self.h * row[split:]
        point = _minimise(np.zeros(self.q.size), A, b, E, h, bounds / column[:, None])
        if point.status == 2:
            return Termination.INFEASIBLE, np.nan
        assert point.status == 0
        cone = np.column_stack(
            [np.where(np.isfinite(self.lower), 0.0, -1.0), np.where(np.isfinite(self.upper), 0.0, 1.0)]
        )
        q = self.q * column
        ray = _minimise(q / (np.abs(q).max() or 1.0), A, np.zeros(b.size), E, np.zeros(h.size), cone)
        assert ray.status == 0
        if ray.fun < -1e-7:
            return Termination.UNBOUNDED, np.nan
        best = _minimise(q, A, b, E, h, bounds / column[:, None])
        assert best.status == 0
        return Termination.OPTIMAL, float(best.fun)


def random_linear_program(seed: int) -> LinearProgram:
    """Return a program of 1 to 6 columns whose rows are drawn around a point, contradict each other, or are few.

    A third of the programs has rows in units from 1e-7 to 1e7. All statuses occur, including infeasible programs with a
    direction of descent.
    """
    rng = np.random.default_rng(seed)
    n, m, k = int(rng.integers(1, 7)), int(rng.integers(0, 7)), int(rng.integers(0, 3))
    entries = rng.integers(-3, 4, (m + k, n)) if rng.random() < 0.6 else rng.normal(size=(m + k, n))
    rows = np.where(rng.random((m + k, n)) < rng.choice([0.4, 0.9]), entries, 0.0).astype(np.float64)
    centre = rng.integers(-2, 3, n).astype(np.float64)
    offset = rows @ centre
    offset[:m] += rng.integers(0, 3, m)
    lower = np.where(rng.random(n) < rng.choice([0.2, 0.8]), centre - rng.integers(0, 3, n), -np.inf)
    upper = np.where(rng.random(n) < rng.choice([0.1, 0.6]), centre + rng.integers(0, 3, n), np.inf)
    q = rng.integers(-3, 4, n).astype(np.float64)
    if m and rng.random() < 0.35:  # the opposite of a row, beyond it
        i = int(rng.integers(m))
        rows = np.vstack([rows[:m], -rows[i], rows[m:]])
        offset = np.concatenate([offset[:m], [-offset[i] - 1.0], offset[m:]])
        m += 1
    if m and rng.random() < 0.3:  # an objective that the rows bound
        q = -rows[:m].T @ rng.integers(0, 3, m)
    if rng.random() < 0.33:
        unit = 10.0 ** rng.integers(-7, 8) if rng.random() < 0.5 else 10.0 ** rng.integers(-7, 8, m + k)
        rows, offset = rows * np.reshape(unit, (-1, 1)), offset * unit
    if rng.random() < 0.33:
        column = 10.0 ** rng.integers(-3, 4, n)
        rows, q, lower, upper = rows * column, q * column, lower / column, upper / column
    return LinearProgram(q, rows[:m], offset[:m], rows[m:], offset[m:], lower, upper)


def _minimise(q: Vector, A: Matrix, b: Vector, E: Matrix, h: Vector, bounds: Matrix) -> OptimizeResult:
    inequalities = (A, b) if b.size else (None, None)
    equations = (E, h) if h.size else (None, None)
    return linprog(q, *inequalities, *equations, bounds)


def _units(rows: Matrix) -> tuple[Vector, Vector]:
    """Return factors that scale the largest entry of every row and column to about 1."""
    row, column = np.ones(rows.shape[0]), np.ones(rows.shape[1])
    for _ in range(10 if rows.size else 0):
        scaled = np.abs(rows) * row[:, None] * column
        row /= np.sqrt(np.where(scaled.any(axis=1), scaled.max(axis=1), 1.0))
        column /= np.sqrt(np.where(scaled.any(axis=0), scaled.max(axis=0), 1.0))
    return row, column
