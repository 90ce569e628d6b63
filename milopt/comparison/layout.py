"""A comparison as lines of text, each of which can be printed as soon as its cell (model and solver) is finished.

On a wide page, the table has one line per cell. On a narrow page, every formulation (model) is a heading above its
solvers. Reasons why a cell was not run or failed are numbered notes below the table.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from milopt.comparison.agreement import Agreement
from milopt.comparison.cell import ComparisonCell


@dataclass(frozen=True)
class TableColumn:
    """Heading, width and content of one column."""

    head: str
    width: int
    text: Callable[[ComparisonCell], str]
    right: bool = True
    """True if the text is aligned to the right."""

    def align(self, text: str) -> str:
        """Pad a text to the width of the column."""
        return text.rjust(self.width) if self.right else text.ljust(self.width)


COLUMN_GAP = "  "
UNCERTIFIED_MARK = "!"


class ComparisonLayout:
    """Formatter of a table, row by row; it also collects and numbers the notes.

    Parameters
    ----------
    models, solvers : sequence of str
        Names of all models and solvers that will occur, for the widths of the columns.
    width : int, default 120
        Number of characters per line.
    answer : sequence of TableColumn, optional
        Columns for the results of a solver; by default optimum and accuracy.
    """

    def __init__(
        self,
        models: Sequence[str],
        solvers: Sequence[str],
        width: int = 120,
        answer: Sequence[TableColumn] | None = None,
    ) -> None:
        self.width = width
        name_width = max(len("formulation"), *(len(short_name(model)) for model in models))
        solver_width = max(len("solver"), *map(len, solvers))
        solver = TableColumn("solver", solver_width, lambda cell: cell.solver, right=False)
        self._left = [
            TableColumn("formulation", name_width, lambda cell: short_name(cell.model), right=False),
            solver,
            TableColumn("kind", 7, lambda cell: cell.sizes.kind, right=False),
            TableColumn("rows", 6, lambda cell: format_count(cell.sizes.rows)),
            TableColumn("columns", 8, lambda cell: cell.sizes.columns_text),
        ]
        self._answer = [*OPTIMUM_COLUMNS, ACCURACY_COLUMN] if answer is None else list(answer)
        self.is_wide = len(COLUMN_GAP.join(" " * column.width for column in (*self._left, *self._answer))) <= width
        if not self.is_wide:
            self._left = [solver]
        self._last_model = ""
        self._notes: dict[str, int] = {}

    def header(self) -> list[str]:
        """Return a list of one line, the headings of the columns."""
        line = COLUMN_GAP.join(column.align(column.head) for column in (*self._left, *self._answer))
        return [self._indent + line.rstrip()]

    def row(self, cell: ComparisonCell) -> list[str]:
        """Return the line of a cell; on a narrow page, the heading of a new formulation comes before it.

        Cells must be given in the order of the table.
        """
        lines = []
        if not self.is_wide and cell.model != self._last_model:
            sizes = f"{cell.sizes.kind}, {format_count(cell.sizes.rows)} rows, {cell.sizes.columns_text} columns"
            lines.append(f"{short_name(cell.model)}: {sizes}")
        self._last_model = cell.model
        left = self._indent + COLUMN_GAP.join(column.align(column.text(cell)) for column in self._left)
        if cell.is_not_run:
            return [*lines, f"{left}{COLUMN_GAP}{refusal_label(cell)} {self._footnote_number(cell)}"]
        texts = [column.text(cell) for column in self._answer]
        if cell.reason:
            # In the row of a failed cell, the last column shows the number of the note with the reason.
            texts[-1] = self._footnote_number(cell)
        right = COLUMN_GAP.join(column.align(text) for column, text in zip(self._answer, texts, strict=True))
        return [*lines, (left + COLUMN_GAP + right).rstrip()]

    def summary(self, agreement: Agreement) -> list[str]:
        """Return the text that states whether the solvers of a formulation agree, in one or more lines."""
        begin = (
            COLUMN_GAP.join([self._left[0].align(short_name(agreement.model)), ""]) if self.is_wide else self._indent
        )
        return self._wrap(begin + "= ", str(agreement))

    def notes(self, cells: Sequence[ComparisonCell]) -> list[str]:
        """Return the numbered notes, and the explanations of the signs that occur in the table."""
        lines = [line for text, number in self._notes.items() for line in self._wrap_note(f"[{number}] ", text)]
        if any(cell.sizes.kind == "SILP" for cell in cells):
            lines += self._wrap("", "SILP: semi-infinite linear program; its size is that before column generation")
        if any(cell.sizes.evaluations for cell in cells):
            lines += self._wrap("", "columns a+b: a variables, and functions that are evaluated at b points")
        if any(cell.certificate is not None for cell in cells):
            lines += self._wrap("", "certificate: largest of the primal, dual and gap residuals, computed by milopt")
        if any(cell.certificate is not None and not cell.is_acceptable for cell in cells):
            lines.append(f"{UNCERTIFIED_MARK}: the certificate does not hold")
        return lines

    @property
    def _indent(self) -> str:
        return "" if self.is_wide else "  "

    def _footnote_number(self, cell: ComparisonCell) -> str:
        """Return the number of the note with the reason of a cell, such as "[1]"; equal notes share a number."""
        starts_with_solver = cell.reason.startswith(f"{cell.solver} ")
        text = cell.reason if cell.skipped or starts_with_solver else f"{cell.solver}: {cell.reason}"
        return f"[{self._notes.setdefault(text, len(self._notes) + 1)}]"

    def _wrap_note(self, begin: str, text: str) -> list[str]:
        """Return the lines of a note: one line, cut if it is too long; on a narrow page, as many as needed."""
        if not self.is_wide or len(begin) + len(text) <= self.width:
            return self._wrap(begin, text)
        room = self.width - len(begin) - len(" ...")
        clause = text.rfind("; ", 0, room)
        if clause > room // 2:
            return [f"{begin}{text[:clause]} ..."]
        return [begin + textwrap.shorten(text, room + len(" ..."), placeholder=" ...")]

    def _wrap(self, begin: str, text: str) -> list[str]:
        """Break a text into lines after `begin`; the following lines are indented by its length."""
        room = max(20, self.width - len(begin))
        first, *rest = textwrap.wrap(text, room, break_long_words=False) or [""]
        return [begin + first, *(" " * len(begin) + line for line in rest)]


def short_name(model: str) -> str:
    """Return a model name without the path of a file, with the settings in parentheses if there are any."""
    name, opening, fields = model.partition(" (")
    return name.rpartition(":")[2] + opening + fields


def refusal_label(cell: ComparisonCell) -> str:
    """Return the text in the row of a cell that was not run."""
    if cell.skipped:
        return "skipped"
    return "not installed" if cell.reason.startswith("not installed") else "not supported"


def _format_certificate(cell: ComparisonCell) -> str:
    if cell.certificate is None:
        return "none"
    return f"{cell.certificate.worst:.1e}{'' if cell.is_acceptable else ' ' + UNCERTIFIED_MARK}"


def format_count(number: int | None) -> str:
    """Return a number as text, or "?" for None."""
    return "?" if number is None else str(number)


def _format_number(number: float | None, spec: str) -> str:
    return "-" if number is None else format(number, spec)


OPTIMUM_COLUMNS = (
    TableColumn("objective", 11, lambda cell: _format_number(cell.objective, ".8g")),
    TableColumn("status", 10, lambda cell: cell.termination or "failed", right=False),
    TableColumn("certificate", 11, _format_certificate),
    TableColumn("iter.", 6, lambda cell: format_count(cell.iterations)),
    TableColumn("seconds", 7, lambda cell: _format_number(cell.seconds, ".2f")),
)
"""Columns with the optimum that a solver found."""
ACCURACY_COLUMN = TableColumn("accuracy", 8, lambda cell: _format_number(cell.accuracy, ".3f"))
