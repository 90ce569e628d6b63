"""Declare a tree in milopt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import milopt
from tests.atoms.kinds import KINDS
from tests.atoms.trees import Array, Description, Node, Sum


@dataclass
class Declared:
    """A program, its leaves by name, and the expression of every atom."""

    program: milopt.Program
    leaves: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    atoms: dict[Node, Any] = field(default_factory=dict)

    def expression(self, expression: Sum) -> Any:
        """Declare an expression: a vector."""
        total: Any = None
        for name, matrix in expression.linear:
            total = _plus(total, _times(matrix, self.leaves[name]))
        for matrix, node in expression.atoms:
            total = _plus(total, _times(matrix, self.atom(node)))
        if total is None:
            return 0.0 * self.leaves["x"].sum() + expression.constant
        return total + expression.constant if expression.constant.any() else total

    def atom(self, node: Node) -> Any:
        """Declare an atom, once per node."""
        if node not in self.atoms:
            given = [self.functions[node.function]] if node.function else [self.expression(p) for p in node.parts]
            self.atoms[node] = KINDS[node.kind].declare(node, given)
        return self.atoms[node]


def declare(description: Description) -> Declared:
    """Declare a program."""
    declared = Declared(milopt.Program(f"atoms {description.seed}"))
    program = declared.program
    for one in description.variables:
        declared.leaves[one.name] = program.variable(one.name, one.lower.size, lower=one.lower, upper=one.upper)
    for function in description.functions:
        offsets = np.concatenate([[0], np.cumsum(function.sizes)]).tolist()
        declared.functions[function.name] = program.function(function.name, milopt.RBF(function.s))
        declared.leaves[function.name] = declared.functions[function.name](milopt.Bags(function.instances, offsets))
    objective = declared.expression(description.objective)
    if objective.shape:
        objective = objective.sum()
    if description.turned:
        program.maximize(-objective)
    else:
        program.minimize(objective)
    for row in description.rows:
        e = declared.expression(row.expression)
        program.keep(e == 0 if row.equality else -e >= 0 if row.turned else e <= 0, name=row.name)
    return declared


def _plus(total: Any, more: Any) -> Any:
    return more if total is None else total + more


def _times(matrix: Array, expression: Any) -> Any:
    if not expression.shape:
        return matrix[:, 0] * expression
    if matrix.shape[0] == matrix.shape[1] and (matrix == np.eye(len(matrix))).all():
        return expression
    return matrix @ expression
