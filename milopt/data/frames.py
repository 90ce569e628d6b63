"""Conversion of long data frames of pandas or polars: one row per instance, with columns for bag, label and features.

Neither library is imported here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.data.data_set import DataSet, as_integer_label
from milopt.data.messages import quote
from milopt.data.row_grouping import group_rows
from milopt.declaration.array_conversion import make_read_only
from milopt.errors import DataError
from milopt.name_suggestions import unknown_name_error

_MESSAGE_SUBJECT = "The frame"
"""Beginning of error messages, in place of the name of a file."""


def from_frame(
    frame: Any, bag: str = "bag", label: str | None = "label", positive: str | float | None = None
) -> DataSet:
    """Convert a long data frame, which has one row per instance, to a data set of bags.

    Parameters
    ----------
    frame : pandas.DataFrame or polars.DataFrame
        One row per instance. All columns besides `bag` and `label` are features and must be numeric.
    bag : str, default="bag"
        Name of the column with the bag of each instance.
    label : str or None, default="label"
        Name of the column with the label of the bag. None means that the bags have no labels.
    positive : str, float or None, default=None
        If given, labels become booleans: True for bags with this label, which every model then treats as the positive
        class. To keep the original labels, leave this parameter None and set `positive` of the model.

    Returns
    -------
    DataSet
        Bags in the order in which they first appear.

    Raises
    ------
    DataError
        If a column is missing, a feature is not numeric, a value is missing, or a bag has two labels.

    Examples
    --------
    >>> import pandas as pd
    >>> from milopt.data import from_frame
    >>> frame = pd.DataFrame({"bag": ["a", "a", "b"], "label": [1, 1, 0], "f0": [0.5, 2.0, 1.0]})
    >>> data = from_frame(frame)
    >>> data.ids, data.labels.tolist(), data.bags.sizes.tolist()
    (('a', 'b'), [1, 0], [2, 1])
    """
    library = type(frame).__module__.partition(".")[0]
    if library not in ("pandas", "polars") or type(frame).__name__ != "DataFrame":
        hint = "; call collect() on it first" if type(frame).__name__ == "LazyFrame" else ""
        raise DataError(f"frame must be a DataFrame of pandas or polars, not {type(frame).__name__}{hint}.")
    columns = list(frame.columns)
    named = (bag,) if label is None else (bag, label)
    for wanted in named:
        if wanted not in columns:
            raise DataError(
                f"{_MESSAGE_SUBJECT}: {unknown_name_error('column', str(wanted), [str(name) for name in columns])}"
            )
        if columns.count(wanted) > 1:
            raise DataError(
                f"{_MESSAGE_SUBJECT}: {columns.count(wanted)} columns are called {quote(wanted)}; there must be one."
            )
    if bag == label:
        raise DataError(f"{_MESSAGE_SUBJECT}: bag and label are both {quote(bag)}; name two columns.")
    features = [column for column in columns if column not in named]
    if not features:
        raise DataError(
            f"{_MESSAGE_SUBJECT}: there is no column besides {' and '.join(map(quote, named))}; give features."
        )
    if len(set(features)) < len(features):
        twice = next(column for column in features if features.count(column) > 1)
        raise DataError(
            f"{_MESSAGE_SUBJECT}: {features.count(twice)} columns are called {quote(twice)}; there must be one."
        )
    instances: Floats = np.empty((len(frame), len(features)))
    for j, column in enumerate(features):
        instances[:, j] = _as_finite_floats(frame[column], column, library)
    names = _as_texts(frame[bag])
    labels = [""] * len(names) if label is None else _as_texts(frame[label])
    data = group_rows(
        names,
        labels,
        instances,
        "frame",
        _MESSAGE_SUBJECT,
        features=tuple(map(str, features)),
        labelled=label is not None,
    )
    if positive is None:
        return data
    if label is None:
        raise DataError(f"{_MESSAGE_SUBJECT}: positive={positive!r} needs a column of labels; leave it out.")
    return replace(data, labels=_positive_label_mask(data.labels, _as_text(positive)))


def _positive_label_mask(labels: npt.NDArray[Any], positive: str) -> npt.NDArray[np.bool_]:
    """Return a mask that is True for the bags with the positive label; raise an error if there are no such bags."""
    wanted = as_integer_label(positive) if labels.dtype.kind == "i" else positive
    if wanted not in labels.tolist():
        known = ", ".join(str(label) for label in np.unique(labels).tolist())
        raise DataError(f"{_MESSAGE_SUBJECT}: no bag has the label {quote(positive)}; the labels are {known}.")
    return make_read_only(labels == wanted)


def _as_finite_floats(values: Any, column: object, library: str) -> Floats:
    """Return the values of a column as finite floats, or raise an error with the name `column` of the column."""
    try:
        # Missing values of pandas become NaN, as in polars.
        array = values.to_numpy(**({"dtype": np.float64, "na_value": np.nan} if library == "pandas" else {}))
        # Dates and times would become numbers of nanoseconds or days, which are not meant as features.
        if str(values.dtype).casefold().startswith(("date", "time", "duration")):
            raise TypeError
        numbers = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"{_MESSAGE_SUBJECT}: column {quote(column)} is not numeric; leave it out or encode it."
        ) from None
    missing = np.flatnonzero(~np.isfinite(numbers))
    if missing.size:
        where = f"{_MESSAGE_SUBJECT}, row {missing[0]}: column {quote(column)}"
        raise DataError(f"{where} is missing or not finite; every value must be a finite number.")
    return numbers


def _as_texts(column: Any) -> list[str]:
    """Return the entries of a column as strings, "" if missing."""
    return [_as_text(value) for value in column.to_numpy().tolist()]


def _as_text(value: object) -> str:
    """Return a value as a string: "" if it is missing (None, NaN, NA or NaT), "0" or "1" for a boolean."""
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)
