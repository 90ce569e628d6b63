"""Arrays as people bring them, made real, 64-bit and read-only: what bags and kernels hold."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Floats, Index, Points
from milopt.errors import BagsError, BagsTypeError


def numeric(values: object, what: str) -> Floats:
    """Real numbers as float64, without a copy where they are that already."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biufO":
            return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        kind = BagsTypeError if isinstance(error, TypeError) else BagsError
        raise kind(f"{what} cannot be read as an array of numbers ({error}).") from error
    raise BagsError(f"{what} has values of type {array.dtype}: {_refusal(array.dtype)}.")


def spelled(value: float) -> str:
    """How a message calls a value that is not finite."""
    return "NaN" if np.isnan(value) else f"infinity ({value})"


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array itself, which nobody can write to from now on."""
    array.flags.writeable = False
    return array


def read_only_sparse(rows: sp.csr_array) -> sp.csr_array:
    """The matrix itself, whose entries nobody can write to from now on."""
    for part in (rows.data, rows.indices, rows.indptr):
        read_only(part)
    return rows


def frozen(rows: Floats) -> Floats:
    """The rows, C-contiguous and out of anyone's reach: a copy if they, or what they are a view of, can be written."""
    array = np.ascontiguousarray(rows)
    owner: object = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return read_only(array.copy() if np.may_share_memory(array, rows) else array)
        owner = owner.base
    return array


def csr(matrix: Any) -> sp.csr_array:
    """Any sparse matrix of real numbers in canonical CSR: sorted, no duplicates, no stored zeros.

    It is the very object where it is that already, and a copy otherwise.
    """
    if matrix.dtype.kind not in "biuf":
        raise BagsError(f"A sparse matrix has values of type {matrix.dtype}: {_refusal(matrix.dtype)}.")
    if matrix.ndim != 2:
        raise BagsError(f"A sparse array is {matrix.ndim}-D: give a 2-D one, one row an instance.")
    rows = sp.csr_array(matrix, dtype=np.float64)
    if not rows.has_canonical_format or not rows.data.all():
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return matrix if isinstance(matrix, sp.csr_array) and rows.data is matrix.data else rows


def _refusal(dtype: np.dtype[Any]) -> str:
    return "Complex data not supported" if dtype.kind == "c" else "only real numbers are taken"


def first_of_each(rows: Points) -> Index:
    """Where each different row occurs first, in order; sparse rows are canonical."""
    if isinstance(rows, sp.csr_array):
        parts = [slice(start, stop) for start, stop in pairwise(rows.indptr)]
        keys = [(rows.indices[part].tobytes(), rows.data[part].tobytes()) for part in parts]
    else:
        # -0 and 0 are one number, of which only their bytes know two.
        keys = [(b"", row.tobytes()) for row in rows + 0.0]
    return np.array(sorted({key: i for i, key in reversed(list(enumerate(keys)))}.values()), dtype=np.intp)
