"""Width s of a kernel: a positive number, or a multiple of the inverse median distance between instances."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np

from milopt.arrays import Floats, Points
from milopt.declaration.array_conversion import first_occurrences
from milopt.declaration.kernels.gram import negative_squared_distances
from milopt.declaration.kernels.gram_cache import get_or_compute


def is_positive(value: object) -> bool:
    """Return True if a value is a finite number greater than 0."""
    # In Python, bool is a subclass of int.
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return number and 0 < float(cast(float, value)) < math.inf


def median_factor(s: object) -> float | None:
    """Return the factor in a string "factor/median" with a positive factor, 1 for "median", and None otherwise."""
    if s == "median":
        return 1.0
    if not isinstance(s, str) or not s.endswith("/median"):
        return None
    try:
        factor = float(s.removesuffix("/median"))
    except ValueError:
        return None
    return factor if is_positive(factor) else None


def inverse_median(rows: Points, distances: Callable[[Points], Floats], max_rows: int) -> float:
    """Return 1 / median of the entries above the diagonal of `distances(rows)`.

    `distances` returns a matrix of squared distances or costs. At most `max_rows` rows are used,
    drawn with a fixed seed, and repeated rows are used once. If the median is 0, the median of the positive entries is
    used instead; if there are none, the result is 1/D for D features.
    """
    count = rows.shape[0]
    if count > max_rows:
        rows = rows[np.sort(np.random.default_rng(0).choice(count, max_rows, replace=False))]
    # Repeated rows are removed, so that a repeated row and a row with a larger weight give the same width.
    rows = rows[first_occurrences(rows)]
    upper = distances(rows)[~np.tri(rows.shape[0], dtype=bool)]
    median = float(np.median(upper, overwrite_input=True)) if upper.size else 0.0
    if median == 0 and upper.any():
        median = float(np.median(upper[upper > 0]))
    return 1 / median if median > 0 else 1 / rows.shape[1]


def inverse_median_distance(rows: Points) -> float:
    """Return 1 / median ||x - z||^2 over all pairs of at most 1000 random rows, repeated rows counted once."""

    def squared_distances(rows: Points) -> Floats:
        """Return the squared distances between all pairs of rows."""
        distances = negative_squared_distances(rows, rows)
        return np.negative(distances, out=distances)

    def compute() -> Floats:
        """Return the inverse median as an array, as the cache requires."""
        return np.array(inverse_median(rows, squared_distances, max_rows=1000))

    return float(get_or_compute(inverse_median_distance, (rows,), compute))
