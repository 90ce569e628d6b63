r"""One line of a program in LaTeX, and an `aligned` environment of such lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class LatexLine:
    r"""One line of the program: `\min ...`, a constraint block, a bound, or the definition of a symbol.

    `head` is `\min`, `\max`, `\mathrm{s.t.}` or empty, `where` the range of the index or another remark, and `name` the
    name of the constraint.
    """

    head: str
    body: str
    where: str = ""
    name: str = ""

    def __str__(self) -> str:
        parts = (self.head, self.body + ("," if self.where else ""), self.where, self.name and f"({self.name})")
        return r" \quad ".join(part for part in parts if part)


def align_lines(lines: Iterable[LatexLine]) -> str:
    """Return lines as an `aligned` environment."""
    rows = []
    for line in lines:
        name = f"({line.name})" if line.name else ""
        cells = [line.head + r" \quad" if line.head else "", line.body, "", line.where, "", name]
        while cells and not cells[-1]:
            cells.pop()
        rows.append(" & ".join(cells).replace(" &  & ", " && "))
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"
