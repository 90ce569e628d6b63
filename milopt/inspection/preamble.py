"""Comment lines at the start of written files, and the check that a format supports the cones of a program."""

from __future__ import annotations

from milopt.compilation.standard_form import StandardForm
from milopt.errors import UnsupportedError


def preamble_lines(form: StandardForm, mark: str, *, columns: int, rows: int) -> list[str]:
    """Return comment lines that start with `mark`: name, numbers of columns and rows, and notes of the program."""
    name = as_one_line(form.name) or "program"
    lines = [f"{mark} {name}: {columns} columns, {rows} rows"]
    if form.maximize:
        lines.append(f"{mark} declared as a maximisation: this file minimises the negative of its objective")
    lines += [f"{mark} {as_one_line(note) if note.strip() == note else note}" for note in form.notes]
    return lines


def check_no_cones(form: StandardForm, format_name: str) -> None:
    """Raise an error if rows lie in cones that are not polyhedral; `format_name` is the format, LP or MPS."""
    for block in form.conic_blocks:
        raise UnsupportedError(
            f"{format_name} files only support linear rows, and {block.name!r} has {block.cone.display_name}s; "
            "write a CBF file instead."
        )


def as_one_line(text: str) -> str:
    """Return the text with each run of white space replaced by one blank, for use in a comment line."""
    return " ".join(text.split())
