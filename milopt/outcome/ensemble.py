"""What a semi-infinite program's solution scores with: weighted columns, each the solution of an oracle.

    g(bag) = sum_t w_t h_t(bag) + offset

All columns of one oracle are evaluated together: a variable, or the coefficients of a function, is a matrix with a
column for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from milopt.arrays import Matrix, Points, Vector
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.blocks import kernel_times
from milopt.declaration.programs.expression import Expression, Leaf
from milopt.declaration.programs.leaves import Evaluation, Function, Variable
from milopt.declaration.programs.maximum import Combination
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import DeclarationError


@dataclass(frozen=True)
class Members:
    """The columns of one oracle that have a weight, side by side."""

    weights: Vector
    values: Mapping[str, Matrix] = field(default_factory=dict)
    """By variable, an entry a row and a member a column."""
    points: Mapping[str, Points] = field(default_factory=dict)
    """By function without a dictionary, the points of all members."""
    coefficients: Mapping[str, Matrix] = field(default_factory=dict)
    """By function without a dictionary, a point a row and a member a column."""

    @property
    def count(self) -> int:
        """How many columns."""
        return int(self.weights.size)

    def evaluated(self, expression: Expression) -> Matrix:
        """The entries of an expression in the oracle's variables and functions, a column for each member."""
        total = np.repeat(expression.constant[:, None], self.count, axis=1)
        for leaf, coefficient in expression.terms:
            total += coefficient.value() @ self._leaf(leaf)
        return total

    def expansion(self, u: Function | Combination) -> tuple[Points, Matrix]:
        """The points of u and its coefficients, a column for each member."""
        if u.dictionary is not None:
            return u.dictionary, self.evaluated(u.coefficients)
        return self.points[u.name], self.coefficients[u.name]

    def _leaf(self, leaf: Leaf) -> Matrix:
        if isinstance(leaf, Variable):
            return self.values[leaf.name]
        if isinstance(leaf, Atom) and leaf.function is None:
            inside = self.evaluated(leaf.argument)
            return np.stack([leaf.value(column, leaf.segments) for column in inside.T], axis=1)
        if isinstance(leaf, Evaluation):
            return kernel_times(leaf.function.kernel, leaf.points, *self.expansion(leaf.function))
        raise DeclarationError(
            f"A column may hold an oracle's functions, atoms of expressions and variables, not {leaf.describe()}."
        )


@dataclass(frozen=True)
class Ensemble:
    """The members of each oracle, in the oracles' order, and the offset."""

    members: tuple[Members, ...]
    offset: float

    @property
    def count(self) -> int:
        """How many columns have a weight."""
        return sum(one.count for one in self.members)

    def columns(self, problem: SemiInfinite, bags: Bags) -> Matrix:
        """h_t of each bag, a column for each member of all oracles."""
        parts = [
            one.evaluated(oracle.column(bags))
            for oracle, one in zip(problem.oracles, self.members, strict=True)
            if one.count
        ]
        return np.hstack([np.zeros((len(bags), 0)), *parts])

    @property
    def weights(self) -> Vector:
        """w_t of all members, in the order of `columns`."""
        return np.concatenate([np.zeros(0), *(one.weights for one in self.members)])

    def score(self, problem: SemiInfinite, bags: Bags) -> Vector:
        """One score a bag."""
        return self.columns(problem, bags) @ self.weights + self.offset

    def instance_scores(self, problem: SemiInfinite, points: Points) -> Vector:
        """One score an instance: f(x) = sum_t w_t h_t({x}) + offset, the score of a bag of x alone.

        Columns max_x u_t(x) are no less for a bag that holds x, and columns -max_x u_t(x) no more: only where none has
        the sign - is f(x) at most the score of that bag.
        """
        total = np.full(points.shape[0], float(self.offset))
        for oracle, one in zip(problem.oracles, self.members, strict=True):
            if oracle.instances is None:
                raise DeclarationError(f"{problem.name!r} declares no score of instances.")
            if oracle.maximum is not None and oracle.maximum.samples is not None:
                raise DeclarationError(f"{problem.name!r} scores windows, not single samples: see explain(bag).")
            if one.count:
                total += one.evaluated(oracle.instances(points)) @ one.weights
        return total
