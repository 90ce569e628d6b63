"""Choice of the positive class: the class whose bags have y = +1 in a program of two classes.

A model that looks for a witness of one class gives another classifier if the two classes are exchanged. The user
therefore names the positive class (`positive=`). Numbers and booleans have an order that users rely on: by default, the
larger number, or True, is positive. For other labels, the last one in alphabetical order is chosen, with a warning if
the choice makes a difference.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.errors import ParameterError, PositiveLabelWarning


def positive_class_index(positive: object, classes: npt.NDArray[Any]) -> int | None:
    """Return the index of the positive class among two sorted classes, or None for more than two classes.

    `positive` is the label that the user named, or None for the default, the second class.
    """
    labels: list[object] = classes.tolist()
    if positive is None:
        return 1 if len(labels) == 2 else None
    given = positive.item() if isinstance(positive, np.generic) else positive
    if len(labels) != 2:
        raise ParameterError(
            f"positive={given!r} is for two classes, but there are {len(labels)}: each class is separated from the "
            "others by its own program, so leave positive out."
        )
    if not isinstance(given, (str, Real)) or given not in labels:
        raise ParameterError(
            f"positive={given!r} is not a label of the training bags: give {labels[0]!r} or {labels[1]!r}."
        )
    return labels.index(given)


def is_chosen_by_order(positive: object, classes: npt.NDArray[Any]) -> bool:
    """Return True if only the alphabetical order decides which of two classes is positive: no label was named.

    This is never the case if both labels are numbers or booleans.
    """
    return positive is None and classes.size == 2 and not all(isinstance(label, Real) for label in classes.tolist())


def warn_about_label_order(name: str, classes: npt.NDArray[Any], stacklevel: int) -> None:
    """Warn that the model of this name chose the last of two labels in alphabetical order as the positive class."""
    other, chosen = classes.tolist()
    message = (
        f"{name} does not treat the two classes alike, and no positive class was named: {chosen!r} is used, the "
        f"alphabetically last label. Give positive={chosen!r} or positive={other!r} (--positive on the command line)."
    )
    warnings.warn(message, PositiveLabelWarning, stacklevel=stacklevel + 1)
