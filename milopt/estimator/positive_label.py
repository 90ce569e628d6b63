"""Choose the positive class: the class whose bags have y = +1 in a program of two classes.

A model that looks for a witness of one class gives another classifier if the two classes are exchanged. Which class is
meant is part of the problem, so the user names it (`positive=`). Numbers and booleans have an order that users rely on:
without a name, the larger number, or True, is positive. For other labels, the alphabetically last one is taken, with a
warning if it makes a difference.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.errors import ParameterError, PositiveLabelWarning


def positive_place(positive: object, classes: npt.NDArray[Any]) -> int | None:
    """Return the place of the positive class among two classes in order, or None for more than two classes.

    `positive` is the label that the user named, or None for the default: the second class.
    """
    labels: list[object] = classes.tolist()
    if positive is None:
        return 1 if len(labels) == 2 else None
    given = positive.item() if isinstance(positive, np.generic) else positive
    if len(labels) != 2:
        raise ParameterError(
            f"positive={given!r} is for two classes, but there are {len(labels)}: each class is separated from the "
            "rest by a program of its own, so leave positive out."
        )
    if not isinstance(given, (str, Real)) or given not in labels:
        raise ParameterError(
            f"positive={given!r} is not a label of the training bags: give {labels[0]!r} or {labels[1]!r}."
        )
    return labels.index(given)


def is_chosen_by_order(positive: object, classes: npt.NDArray[Any]) -> bool:
    """Return whether alphabetical order alone decides which of two classes is positive."""
    return positive is None and classes.size == 2 and not all(isinstance(one, Real) for one in classes.tolist())


def warn_of_order(name: str, classes: npt.NDArray[Any], stacklevel: int) -> None:
    """Warn that the model of this name took the alphabetically last of two labels as the positive class."""
    other, taken = classes.tolist()
    message = (
        f"{name} does not treat the two classes alike, and no positive class was named: {taken!r} is taken, the "
        f"alphabetically last label. Give positive={taken!r} or positive={other!r} (--positive on the command line)."
    )
    warnings.warn(message, PositiveLabelWarning, stacklevel=stacklevel + 1)
