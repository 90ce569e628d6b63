"""Numbers as a declaration takes them: real and finite, or one sentence that says which were not."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Points, Vector
from milopt.declaration.arrays import csr as canonical
from milopt.declaration.arrays import numeric, spelled
from milopt.declaration.programs.sparse import csr as as_csr
from milopt.errors import BagsError, DeclarationError


def real(value: object, what: str) -> Vector:
    """Real numbers as float64, NaN and infinity among them; a sparse array becomes a dense one."""
    try:
        array = np.asarray(dense(value))
        # numpy makes NaN of None, which would be reported as a wrong number.
        has_none = array.dtype.kind == "O" and any(entry is None for entry in array.flat)
        if array.dtype.kind in "biufO" and not has_none:
            return np.asarray(array, dtype=float)
    except (TypeError, ValueError):
        pass  # ragged, or objects that are not numbers: the sentence below
    raise DeclarationError(f"{what} must be real numbers, not {_kind(value)}.")


def dense(value: Any) -> Any:
    """Return a sparse array as a dense one, and anything else as it is."""
    return value.toarray() if _is_sparse(value) else value


def _is_sparse(value: object) -> bool:
    return bool(sp.issparse(value))


def numbers(value: object) -> Vector:
    """The numbers in an expression."""
    array = _array(value)
    if not np.isfinite(array).all():
        raise DeclarationError("A number in an expression is NaN or infinite.")
    return array


def sides(value: object) -> Vector:
    """The numbers on one side of a comparison, which may be infinite."""
    array = _array(value)
    if np.isnan(array).any():
        raise DeclarationError("A number in an expression is NaN.")
    return array


def _array(value: object) -> Vector:
    if type(value) is float or type(value) is int:
        return np.asarray(value, dtype=float)
    try:
        return real(value, "")
    except DeclarationError:
        raise DeclarationError(f"Expected numbers or an expression, got {_kind(value)}.") from None


def matrix(value: Any) -> Vector | sp.csr_array:
    """What multiplies an expression from the left: a dense vector or matrix, or a sparse one."""
    if not _is_sparse(value) or value.ndim == 1:
        return numbers(value)
    # A copy, since the owner of the matrix may write to it later.
    entries = as_csr(value).copy()
    numbers(entries.data)
    return entries


def points(value: object, what: str) -> Points:
    """Points as rows of finite numbers, dense or sparse; the very object where it is that already."""
    try:
        rows = canonical(value) if sp.issparse(value) else numeric(value, what)
    except BagsError as error:
        raise DeclarationError(str(error)) from None
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise DeclarationError(f"{what} must be a 2-D array with one row a point, not of shape {rows.shape}.")
    entries = np.asarray(rows.data) if isinstance(rows, sp.csr_array) else rows
    wrong = ~np.isfinite(entries)
    if wrong.any():
        raise DeclarationError(f"{what} has {spelled(entries[wrong][0])} in it: every value must be finite.")
    return rows


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return repr(value) if value is None or isinstance(value, (str, complex)) else type(value).__name__
