"""Write a tree as a convex cvxpy problem; milopt takes no part in it.

Atoms on their other side are replaced by tangents, whose slopes are written by hand in `slopes`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from tests.atoms.evaluate import Evaluator
from tests.atoms.kinds import KINDS, directions
from tests.atoms.slopes import SLOPES
from tests.atoms.trees import Array, Description, Node, Point, Sum

SHIFT = 1e-5
"""How far away the slopes at a kink are taken."""
TIGHT: dict[str, dict[str, Any]] = {
    "CLARABEL": {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10},
    "ECOS": {"abstol": 1e-10, "reltol": 1e-10, "feastol": 1e-10, "max_iters": 200},
}


@dataclass(frozen=True)
class Solved:
    """What a solver of cvxpy found."""

    objective: float
    point: Point
    duals: dict[str, Array]


class Model:
    """The problem of one description; with a point, the one linearised there."""

    def __init__(self, description: Description, at: Point | None = None, shift: np.random.Generator | None = None):
        self.description = description
        self.unknowns: dict[str, Any] = {one.name: cp.Variable(one.lower.size) for one in description.variables}
        self.unknowns |= {one.name: cp.Variable(len(one.instances)) for one in description.functions}
        self._roots = {one.name: one.root for one in description.functions}
        self._at = None if at is None else Evaluator(description.functions, at)
        self._shift = shift
        self.rows = {row.name: self.expression(row.expression, 1) for row in description.rows}
        constraints: list[Any] = []
        self._blocks: dict[str, Any] = {}
        for row in description.rows:
            e = self.rows[row.name]
            self._blocks[row.name] = e == 0 if row.equality else e <= 0
        constraints += self._blocks.values()
        for one in description.variables:
            constraints += [self.unknowns[one.name] >= one.lower, self.unknowns[one.name] <= one.upper]
        objective = self.expression(description.objective, 1)
        self.problem = cp.Problem(cp.Minimize(cp.sum(objective)), constraints)

    def solve(self, solver: str) -> Solved | None:
        """Solve by one solver, with its own tolerances if not with tight ones; None unless the point is optimal."""
        return self._solve(solver, TIGHT[solver]) or self._solve(solver, {})

    def objective_at(self, point: Point) -> float:
        """Return the objective at a point."""
        for name, x in self.unknowns.items():
            x.value = point[name]
        return float(self.problem.objective.value)

    def _solve(self, solver: str, settings: dict[str, Any]) -> Solved | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.problem.solve(solver=solver, **settings)
            except (cp.SolverError, ArithmeticError, ValueError):
                # ECOS raises ValueError if a block of rows has no entries.
                return None
        if self.problem.status != cp.OPTIMAL:
            return None
        point = {
            name: np.zeros(x.size) if x.value is None else np.atleast_1d(np.asarray(x.value))
            for name, x in self.unknowns.items()
        }
        duals = {name: np.atleast_1d(np.asarray(block.dual_value)) for name, block in self._blocks.items()}
        return Solved(float(self.problem.value), point, duals)

    def expression(self, expression: Sum, direction: int) -> Any:
        """Return an expression that is needed from above (+1) or from below (-1)."""
        total: Any = cp.Constant(expression.constant)
        for name, matrix in expression.linear:
            total = total + matrix @ self._leaf(name)
        for matrix, node in expression.atoms:
            curvature = KINDS[node.kind].curvature
            above = np.where(direction * curvature * matrix > 0, matrix, 0.0)
            if above.any():
                total = total + above @ self._atom(node)
            if (matrix != above).any():
                total = total + self._tangent(node, matrix - above)
        return total

    def _leaf(self, name: str) -> Any:
        return self._roots[name] @ self.unknowns[name] if name in self._roots else self.unknowns[name]

    def _parts(self, node: Node, side: int) -> list[Any]:
        if node.function:
            return [self.unknowns[node.function]]
        turns = directions(node.kind)
        return [self.expression(part, side * turn) for part, turn in zip(node.parts, turns, strict=False)]

    def _atom(self, node: Node) -> Any:
        kind = KINDS[node.kind]
        e = kind.model(node, self._parts(node, kind.curvature))
        return cp.reshape(e, (e.size,), order="C")

    def _tangent(self, node: Node, matrix: Array) -> Any:
        if self._at is None:
            raise ValueError(f"{node.kind} stands on its other side.")
        kind, values = KINDS[node.kind], [part.copy() for part in self._at.parts(node)]
        if self._shift is not None and kind.is_polyhedral:
            values = [value + SHIFT * self._shift.normal(size=value.size) for value in values]
        total: Any = matrix @ self._at.atom(node)
        parts, slopes = self._parts(node, -kind.curvature), SLOPES[node.kind](node, values)
        for part, slope, value in zip(parts, slopes, self._at.parts(node), strict=True):
            total = total + (matrix @ slope) @ (part - value)
        return total
