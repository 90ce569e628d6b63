"""Conversion of long data frames of pandas or polars: one row per instance, with columns for bag, label and features.

Neither library is imported here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.data.data_set import DataSet, as_integer_label
from milopt.data.messages import quote
from milopt.data.numbers import MISSING_HINT
from milopt.data.row_grouping import group_rows
from milopt.declaration.array_conversion import make_read_only
from milopt.declaration.bags.nested_data import grouped_parts
from milopt.errors import DataError
from milopt.name_suggestions import unknown_name_error

_MESSAGE_SUBJECT = "The frame"
"""Beginning of error messages, in place of the name of a file."""


def from_frame(
    frame: Any,
    bag: str = "bag",
    label: str | None = "label",
    positive: str | float | None = None,
    *,
    features: Sequence[str] | None = None,
    allow_missing: bool = False,
) -> DataSet:
    """Convert a long data frame, which has one row per instance, to a data set of bags.

    Parameters
    ----------
    frame : DataFrame or group-by object of pandas or polars
        One row per instance. In a frame of pandas whose index has several levels, levels are columns too; the level
        `bag` names the bag, or the first level if there is neither a level nor a column of this name, and other levels
        are not features. In a group-by object, the groups are the bags, and `bag` is ignored.
    bag : str, default="bag"
        Name of the column with the bag of each instance.
    label : str or None, default="label"
        Name of the column with the label of the bag. None means that the bags have no labels.
    positive : str, float or None, default=None
        If given, labels become booleans: True for bags with this label, which every model then treats as the positive
        class. To keep the original labels, leave this parameter None and set `positive` of the model.
    features : sequence of str or None, default=None
        Names of the columns with the features, which must be numeric. None means all columns besides `bag` and `label`.
    allow_missing : bool, default=False
        Whether features may be missing (NaN), for transformers that fill them in, such as
        ``InstanceTransformer(SimpleImputer())``.

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
    frame, bag, ignored = _as_plain_frame(frame, bag)
    library = type(frame).__module__.partition(".")[0]
    columns = [column for column in frame.columns if column not in ignored]
    named = (bag,) if label is None else (bag, label)
    if bag == label:
        raise DataError(f"{_MESSAGE_SUBJECT}: bag and label are both {quote(bag)}; name two columns.")
    chosen = _choose_features(columns, named, features)
    instances: Floats = np.empty((len(frame), len(chosen)))
    for j, column in enumerate(chosen):
        instances[:, j] = _as_floats(frame[column], column, library, allow_missing)
    names = _as_texts(frame[bag])
    labels = [""] * len(names) if label is None else _as_texts(frame[label])
    data = group_rows(
        names,
        labels,
        instances,
        "frame",
        _MESSAGE_SUBJECT,
        features=tuple(map(str, chosen)),
        labelled=label is not None,
        allow_nan=allow_missing,
    )
    if positive is None:
        return data
    if label is None:
        raise DataError(f"{_MESSAGE_SUBJECT}: positive={positive!r} needs a column of labels; leave it out.")
    return replace(data, labels=_positive_label_mask(data.labels, _as_text(positive)))


def _as_plain_frame(frame: Any, bag: str) -> tuple[Any, str, tuple[Any, ...]]:
    """Return (frame, name of the column with the bags, columns that are not features).

    The groups of a group-by object, and the levels of an index of pandas, become columns.
    """
    library, kind = type(frame).__module__.partition(".")[0], type(frame).__name__
    if library in ("pandas", "polars") and kind in ("DataFrameGroupBy", "GroupBy"):
        return _join_groups(frame, library)
    if library not in ("pandas", "polars") or kind != "DataFrame":
        hint = "; call collect() on it first" if kind == "LazyFrame" else ""
        raise DataError(f"frame must be a DataFrame of pandas or polars, not {kind}{hint}.")
    levels = list(frame.index.names) if library == "pandas" else []
    if len(levels) < 2 and (bag in frame.columns or bag not in levels):
        return frame, bag, ()
    names = [f"level {k}" if name is None else name for k, name in enumerate(levels)]
    if bag not in names and bag not in frame.columns:
        bag = names[0]
    return frame.rename_axis(names).reset_index(), bag, tuple(name for name in names if name != bag)


def _join_groups(grouped: Any, library: str) -> tuple[Any, str, tuple[Any, ...]]:
    """Return the rows of all groups as one frame, in which the column "group" has the name of the group."""
    column = "group"
    parts = grouped_parts(grouped)
    while column in parts[0][1].columns:
        column += "_"
    module = sys.modules[library]
    if library == "pandas":
        return module.concat([part.assign(**{column: name}) for name, part in parts], ignore_index=True), column, ()
    return module.concat([part.with_columns(module.lit(name).alias(column)) for name, part in parts]), column, ()


def _choose_features(columns: list[Any], named: tuple[str, ...], features: Sequence[str] | None) -> list[Any]:
    """Return the columns with features; raise an error if a named column is missing or occurs twice.

    `named` are the columns of bags and labels. If `features` is None, all other columns are features.
    """
    wanted = [*named, *([] if features is None else _check_feature_list(features))]
    for name in wanted:
        if name not in columns:
            raise DataError(
                f"{_MESSAGE_SUBJECT}: {unknown_name_error('column', str(name), [str(each) for each in columns])}"
            )
        if name in named and features is not None and name in features:
            raise DataError(f"{_MESSAGE_SUBJECT}: {quote(name)} is a feature and the bag or label; name it once.")
    chosen = [column for column in columns if column not in named] if features is None else list(features)
    if not chosen:
        raise DataError(
            f"{_MESSAGE_SUBJECT}: there is no column besides {' and '.join(map(quote, named))}; give features."
        )
    for name in (*named, *chosen):
        if (count := max(columns.count(name), chosen.count(name))) > 1:
            raise DataError(f"{_MESSAGE_SUBJECT}: {count} columns are called {quote(name)}; there must be one.")
    return chosen


def _check_feature_list(features: Sequence[str]) -> Sequence[str]:
    """Return the names of features; raise an error if they are a single string."""
    if isinstance(features, str):
        raise DataError(f"{_MESSAGE_SUBJECT}: features must be a list of names, such as [{features!r}].")
    return features


def _positive_label_mask(labels: npt.NDArray[Any], positive: str) -> npt.NDArray[np.bool_]:
    """Return a mask that is True for the bags with the positive label; raise an error if there are no such bags."""
    wanted = as_integer_label(positive) if labels.dtype.kind == "i" else positive
    if wanted not in labels.tolist():
        known = ", ".join(str(label) for label in np.unique(labels).tolist())
        raise DataError(f"{_MESSAGE_SUBJECT}: no bag has the label {quote(positive)}; the labels are {known}.")
    return make_read_only(labels == wanted)


def _as_floats(values: Any, column: object, library: str, allow_missing: bool) -> Floats:
    """Return the values of a column as finite floats, NaN if missing; raise an error with the name of the column."""
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
    missing = np.flatnonzero(np.isinf(numbers) if allow_missing else ~np.isfinite(numbers))
    if missing.size:
        where = f"{_MESSAGE_SUBJECT}, row {missing[0]}: column {quote(column)}"
        hint = "" if allow_missing else MISSING_HINT
        raise DataError(f"{where} is missing or not finite; every value must be a finite number{hint}.")
    return numbers


def _as_texts(column: Any) -> list[str]:
    """Return the entries of a column as strings, "" if missing."""
    return [_as_text(value) for value in column.to_numpy().tolist()]


def _as_text(value: object) -> str:
    """Return a value as a string: "" if it is missing (None, NaN, NA or NaT), "0" or "1" for a boolean."""
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)
