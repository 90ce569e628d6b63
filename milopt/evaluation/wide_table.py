"""Table of accuracies as papers print it: one row per data set, one column per model, and the best in bold."""

from __future__ import annotations

from collections.abc import Sequence

from milopt.evaluation.summary import EXACT_DECIMALS, EvaluationReport, ModelSummary, format_accuracy
from milopt.table import Table

BOLD_NOTE = "The best accuracy on each data set is in bold (in text: marked by *)."
"""Note below the table."""


def wide_table(reports: Sequence[EvaluationReport]) -> Table:
    """Return the mean accuracies and their standard errors, with the best of each row in bold.

    Accuracies that are equal up to rounding errors are all in bold.
    """
    models = _models(reports)
    rows, bold = [], set()
    for number, report in enumerate(reports):
        by_model = {row.model: row for row in report.table}
        rows.append((report.data, *(format_accuracy(by_model[name]) if name in by_model else "-" for name in models)))
        bold |= {(number, name) for name in _best_models(report.table)}
    first = reports[0]
    title = (
        f"accuracy on {len(reports)} data set{'s' * (len(reports) > 1)}, protocol {first.protocol}, seed {first.seed}"
    )
    return Table(title, ("data", *models), tuple(rows), frozenset(models), frozenset(bold))


def wide_rows(reports: Sequence[EvaluationReport]) -> list[dict[str, object]]:
    """Return one row per data set with numbers that are not rounded: mean accuracy and standard error by model."""
    rows = []
    for report in reports:
        row: dict[str, object] = {"data": report.data}
        by_model = {each.model: each for each in report.table}
        for name in _models(reports):
            summary = by_model.get(name)
            row[name] = None if summary is None else summary.accuracy
            row[f"{name} standard error"] = None if summary is None else summary.standard_error
        rows.append(row)
    return rows


def _models(reports: Sequence[EvaluationReport]) -> list[str]:
    """Return the names of all models, in the order of the reports."""
    return list(dict.fromkeys(row.model for report in reports for row in report.table))


def _best_models(summaries: Sequence[ModelSummary]) -> list[str]:
    """Return the names of the models with the largest accuracy, which is rounded as in rankings."""
    known = {row.model: round(row.accuracy, EXACT_DECIMALS) for row in summaries if row.accuracy is not None}
    return [name for name, accuracy in known.items() if accuracy == max(known.values())]
