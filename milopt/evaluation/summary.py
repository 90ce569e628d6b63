"""Report of an evaluation: one row per model, the records of all tasks, and the command that reproduces it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from milopt.evaluation.record import Failure, Label, Plain, Record, as_plain
from milopt.html import notes, view
from milopt.table import Table, to_data_frame

if TYPE_CHECKING:
    import pandas

EXACT_DECIMALS = 9
"""Number of decimal places of means that are not rounding errors; means are rounded to it before they are ranked."""
NUMERIC_COLUMNS = ("accuracy", "balanced", "AUC", "tasks", "uncertified", "seconds")
"""Headers of the columns with numbers in the table of an evaluation."""


@dataclass(frozen=True)
class ModelSummary:
    """Results of one model. Measures are means over the folds of each repeat, then over the repeats."""

    model: str
    solver: str
    """Solver as given by the user; `solvers` are those that ran."""
    solvers: tuple[str, ...]
    protocol: str
    accuracy: float | None
    """Mean accuracy; None if no task finished."""
    standard_error: float | None
    """Standard error s / sqrt(n) of the accuracy over n repeats, or over the n folds of one repeat; None if n < 2."""
    error_over: str
    """Unit over which the standard error is computed: "repeats", "folds", or "" if there is no standard error."""
    balanced_accuracy: float | None
    auc: float | None
    seconds: float
    """Total time of all tasks, including tasks of earlier runs."""
    tasks: int
    expected: int
    """Number of tasks of the protocol; larger than `tasks` if some failed or the run was interrupted."""
    fits: int
    uncertified: int
    """Number of fits without a certificate."""
    positive_label: Label | None = None
    """Positive class; None for more than two classes, or if candidates of the grid have different ones."""

    @classmethod
    def from_records(
        cls,
        model: str,
        solver: str,
        protocol: str,
        records: Sequence[Record],
        expected: int,
        positive_label: Label | None = None,
    ) -> ModelSummary:
        """Summarise the finished tasks of a model."""
        over, values = _accuracies_by_repeat_or_fold(records)
        fits = [fit for record in records for fit in record.fits]
        return cls(
            model=model,
            solver=solver,
            solvers=tuple(sorted({fit.solver for fit in fits})),
            protocol=protocol,
            accuracy=_mean_over_repeats(records, "accuracy"),
            standard_error=stdev(values) / math.sqrt(len(values)) if over else None,
            error_over=over,
            balanced_accuracy=_mean_over_repeats(records, "balanced_accuracy"),
            auc=_mean_over_repeats(records, "auc"),
            seconds=math.fsum(record.seconds for record in records),
            tasks=len(records),
            expected=expected,
            fits=len(fits),
            uncertified=sum(not fit.is_certified for fit in fits),
            positive_label=positive_label,
        )


@dataclass(frozen=True)
class EvaluationReport:
    """Results of an evaluation: one row per model, and the records of all tasks.

    Returned by `milopt.evaluate`. `print` shows it as a table, `to_frame` returns the table as a data frame, and
    `as_dict` returns JSON data.
    """

    data: str
    digest: str
    protocol: str
    seed: int
    table: list[ModelSummary]
    records: tuple[Record, ...] = field(repr=False)
    failures: tuple[Failure, ...]
    command: str
    """Command line that reproduces the table; empty if only Python can express it, as for bags made in Python."""
    interrupted: bool
    resumed: int
    """Number of tasks that were finished in an earlier run."""
    store: str
    """Directory of the stored tasks; empty if nothing is stored."""
    seconds: float
    """Duration of this run."""
    version: str

    @property
    def exit_code(self) -> int:
        """Exit code: 130 after Ctrl-C; else that of the first failure; else 3 if the last fit of a task failed; else 0.

        The last fit of a task fails if its point is neither certified nor the feasible best iterate of a cycle.
        """
        if self.interrupted:
            return 130
        if self.failures:
            return self.failures[0].exit_code
        return 0 if all(record.fits[-1].is_successful for record in self.records) else 3

    def as_dict(self) -> dict[str, Plain]:
        """Return the report as JSON data, without the directory of the store."""
        plain = as_plain(self)
        assert isinstance(plain, dict)
        del plain["store"]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> EvaluationReport:
        """Return the report for JSON data of `as_dict`."""
        values = {field.name: plain[field.name] for field in fields(cls) if field.name != "store"}
        values["table"] = [ModelSummary(**{**row, "solvers": tuple(row["solvers"])}) for row in plain["table"]]
        values["records"] = tuple(map(Record.from_dict, plain["records"]))
        values["failures"] = tuple(Failure(**failure) for failure in plain["failures"])
        return cls(**values, store="")

    def _positive_class_text(self) -> str:
        """Return ", positive class L", once per model if the models have different ones; "" if there is none."""
        labels = {row.model: row.positive_label for row in self.table if row.positive_label is not None}
        if len(set(labels.values())) > 1:
            return "".join(f", positive class {label} for {model}" for model, label in labels.items())
        return f", positive class {next(iter(labels.values()))}" if labels else ""

    def rows(self) -> list[dict[str, object]]:
        """Return one row per model, with numbers that are not rounded."""
        hidden = ("solvers", "error_over")
        return [
            {"data": self.data, **{name: value for name, value in vars(row).items() if name not in hidden}}
            for row in self.table
        ]

    def to_frame(self) -> pandas.DataFrame:
        """Return one row per model as a data frame of pandas, with numbers that are not rounded."""
        return to_data_frame(self.rows())

    def summary_table(self) -> Table:
        """Return the results as a table, one row per model."""
        rows = tuple(_format_cells(row) for row in self.table)
        title = f"{self.data}, protocol {self.protocol}, seed {self.seed}{self._positive_class_text()}"
        return Table(title, ("model", "solver", *NUMERIC_COLUMNS), rows, frozenset(NUMERIC_COLUMNS))

    def remarks(self) -> list[str]:
        """Return the remarks below the table: standard errors, cycles, rejected candidates, failures, the command."""
        command = [f"The same table: {self.command}"] if self.command else []
        return [*self.findings(), *resumed_lines([self]), *command]

    def findings(self) -> list[str]:
        """Return the remarks below the table, without the number of resumed tasks and the command."""
        lines = []
        spread = {row.error_over: row for row in self.table if row.error_over}
        for over in spread:
            lines.append(f"Accuracy is the mean and its standard error over {over}.")
        lines += _cycled_fit_lines(self.records)
        lines += _rejected_candidate_lines(self.records)
        lines += _failure_lines(self.failures)
        done, total = sum(row.tasks for row in self.table), sum(row.expected for row in self.table)
        if self.interrupted:
            resume = "; run it again with the same store to resume" if self.store else ""
            lines.append(f"Interrupted: {done} of {total} tasks are done{resume}.")
        return lines

    def __str__(self) -> str:
        """Format the report as a table, followed by remarks."""
        return "\n".join([str(self.summary_table()), *self.remarks()])

    def __repr__(self) -> str:
        """Return data, protocol and the accuracy of each model in one line."""
        accuracies = ", ".join(f"{row.model} {_format_number(row.accuracy)}" for row in self.table)
        return f"EvaluationReport({self.data}, protocol {self.protocol}, accuracy: {accuracies})"

    def _repr_html_(self) -> str:
        """Return the table and the remarks for a notebook."""
        return view(self.summary_table().html(), notes(self.remarks()))


def resumed_lines(reports: Sequence[EvaluationReport]) -> list[str]:
    """Return a line with the number of tasks from an earlier run, or nothing if there are none."""
    resumed = sum(report.resumed for report in reports)
    total = sum(row.expected for report in reports for row in report.table)
    source = f" ({reports[0].store})" if reports and reports[0].store else ""
    return [f"{resumed} of {total} tasks from an earlier run{source}"] if resumed else []


def join_tables(reports: Sequence[EvaluationReport]) -> Table:
    """Return the tables of several data sets as one, with a column for the data set."""
    first = reports[0]
    rows = tuple((report.data, *_format_cells(row)) for report in reports for row in report.table)
    title = f"{len(reports)} data sets, protocol {first.protocol}, seed {first.seed}"
    return Table(title, ("data", "model", "solver", *NUMERIC_COLUMNS), rows, frozenset(NUMERIC_COLUMNS))


def _format_cells(row: ModelSummary) -> tuple[str, ...]:
    """Return the cells of one row of the table."""
    used = [name for name in row.solvers if name != row.solver]
    return (
        row.model,
        f"{row.solver} ({', '.join(used)})" if used else row.solver,
        format_accuracy(row),
        _format_number(row.balanced_accuracy),
        _format_number(row.auc),
        str(row.tasks) if row.tasks == row.expected else f"{row.tasks} of {row.expected}",
        f"{row.uncertified} of {row.fits}",
        f"{row.seconds:.1f}",
    )


def format_accuracy(row: ModelSummary) -> str:
    """Return the mean accuracy and its standard error as text; "-" if no task finished."""
    spread = "" if row.standard_error is None else f" ± {row.standard_error:.3f}"
    return _format_number(row.accuracy) + spread


def _failure_lines(failures: Sequence[Failure]) -> list[str]:
    """Return one line per model and reason of failure, with the number of tasks."""
    alike: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        alike.setdefault((failure.model, failure.reason), []).append(failure)
    return [
        str(same[0]) + (f" {len(same) - 1} more failed for the same reason." if len(same) > 1 else "")
        for same in alike.values()
    ]


def _cycled_fit_lines(records: Sequence[Record]) -> list[str]:
    """Return one line per model with fits that ended in a cycle; these are successful, but have no certificate."""
    lines = []
    for model in dict.fromkeys(record.model for record in records):
        fits = [fit for record in records if record.model == model for fit in record.fits if not fit.is_certified]
        if cycles := sum(fit.is_successful for fit in fits):
            lines.append(
                f"{model}: {cycles} of the {len(fits)} uncertified fits ended in a cycle; their best iterate was used."
            )
    return lines


def _rejected_candidate_lines(records: Sequence[Record]) -> list[str]:
    """Return one line per model with rejected candidates, with the reason of the first one."""
    lines = []
    for model in dict.fromkeys(record.model for record in records):
        candidates = [each for record in records if record.model == model for each in record.candidates]
        if rejected := [candidate for candidate in candidates if candidate.reason]:
            first = f"{', '.join(rejected[0].settings)}: {rejected[0].reason}"
            lines.append(f"{model}: {len(rejected)} of {len(candidates)} candidates were rejected; the first, {first}")
    return lines


def _format_number(value: float | None) -> str:
    """Format a number, or return "-" for None; rounding errors of its last digits do not count, as in rankings."""
    return "-" if value is None else f"{round(value, EXACT_DECIMALS):.3f}"


def _values_by_repeat(records: Iterable[Record], measure: str) -> dict[int, list[float]]:
    """Return the values of a measure by repeat, each in the order of the folds."""
    values: dict[int, list[float]] = {}
    for record in sorted(records, key=lambda record: (record.repeat, record.fold)):
        value = getattr(record, measure)
        if value is not None:
            values.setdefault(record.repeat, []).append(value)
    return values


def _mean_over_repeats(records: Sequence[Record], measure: str) -> float | None:
    """Return the mean of a measure over the folds of each repeat, then over the repeats; None without values."""
    repeats = _values_by_repeat(records, measure)
    return fmean(map(fmean, repeats.values())) if repeats else None


def _accuracies_by_repeat_or_fold(records: Sequence[Record]) -> tuple[str, list[float]]:
    """Return "repeats" and the mean accuracy of each repeat, or, for a single repeat, "folds" and those of its folds.

    The first value is empty if there are fewer than two accuracies.
    """
    repeats = _values_by_repeat(records, "accuracy")
    if len(repeats) > 1:
        return "repeats", [fmean(folds) for folds in repeats.values()]
    folds = next(iter(repeats.values()), [])
    return ("folds", folds) if len(folds) > 1 else ("", folds)
