"""Which of a fit's programs a question is about: the only one of two classes, otherwise that of one class."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.errors import ParameterError


def program_of(label: object, classes: npt.NDArray[Any]) -> tuple[int, object]:
    """The number of the program that scores this label, and the label that its positive scores speak for."""
    known = ", ".join(str(one) for one in classes.tolist())
    if label is not None and not np.any(classes == label):
        raise ParameterError(f"There is no class {label!r}; there are {known}.")
    if classes.size == 2:
        if label is not None and label != classes[1]:
            raise ParameterError(
                f"Two classes share one score, whose positive side speaks for {classes[1]}: ask for it."
            )
        return 0, classes[1]
    if label is None:
        raise ParameterError(f"Every class has a score of its own: give the label, one of {known}.")
    place = int(np.flatnonzero(classes == label)[0])
    return place, classes[place]
