"""Find the program of a fit that scores a given class: the only one for two classes, otherwise one per class."""

from __future__ import annotations

import numpy as np

from milopt.errors import ParameterError
from milopt.estimator.training_set import TrainingSet


def program_for_label(label: object, training: TrainingSet) -> tuple[int, object]:
    """Return (index of the program that scores a label, label for which positive scores of the program stand).

    For two classes, `label` must be None or the positive label. For more classes, it must not be None.
    """
    classes = training.classes
    names = ", ".join(str(name) for name in classes.tolist())
    if label is not None and not np.any(classes == label):
        raise ParameterError(f"There is no class {label!r}; the classes are {names}.")
    if training.positive is not None:
        positive = classes[training.positive]
        if label is not None and label != positive:
            raise ParameterError(
                f"Two classes share one score, and positive scores mean {positive}: give this label, or none."
            )
        return 0, positive
    if label is None:
        raise ParameterError(f"Every class has its own score: give label, one of {names}.")
    index = int(np.flatnonzero(classes == label)[0])
    return index, classes[index]
