"""Comparison of two runs of the same evaluation: everything must be equal except seconds, processes and dates."""

from __future__ import annotations

from dataclasses import replace

from milopt.evaluation.record import Record
from milopt.evaluation.summary import EvaluationReport, ModelSummary


def numbers(evaluation: EvaluationReport) -> tuple[list[ModelSummary], list[Record]]:
    """Return the table and the records of an evaluation without seconds, processes and dates."""
    rows = [replace(row, seconds=0.0) for row in evaluation.table]
    records = [replace(record, seconds=0.0, pid=0, finished="") for record in evaluation.records]
    return rows, records
