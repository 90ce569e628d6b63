"""The rows that a master has so far: the columns they are of, what these weigh, and which are of no use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.programs.expression import Constraint
from milopt.solving.pricing import Priced

NOTHING = 1e-9
"""A value this small beside the entries of its column is none: what rounding leaves where entries cancel."""

WEIGHTLESS = 1e-7
"""A multiplier this small beside the largest is what an interior-point solver leaves of 0."""

IDLE_SHARE = 0.25
"""Of the rows, how many must be idle before they are dropped: a few cost the solver less than taking them out does."""


@dataclass(eq=False)
class Row:
    """A column, and its row in the master."""

    name: str
    oracle: int
    priced: Priced
    constraint: Constraint
    weight: float = 0.0
    idle: int = 0
    """Rounds without a weight in which the value rose."""


def weigh(rows: Sequence[Row], multipliers: Mapping[str, float], has_risen: bool) -> None:
    """A row's multiplier in the last master is its column's weight; those of no weight leave theirs to the rest.

    Where the value did not rise, rows without a weight may be what keeps earlier prices from coming back: that round
    does not count against them.
    """
    given = np.array([max(0.0, multipliers[row.name]) for row in rows])
    kept = np.where(given > WEIGHTLESS * given.max(initial=0.0), given, 0.0)
    if kept.any():
        kept *= given.sum() / kept.sum()
    for row, weight in zip(rows, kept.tolist(), strict=True):
        row.weight = weight
        row.idle = 0 if weight > 0 else row.idle + has_risen


def idle_rows(rows: Sequence[Row], rounds: int) -> list[Row]:
    """Those to drop: idle for so many rounds, where there are enough of them; with 0 rounds none."""
    idle = [row for row in rows if rounds and row.idle >= rounds]
    return idle if len(idle) > IDLE_SHARE * len(rows) else []


def scores(rows: Sequence[Row]) -> Vector:
    """What the weighted columns make of the training bags; of no rows, nothing."""
    return np.asarray(np.sum([row.weight * row.priced.column for row in rows], axis=0))


def largest(rows: Sequence[Row]) -> float:
    """The size of the largest column."""
    return max((row.priced.size for row in rows), default=0.0)


def is_same(one: Priced, other: Priced) -> bool:
    """Whether two columns are one, but for rounding: descents from several starts may end alike."""
    return bool(np.abs(one.column - other.column).max() <= NOTHING * one.size)
