"""A comparison as lines of text, each of which can be printed as soon as its cell is there.

Where there is room, one table with a line a cell; on a narrow page a heading a formulation, and its solvers below it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from milopt.comparison.agreement import Agreement
from milopt.comparison.cell import Cell


@dataclass(frozen=True)
class Column:
    """A heading, a width, and what stands there."""

    head: str
    width: int
    text: Callable[[Cell], str]
    right: bool = True

    def aligned(self, text: str) -> str:
        """Text in the column's width."""
        return text.rjust(self.width) if self.right else text.ljust(self.width)


GAP = "  "
UNPROVED = "!"


class Layout:
    """Fixed widths for the names that will come; `width` is the page's."""

    def __init__(
        self, models: Sequence[str], solvers: Sequence[str], width: int = 120, answer: Sequence[Column] | None = None
    ) -> None:
        self.width = width
        name = max(len("formulation"), *(len(_short(model)) for model in models))
        solver = Column("solver", max(len("solver"), *map(len, solvers)), lambda cell: cell.solver, right=False)
        formulation = [
            Column("formulation", name, lambda cell: _short(cell.model), right=False),
            Column("kind", 7, lambda cell: cell.sizes.kind, right=False),
            Column("rows", 6, lambda cell: _count(cell.sizes.rows)),
            Column("columns", 8, lambda cell: cell.sizes.width),
        ]
        self._answer = [*OPTIMUM, ACCURACY] if answer is None else list(answer)
        self._left = [formulation[0], solver, *formulation[1:]]
        self.is_wide = len(GAP.join(" " * column.width for column in (*self._left, *self._answer))) <= width
        if not self.is_wide:
            self._left = [solver]
        self._last = ""

    def header(self) -> list[str]:
        """The columns' names."""
        line = GAP.join(column.aligned(column.head) for column in (*self._left, *self._answer))
        return [self._indent + line.rstrip()]

    def row(self, cell: Cell) -> list[str]:
        """A cell's line, the reason below it or instead of it, and before the first on a narrow page a heading."""
        lines = []
        if not self.is_wide and cell.model != self._last:
            sizes = f"{cell.sizes.kind}, {_count(cell.sizes.rows)} rows, {cell.sizes.width} columns"
            lines.append(f"{_short(cell.model)}: {sizes}")
        self._last = cell.model
        left = self._indent + GAP.join(column.aligned(column.text(cell)) for column in self._left)
        if cell.refused:
            return lines + self._wrapped(left + GAP, f"cannot: {cell.reason}")
        right = GAP.join(column.aligned(column.text(cell)) for column in self._answer)
        lines.append((left + GAP + right).rstrip())
        return lines + (self._wrapped(" " * len(left) + GAP, cell.reason) if cell.reason else [])

    def verdict(self, agreement: Agreement) -> list[str]:
        """Whether the solvers of a formulation agree."""
        begin = GAP.join([self._left[0].aligned(_short(agreement.model)), ""]) if self.is_wide else self._indent
        return self._wrapped(begin + "= ", str(agreement))

    def remarks(self, cells: Sequence[Cell]) -> list[str]:
        """What the signs in the table mean, where they occur."""
        said = []
        if any(cell.sizes.kind == "SILP" for cell in cells):
            said.append("SILP: a semi-infinite linear program, before any of its columns are generated")
        if any(cell.sizes.evaluations for cell in cells):
            said.append("a+b columns: a of variables, and at most b coordinates of functions")
        if any(cell.certificate is not None and not cell.kept for cell in cells):
            said.append(f"{UNPROVED}: the certificate does not hold")
        return said

    @property
    def _indent(self) -> str:
        return "" if self.is_wide else "  "

    def _wrapped(self, begin: str, text: str) -> list[str]:
        room = max(20, self.width - len(begin))
        first, *rest = textwrap.wrap(text, room, break_long_words=False) or [""]
        return [begin + first, *(" " * len(begin) + line for line in rest)]


def _short(model: str) -> str:
    """A registered name, or the class of a person's own file."""
    name, opening, fields = model.partition(" (")
    return name.rpartition(":")[2] + opening + fields


def _proof(cell: Cell) -> str:
    if cell.certificate is None:
        return "none"
    return f"{cell.certificate.worst:.1e}{'' if cell.kept else ' ' + UNPROVED}"


def _count(number: int | None) -> str:
    return "?" if number is None else str(number)


def _number(number: float | None, form: str) -> str:
    return "-" if number is None else format(number, form)


OPTIMUM = (
    Column("objective", 11, lambda cell: _number(cell.objective, ".8g")),
    Column("status", 10, lambda cell: cell.termination or "failed", right=False),
    Column("certificate", 11, _proof),
    Column("iter.", 6, lambda cell: _count(cell.iterations)),
    Column("seconds", 7, lambda cell: _number(cell.seconds, ".2f")),
)
"""What a solver found."""
ACCURACY = Column("accuracy", 8, lambda cell: _number(cell.accuracy, ".3f"))
