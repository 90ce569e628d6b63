"""The outcome of an evaluation: a row a model, the records behind it, and the command that gives it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev

from milopt.evaluation.record import Failure, Label, Plain, Record, as_plain
from milopt.table import Table


@dataclass(frozen=True)
class Row:
    """What a model reached: means over the folds of each repeat, then over the repeats."""

    model: str
    solver: str
    """As asked for; `solvers` are those that ran."""
    solvers: tuple[str, ...]
    protocol: str
    accuracy: float | None
    """None where no task finished."""
    standard_error: float | None
    """s / sqrt(n) over the `n` repeats, or over the folds where there is one repeat; None where n is 1."""
    error_over: str
    """What the standard error is over: "repeats", "folds", or nothing."""
    balanced_accuracy: float | None
    auc: float | None
    seconds: float
    """The time of all tasks together, whichever process did them and when."""
    tasks: int
    expected: int
    """How many tasks the protocol has; fewer are done where some failed or the run was interrupted."""
    fits: int
    uncertified: int
    """Fits that ended without their certificate."""
    positive_label: Label | None = None
    """The positive class; None for more than two classes, or if candidates of the grid differ in it."""

    @classmethod
    def of(
        cls,
        model: str,
        solver: str,
        protocol: str,
        records: Sequence[Record],
        expected: int,
        positive_label: Label | None = None,
    ) -> Row:
        """Sum up a model's finished tasks."""
        over, values = _spread(records)
        fits = [fit for record in records for fit in record.fits]
        return cls(
            model=model,
            solver=solver,
            solvers=tuple(sorted({fit.solver for fit in fits})),
            protocol=protocol,
            accuracy=_mean(records, "accuracy"),
            standard_error=stdev(values) / math.sqrt(len(values)) if over else None,
            error_over=over,
            balanced_accuracy=_mean(records, "balanced_accuracy"),
            auc=_mean(records, "auc"),
            seconds=math.fsum(record.seconds for record in records),
            tasks=len(records),
            expected=expected,
            fits=len(fits),
            uncertified=sum(not fit.certified for fit in fits),
            positive_label=positive_label,
        )


@dataclass(frozen=True)
class Evaluation:
    """Rows by model, with every task's record; `str()` is for people, `as_dict()` is plain JSON data."""

    data: str
    digest: str
    protocol: str
    seed: int
    table: list[Row]
    records: tuple[Record, ...] = field(repr=False)
    failures: tuple[Failure, ...]
    command: str
    """The command line that gives this table; empty where the bags were given from Python."""
    interrupted: bool
    resumed: int
    """How many of the tasks were finished in an earlier run."""
    store: str
    """The folder that keeps the tasks; empty where nothing is kept."""
    seconds: float
    """From start to end of this run."""
    version: str

    @property
    def exit_code(self) -> int:
        """130 after Ctrl-C; that of the first failure; 3 where a last fit is not what its scheme promises; or 0."""
        if self.interrupted:
            return 130
        if self.failures:
            return self.failures[0].exit_code
        return 0 if all(record.fits[-1].kept for record in self.records) else 3

    def as_dict(self) -> dict[str, Plain]:
        """Everything as plain JSON data, but for where it is kept."""
        plain = as_plain(self)
        assert isinstance(plain, dict)
        del plain["store"]
        return plain

    def _positive(self) -> str:
        """Name the positive class in words; of models that differ in it, by model."""
        found = {row.model: row.positive_label for row in self.table if row.positive_label is not None}
        if len(set(found.values())) > 1:
            return "".join(f", positive class {label} for {model}" for model, label in found.items())
        return f", positive class {next(iter(found.values()))}" if found else ""

    def __str__(self) -> str:
        numeric = ("accuracy", "balanced", "AUC", "tasks", "uncertified", "seconds")
        header = ("model", "solver", *numeric)
        rows = tuple(_cells(row) for row in self.table)
        title = f"{self.data}, protocol {self.protocol}, seed {self.seed}{self._positive()}"
        lines = [str(Table(title, header, rows, frozenset(numeric)))]
        spread = {row.error_over: row for row in self.table if row.error_over}
        for over in spread:
            lines.append(f"Accuracy is the mean and its standard error over {over}.")
        lines += _promised(self.records)
        lines += _left_out(self.records)
        lines += _told(self.failures)
        done, total = sum(row.tasks for row in self.table), sum(row.expected for row in self.table)
        if self.resumed:
            lines.append(f"{self.resumed} of {total} tasks from an earlier run ({self.store})")
        if self.interrupted:
            on = "; the same call with the same store goes on" if self.store else ""
            lines.append(f"Interrupted: {done} of {total} tasks are done{on}.")
        if self.command:
            lines.append(f"The same table: {self.command}")
        return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    used = [name for name in row.solvers if name != row.solver]
    spread = "" if row.standard_error is None else f" ± {row.standard_error:.3f}"
    return (
        row.model,
        f"{row.solver} ({', '.join(used)})" if used else row.solver,
        _number(row.accuracy) + spread,
        _number(row.balanced_accuracy),
        _number(row.auc),
        str(row.tasks) if row.tasks == row.expected else f"{row.tasks} of {row.expected}",
        f"{row.uncertified} of {row.fits}",
        f"{row.seconds:.1f}",
    )


def _told(failures: Sequence[Failure]) -> list[str]:
    """Each failure, those of one model and one reason as one."""
    alike: dict[tuple[str, str], list[Failure]] = {}
    for one in failures:
        alike.setdefault((one.model, one.reason), []).append(one)
    return [str(same[0]) + (f" So did {len(same) - 1} more." if len(same) > 1 else "") for same in alike.values()]


def _promised(records: Sequence[Record]) -> list[str]:
    """How many fits without a certificate are what their scheme promises all the same, model by model."""
    lines = []
    for model in dict.fromkeys(record.model for record in records):
        fits = [fit for record in records if record.model == model for fit in record.fits if not fit.certified]
        if kept := sum(fit.kept for fit in fits):
            lines.append(
                f"{model}: {kept} of the {len(fits)} uncertified fits ended as a cycle, their best iterate kept."
            )
    return lines


def _left_out(records: Sequence[Record]) -> list[str]:
    """How many candidates of grids were left out, model by model, and why the first was."""
    lines = []
    for model in dict.fromkeys(record.model for record in records):
        every = [one for record in records if record.model == model for one in record.candidates]
        if out := [one for one in every if one.reason]:
            first = f"{', '.join(out[0].settings)}: {out[0].reason}"
            lines.append(f"{model}: {len(out)} of {len(every)} candidates were left out; the first, {first}")
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _repeats(records: Iterable[Record], measure: str) -> dict[int, list[float]]:
    """The values of a measure, repeat by repeat, each in the order of the folds."""
    found: dict[int, list[float]] = {}
    for record in sorted(records, key=lambda one: (one.repeat, one.fold)):
        value = getattr(record, measure)
        if value is not None:
            found.setdefault(record.repeat, []).append(value)
    return found


def _mean(records: Sequence[Record], measure: str) -> float | None:
    repeats = _repeats(records, measure)
    return fmean(map(fmean, repeats.values())) if repeats else None


def _spread(records: Sequence[Record]) -> tuple[str, list[float]]:
    """What varies, repeats or folds, and the accuracies of each."""
    repeats = _repeats(records, "accuracy")
    if len(repeats) > 1:
        return "repeats", [fmean(folds) for folds in repeats.values()]
    folds = next(iter(repeats.values()), [])
    return ("folds", folds) if len(folds) > 1 else ("", folds)
