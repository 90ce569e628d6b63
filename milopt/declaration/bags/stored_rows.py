"""Form in which bags keep their dense instances, and operations on them in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats, Index, Points
from milopt.declaration.array_conversion import as_read_only_rows, describe_nonfinite, make_read_only, to_real_array
from milopt.declaration.bags.scaled_rows import ScaledRows, bag_slices, fits_in_block, is_scaled_rows, row_slices
from milopt.errors import BagsError


def as_stored_rows(given: object, subject: str) -> Points:
    """Return dense instances as bags keep them.

    An array of at most `MAX_BLOCK_VALUES` values becomes a read-only float64 array. A larger one keeps its type, and is
    wrapped in `ScaledRows` unless its type is float64. Neither is copied if it is read-only or memory-mapped.
    `BagsError` is raised if the values are not real numbers, with a message that begins with `subject`.
    """
    if is_scaled_rows(given):
        return cast(Points, given)
    array = to_real_array(given, subject)
    if array.ndim == 2 and not fits_in_block(array.size) and not (array.dtype == np.float64 and array.flags.aligned):
        return cast(Points, ScaledRows(as_read_only_rows(array)))
    return as_read_only_rows(np.asarray(array, dtype=np.float64))


def select_rows(rows: Floats | ScaledRows, which: slice | Index) -> Points:
    """Return some dense rows as bags keep them; few rows become a float64 array."""
    if not is_scaled_rows(rows):
        return rows[which] if isinstance(which, slice) else make_read_only(rows[which])
    chosen = rows.select(which)
    return cast(Points, chosen) if not fits_in_block(chosen.size) else make_read_only(np.asarray(chosen))


def concatenate_rows(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return all rows of real arrays in one array: in their common type if they are many, otherwise in float64."""
    kind = np.result_type(*parts) if not fits_in_block(sum(part.size for part in parts)) else np.float64
    return make_read_only(np.concatenate(parts, dtype=kind))


def reduce_by_bag(values: ScaledRows, offsets: Index, reduce: Callable[[Floats, Index], Floats]) -> Floats:
    """Return `reduce(rows, starts)` over all bags in blocks of bags; its result has one row per bag."""
    result = np.empty((offsets.size - 1, values.shape[1]))
    for bags in bag_slices(offsets, values.shape[1]):
        first = offsets[bags.start]
        result[bags] = reduce(values[first : offsets[bags.stop]], offsets[bags] - first)
    return result


def check_finite_rows(rows: Floats | ScaledRows, offsets: Index, name: str, allow_nan: bool = False) -> None:
    """Raise `BagsError` for the first entry that is NaN (unless `allow_nan`) or infinite; read the rows in blocks."""
    for part in row_slices(*rows.shape):
        block = rows.raw[part] if is_scaled_rows(rows) else rows[part]
        bad = np.isinf(block) if allow_nan else ~np.isfinite(block)
        if bad.any():
            row, column = divmod(int(np.flatnonzero(bad)[0]), rows.shape[1])
            raise nonfinite_error(block[row, column], part.start + row, column, offsets, name)


def nonfinite_error(value: float, row: int, column: int, offsets: Index, name: str) -> BagsError:
    """Return (do not raise) an error that names the bag, the instance and the feature of a value."""
    bag = int(np.searchsorted(offsets, row, side="right")) - 1
    where = f"in instance {row - offsets[bag]}, feature {column}"
    hint = "; InstanceTransformer(SimpleImputer()) fills in missing values" if np.isnan(value) else ""
    return BagsError(f"Bag {bag} of {name} has {describe_nonfinite(value)} {where}: every value must be finite{hint}.")
