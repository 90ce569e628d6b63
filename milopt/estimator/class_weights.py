"""Weights of bags: the sample weight of the bag times the weight of its class.

A bag of weight 2 counts as two bags; a bag of weight 0 is removed before the fit. `balanced` class weights are
n / (k n_c) for n bags of k classes, of which n_c belong to class c, with each bag counted by its sample weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats, Index
from milopt.declaration.checks import check_positive
from milopt.errors import ParameterError

ClassWeight: TypeAlias = Mapping[Any, float] | str | None


def class_weights(given: ClassWeight, classes: npt.NDArray[Any], class_indices: Index, weight: Floats) -> Floats:
    """Return one positive weight per class, in the order of `classes`.

    `given` is the hyper-parameter `class_weight`: None (every weight is 1), "balanced", or a mapping from label to
    weight, in which missing labels have weight 1. `weight` has the sample weights of the bags.
    """
    if given is None:
        return np.ones(classes.size)
    if isinstance(given, str) and given == "balanced":
        totals = np.bincount(class_indices, weight, minlength=classes.size)
        return np.asarray(weight.sum() / (classes.size * totals), dtype=np.float64)
    if not isinstance(given, Mapping):
        raise ParameterError(f'class_weight must be None, "balanced" or a dictionary by label, not {given!r}.')
    labels = classes.tolist()
    for label, value in given.items():
        if label not in labels:
            names = ", ".join(map(repr, labels))
            raise ParameterError(f"class_weight has the label {label!r}, which no bag has; the labels are {names}.")
        check_positive(f"The class weight of {label!r}", value)
    return np.array([float(given.get(label, 1.0)) for label in labels])
