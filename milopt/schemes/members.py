"""Join priced columns into the members of an ensemble, with each function over the union of its points."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Matrix, Points
from milopt.outcome.ensemble import OracleMembers
from milopt.solving.pricing import PricedColumn


def join_columns(columns: list[tuple[PricedColumn, float]]) -> OracleMembers:
    """Return the columns of one oracle, given as pairs of a column and its weight, as members of an ensemble."""
    if not columns:
        return OracleMembers(np.zeros(0))
    first = columns[0][0]
    values = {name: np.column_stack([priced.values[name] for priced, _ in columns]) for name in first.values}
    points: dict[str, Points] = {}
    coefficients: dict[str, Matrix] = {}
    for name in first.functions:
        parts = [priced.functions[name] for priced, _ in columns]
        points[name], places = _unite_points([part[0] for part in parts])
        coefficients[name] = np.zeros((points[name].shape[0], len(columns)))
        for t, ((_, mine), place) in enumerate(zip(parts, places, strict=True)):
            np.add.at(coefficients[name][:, t], place, mine)
    return OracleMembers(np.array([weight for _, weight in columns]), values, points, coefficients)


def _unite_points(parts: list[Points]) -> tuple[Points, list[Index]]:
    """Return all distinct points of several arrays, and for each array the positions of its points among them.

    If any of the arrays is sparse, all points are stacked without removing duplicates.
    """
    ends = np.cumsum([part.shape[0] for part in parts])[:-1]
    if any(sp.issparse(part) for part in parts):
        stacked = sp.csr_array(sp.vstack([sp.csr_array(part) for part in parts], format="csr"))
        return stacked, list(np.split(np.arange(stacked.shape[0]), ends))
    unique, place = np.unique(np.vstack([np.asarray(part) for part in parts]), axis=0, return_inverse=True)
    return unique, list(np.split(place.ravel(), ends))
