"""What each bag counts for: its sample weight times the weight of its class.

A bag of weight 2 counts as two bags, one of weight 0 as none: it is left out before anything is fitted. `balanced`
class weights are n / (k n_c), for n bags of k classes, n_c of them of class c, each bag counted by its sample weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats, Index
from milopt.declaration.checks import positive
from milopt.errors import ParameterError

ClassWeight: TypeAlias = Mapping[Any, float] | str | None


def class_weights(given: ClassWeight, classes: npt.NDArray[Any], place: Index, weight: Floats) -> Floats:
    """One positive number a class; a class that a mapping leaves out has 1."""
    if given is None:
        return np.ones(classes.size)
    if isinstance(given, str) and given == "balanced":
        totals = np.bincount(place, weight, minlength=classes.size)
        return np.asarray(weight.sum() / (classes.size * totals), dtype=np.float64)
    if not isinstance(given, Mapping):
        raise ParameterError(f'class_weight must be None, "balanced" or a dictionary by label, not {given!r}.')
    labels = classes.tolist()
    for label, value in given.items():
        if label not in labels:
            known = ", ".join(map(repr, labels))
            raise ParameterError(f"class_weight has the label {label!r}, which no bag has; the labels are {known}.")
        positive(f"The class weight of {label!r}", value)
    return np.array([float(given.get(label, 1.0)) for label in labels])
