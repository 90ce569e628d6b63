"""State of a fitted model: the training set, and one result per program.

A program contains Python functions that score new bags, and these can neither be pickled nor saved. Results are
therefore pickled and saved without their programs. When they are needed again, the programs are declared again from the
same data, without solving.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats, Points
from milopt.data.windows import WindowSettings
from milopt.declaration.bags.bag_rows import bag_blocks
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.estimator.declaration import declare_program
from milopt.estimator.training_set import TrainingSet
from milopt.outcome.result import Result


class DeclaringModel(Protocol):
    """Protocol of a model as seen by its fitted state: hyper-parameters and `declare`."""

    _fields: ClassVar[tuple[str, ...]]
    _program_data: ClassVar[tuple[str, ...]]

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program | SemiInfinite:
        """Return the program over the training bags."""


@dataclass(eq=False)
class FittedState:
    """Training set and results of a fit."""

    given: DeclaringModel
    """Model with the hyper-parameters at the time of the fit; later changes of the fitted model do not affect it."""
    declaring_model: DeclaringModel
    """The same model with kernels fitted to the data and an integer seed: it declares the programs."""
    training: TrainingSet
    declare_seconds: float
    """Seconds in which the programs were declared."""
    versions: dict[str, str]
    """Versions of the packages and solvers used in the fit, by name."""
    stored_results: tuple[Result, ...]
    """One result per program, perhaps without its program (see `has_programs`)."""
    declare_jit_seconds: float = 0.0
    """Seconds of just-in-time compilation while the programs were declared; not part of `declare_seconds`."""
    has_programs: bool = True
    """Whether `stored_results` have their programs; if False, they have empty programs of the same names."""

    @property
    def results(self) -> tuple[Result, ...]:
        """Results with their programs; after unpickling, the programs are first declared again."""
        if not self.has_programs:
            pairs = zip(self.stored_results, self.programs(), strict=True)
            self.stored_results = tuple(replace(result, program=program) for result, program in pairs)
            self.has_programs = True
        return self.stored_results

    def programs(self) -> list[Program | SemiInfinite]:
        """Declare the programs again, from the training set."""
        training = self.training
        return [declare_program(self.declaring_model, training.bags, y, training.weight) for y in training.signs()]

    def score_new_bags(self, bags: Bags) -> Floats:
        """Scale and score bags by class, in blocks of bags."""
        return _concatenate_blocks(self.scores(self.training.scaling(part)) for part in bag_blocks(bags))

    def score_new_instances(self, bags: Bags) -> Floats:
        """Scale the instances of bags and score them by class, in blocks of bags."""
        scaling = self.training.scaling
        return _concatenate_blocks(self.instance_scores(scaling(part).instances) for part in bag_blocks(bags))

    def program_scores(self, bags: Bags) -> list[Floats]:
        """Score scaled bags by each program; positive scores stand for the class with y = +1 in that program."""
        return [result.score(bags) for result in self.results]

    def program_instance_scores(self, points: Points) -> list[Floats]:
        """Score scaled instances by each program, as bags of one instance if a program only scores bags."""
        singletons = Bags(points, np.arange(points.shape[0] + 1))
        return [
            result.instance_scores(points) if result.program.scores_instances else result.score(singletons)
            for result in self.results
        ]

    def scores(self, bags: Bags) -> Floats:
        """Score scaled bags by class: shape (n,) for two classes, (n, k) for k classes."""
        return self.arrange_by_class(self.program_scores(bags))

    def instance_scores(self, points: Points) -> Floats:
        """Score scaled instances by class: shape (n,) for two classes, (n, k) for k classes."""
        return self.arrange_by_class(self.program_instance_scores(points))

    def arrange_by_class(self, scores: list[Floats]) -> Floats:
        """Arrange the scores of all programs as in scikit-learn: one column per class if there are several programs.

        For two classes, positive scores mean the second class, also if the first class is the positive one.
        """
        if len(scores) > 1:
            return np.stack(scores, axis=1)
        return -scores[0] if self.training.positive == 0 else scores[0]

    def __getstate__(self) -> dict[str, object]:
        """Return the state for pickling, with results whose programs are replaced by empty ones of the same name."""
        without_programs = tuple(
            replace(result, program=Program(result.program.name)) for result in self.stored_results
        )
        return vars(self) | {"stored_results": without_programs, "has_programs": False}


def _concatenate_blocks(blocks: Iterator[Floats]) -> Floats:
    """Return the scores of all blocks of bags.

    The expression of a score refers to itself and to the bags, so that only the garbage collector frees a block.
    """
    parts: list[Floats] = []
    for scores in blocks:
        if parts:
            gc.collect(1)
        parts.append(scores)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class FittedAttributes:
    """Attributes that `fit` sets on a model.

    They are annotated in a class of their own, because annotations in the model itself would be hyper-parameters.
    """

    classes_: npt.NDArray[Any]
    n_features_in_: int
    windows_in_: WindowSettings | None
    """Length and stride of the windows, if the training bags are windows of time series; None otherwise."""
    _fitted: FittedState
