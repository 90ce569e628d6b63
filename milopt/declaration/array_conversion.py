"""Conversion of user input to real, 64-bit, read-only arrays, as bags and kernels store them."""

from __future__ import annotations

from itertools import pairwise
from mmap import mmap
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Floats, Index, Points
from milopt.errors import BagsError, BagsTypeError


def to_float_array(values: object, subject: str) -> Floats:
    """Return values as a float64 array, without a copy if they have that type already.

    If the values are not real numbers, `BagsError` is raised, with a message that begins with `subject`.
    """
    return np.asarray(to_real_array(values, subject), dtype=np.float64)


def to_real_array(values: object, subject: str) -> npt.NDArray[Any]:
    """Return values as an array of real numbers, without a copy if they are one already; objects become float64.

    If the values are not real numbers, `BagsError` is raised, with a message that begins with `subject`.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biuf":
            return array
        if array.dtype.kind == "O":
            return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        kind = BagsTypeError if isinstance(error, TypeError) else BagsError
        raise kind(f"{subject} cannot be read as an array of numbers ({error}).") from error
    raise BagsError(f"{subject} has values of type {array.dtype}: {_unsupported_dtype_reason(array.dtype)}.")


def describe_nonfinite(value: float) -> str:
    """Return "NaN" or "infinity (...)" for a value that is NaN or infinite, for messages."""
    return "NaN" if np.isnan(value) else f"infinity ({value})"


def make_read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make an array read-only, in place, and return it."""
    array.flags.writeable = False
    return array


def make_sparse_read_only(rows: sp.csr_array) -> sp.csr_array:
    """Make the arrays of a sparse matrix read-only, in place, and return the matrix."""
    for part in (rows.data, rows.indices, rows.indptr):
        make_read_only(part)
    return rows


def as_read_only_rows(rows: Floats) -> Floats:
    """Return the rows as a C-contiguous array that no other code can write to.

    The rows are copied if they are not C-contiguous, or if they, or the array of which they are a view, are writeable.
    A memory-mapped array that is C-contiguous is not copied, because the file can change anyway.
    """
    array = np.ascontiguousarray(rows)
    if is_memory_mapped(array):
        return make_read_only(array.view(np.ndarray))
    owner: object = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return make_read_only(array.copy() if np.may_share_memory(array, rows) else array)
        owner = owner.base
    return array


def is_memory_mapped(array: npt.NDArray[Any]) -> bool:
    """Return True if an array is a view of a memory-mapped file."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return isinstance(owner, mmap)


def as_canonical_csr(matrix: Any) -> sp.csr_array:
    """Return a sparse matrix in canonical CSR form: rows sorted by column, without duplicates and without stored zeros.

    A matrix that has this form already is returned unchanged; otherwise the result is a copy.
    """
    if matrix.dtype.kind not in "biuf":
        raise BagsError(
            f"A sparse matrix has values of type {matrix.dtype}: {_unsupported_dtype_reason(matrix.dtype)}."
        )
    if matrix.ndim != 2:
        raise BagsError(f"A sparse array is {matrix.ndim}-D: give a 2-D one, one row per instance.")
    rows = sp.csr_array(matrix, dtype=np.float64)
    if not rows.has_canonical_format or not rows.data.all():
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return matrix if isinstance(matrix, sp.csr_array) and rows.data is matrix.data else rows


def _unsupported_dtype_reason(dtype: np.dtype[Any]) -> str:
    """Return the reason why a data type is not supported, for messages."""
    return "Complex data not supported" if dtype.kind == "c" else "only real numbers are supported"


def first_occurrences(rows: Points) -> Index:
    """Return the ascending positions of the first occurrences of the distinct rows; sparse rows must be canonical."""
    if isinstance(rows, sp.csr_array):
        parts = [slice(start, stop) for start, stop in pairwise(rows.indptr)]
        keys = [(rows.indices[part].tobytes(), rows.data[part].tobytes()) for part in parts]
    else:
        # -0 and 0 are equal but have different bytes: adding 0 turns -0 into 0.
        keys = [(b"", row.tobytes()) for row in rows + 0.0]
    return np.array(sorted({key: i for i, key in reversed(list(enumerate(keys)))}.values()), dtype=np.intp)
