"""Comparisons with infinite numbers: a row such as `x <= inf` is left out, and a row such as `x >= inf` is an error."""

from __future__ import annotations

import numpy as np

from milopt.declaration.programs.expression import Constraint, Expression, WrittenComparison, select_entries
from milopt.declaration.programs.linear_maps import entry_name
from milopt.declaration.programs.row_layout import RowLayout
from milopt.errors import DeclarationError


def drop_absent_rows(
    difference: Expression, equality: bool, compared: WrittenComparison, layout: RowLayout | None = None
) -> Constraint:
    """Return the constraint `difference >= 0` (or `== 0` if `equality`) without rows whose constant is infinite.

    `difference` is one side minus the other, such as inf - x for `x <= inf`. `compared` is the comparison as written,
    and `layout` relates rows to declared rows. In results, a declared row that was left out has multiplier 0 and an
    infinite slack.

    Raises
    ------
    DeclarationError
        If no number satisfies a row because of its infinite side: the constant is -inf, or infinite in an equation.
    """
    layout = layout or RowLayout.from_shape(difference.shape)
    is_absent = np.isinf(difference.constant)
    wrong = np.flatnonzero(is_absent if equality else np.isneginf(difference.constant))
    if wrong.size:
        where = f" in row {entry_name(int(layout.entry[wrong[0]]), layout.shape)}" if difference.shape else ""
        text = Constraint(difference, equality, compared).describe()
        raise DeclarationError(
            f"No number satisfies {text}: its side is infinite{where}. Give a finite number, or the other infinity for "
            "an absent side."
        )
    present = np.flatnonzero(~is_absent)
    return Constraint(select_entries(difference, present), equality, compared, layout.take(present))
