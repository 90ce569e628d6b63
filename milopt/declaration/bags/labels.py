"""Labels (as signs -1 and +1) and weights of bags, one number per bag, with checks that raise `BagsError`."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats, Index
from milopt.declaration.array_conversion import describe_nonfinite, to_float_array
from milopt.errors import BagsError

Signs: TypeAlias = npt.NDArray[np.float64]
"""Bag labels y, each -1 or +1."""
Weights: TypeAlias = npt.NDArray[np.float64]
"""Weight of each bag, 1 by default; a bag of weight 2 counts as two bags."""


def as_labels(y: object) -> npt.NDArray[Any]:
    """Return labels as a 1-D array, one per bag.

    Labels may be numbers, strings or booleans. `BagsError` is raised if strings and numbers are mixed, or if a label is
    None or NaN.
    """
    try:
        labels = np.asarray(y)
    except ValueError:
        raise BagsError("The labels are ragged: give a 1-D array, one label per bag.") from None
    if labels.ndim != 1:
        raise BagsError(f"The labels must be a 1-D array, one entry per bag, not {labels.ndim}-D.")
    kind = labels.dtype.kind
    if isinstance(y, np.ndarray) and (kind in "biuU" or (kind == "f" and not np.isnan(labels).any())):
        return labels
    # numpy converts numbers among strings to strings. So the elements of a list are checked as given.
    given = list(y) if isinstance(y, (list, tuple)) else labels.tolist()
    for i, label in enumerate(given):
        if label is None or (isinstance(label, (float, np.floating)) and np.isnan(label)):
            raise BagsError(f"The label of bag {i} is {label}: every bag needs one.")
    kinds = {"str" if isinstance(label, str) else "number" for label in given}
    if len(kinds) > 1:
        raise BagsError("The labels mix strings and numbers: give labels of one type.")
    return labels


def as_classes(y: object) -> tuple[npt.NDArray[Any], Index]:
    """Return (classes, index): the sorted distinct labels, and the index of the label of each bag among them.

    `BagsError` is raised if all bags have the same label.
    """
    labels = as_labels(y)
    try:
        classes, index = np.unique(labels, return_inverse=True)
    except TypeError:
        raise BagsError("The labels cannot be sorted: give numbers or strings.") from None
    if classes.size == 1:
        raise BagsError(f"All {labels.size} bags belong to one class, {classes[0]}: at least two classes are needed.")
    return classes, index


def as_signs(y: npt.ArrayLike, bags_count: int) -> Signs:
    """Return bag labels, given as -1 and +1, 0 and 1, or False and True, as -1.0 and +1.0; both labels must occur."""
    labels = _as_finite_vector(y, bags_count, "labels")
    values = np.unique(labels)
    if values.size > 2:
        raise BagsError(f"There are {values.size} different labels: two are needed, -1 and +1 or 0 and 1.")
    if not (np.isin(values, (-1, 1)).all() or np.isin(values, (0, 1)).all()):
        raise BagsError(f"The labels are {' and '.join(f'{v:g}' for v in values)}: give -1 and +1, or 0 and 1.")
    if values.size < 2:
        raise BagsError(f"All {bags_count} bags belong to one class, {values[0]:g}: both classes are needed.")
    return np.where(labels > 0, 1.0, -1.0)


def as_weights(weight: npt.ArrayLike | None, count: int) -> Weights:
    """Return bag weights as a new array, all 1 if `weight` is None.

    `BagsError` is raised if a weight is negative or all weights are 0.
    """
    if weight is None:
        return np.ones(count)
    weights = _as_finite_vector(weight, count, "weights")
    if (weights < 0).any():
        i = int(np.flatnonzero(weights < 0)[0])
        raise BagsError(f"The weight of bag {i} is {weights[i]:g}: weights must not be negative.")
    if not weights.any():
        raise BagsError("All weights are zero: at least one must be positive.")
    return weights.copy()


def _as_finite_vector(values: npt.ArrayLike, count: int, quantity: str) -> Floats:
    """Return `values` as an array of `count` finite numbers, one per bag; raise `BagsError` if they are not.

    `quantity` ("labels" or "weights") is the name of the values in the message.
    """
    vector = to_float_array(values, f"The vector of {quantity}")
    if vector.ndim != 1:
        raise BagsError(f"The {quantity} must be a 1-D array, one entry per bag, not {vector.ndim}-D.")
    if vector.size != count:
        raise BagsError(f"There are {vector.size} {quantity} for {count} bags: give one per bag.")
    if not np.isfinite(vector).all():
        i = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise BagsError(f"The {quantity} have {describe_nonfinite(vector[i])} at bag {i}: all of them must be finite.")
    return vector
