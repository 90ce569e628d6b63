"""The width s of a kernel: a positive number, or a multiple of the inverse of the median distance of instances."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.declaration.arrays import Floats, Points


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
    rows = rows[_first_of_each(rows)]
    apart = distances(rows)[np.triu_indices(rows.shape[0], 1)]
    median = float(np.median(apart)) if apart.size else 0.0
    if median == 0 and apart.any():
        median = float(np.median(apart[apart > 0]))
    return 1 / median if median > 0 else 1 / rows.shape[1]


def _first_of_each(rows: Points) -> npt.NDArray[np.intp]:
    """One place for each different row: one that is repeated, or weighed instead, tells nothing new of distances."""
    if isinstance(rows, sp.csr_array):
        parts = [slice(start, stop) for start, stop in pairwise(rows.indptr)]
        keys = [(rows.indices[part].tobytes(), rows.data[part].tobytes()) for part in parts]
        return np.array(sorted({key: i for i, key in reversed(list(enumerate(keys)))}.values()), dtype=np.intp)
    return np.sort(np.unique(rows, axis=0, return_index=True)[1])
