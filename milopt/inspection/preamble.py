"""What opens a written file: comments that say which program it is, and the refusal of what a format cannot say."""

from __future__ import annotations

from milopt.compilation.standard_form import StandardForm
from milopt.errors import UnsupportedError


def preamble(form: StandardForm, mark: str, *, columns: int, rows: int) -> list[str]:
    """Return comment lines, each opened by the format's comment `mark`, with the numbers of columns and rows."""
    name = one_line(form.name) or "program"
    lines = [f"{mark} {name}: {columns} columns, {rows} rows"]
    if form.maximize:
        lines.append(f"{mark} declared as a maximisation: this file minimises the negative of its objective")
    lines += [f"{mark} {one_line(note) if note.strip() == note else note}" for note in form.notes]
    return lines


def refuse_cones(form: StandardForm, format_name: str) -> None:
    """Raise an error if rows lie in cones that are not polyhedral: LP and MPS files have none in common."""
    for block in form.conic:
        raise UnsupportedError(
            f"{format_name} files hold linear rows only, and {block.name!r} has {block.cone.words}s; "
            "write a CBF file instead."
        )


def one_line(text: str) -> str:
    """The text with every run of white space made one blank, safe inside a comment line."""
    return " ".join(text.split())
