"""Bags in the data structures of other libraries: Arrow, Hugging Face, awkward, torch, pandas and polars.

None of these libraries is imported. An object is recognised by the module of its class and by its methods; if there is
such an object, its library is loaded already.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from milopt.errors import BagsError

_TABLE_CLASSES = {("pyarrow", "Table"), ("datasets", "Dataset"), ("datasets", "DatasetDict")}
"""Library and class of objects that have a column of bags, but are not bags themselves."""


def unpack_nested(x: Any) -> Any:
    """Return bags in the structure of another library as a list with one item per bag; other objects are unchanged."""
    library = _library_of_class(x)
    if (library, type(x).__name__) in _TABLE_CLASSES:
        raise BagsError(
            f"A {type(x).__name__} of {library} is not bags: give its column with one list of instances per bag, such "
            'as table["instances"].'
        )
    if library == "pyarrow" and hasattr(x, "to_pylist"):
        return x.to_pylist()
    if library == "awkward" and hasattr(x, "to_list"):
        return _unpack_awkward(x)
    if library == "datasets":
        # A column of a data set of Hugging Face is read row by row.
        return list(x)
    if library == "torch" and hasattr(x, "unbind"):
        return list(x.unbind()) if getattr(x, "is_nested", False) else unpack_instances(x)
    if library in ("pandas", "polars"):
        return _unpack_frame(x, library)
    return x


def unpack_instances(member: Any) -> Any:
    """Return the instances of one bag as an array if they are a tensor or a column; other objects are unchanged."""
    library = _library_of_class(member)
    if library == "torch" and hasattr(member, "detach"):
        return member.detach().cpu().numpy()
    if library == "pyarrow" and hasattr(member, "to_pylist"):
        return member.to_pylist()
    if isinstance(member, np.ndarray) and member.dtype == object and member.ndim == 1 and member.size:
        # A column of nested lists becomes an array of arrays in pandas.
        return list(member)
    return member


def _library_of_class(x: object) -> str:
    """Return the name of the library that defines the class of an object."""
    return type(x).__module__.partition(".")[0]


def _unpack_awkward(array: Any) -> list[Any]:
    """Return an array of awkward as a list with one array per bag."""
    awkward = sys.modules["awkward"]
    try:
        return [np.asarray(awkward.to_numpy(bag)) for bag in array]
    except (TypeError, ValueError):
        # The instances are lists of variable length for awkward; their lengths are checked later.
        return list(array.to_list())


def _unpack_frame(x: Any, library: str) -> Any:
    """Return groups of rows, or a frame whose index has several levels, as one frame per bag; else return x."""
    kind = type(x).__name__
    if kind in ("DataFrameGroupBy", "GroupBy"):
        return [part for _, part in grouped_parts(x)]
    if library == "pandas" and kind == "DataFrame" and getattr(x.index, "nlevels", 1) > 1:
        return [part.reset_index(drop=True) for _, part in x.groupby(level=0, sort=False)]
    if kind == "Series" and library == "polars":
        return x.to_list()
    return x


def grouped_parts(grouped: Any) -> list[tuple[str, Any]]:
    """Return the name and the rows of each group of a group-by object, without the columns that name the groups.

    Raise `BagsError` if there are no groups.
    """
    keys = getattr(grouped, "keys", None) if _library_of_class(grouped) == "pandas" else getattr(grouped, "by", None)
    names = [keys] if isinstance(keys, str) else list(keys) if isinstance(keys, (list, tuple)) else []
    parts = []
    for key, part in grouped:
        name = ",".join(map(str, key)) if isinstance(key, tuple) else str(key)
        present = [column for column in part.columns if column not in names]
        parts.append((name, part[present] if _library_of_class(part) == "pandas" else part.select(present)))
    if not parts:
        raise BagsError("The groups are empty: give at least one row.")
    return parts
