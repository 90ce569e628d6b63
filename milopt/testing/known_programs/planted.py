"""Linear and quadratic programs with planted (known) optima and multipliers.

Choose x*, the active rows (A x >= a) and bounds, and multipliers z* of the rows and r* of the bounds (reduced costs)
with the correct signs. Then q = -P x* + A'z* + r* makes (x*, z*) satisfy the optimality conditions exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt import Program, quad_form
from milopt.arrays import Vector
from milopt.declaration.programs.expression import Expression


@dataclass(frozen=True)
class PlantedProgram:
    """Program with a planted optimum.

    min 1/2 x'Px + q'x  s.t.  above: A x >= a,  below: B x <= b,  equal: E x == e,  lower <= x <= upper.

    P is None for a linear program. `x` is the optimal point; `above`, `below` and `equal` are the multipliers of the
    rows, and `reduced` are the reduced costs.
    """

    P: Vector | None
    q: Vector
    A: Vector
    a: Vector
    B: Vector
    b: Vector
    E: Vector
    e: Vector
    lower: Vector
    upper: Vector
    x: Vector
    above: Vector
    below: Vector
    equal: Vector
    reduced: Vector

    @property
    def objective(self) -> float:
        """Return the objective at the optimum x*."""
        curved = 0.0 if self.P is None else 0.5 * float(self.x @ self.P @ self.x)
        return curved + float(self.q @ self.x)

    @property
    def duals(self) -> dict[str, Vector]:
        """Return the multipliers by constraint."""
        return {"above": self.above, "below": self.below, "equal": self.equal}

    def declare(self, name: str, *, maximize: bool = False) -> Program:
        """Declare the program; if `maximize` is True, as the maximisation of the negative objective."""
        program = Program(name)
        x = program.variable("x", self.q.size, lower=self.lower, upper=self.upper)
        objective: Expression = self.q @ x
        if self.P is not None:
            objective = objective + 0.5 * quad_form(x, self.P)
        if maximize:
            program.maximize(-objective)
        else:
            program.minimize(objective)
        program.subject_to(self.A @ x >= self.a, name="above")
        program.subject_to(self.B @ x <= self.b, name="below")
        program.subject_to(self.E @ x == self.e, name="equal")
        return program


def plant_program(
    seed: int,
    *,
    columns: int = 8,
    rank: int | None = None,
    active: tuple[int, int, int] = (2, 1, 1),
    idle: int = 3,
    at_bounds: int | None = None,
    row_scale: tuple[float, float] = (1.0, 1.0),
    column_scale: tuple[float, float] = (1.0, 1.0),
) -> PlantedProgram:
    """Build a program with a planted optimum x*.

    `active` gives the numbers of (>= rows, <= rows, equations) that are tight at x*; each kind of inequality also has
    `idle` rows that are not tight. `at_bounds` is the number of tight bounds; None means as many as make x* a vertex,
    so that x* and all multipliers are unique. `rank` is the rank of P; None means a linear program. The scales of the
    columns and of the rows vary geometrically between the two numbers of `column_scale` and of `row_scale`.
    """
    rng = np.random.default_rng(seed)
    rows = sum(active)
    tight = columns - rows if at_bounds is None else at_bounds
    x = rng.uniform(0.5, 1.5, columns) * rng.choice([-1.0, 1.0], columns)
    lower, upper = x - rng.uniform(1, 2, columns), x + rng.uniform(1, 2, columns)
    reduced = np.zeros(columns)
    bound = rng.permutation(columns)[:tight]
    for k, j in enumerate(bound):
        size = rng.uniform(0.5, 1.5)
        if k % 2 == 0:
            lower[j], reduced[j], upper[j] = x[j], size, (upper[j] if k % 4 else np.inf)
        else:
            upper[j], reduced[j], lower[j] = x[j], -size, (lower[j] if k % 4 == 1 else -np.inf)
    free = np.setdiff1d(np.arange(columns), bound)
    lower[free[::2]], upper[free[::3]] = -np.inf, np.inf
    A, B = rng.normal(size=(active[0] + idle, columns)), rng.normal(size=(active[1] + idle, columns))
    E = rng.normal(size=(active[2], columns))
    above = np.concatenate([rng.uniform(0.5, 1.5, active[0]), np.zeros(idle)])
    below = np.concatenate([rng.uniform(0.5, 1.5, active[1]), np.zeros(idle)])
    equal = rng.uniform(0.5, 1.5, active[2]) * rng.choice([-1.0, 1.0], active[2])
    P = None
    if rank is not None:
        root = rng.normal(size=(rank, columns))
        P = root.T @ root
    # Scale the columns: x -> S x changes neither the optimal value nor the multipliers of the rows.
    S = np.geomspace(*column_scale, columns)
    x, lower, upper, reduced = x * S, lower * S, upper * S, reduced / S
    A, B, E = A / S, B / S, E / S
    if P is not None:
        P = P / np.outer(S, S)
    R, T, U = (np.geomspace(*row_scale, len(matrix)) if len(matrix) else np.ones(0) for matrix in (A, B, E))
    A, B, E = A * R[:, None], B * T[:, None], E * U[:, None]
    above, below, equal = above / R, below / T, equal / U
    a = A @ x - np.where(above > 0, 0.0, R * rng.uniform(0.5, 1.5, len(A)))
    b = B @ x + np.where(below > 0, 0.0, T * rng.uniform(0.5, 1.5, len(B)))
    q = A.T @ above - B.T @ below + E.T @ equal + reduced
    if P is not None:
        q = q - P @ x
    return PlantedProgram(P, q, A, a, B, b, E, E @ x, lower, upper, x, above, below, equal, reduced)
