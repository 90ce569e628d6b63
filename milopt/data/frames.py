"""Long frames of pandas or polars: one row an instance, a column for the bag, one for the label, the rest features.

Neither library is imported here: whoever hands over a frame has it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.data.data_set import DataSet, whole
from milopt.data.gathering import long_table
from milopt.data.messages import shown
from milopt.declaration.arrays import read_only
from milopt.errors import DataError

_SOURCE = "The frame"


def from_frame(
    frame: Any, bag: str = "bag", label: str | None = "label", positive: str | float | None = None
) -> DataSet:
    """Read the bags of a long frame, in the order in which they first appear; every other column is a feature.

    `label=None` is for bags without labels, which are to be predicted. With `positive`, labels become booleans: True
    for the bags with this label, which every model then takes as the positive class, and False for all other bags. To
    keep the names of the classes, leave `positive` out here and give it to the model.
    """
    library = type(frame).__module__.partition(".")[0]
    if library not in ("pandas", "polars") or type(frame).__name__ != "DataFrame":
        hint = "; call collect() on it first" if type(frame).__name__ == "LazyFrame" else ""
        raise DataError(f"A DataFrame of pandas or polars is needed, not {type(frame).__name__}{hint}.")
    columns = list(frame.columns)
    named = (bag,) if label is None else (bag, label)
    for wanted in named:
        if columns.count(wanted) != 1:
            raise DataError(
                f"{_SOURCE}: {columns.count(wanted)} columns are called {shown(wanted)}; there must be one."
            )
    if bag == label:
        raise DataError(f"{_SOURCE}: bag and label are both {shown(bag)}; name two columns.")
    features = [column for column in columns if column not in named]
    if not features:
        raise DataError(f"{_SOURCE}: there is no column besides {' and '.join(map(shown, named))}; give features.")
    if len(set(features)) < len(features):
        twice = next(column for column in features if features.count(column) > 1)
        raise DataError(f"{_SOURCE}: {features.count(twice)} columns are called {shown(twice)}; there must be one.")
    instances: Floats = np.empty((len(frame), len(features)))
    for j, column in enumerate(features):
        instances[:, j] = _numbers(frame[column], column, library)
    names = _texts(frame[bag])
    labels = [""] * len(names) if label is None else _texts(frame[label])
    found = long_table(
        names, labels, instances, "frame", _SOURCE, features=tuple(map(str, features)), labelled=label is not None
    )
    if positive is None:
        return found
    if label is None:
        raise DataError(f"{_SOURCE}: positive={positive!r} needs a column of labels; leave it out.")
    return replace(found, labels=_is_positive(found.labels, _text(positive)))


def _is_positive(labels: npt.NDArray[Any], positive: str) -> npt.NDArray[np.bool_]:
    """Return one boolean per bag: whether it has the positive label."""
    wanted = whole(positive) if labels.dtype.kind == "i" else positive
    if wanted not in labels.tolist():
        known = ", ".join(str(one) for one in np.unique(labels).tolist())
        raise DataError(f"{_SOURCE}: no bag has the label {shown(positive)}; the labels are {known}.")
    return read_only(labels == wanted)


def _numbers(values: Any, column: object, library: str) -> Floats:
    try:
        # What pandas knows as missing becomes NaN, as it does in polars.
        array = values.to_numpy(**({"dtype": np.float64, "na_value": np.nan} if library == "pandas" else {}))
        # Times would be counted in nanoseconds or days, which nobody means as a feature.
        if str(values.dtype).casefold().startswith(("date", "time", "duration")):
            raise TypeError
        numbers = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{_SOURCE}: column {shown(column)} is not of numbers; leave it out or encode it.") from None
    missing = np.flatnonzero(~np.isfinite(numbers))
    if missing.size:
        where = f"{_SOURCE}, row {missing[0]}: column {shown(column)}"
        raise DataError(f"{where} is missing or not finite; every value must be a finite number.")
    return numbers


def _texts(column: Any) -> list[str]:
    """The entries as text; what is missing is empty, and refused as such."""
    return [_text(one) for one in column.to_numpy().tolist()]


def _text(value: object) -> str:
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)
