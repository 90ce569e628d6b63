"""What a task leaves behind: plain data that a file holds and a table is made of."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from milopt.compilation.status import PointStatus, Termination, keeps_promise
from milopt.outcome.result import Result

Label: TypeAlias = str | int | float | bool
Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"


@dataclass(frozen=True)
class Fit:
    """How one fit ended. `candidate` is its place in the grid, `fold` that of the inner fold, None for the last fit."""

    candidate: int
    fold: int | None
    solver: str
    termination: str
    point: str
    residual: float | None
    """The largest of the certificate's residuals; None where there is no certificate."""

    @property
    def certified(self) -> bool:
        """Whether the point carries its certificate."""
        return self.point == PointStatus.CERTIFIED.value

    @property
    def kept(self) -> bool:
        """Whether the scheme came to an end that it promises."""
        return keeps_promise(Termination(self.termination), PointStatus(self.point))

    @classmethod
    def of(cls, results: Sequence[Result], candidate: int, fold: int | None) -> Fit:
        """The worst of the results of one fit, which are several where classes are."""
        worst = max(results, key=lambda result: (result.exit_code, _residual(result) or 0.0))
        solver, termination, point = worst.solver, worst.termination.value, worst.point.value
        return cls(candidate, fold, solver, termination, point, _residual(worst))


@dataclass(frozen=True)
class Candidate:
    """A member of the grid: its settings, and how many held-out bags of the inner folds it labelled right."""

    settings: tuple[str, ...]
    correct: int | None
    """None where nothing was compared, or where a fit failed for the `reason`."""
    total: int
    clarity: float | None
    """How clearly it did so, from -1 to 1, by which ties are broken."""
    reason: str = ""


@dataclass(frozen=True)
class Record:
    """A finished task: what was chosen inside the training part, and what it gave on the test part."""

    model: str
    repeat: int
    fold: int
    accuracy: float
    balanced_accuracy: float
    auc: float | None
    """None for several classes, and where the test part has bags of one class only."""
    chosen: int
    candidates: tuple[Candidate, ...]
    fits: tuple[Fit, ...]
    test: tuple[int, ...]
    """The test bags by place; `predicted` and `scores` are in their order."""
    predicted: tuple[Label, ...]
    scores: tuple[float | tuple[float, ...], ...]
    seconds: float
    pid: int
    """The process that did the task, and when (UTC)."""
    finished: str

    @property
    def settings(self) -> tuple[str, ...]:
        """The chosen hyper-parameters as texts."""
        return self.candidates[self.chosen].settings

    @property
    def uncertified(self) -> int:
        """How many fits ended without their certificate."""
        return sum(not fit.certified for fit in self.fits)

    def as_dict(self) -> dict[str, Plain]:
        """Plain JSON data."""
        plain = as_plain(self)
        assert isinstance(plain, dict)
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Record:
        """The inverse of `as_dict`; what does not fit raises TypeError, KeyError, ValueError or IndexError."""
        values = dict(plain)
        values["candidates"] = tuple(
            Candidate(**{**one, "settings": tuple(one["settings"])}) for one in plain["candidates"]
        )
        values["fits"] = tuple(Fit(**one) for one in plain["fits"])
        values["test"], values["predicted"] = tuple(plain["test"]), tuple(plain["predicted"])
        values["scores"] = tuple(tuple(one) if isinstance(one, list) else one for one in plain["scores"])
        record = cls(**values)
        if not 0.0 <= record.accuracy <= 1.0 or not 0 <= record.chosen < len(record.candidates):
            raise ValueError("out of range")
        return record


@dataclass(frozen=True)
class Failure:
    """A task that did not finish, and why."""

    model: str
    repeat: int
    fold: int
    reason: str
    exit_code: int

    def __str__(self) -> str:
        return f"{self.model}, repeat {self.repeat + 1}, fold {self.fold + 1} failed: {self.reason}"


def as_plain(value: object) -> Plain:
    """Dataclasses and tuples as JSON data; a number that JSON does not have as None."""
    if dataclasses.is_dataclass(value):
        return {field.name: as_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (tuple, list)):
        return [as_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise TypeError(f"{type(value).__name__} is no plain data")


def _residual(result: Result) -> float | None:
    worst = result.certificate.worst if result.certificate is not None else math.nan
    return float(worst) if math.isfinite(worst) else None
