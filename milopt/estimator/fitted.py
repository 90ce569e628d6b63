"""What a fit leaves behind: the training set, and one answer a program, whose programs can be declared again.

A program holds functions that score new bags, which can be neither pickled nor saved. So an answer is kept without its
program, and where it comes from another process the program is declared again, from the same data, without solving.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats, Points
from milopt.data.windows import Cut
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.estimator.training_set import TrainingSet
from milopt.outcome.result import Result


class Model(Protocol):
    """A model as far as its hyper-parameters and programs are concerned."""

    _fields: ClassVar[tuple[str, ...]]

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program | SemiInfinite:
        """The program over training bags."""


@dataclass(eq=False)
class Fitted:
    """A solved training set."""

    given: Model
    """The model's hyper-parameters when it was fitted; later changes of them do not reach the fit."""
    declarer: Model
    """The same with numbers for kernels that depend on the data, and for the seed: it declares the programs."""
    training: TrainingSet
    declare_seconds: float
    versions: dict[str, str]
    solved: tuple[Result, ...]
    declare_jit_seconds: float = 0.0
    """Just-in-time compilation while the programs were declared; not in `declare_seconds`."""
    whole: bool = True
    """Whether the results have their programs, and not only the names of these."""

    @property
    def results(self) -> tuple[Result, ...]:
        """One result a program; the program is declared again where it could not come along."""
        if not self.whole:
            pairs = zip(self.solved, self.programs(), strict=True)
            self.solved = tuple(replace(result, program=program) for result, program in pairs)
            self.whole = True
        return self.solved

    def programs(self) -> list[Program | SemiInfinite]:
        """The programs, declared anew."""
        training = self.training
        return [self.declarer.declare(training.bags, y, training.weight) for y in training.signs()]

    def program_scores(self, bags: Bags) -> list[Floats]:
        """Score scaled bags by each program; positive scores speak for the class whose bags have y = +1 there."""
        return [result.score(bags) for result in self.results]

    def program_instance_scores(self, points: Points) -> list[Floats]:
        """Score scaled instances by each program, as bags of one if a program does not score instances."""
        alone = Bags(points, np.arange(points.shape[0] + 1))
        return [
            result.instance_scores(points) if result.program.scores_instances else result.score(alone)
            for result in self.results
        ]

    def scores(self, bags: Bags) -> Floats:
        """Score scaled bags by class: (n,) for two classes, (n, k) for k classes."""
        return self.by_class(self.program_scores(bags))

    def instance_scores(self, points: Points) -> Floats:
        """Score scaled instances by class: (n,) for two classes, (n, k) for k classes."""
        return self.by_class(self.program_instance_scores(points))

    def by_class(self, scores: list[Floats]) -> Floats:
        """Arrange the scores of all programs as scikit-learn has them: of two classes, positive means the second."""
        if len(scores) > 1:
            return np.stack(scores, axis=1)
        return -scores[0] if self.training.positive == 0 else scores[0]

    def __getstate__(self) -> dict[str, object]:
        bare = tuple(replace(result, program=Program(result.program.name)) for result in self.solved)
        return vars(self) | {"solved": bare, "whole": False}


class FittedAttributes:
    """What `fit` sets on a model. Apart, for annotated in the model itself they would be hyper-parameters."""

    classes_: npt.NDArray[Any]
    n_features_in_: int
    windows_in_: Cut | None
    """How the training bags were cut from series, where they were: new series are to be cut alike."""
    _fitted: Fitted
