"""Random small DC programs with witnesses, and their optima by enumeration of all selections.

    min or max  c'w,  ||w - a||^2 + c'w,  ||w||_1 + c'w,  or  c'w - sum_i h_i
    s.t.        +-h_i (+-h_j) - k ||w|| >= r,   w in a box, a half-line or free,         h_i = max_{x in B_i} x'w

A selection fixes one instance per bag for every maximum on its other side. A convex program remains, which cvxpy
solves. The DC program is infeasible if every selection is infeasible, and unbounded if one selection is unbounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from milopt import Bags, Program, as_bags, bag_max, norm, norm1, sum_squares

Floats = npt.NDArray[np.float64]
OBJECTIVES = ("linear", "square", "norm1", "maxima", "zero")
BOXES = ("box", "below", "free")


@dataclass(frozen=True)
class GeneratedDC:
    """A random program: row k is  signs[k] @ h - cone[k] ||w|| >= r[k]."""

    bags: Bags
    signs: Floats
    cone: Floats
    r: Floats
    c: Floats
    a: Floats
    objective: str
    box: str
    maximizes: bool

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Return the lower and upper bound of every variable."""
        return {"box": (-2.0, 2.0), "below": (-1.0, None), "free": (None, None)}[self.box]

    def declare(self) -> Program:
        """Declare the program in milopt."""
        program = Program("generated DC")
        lower, upper = self.bounds
        w = program.variable("w", self.c.size, lower=lower, upper=upper)
        heights = bag_max(np.asarray(self.bags.instances) @ w, self.bags)
        linear = self.c @ w
        objective = {
            "linear": lambda: linear,
            "square": lambda: sum_squares(w - self.a) + linear,
            "norm1": lambda: norm1(w) + linear,
            "maxima": lambda: linear - 0.5 * heights.sum(),
            "zero": lambda: 0.0 * linear,
        }[self.objective]()
        if self.maximizes:
            program.maximize(-objective)
        else:
            program.minimize(objective)
        plain = np.flatnonzero(self.cone == 0)
        if plain.size:
            program.subject_to(self.signs[plain] @ heights >= self.r[plain], name="rows")
        for k in np.flatnonzero(self.cone):
            left = self.signs[k] @ heights
            program.subject_to(left - float(self.cone[k]) * norm(w) >= float(self.r[k]), name=f"cone{k}")
        return program

    def violation(self, w: Floats) -> float:
        """Return the largest violation of a row at a point."""
        heights = self.bags.max(np.asarray(self.bags.instances) @ w)
        return float(np.max(self.r - self.signs @ heights + self.cone * np.linalg.norm(w)))

    def optimum(self) -> float:
        """Return the optimum of the minimisation; inf if the program is infeasible, -inf if it is unbounded."""
        X = np.asarray(self.bags.instances)
        parts = np.split(X, self.bags.offsets[1:-1])
        in_objective = self.objective == "maxima"
        needed = [i for i in range(len(parts)) if in_objective or (self.signs[:, i] > 0).any()]
        best = np.inf
        for chosen in product(*(range(len(parts[i])) for i in needed)):
            best = min(best, self._restricted(parts, dict(zip(needed, chosen, strict=True))))
        return float(best)

    def _restricted(self, parts: list[Floats], chosen: dict[int, int]) -> float:
        w = cp.Variable(self.c.size)
        lower, upper = self.bounds
        rows = [w >= lower] if lower is not None else []
        rows += [w <= upper] if upper is not None else []
        witness = {i: parts[i][p] @ w for i, p in chosen.items()}
        for sign, k, r in zip(self.signs, self.cone, self.r, strict=True):
            left: cp.Expression = -k * cp.norm(w) if k else 0.0
            for i in np.flatnonzero(sign):
                left = left + (witness[i] * sign[i] if sign[i] > 0 else sign[i] * cp.max(parts[i] @ w))
            rows.append(left >= r)
        linear = self.c @ w
        objective = {
            "linear": lambda: linear,
            "square": lambda: cp.sum_squares(w - self.a) + linear,
            "norm1": lambda: cp.norm1(w) + linear,
            "maxima": lambda: linear - 0.5 * sum(witness.values()),
            "zero": lambda: 0.0 * linear,
        }[self.objective]()
        if not np.isfinite(_solve_convex(0, rows)):
            return np.inf
        return _solve_convex(objective, rows)


def _solve_convex(objective: cp.Expression | int, rows: list[cp.Constraint]) -> float:
    problem = cp.Problem(cp.Minimize(objective), rows)
    problem.solve(solver=cp.CLARABEL)
    assert problem.status in ("optimal", "infeasible", "unbounded"), problem.status
    return float(problem.value)


def generated_dc(seed: int) -> GeneratedDC:
    """Draw a random program."""
    rng = np.random.default_rng(seed)
    bags = as_bags([rng.normal(size=(rng.integers(1, 4), 2)) for _ in range(rng.integers(1, 4))])
    count = int(rng.integers(1, 4))
    signs = np.zeros((count, len(bags)))
    for k in range(count):
        for i in rng.permutation(len(bags))[: rng.integers(1, 3)]:
            signs[k, i] = rng.choice([1.0, 1.0, -1.0])
    cone = np.where(rng.random(count) < 0.25, 0.5, 0.0)
    r = rng.normal(size=count) * rng.choice([0.5, 2.0])
    return GeneratedDC(
        bags,
        signs,
        cone,
        r,
        rng.normal(size=2),
        rng.normal(size=2),
        str(rng.choice(OBJECTIVES)),
        str(rng.choice(BOXES)),
        bool(rng.random() < 0.3),
    )
