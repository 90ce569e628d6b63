"""Constraints with infinite sides: a row such as `x <= inf` is absent, one such as `x >= inf` is an error."""

from __future__ import annotations

import numpy as np

from milopt.declaration.programs.expression import Constraint, Expression, Written, chosen_entries
from milopt.declaration.programs.linear_maps import entry_name
from milopt.declaration.programs.row_layout import RowLayout
from milopt.errors import DeclarationError


def without_absent_rows(
    difference: Expression, equality: bool, compared: Written, layout: RowLayout | None = None
) -> Constraint:
    """Return the rows with finite sides; absent rows have multiplier 0 and an infinite slack.

    Raises
    ------
    DeclarationError
        If an infinite side leaves no number.
    """
    layout = layout or RowLayout.of(difference.shape)
    is_absent = np.isinf(difference.constant)
    wrong = np.flatnonzero(is_absent if equality else np.isneginf(difference.constant))
    if wrong.size:
        where = f" in row {entry_name(int(layout.entry[wrong[0]]), layout.shape)}" if difference.shape else ""
        text = Constraint(difference, equality, compared).describe()
        raise DeclarationError(
            f"No number satisfies {text}: its side is infinite{where}. Give a finite number, or the other infinity for "
            "no side."
        )
    kept = np.flatnonzero(~is_absent)
    return Constraint(chosen_entries(difference, kept), equality, compared, layout.take(kept))
