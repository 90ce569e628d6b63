"""Tables of a comparison for notebooks and reports: all cells, and the agreement of the solvers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from milopt.comparison.agreement import Agreement
from milopt.comparison.cell import ComparisonCell
from milopt.comparison.layout import ACCURACY_COLUMN, OPTIMUM_COLUMNS, format_count, refusal_label, short_name
from milopt.table import Table

_SIZE_HEADER = ("formulation", "solver", "kind", "rows", "columns")
_RESULT_COLUMNS = (*OPTIMUM_COLUMNS, ACCURACY_COLUMN)
_NUMERIC_COLUMNS = frozenset({"rows", "columns", *(column.head for column in _RESULT_COLUMNS if column.right)})


def cells_table(title: str, cells: Sequence[ComparisonCell]) -> Table:
    """Return all cells as a table, with the number of a note (`cell_notes`) if a cell was not run or failed."""
    header = (*_SIZE_HEADER, *(column.head for column in _RESULT_COLUMNS), "note")
    numbers = _number_reasons(cells)
    return Table(title, header, tuple(_cell_row(cell, numbers) for cell in cells), _NUMERIC_COLUMNS)


def cell_notes(cells: Sequence[ComparisonCell]) -> list[str]:
    """Return the numbered reasons why cells were not run or failed, and the meaning of the certificate."""
    texts = [f"[{number}] {reason}" for reason, number in _number_reasons(cells).items()]
    if any(cell.certificate is not None for cell in cells):
        texts.append("certificate: largest of the primal, dual and gap residuals, computed by milopt")
    return texts


def agreement_table(agreements: Sequence[Agreement]) -> Table:
    """Return a table that states for each formulation whether its solvers agree."""
    rows = tuple((short_name(agreement.model), str(agreement)) for agreement in agreements)
    return Table("Agreement of the solvers", ("formulation", "agreement"), rows)


def _number_reasons(cells: Sequence[ComparisonCell]) -> dict[str, int]:
    """Return a number for each different reason, from 1."""
    reasons = dict.fromkeys(cell.reason for cell in cells if cell.reason)
    return {reason: k for k, reason in enumerate(reasons, 1)}


def _cell_row(cell: ComparisonCell, numbers: Mapping[str, int]) -> tuple[str, ...]:
    """Return the row of one cell; `numbers` are those of the reasons."""
    sizes = (short_name(cell.model), cell.solver, cell.sizes.kind, format_count(cell.sizes.rows))
    if cell.is_not_run:
        results = [refusal_label(cell) if column.head == "status" else "" for column in _RESULT_COLUMNS]
    else:
        results = [column.text(cell) for column in _RESULT_COLUMNS]
        if cell.accuracy is None:
            results[-1] = ""
    note = f"[{numbers[cell.reason]}]" if cell.reason else ""
    return (*sizes, cell.sizes.columns_text, *results, note)
