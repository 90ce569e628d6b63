"""Evaluations of the same models on several data sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, overload

from milopt.evaluation.record import Plain
from milopt.evaluation.summary import EvaluationReport, join_tables, resumed_lines
from milopt.evaluation.wide_table import wide_rows, wide_table
from milopt.html import notes, view
from milopt.table import Table, to_data_frame

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False)
class Evaluations(Sequence[EvaluationReport]):
    """Evaluations of the same models on several data sets, one report per data set.

    Returned by `milopt.evaluate` for a list of data sets. It is a sequence of `EvaluationReport`, which `milopt.rank`
    accepts. `print` shows one table, `to_frame` returns it as a data frame, and `as_dict` returns JSON data.
    `accuracy_table` returns a table for a paper: data sets by models, with the best accuracies in bold.

    Parameters
    ----------
    reports : tuple of EvaluationReport
        One report per data set on which the evaluation was started.
    command : str
        Command line that reproduces the table; empty if only Python can express it.
    expected : int
        Number of data sets; larger than the number of reports if Ctrl-C ended the evaluation.
    """

    reports: tuple[EvaluationReport, ...]
    command: str
    expected: int

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the evaluation."""
        return len(self.reports) < self.expected or any(report.interrupted for report in self.reports)

    @property
    def exit_code(self) -> int:
        """Exit code: 130 after Ctrl-C, else that of the first report that has another one than 0, else 0."""
        if self.interrupted:
            return 130
        return next((report.exit_code for report in self.reports if report.exit_code), 0)

    @overload
    def __getitem__(self, index: int) -> EvaluationReport: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[EvaluationReport]: ...
    def __getitem__(self, index: int | slice) -> EvaluationReport | Sequence[EvaluationReport]:
        return self.reports[index]

    def __len__(self) -> int:
        return len(self.reports)

    def __iter__(self) -> Iterator[EvaluationReport]:
        return iter(self.reports)

    def with_command(self, command: str) -> Evaluations:
        """Return the evaluations with another command line that reproduces them."""
        return replace(self, command=command)

    def as_dict(self) -> dict[str, Plain]:
        """Return the evaluations as JSON data, as `milopt rank` reads them."""
        return {"evaluations": [report.as_dict() for report in self.reports], "command": self.command}

    def rows(self) -> list[dict[str, object]]:
        """Return one row per data set and model, with numbers that are not rounded."""
        return [row for report in self.reports for row in report.rows()]

    def to_frame(self) -> pandas.DataFrame:
        """Return one row per data set and model as a data frame of pandas, with numbers that are not rounded."""
        return to_data_frame(self.rows())

    def summary_table(self) -> Table:
        """Return the results as a table, one row per data set and model."""
        return join_tables(self.reports)

    def accuracy_table(self) -> Table:
        """Return the accuracies as a paper prints them: data sets by models, with the best in bold.

        Returns
        -------
        Table
            Means with standard errors, one row per data set and one column per model. Its methods `latex()` and
            `markdown()` return it in these formats, and `print` shows it as text.
        """
        return wide_table(self.reports)

    def accuracy_rows(self) -> list[dict[str, object]]:
        """Return one row per data set: accuracy and standard error of each model, with numbers that are not rounded."""
        return wide_rows(self.reports)

    def accuracy_frame(self) -> pandas.DataFrame:
        """Return one row per data set as a data frame of pandas: accuracy and standard error of each model.

        Returns
        -------
        pandas.DataFrame
            For each model, a column with its name and a column with its name and "standard error". The numbers are not
            rounded.
        """
        return to_data_frame(self.accuracy_rows())

    def remarks(self) -> list[str]:
        """Return the remarks below the table, and the command that reproduces it."""
        remarks = [(report, line) for report in self.reports for line in report.findings()]
        shared = [line for line in dict.fromkeys(line for _, line in remarks) if self._is_shared(line)]
        lines = [*shared, *(f"{report.data}: {line}" for report, line in remarks if line not in shared)]
        if self.interrupted:
            lines.append(f"Interrupted: {len(self.reports)} of {self.expected} data sets were started.")
        command = [f"The same table: {self.command}"] if self.command else []
        return [*lines, *resumed_lines(self.reports), *command]

    def _is_shared(self, remark: str) -> bool:
        """Return True if a remark holds for all data sets."""
        return all(remark in report.findings() for report in self.reports)

    def __str__(self) -> str:
        """Format the evaluations as one table, followed by remarks."""
        return "\n".join([str(self.summary_table()), *self.remarks()])

    def __repr__(self) -> str:
        """Return the names of the data sets in one line."""
        return f"Evaluations({', '.join(report.data for report in self.reports)})"

    def _repr_html_(self) -> str:
        """Return the table and the remarks for a notebook."""
        return view(self.summary_table().html(), notes(self.remarks()))
