"""Models that are wrong on purpose, each in one way."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import ClassVar

import numpy as np

from milopt import RBF, BagClassifier, Bags, Kernel, Program, Signs, Weights, bag_max, bag_mean, sum_squares
from milopt.declaration.programs.expression import Expression

_CALLS = count()


class Right(BagClassifier):
    """Ridge regression of the labels on the means of bags."""

    C: float = 1.0
    """Weight of the errors."""
    kernel: Kernel = RBF("median")
    """Kernel between instances."""

    has_symmetric_classes = True

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        program = Program("right")
        f = program.function("f", self.kernel)
        error = np.sqrt(weight) * (bag_mean(f(bags)) - y)
        program.minimize(0.5 * f.norm_squared() + 0.5 * self.C * sum_squares(error))
        program.score(lambda new: bag_mean(f(new)), instances=lambda x: f(x))
        return program


class Linear(Right):
    """The same in the plane, over the features of instances."""

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        program = Program("linear")
        w = program.variable("w", bags.dimension)
        b = program.variable("b")
        error = np.sqrt(weight) * (self.seen(bags) @ w + b - y)
        program.minimize(0.5 * sum_squares(w) + 0.5 * self.C * sum_squares(error))
        program.score(lambda new: self.scored(new, w, b))
        return program

    def seen(self, bags: Bags) -> np.ndarray:
        """Return the description of each training bag."""
        return np.asarray(bags.mean(bags.instances))

    def scored(self, bags: Bags, w: Expression, b: Expression) -> Expression:
        """Return the scores of new bags."""
        return self.seen(bags) @ w + b


class NegatedScore(Linear):
    """Scores speak for the other class."""

    def scored(self, bags: Bags, w: Expression, b: Expression) -> Expression:
        return -(self.seen(bags) @ w + b)


class FirstInstance(Linear):
    """Looks at the first instance of each bag."""

    def seen(self, bags: Bags) -> np.ndarray:
        return np.asarray(bags.instances[bags.offsets[:-1]])


class CentredOnTheBatch(Linear):
    """Subtracts the mean of the bags that are scored together."""

    def scored(self, bags: Bags, w: Expression, b: Expression) -> Expression:
        seen = self.seen(bags)
        return (seen - seen.mean(axis=0)) @ w + b


class ByPlace(Linear):
    """Adds a little to the score of the first bag."""

    has_symmetric_classes = False

    def scored(self, bags: Bags, w: Expression, b: Expression) -> Expression:
        return self.seen(bags) @ w + b + np.eye(len(bags))[0]


class IgnoresWeights(Right):
    """Takes all bags for one each."""

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        return super().declare(bags, y, np.ones(len(bags)))


class DrawsAnyNumber(Right):
    """Draws its own random numbers, another one at each call."""

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        return super().declare(bags, y, weight * (1.0 + 0.1 * next(_CALLS)))


class DeclaresAnother(Right):
    """Declares a program with more variables at each call, and scores with all of them."""

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        program = Program("growing")
        size = 1 + next(_CALLS)
        w = program.variable("w", (size,))
        program.minimize(sum_squares(np.outer(np.asarray(bags.mean(bags.instances))[:, 0], np.ones(size)) @ w - y))
        program.score(lambda new: np.outer(np.asarray(new.mean(new.instances))[:, 0], np.ones(size)) @ w)
        return program


class WithoutAScore(Right):
    """Declares a program and no score."""

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        program = Program("no score")
        w = program.variable("w", lower=0)
        program.minimize(w)
        return program


class NotSymmetric(BagClassifier):
    """Looks for a witness of the positive class, and states that its classes are symmetric."""

    has_symmetric_classes = True

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        program = Program("witness")
        f, b = program.function("f", RBF("median").fitted_to(bags)), program.variable("b")
        slack = program.variable("slack", len(bags), lower=0)
        program.minimize(0.5 * f.norm_squared() + weight @ slack)
        program.subject_to(y * (bag_max(f(bags)) + b) >= 1 - slack, name="margin")
        program.score(lambda new: bag_max(f(new) + b))
        return program


class Undocumented(Right):
    """Has a field that nobody explains."""

    depth: int = 3


class SharedDefault(Right):
    """Has a list as the default of a field.

    Parameters
    ----------
    widths : list
        Widths of kernels.
    """

    widths: list = [1.0, 2.0]  # noqa: RUF012


class UnknownGrid(Right):
    """Chooses among values of a field that it does not have."""

    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {"c": (1.0, 10.0)}


class BySolver(Right):
    """Declares another program for another solver."""

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        return super().declare(bags, y, weight * (2.0 if self.solver == "highs" else 1.0))


class ChangesItself(Right):
    """Keeps a fitted number in a hyper-parameter."""

    def fit(self, bags: object, y: object, sample_weight: object = None) -> ChangesItself:
        super().fit(bags, y, sample_weight)  # type: ignore[arg-type]
        self.C = 2.0
        return self
