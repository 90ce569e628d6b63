"""Models that are deliberately wrong, each in one way."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import ClassVar

import numpy as np

from milopt import RBF, BagClassifier, Bags, Kernel, Program, Signs, Weights, bag_max, bag_mean, sum_squares
from milopt.declaration.programs.expression import Expression

_CALLS = count()


class Right(BagClassifier):
    """Correct model: ridge regression of the labels on the bag means."""

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


class LinearRidge(Right):
    """Correct model: ridge regression on the features of instances."""

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        program = Program("linear")
        w = program.variable("w", bags.dimension)
        b = program.variable("b")
        error = np.sqrt(weight) * (self.seen(bags) @ w + b - y)
        program.minimize(0.5 * sum_squares(w) + 0.5 * self.C * sum_squares(error))
        program.score(lambda new: self.scored(new, w, b))
        return program

    def seen(self, bags: Bags) -> np.ndarray:
        """Return the features of each training bag."""
        return np.asarray(bags.mean(bags.instances))

    def scored(self, bags: Bags, w: Expression, b: Expression) -> Expression:
        """Return the scores of new bags."""
        return self.seen(bags) @ w + b


class NegatedScore(LinearRidge):
    """Model whose scores have the wrong sign."""

    def scored(self, bags: Bags, w: Expression, b: Expression) -> Expression:
        return -(self.seen(bags) @ w + b)


class FirstInstance(LinearRidge):
    """Model that only uses the first instance of each bag."""

    def seen(self, bags: Bags) -> np.ndarray:
        return np.asarray(bags.instances[bags.offsets[:-1]])


class CentredOnTheBatch(LinearRidge):
    """Model that subtracts the mean of the bags that are scored together."""

    def scored(self, bags: Bags, w: Expression, b: Expression) -> Expression:
        seen = self.seen(bags)
        return (seen - seen.mean(axis=0)) @ w + b


class ByPlace(LinearRidge):
    """Model that adds a small number to the score of the first bag."""

    has_symmetric_classes = False

    def scored(self, bags: Bags, w: Expression, b: Expression) -> Expression:
        return self.seen(bags) @ w + b + np.eye(len(bags))[0]


class IgnoresWeights(Right):
    """Model that ignores the weights of bags."""

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        return super().declare(bags, y, np.ones(len(bags)))


class DrawsAnyNumber(Right):
    """Model with random numbers that differ in each call."""

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        return super().declare(bags, y, weight * (1.0 + 0.1 * next(_CALLS)))


class DeclaresAnother(Right):
    """Model that declares a program with more variables in each call, and uses all of them in its score."""

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        program = Program("growing")
        size = 1 + next(_CALLS)
        w = program.variable("w", (size,))
        program.minimize(sum_squares(np.outer(np.asarray(bags.mean(bags.instances))[:, 0], np.ones(size)) @ w - y))
        program.score(lambda new: np.outer(np.asarray(new.mean(new.instances))[:, 0], np.ones(size)) @ w)
        return program


class WithoutAScore(Right):
    """Model that declares a program without a score."""

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        program = Program("no score")
        w = program.variable("w", lower=0)
        program.minimize(w)
        return program


class NotSymmetric(BagClassifier):
    """Model that needs a witness of the positive class, but states that its classes are symmetric."""

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
    """Model with an undocumented field."""

    depth: int = 3


class SharedDefault(Right):
    """Model with a list as the default of a field.

    Parameters
    ----------
    widths : list
        Widths of kernels.
    """

    widths: list = [1.0, 2.0]  # noqa: RUF012


class UnknownGrid(Right):
    """Model with a grid for a field that does not exist."""

    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {"c": (1.0, 10.0)}


class BySolver(Right):
    """Model whose program depends on the solver."""

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        return super().declare(bags, y, weight * (2.0 if self.solver == "highs" else 1.0))


class ChangesItself(Right):
    """Model that stores a fitted number in a hyper-parameter."""

    def fit(self, bags: object, y: object, sample_weight: object = None) -> ChangesItself:
        super().fit(bags, y, sample_weight)  # type: ignore[arg-type]
        self.C = 2.0
        return self
