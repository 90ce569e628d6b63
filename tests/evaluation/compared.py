"""What two runs of the same evaluation must have in common: everything but seconds, processes and dates."""

from __future__ import annotations

from dataclasses import replace

from milopt.evaluation.record import Record
from milopt.evaluation.summary import Evaluation, Row


def numbers(evaluation: Evaluation) -> tuple[list[Row], list[Record]]:
    """The table and the records of an evaluation without what may differ; floats are compared to the last bit."""
    rows = [replace(row, seconds=0.0) for row in evaluation.table]
    records = [replace(record, seconds=0.0, pid=0, finished="") for record in evaluation.records]
    return rows, records
