"""Records of tasks: JSON data that is stored in files and summarised in tables."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from milopt.compilation import status
from milopt.compilation.status import PointStatus, Termination
from milopt.outcome.result import Result

Label: TypeAlias = str | int | float | bool
Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"


@dataclass(frozen=True)
class FitRecord:
    """Outcome of one fit of a task.

    `candidate` is the index of the candidate in the grid, and `fold` the index of the inner fold, or None for the last
    fit, which uses the whole training part.
    """

    candidate: int
    fold: int | None
    solver: str
    termination: str
    point: str
    residual: float | None
    """Largest residual of the certificate; None if there is no certificate or it is not finite."""

    @property
    def is_certified(self) -> bool:
        """True if the point is certified."""
        return self.point == PointStatus.CERTIFIED.value

    @property
    def is_successful(self) -> bool:
        """True if the point is certified, or is the feasible best iterate of a scheme that ended in a cycle."""
        return status.is_successful(Termination(self.termination), PointStatus(self.point))

    @classmethod
    def from_results(cls, results: Sequence[Result], candidate: int, fold: int | None) -> FitRecord:
        """Summarise a fit by its worst result; for more than two classes, there is one result per class."""
        worst = max(results, key=lambda result: (result.exit_code, _largest_residual(result) or 0.0))
        solver, termination, point = worst.solver, worst.termination.value, worst.point.value
        return cls(candidate, fold, solver, termination, point, _largest_residual(worst))


@dataclass(frozen=True)
class Candidate:
    """Candidate of the grid: its settings, and its correct predictions on held-out bags of the inner folds.

    `total` is the number of held-out bags, over all inner folds and repeats; 0 if there was no selection.
    """

    settings: tuple[str, ...]
    correct: int | None
    """Number of correct predictions; None if there was no selection, or if a fit failed (see `reason`)."""
    total: int
    clarity: float | None
    """Mean scaled margin of the held-out bags, from -1 to 1, by which ties are broken; None if `correct` is None."""
    reason: str = ""


@dataclass(frozen=True)
class Record:
    """Record of a finished task: the selection inside the training part, and the results on the test part."""

    model: str
    repeat: int
    fold: int
    accuracy: float
    balanced_accuracy: float
    auc: float | None
    """Area under the ROC curve; None for more than two classes, or if the test part contains only one class."""
    chosen: int
    """Index of the selected candidate."""
    candidates: tuple[Candidate, ...]
    fits: tuple[FitRecord, ...]
    """Fits of the selection, and the last fit."""
    test: tuple[int, ...]
    """Indices of the test bags; `predicted` and `scores` are in this order."""
    predicted: tuple[Label, ...]
    scores: tuple[float | tuple[float, ...], ...]
    """Values of `decision_function`: one number per test bag, or one tuple of the scores of all classes."""
    seconds: float
    """Duration of the task, with the selection."""
    pid: int
    """Id of the process that ran the task."""
    finished: str
    """Date and time at which the task ended (UTC)."""

    @property
    def settings(self) -> tuple[str, ...]:
        """Selected hyper-parameters as text."""
        return self.candidates[self.chosen].settings

    @property
    def uncertified(self) -> int:
        """Number of fits without a certificate."""
        return sum(not fit.is_certified for fit in self.fits)

    def as_dict(self) -> dict[str, Plain]:
        """Return the record as JSON data."""
        plain = as_plain(self)
        assert isinstance(plain, dict)
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Record:
        """Return the record for JSON data of `as_dict`; invalid data raise TypeError, LookupError or ValueError."""
        values = dict(plain)
        values["candidates"] = tuple(
            Candidate(**{**candidate, "settings": tuple(candidate["settings"])}) for candidate in plain["candidates"]
        )
        values["fits"] = tuple(FitRecord(**fit) for fit in plain["fits"])
        values["test"], values["predicted"] = tuple(plain["test"]), tuple(plain["predicted"])
        values["scores"] = tuple(tuple(score) if isinstance(score, list) else score for score in plain["scores"])
        record = cls(**values)
        if not 0.0 <= record.accuracy <= 1.0 or not 0 <= record.chosen < len(record.candidates):
            raise ValueError("out of range")
        return record


@dataclass(frozen=True)
class Failure:
    """Task that failed, with the reason and the exit code of the command line for this error."""

    model: str
    repeat: int
    fold: int
    reason: str
    exit_code: int

    def __str__(self) -> str:
        """Return the model, the split and the reason as one sentence."""
        return f"{self.model}, repeat {self.repeat + 1}, fold {self.fold + 1} failed: {self.reason}"


def as_plain(value: object) -> Plain:
    """Convert dataclasses and tuples to JSON data; NaN and infinities become None."""
    if dataclasses.is_dataclass(value):
        return {field.name: as_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (tuple, list)):
        return [as_plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise TypeError(f"{type(value).__name__} cannot be converted to JSON data")


def _largest_residual(result: Result) -> float | None:
    """Return the largest residual of the certificate of a result, or None if it is not finite or missing."""
    worst = result.certificate.worst if result.certificate is not None else math.nan
    return float(worst) if math.isfinite(worst) else None
