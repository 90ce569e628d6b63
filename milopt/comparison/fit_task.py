"""One fit of a cell (a model with a solver): to all bags for the optimum, or to the training bags of a fold.

The fits to the folds give the accuracy.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from milopt.arrays import Index
from milopt.comparison.formulation import ModelChoice, estimator_factory
from milopt.compilation.status import PointStatus
from milopt.declaration.bags.bags import Bags
from milopt.errors import MiloptError
from milopt.evaluation.one_thread import limit_to_one_thread
from milopt.outcome.certificate import Certificate
from milopt.outcome.result import Result
from milopt.solving.options import Options


@dataclass(frozen=True)
class FoldSplit:
    """Number of a fold, with the indices of its training bags and of its test bags."""

    fold: int
    train: Index
    test: Index


@dataclass(frozen=True)
class FitTask:
    """Description of one fit, which can be sent to another process."""

    cell: int
    """Index of the cell in the comparison."""
    model: ModelChoice
    settings: Mapping[str, object]
    solver: str
    options: Options
    seed: int
    split: FoldSplit | None
    """Fold to fit; None for the fit to all bags."""

    @property
    def fold(self) -> int:
        """Number of the fold; -1 for the fit to all bags."""
        return -1 if self.split is None else self.split.fold


@dataclass(frozen=True)
class FitOptimum:
    """Summary of the results of the fit to all bags; with several classes, of all their programs together."""

    termination: str
    point: str
    objective: float
    certificate: Certificate | None
    iterations: int
    seconds: float
    """Time of the fit, without just-in-time compilation."""


@dataclass(frozen=True)
class FitOutcome:
    """Outcome of a task: an optimum, an accuracy, or the message of a failure."""

    cell: int
    fold: int
    """Number of the fold; -1 for the fit to all bags."""
    optimum: FitOptimum | None = None
    accuracy: float | None = None
    failure: str = ""
    killed: bool = False
    """True if the process of the task was killed."""
    jit_seconds: float = 0.0
    """Time of just-in-time compilation during the fit."""


def run_fit_task(task: FitTask, bags: Bags, labels: npt.NDArray[Any]) -> FitOutcome:
    """Run one fit of a task, and return its optimum or its accuracy; an error becomes a failure.

    Linear algebra is single-threaded, so that the digits do not depend on other processes.
    """
    try:
        with limit_to_one_thread(), warnings.catch_warnings():
            # The table shows the status of every cell, so warnings would only repeat it.
            warnings.simplefilter("ignore")
            common = {"solver": task.solver, "options": task.options, "random_state": task.seed}
            model = estimator_factory(task.model)(**common, **task.settings)
            if task.split is None:
                model.fit(bags, labels)
                optimum = _summarise_results(model.results_)
                return FitOutcome(task.cell, task.fold, optimum=optimum, jit_seconds=_jit_seconds(model.results_))
            train, test = task.split.train, task.split.test
            model.fit(bags[train], labels[train])
            accuracy = float(model.score(bags[test], labels[test]))
            return FitOutcome(task.cell, task.fold, accuracy=accuracy, jit_seconds=_jit_seconds(model.results_))
    except MiloptError as error:
        return FitOutcome(task.cell, task.fold, failure=str(error))
    except Exception as error:
        # A solver or a user's model may raise any exception; only its own cell fails.
        return FitOutcome(task.cell, task.fold, failure=f"{type(error).__name__}: {error}")


def _summarise_results(results: tuple[Result, ...]) -> FitOptimum:
    """Combine the results of all classes: the weakest status, the certificate with the largest residual, and sums.

    The certificate is None if a result has none.
    """
    weakest = min(results, key=lambda result: list(PointStatus).index(result.point))
    certificates = [result.certificate for result in results if result.certificate is not None]
    return FitOptimum(
        str(weakest.termination),
        str(weakest.point),
        sum(result.objective for result in results),
        max(certificates, key=lambda proof: proof.worst) if len(certificates) == len(results) else None,
        sum(result.iterations for result in results),
        sum(result.seconds.total for result in results) - _jit_seconds(results),
    )


def _jit_seconds(results: tuple[Result, ...]) -> float:
    return sum(result.seconds.jit for result in results)
