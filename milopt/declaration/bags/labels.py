"""One number a bag: labels as signs, -1 and +1, and weights; every mistake in them is told here."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats, Index
from milopt.declaration.arrays import numeric, spelled
from milopt.errors import BagsError

Signs: TypeAlias = npt.NDArray[np.float64]
"""Bag labels y, each -1 or +1."""
Weights: TypeAlias = npt.NDArray[np.float64]
"""What each bag counts for: one of weight 2 as two bags; 1 where nobody says otherwise."""


def as_labels(y: object) -> npt.NDArray[Any]:
    """Labels of any one type, one a bag: whole or real numbers, strings, booleans; none of them missing."""
    try:
        labels = np.asarray(y)
    except ValueError:
        raise BagsError("The labels are ragged: give a 1-D array, one label a bag.") from None
    if labels.ndim != 1:
        raise BagsError(f"The labels must be a 1-D array, one entry a bag, not {labels.ndim}-D.")
    # numpy spells the numbers among strings, so that a list has to be asked itself.
    given = list(y) if isinstance(y, (list, tuple)) else labels.tolist()
    for i, label in enumerate(given):
        if label is None or (isinstance(label, (float, np.floating)) and np.isnan(label)):
            raise BagsError(f"The label of bag {i} is {label}: every bag needs one.")
    kinds = {"str" if isinstance(label, str) else "number" for label in given}
    if len(kinds) > 1:
        raise BagsError("The labels mix strings and numbers: give labels of one type.")
    return labels


def as_classes(y: object) -> tuple[npt.NDArray[Any], Index]:
    """The different labels in order, at least two, and the place of each bag's label among them."""
    labels = as_labels(y)
    try:
        classes, place = np.unique(labels, return_inverse=True)
    except TypeError:
        raise BagsError("The labels cannot be put in order: give numbers, or strings.") from None
    if classes.size == 1:
        raise BagsError(f"All {labels.size} bags are of one class, {classes[0]}: at least two classes are needed.")
    return classes, place


def as_signs(y: npt.ArrayLike, bags_count: int) -> Signs:
    """Bag labels as -1.0 and +1.0, from -1 and +1, or from 0 and 1 (or False and True) in that order."""
    labels = _vector(y, bags_count, "labels")
    values = np.unique(labels)
    if values.size > 2:
        raise BagsError(f"There are {values.size} different labels: two are needed, -1 and +1 or 0 and 1.")
    if not (np.isin(values, (-1, 1)).all() or np.isin(values, (0, 1)).all()):
        raise BagsError(f"The labels are {' and '.join(f'{v:g}' for v in values)}: give -1 and +1, or 0 and 1.")
    if values.size < 2:
        raise BagsError(f"All {bags_count} bags are of one class, {values[0]:g}: both classes are needed.")
    return np.where(labels > 0, 1.0, -1.0)


def as_weights(weight: npt.ArrayLike | None, count: int) -> Weights:
    """Non-negative bag weights, at least one of them positive; ones where none are given."""
    if weight is None:
        return np.ones(count)
    weights = _vector(weight, count, "weights")
    if (weights < 0).any():
        i = int(np.flatnonzero(weights < 0)[0])
        raise BagsError(f"The weight of bag {i} is {weights[i]:g}: weights must not be negative.")
    if not weights.any():
        raise BagsError("All weights are zero: at least one must be positive.")
    return weights.copy()


def _vector(values: npt.ArrayLike, count: int, what: str) -> Floats:
    """One finite number a bag."""
    vector = numeric(values, f"The vector of {what}")
    if vector.ndim != 1:
        raise BagsError(f"The {what} must be a 1-D array, one entry a bag, not {vector.ndim}-D.")
    if vector.size != count:
        raise BagsError(f"There are {vector.size} {what} for {count} bags: give one a bag.")
    if not np.isfinite(vector).all():
        i = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise BagsError(f"The {what} have {spelled(vector[i])} at bag {i}: every one must be finite.")
    return vector
