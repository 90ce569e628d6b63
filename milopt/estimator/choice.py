"""Which of a fit's programs a question is about: the only one of two classes, otherwise that of one class."""

from __future__ import annotations

import numpy as np

from milopt.errors import ParameterError
from milopt.estimator.training_set import TrainingSet


def program_of(label: object, training: TrainingSet) -> tuple[int, object]:
    """Return the number of the program that scores this label, and the label that its positive scores speak for."""
    classes = training.classes
    known = ", ".join(str(one) for one in classes.tolist())
    if label is not None and not np.any(classes == label):
        raise ParameterError(f"There is no class {label!r}; there are {known}.")
    if training.positive is not None:
        positive = classes[training.positive]
        if label is not None and label != positive:
            raise ParameterError(f"Two classes share one score, whose positive side speaks for {positive}: ask for it.")
        return 0, positive
    if label is None:
        raise ParameterError(f"Every class has a score of its own: give the label, one of {known}.")
    place = int(np.flatnonzero(classes == label)[0])
    return place, classes[place]
