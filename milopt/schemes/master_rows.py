"""Rows of the master of column generation: their columns, weights, and removal of idle rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.programs.expression import Constraint
from milopt.solving.pricing import PricedColumn

COLUMN_ZERO_TOLERANCE = 1e-9
"""A value smaller than this times the size of its column counts as zero, because it may be a rounding error."""

WEIGHT_TOLERANCE = 1e-7
"""A multiplier smaller than this times the largest counts as zero: interior-point solvers do not return exact zeros."""

MIN_IDLE_FRACTION = 0.25
"""Fraction of the rows that must be idle before they are dropped: deleting a few rows costs more than keeping them."""


@dataclass(eq=False)
class MasterRow:
    """A column and its row in the master."""

    name: str
    oracle: int
    """Index of the oracle that found the column."""
    priced: PricedColumn
    constraint: Constraint
    weight: float = 0.0
    """Weight of the column: the multiplier of its row."""
    idle: int = 0
    """Number of rounds without weight in which the objective increased."""


def update_weights(rows: Sequence[MasterRow], multipliers: Mapping[str, float], has_risen: bool) -> None:
    """Set each column's weight, in place, to the multiplier of its row in the last master.

    Multipliers below `WEIGHT_TOLERANCE` times the largest are set to zero, and the remaining ones are rescaled so that
    their sum does not change. A row with zero weight becomes one round older (`idle`) only if the objective increased:
    at a constant objective such a row may be the one that prevents the master from returning to earlier prices.
    """
    given = np.array([max(0.0, multipliers[row.name]) for row in rows])
    weights = np.where(given > WEIGHT_TOLERANCE * given.max(initial=0.0), given, 0.0)
    if weights.any():
        weights *= given.sum() / weights.sum()
    for row, weight in zip(rows, weights.tolist(), strict=True):
        row.weight = weight
        row.idle = 0 if weight > 0 else row.idle + has_risen


def rows_to_drop(rows: Sequence[MasterRow], rounds: int) -> list[MasterRow]:
    """Return the rows to drop: those that were idle for at least `rounds` rounds; none if `rounds` is 0.

    The list is empty unless it would contain more than `MIN_IDLE_FRACTION` of all rows.
    """
    idle = [row for row in rows if rounds and row.idle >= rounds]
    return idle if len(idle) > MIN_IDLE_FRACTION * len(rows) else []


def ensemble_scores(rows: Sequence[MasterRow]) -> Vector:
    """Return the weighted sum of the columns, which is the score of each training bag without offset; 0 for no rows."""
    return np.asarray(np.sum([row.weight * row.priced.column for row in rows], axis=0))


def largest_column(rows: Sequence[MasterRow]) -> float:
    """Return the largest absolute entry of all columns; 0 for no rows."""
    return max((row.priced.size for row in rows), default=0.0)


def is_same_column(first: PricedColumn, second: PricedColumn) -> bool:
    """Return True if two columns are equal up to rounding: descents from several starts may end at the same point."""
    return bool(np.abs(first.column - second.column).max() <= COLUMN_ZERO_TOLERANCE * first.size)
