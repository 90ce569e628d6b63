"""Ensembles: weighted columns, each found by an oracle, whose sum is the score of a bag in a semi-infinite program.

    g(bag) = sum_t w_t h_t(bag) + offset

A column h_t is a weak learner with the weight w_t, and a member of the ensemble.

All columns of one oracle are evaluated together: the values of a variable, or the coefficients of a function, form a
matrix with one column per member.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from milopt.arrays import Matrix, Points, Vector
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.gram_blocks import kernel_times
from milopt.declaration.programs.column_maximum import KernelExpansion
from milopt.declaration.programs.expression import Expression, Leaf
from milopt.declaration.programs.leaves import Function, FunctionEvaluation, Variable
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import DeclarationError


@dataclass(frozen=True)
class OracleMembers:
    """Columns of one oracle that have a weight (the members of the ensemble)."""

    weights: Vector
    values: Mapping[str, Matrix] = field(default_factory=dict)
    """By variable, a matrix with one row per entry and one column per member."""
    points: Mapping[str, Points] = field(default_factory=dict)
    """By function without a dictionary, the points of all members."""
    coefficients: Mapping[str, Matrix] = field(default_factory=dict)
    """By function without a dictionary, a matrix with one row per point and one column per member."""

    @property
    def count(self) -> int:
        """Number of members."""
        return int(self.weights.size)

    def evaluate(self, expression: Expression) -> Matrix:
        """Evaluate an expression of the oracle's variables and functions; the result has one column per member."""
        total = np.repeat(expression.constant[:, None], self.count, axis=1)
        for leaf, coefficient in expression.terms:
            total += coefficient.value() @ self._evaluate_leaf(leaf)
        return total

    def expansion(self, u: Function | KernelExpansion) -> tuple[Points, Matrix]:
        """Return the points of the function u, and its coefficients: one row per point, one column per member."""
        if u.dictionary is not None:
            return u.dictionary, self.evaluate(u.coefficients)
        return self.points[u.name], self.coefficients[u.name]

    def _evaluate_leaf(self, leaf: Leaf) -> Matrix:
        """Evaluate a leaf (a variable, a function evaluation or an atom); the result has one column per member."""
        if isinstance(leaf, Variable):
            return self.values[leaf.name]
        if isinstance(leaf, Atom) and leaf.function is None:
            inside = self.evaluate(leaf.argument)
            return np.stack([leaf.value(column, leaf.segments) for column in inside.T], axis=1)
        if isinstance(leaf, FunctionEvaluation):
            points, coefficients = self.expansion(leaf.function)
            used = np.flatnonzero(coefficients.any(axis=1))
            if not used.size:
                return np.zeros((leaf.size, self.count))
            return kernel_times(leaf.function.kernel, leaf.points, points[used], coefficients[used])
        raise DeclarationError(
            f"A column may contain an oracle's functions, atoms of expressions and variables, not {leaf.describe()}."
        )


@dataclass(frozen=True)
class Ensemble:
    """Members of all oracles, in the order of the oracles, and the offset."""

    members: tuple[OracleMembers, ...]
    offset: float

    @property
    def count(self) -> int:
        """Number of columns with a weight."""
        return sum(part.count for part in self.members)

    def columns(self, problem: SemiInfinite, bags: Bags) -> Matrix:
        """Return h_t of each bag: a matrix with one row per bag and one column per member of all oracles."""
        parts = [
            part.evaluate(oracle.column(bags))
            for oracle, part in zip(problem.oracles, self.members, strict=True)
            if part.count
        ]
        return np.hstack([np.zeros((len(bags), 0)), *parts])

    @property
    def weights(self) -> Vector:
        """Weights w_t of all members, in the order of `columns`."""
        return np.concatenate([np.zeros(0), *(part.weights for part in self.members)])

    def score(self, problem: SemiInfinite, bags: Bags) -> Vector:
        """Return the score g of each bag, including the offset."""
        return self.columns(problem, bags) @ self.weights + self.offset

    def instance_scores(self, problem: SemiInfinite, points: Points) -> Vector:
        """Return the score of each instance, f(x) = sum_t w_t h_t({x}) + offset.

        It is the score of a bag that contains only x. If a bag contains further instances, a column max_x u_t(x) can
        only be larger, and a column -max_x u_t(x) only smaller. So if no column has the sign -, f(x) is a lower bound
        on the score of every bag that contains x.
        """
        total = np.full(points.shape[0], float(self.offset))
        for oracle, part in zip(problem.oracles, self.members, strict=True):
            if oracle.instances is None:
                raise DeclarationError(f"{problem.name!r} declares no score of instances.")
            if oracle.maximum is not None and oracle.maximum.samples is not None:
                raise DeclarationError(f"{problem.name!r} scores windows, not single samples: see explain(bag).")
            if part.count:
                total += part.evaluate(oracle.instances(points)) @ part.weights
        return total
