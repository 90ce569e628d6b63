"""Declare a tree program in milopt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import milopt
from tests.atoms.kinds import KINDS
from tests.atoms.trees import Array, Sum, TreeNode, TreeProgram


@dataclass
class DeclaredTree:
    """Declared program with its leaves by name and the expression of every atom."""

    program: milopt.Program
    leaves: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    atoms: dict[TreeNode, Any] = field(default_factory=dict)

    def expression(self, expression: Sum) -> Any:
        """Return a vector expression of milopt."""
        total: Any = None
        for name, matrix in expression.linear:
            total = _plus(total, _times(matrix, self.leaves[name]))
        for matrix, node in expression.atoms:
            total = _plus(total, _times(matrix, self.atom(node)))
        if total is None:
            return 0.0 * self.leaves["x"].sum() + expression.constant
        return total + expression.constant if expression.constant.any() else total

    def atom(self, node: TreeNode) -> Any:
        """Return the expression of an atom, which is created once per node."""
        if node not in self.atoms:
            parts = [self.functions[node.function]] if node.function else [self.expression(p) for p in node.parts]
            self.atoms[node] = KINDS[node.kind].declare(node, parts)
        return self.atoms[node]


def declare(description: TreeProgram) -> DeclaredTree:
    """Declare a tree program in milopt."""
    declared = DeclaredTree(milopt.Program(f"atoms {description.seed}"))
    program = declared.program
    for box in description.variables:
        declared.leaves[box.name] = program.variable(box.name, box.lower.size, lower=box.lower, upper=box.upper)
    for function in description.functions:
        offsets = np.concatenate([[0], np.cumsum(function.sizes)]).tolist()
        declared.functions[function.name] = program.function(function.name, milopt.RBF(function.s))
        declared.leaves[function.name] = declared.functions[function.name](milopt.Bags(function.instances, offsets))
    objective = declared.expression(description.objective)
    if objective.shape:
        objective = objective.sum()
    if description.declare_negated:
        program.maximize(-objective)
    else:
        program.minimize(objective)
    for row in description.rows:
        e = declared.expression(row.expression)
        program.add_unchecked(e == 0 if row.equality else -e >= 0 if row.declare_negated else e <= 0, name=row.name)
    return declared


def _plus(total: Any, term: Any) -> Any:
    """Return total + term, where None stands for an empty sum."""
    return term if total is None else total + term


def _times(matrix: Array, expression: Any) -> Any:
    """Return matrix @ expression, without the product if the matrix is the identity."""
    if not expression.shape:
        return matrix[:, 0] * expression
    if matrix.shape[0] == matrix.shape[1] and (matrix == np.eye(len(matrix))).all():
        return expression
    return matrix @ expression
