"""Write a tree program as a convex cvxpy problem, without any code of milopt.

Atoms on their other side are replaced by tangents, whose slopes come from the hand-written functions in `slopes`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from tests.atoms.evaluate import TreeEvaluator
from tests.atoms.kinds import KINDS, directions
from tests.atoms.slopes import SLOPES
from tests.atoms.trees import Array, Point, Sum, TreeNode, TreeProgram

KINK_SHIFT = 1e-5
"""Distance from a kink at which its slopes are evaluated."""
TIGHT_SETTINGS: dict[str, dict[str, Any]] = {
    "CLARABEL": {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10},
    "ECOS": {"abstol": 1e-10, "reltol": 1e-10, "feastol": 1e-10, "max_iters": 200},
}


@dataclass(frozen=True)
class CvxpySolution:
    """Solution of a tree program by a solver of cvxpy."""

    objective: float
    point: Point
    duals: dict[str, Array]


class CvxpyTreeModel:
    """cvxpy problem of a tree program.

    Without `at`, the program must be convex. With a point `at`, atoms on their other side are linearised there. `shift`
    draws random displacements of the point at which the slopes of polyhedral atoms are evaluated.
    """

    def __init__(self, description: TreeProgram, at: Point | None = None, shift: np.random.Generator | None = None):
        self.description = description
        self.unknowns: dict[str, Any] = {
            variable.name: cp.Variable(variable.lower.size) for variable in description.variables
        }
        self.unknowns |= {function.name: cp.Variable(len(function.instances)) for function in description.functions}
        self._roots = {function.name: function.root for function in description.functions}
        self._at = None if at is None else TreeEvaluator(description.functions, at)
        self._shift = shift
        self.rows = {row.name: self.expression(row.expression, 1) for row in description.rows}
        constraints: list[Any] = []
        self._blocks: dict[str, Any] = {}
        for row in description.rows:
            e = self.rows[row.name]
            self._blocks[row.name] = e == 0 if row.equality else e <= 0
        constraints += self._blocks.values()
        for variable in description.variables:
            x = self.unknowns[variable.name]
            constraints += [x >= variable.lower, x <= variable.upper]
        objective = self.expression(description.objective, 1)
        self.problem = cp.Problem(cp.Minimize(cp.sum(objective)), constraints)

    def solve(self, solver: str) -> CvxpySolution | None:
        """Solve with tight tolerances, or with the default ones if that fails; return None if no optimum is found."""
        return self._solve(solver, TIGHT_SETTINGS[solver]) or self._solve(solver, {})

    def objective_at(self, point: Point) -> float:
        """Return the objective at a point."""
        for name, x in self.unknowns.items():
            x.value = point[name]
        return float(self.problem.objective.value)

    def _solve(self, solver: str, settings: dict[str, Any]) -> CvxpySolution | None:
        """Solve with these settings; return None if no optimum is found."""
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
        return CvxpySolution(float(self.problem.value), point, duals)

    def expression(self, expression: Sum, direction: int) -> Any:
        """Return the cvxpy expression; `direction` is +1 if it must be convex, and -1 if it must be concave."""
        total: Any = cp.Constant(expression.constant)
        for name, matrix in expression.linear:
            total = total + matrix @ self._leaf(name)
        for matrix, node in expression.atoms:
            curvature = KINDS[node.kind].curvature
            on_convex_side = np.where(direction * curvature * matrix > 0, matrix, 0.0)
            if on_convex_side.any():
                total = total + on_convex_side @ self._atom(node)
            if (matrix != on_convex_side).any():
                total = total + self._tangent(node, matrix - on_convex_side)
        return total

    def _leaf(self, name: str) -> Any:
        """Return a variable, or the values of a function at its instances."""
        return self._roots[name] @ self.unknowns[name] if name in self._roots else self.unknowns[name]

    def _parts(self, node: TreeNode, side: int) -> list[Any]:
        """Return the arguments of an atom; `side` is +1 for a convex and -1 for a concave result."""
        if node.function:
            return [self.unknowns[node.function]]
        signs = directions(node.kind)
        return [self.expression(part, side * sign) for part, sign in zip(node.parts, signs, strict=False)]

    def _atom(self, node: TreeNode) -> Any:
        """Return an atom as a cvxpy vector."""
        kind = KINDS[node.kind]
        e = kind.model(node, self._parts(node, kind.curvature))
        return cp.reshape(e, (e.size,), order="C")

    def _tangent(self, node: TreeNode, matrix: Array) -> Any:
        """Return matrix @ tangent of an atom at the point of linearisation."""
        if self._at is None:
            raise ValueError(f"{node.kind} is on its other side.")
        kind, values = KINDS[node.kind], [part.copy() for part in self._at.parts(node)]
        if self._shift is not None and kind.is_polyhedral:
            values = [value + KINK_SHIFT * self._shift.normal(size=value.size) for value in values]
        total: Any = matrix @ self._at.atom(node)
        parts, slopes = self._parts(node, -kind.curvature), SLOPES[node.kind](node, values)
        for part, slope, value in zip(parts, slopes, self._at.parts(node), strict=True):
            total = total + (matrix @ slope) @ (part - value)
        return total
