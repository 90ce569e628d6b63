"""Evaluate tree programs at points, in numpy."""

from __future__ import annotations

import numpy as np

from tests.atoms.kinds import KINDS
from tests.atoms.trees import Array, KernelFunction, Point, Sum, TreeNode, TreeProgram


class TreeEvaluator:
    """Evaluator of the expressions of one tree program at one point."""

    def __init__(self, functions: tuple[KernelFunction, ...], point: Point) -> None:
        self._point = point
        self._values = {function.name: function.root @ point[function.name] for function in functions}

    def leaf(self, name: str) -> Array:
        """Return the value of a variable, or the values of a function at its instances."""
        return self._values[name] if name in self._values else self._point[name]

    def parts(self, node: TreeNode) -> list[Array]:
        """Return the values of the arguments of an atom, or the coordinates of its function."""
        return [self._point[node.function]] if node.function else [self.value(part) for part in node.parts]

    def atom(self, node: TreeNode) -> Array:
        """Return the values of an atom."""
        return np.atleast_1d(np.asarray(KINDS[node.kind].value(node, self.parts(node)), dtype=np.float64))

    def value(self, expression: Sum) -> Array:
        """Return the values of an expression."""
        total = expression.constant.copy()
        for name, matrix in expression.linear:
            total = total + matrix @ self.leaf(name)
        for matrix, node in expression.atoms:
            total = total + matrix @ self.atom(node)
        return total


def objective(description: TreeProgram, point: Point) -> float:
    """Return the objective at a point, in the sign of a minimisation."""
    return float(TreeEvaluator(description.functions, point).value(description.objective)[0])


def violation(description: TreeProgram, point: Point) -> float:
    """Return the largest violation of a row or a bound at a point."""
    evaluator = TreeEvaluator(description.functions, point)
    worst = 0.0
    for row in description.rows:
        e = evaluator.value(row.expression)
        worst = max(worst, float((np.abs(e) if row.equality else e).max(initial=0.0)))
    for variable in description.variables:
        x = point[variable.name]
        worst = max(worst, float(np.maximum(variable.lower - x, x - variable.upper).max(initial=0.0)))
    return worst
