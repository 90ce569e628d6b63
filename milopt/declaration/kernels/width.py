"""The width s of a kernel: a positive number, or a multiple of the inverse of the median distance of instances."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np

from milopt.arrays import Floats, Points
from milopt.declaration.arrays import first_of_each
from milopt.declaration.kernels.gram import minus_squared_distances
from milopt.declaration.kernels.recollection import recalled


def is_positive(value: object) -> bool:
    """Whether a value is a finite number above 0."""
    # True and False are integers to Python.
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return number and 0 < float(cast(float, value)) < math.inf


def over_median(s: object) -> float | None:
    """The factor of "factor/median", 1 for "median", None for what is neither."""
    if s == "median":
        return 1.0
    if not isinstance(s, str) or not s.endswith("/median"):
        return None
    try:
        factor = float(s.removesuffix("/median"))
    except ValueError:
        return None
    return factor if is_positive(factor) else None


def inverse_median(rows: Points, distances: Callable[[Points], Floats], most: int) -> float:
    """1 / the median entry above the diagonal of `distances`, over at most so many different rows; 1/D if all are 0."""
    count = rows.shape[0]
    if count > most:
        rows = rows[np.sort(np.random.default_rng(0).choice(count, most, replace=False))]
    # A row that is repeated, or weighed instead, tells nothing new of distances.
    rows = rows[first_of_each(rows)]
    apart = distances(rows)[~np.tri(rows.shape[0], dtype=bool)]
    median = float(np.median(apart, overwrite_input=True)) if apart.size else 0.0
    if median == 0 and apart.any():
        median = float(np.median(apart[apart > 0]))
    return 1 / median if median > 0 else 1 / rows.shape[1]


def inverse_median_distance(rows: Points) -> float:
    """1 / median ||x - z||^2 over the pairs of at most 1000 different rows."""

    def squared(some: Points) -> Floats:
        distances = minus_squared_distances(some, some)
        return np.negative(distances, out=distances)

    def computed() -> Floats:
        return np.array(inverse_median(rows, squared, most=1000))

    return float(recalled(inverse_median_distance, (rows,), computed))
