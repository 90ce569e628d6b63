"""One fit of a cell: to all bags for the optimum, or to a fold's training bags for the accuracy on those left out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from milopt.arrays import Index
from milopt.comparison.formulation import ModelChoice, maker
from milopt.compilation.status import PointStatus
from milopt.declaration.bags.bags import Bags
from milopt.errors import MiloptError
from milopt.evaluation.one_thread import one_thread
from milopt.outcome.certificate import Certificate
from milopt.outcome.result import Result
from milopt.solving.options import Options


@dataclass(frozen=True)
class Split:
    """A fold: its number, the bags to fit to, and those to predict."""

    fold: int
    train: Index
    test: Index


@dataclass(frozen=True)
class Part:
    """What to fit, in plain data that another process understands."""

    cell: int
    model: ModelChoice
    settings: Mapping[str, object]
    solver: str
    options: Options
    seed: int
    split: Split | None
    """None for all bags."""

    @property
    def fold(self) -> int:
        """The split's number; -1 for all bags."""
        return -1 if self.split is None else self.split.fold


@dataclass(frozen=True)
class Optimum:
    """What the fit to all bags found; with several classes, of all its programs together."""

    termination: str
    point: str
    objective: float
    certificate: Certificate | None
    iterations: int
    seconds: float


@dataclass(frozen=True)
class Fitted:
    """A part's outcome: an optimum, an accuracy, or what went wrong."""

    cell: int
    fold: int
    """-1 for all bags."""
    optimum: Optimum | None = None
    accuracy: float | None = None
    failure: str = ""
    killed: bool = False
    """Its process did not live to tell."""


def fitted(part: Part, bags: Bags, labels: npt.NDArray[Any]) -> Fitted:
    """Run one part; linear algebra has one thread, so that its last digits do not depend on who else is running."""
    try:
        with one_thread(), warnings.catch_warnings():
            # What there is to say stands in the cell.
            warnings.simplefilter("ignore")
            own = {"solver": part.solver, "options": part.options, "random_state": part.seed}
            model = maker(part.model)(**own, **part.settings)
            if part.split is None:
                return Fitted(part.cell, part.fold, optimum=_optimum(model.fit(bags, labels).results_))
            train, test = part.split.train, part.split.test
            model.fit(bags[train], labels[train])
            return Fitted(part.cell, part.fold, accuracy=float(model.score(bags[test], labels[test])))
    except MiloptError as error:
        return Fitted(part.cell, part.fold, failure=str(error))
    except Exception as error:
        # A solver or a person's own model may raise anything, and one cell must not take the others with it.
        return Fitted(part.cell, part.fold, failure=f"{type(error).__name__}: {error}")


def _optimum(results: tuple[Result, ...]) -> Optimum:
    weakest = min(results, key=lambda one: list(PointStatus).index(one.point))
    proofs = [one.certificate for one in results if one.certificate is not None]
    return Optimum(
        str(weakest.termination),
        str(weakest.point),
        sum(one.objective for one in results),
        max(proofs, key=lambda proof: proof.worst) if len(proofs) == len(results) else None,
        sum(one.iterations for one in results),
        sum(one.seconds.total for one in results),
    )
