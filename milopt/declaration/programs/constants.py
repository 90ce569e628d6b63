"""Conversion of user input to numbers in declarations, with checks that they are real and finite."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Points, Vector
from milopt.declaration.array_conversion import as_canonical_csr, describe_nonfinite, to_float_array
from milopt.declaration.programs.sparse import as_csr
from milopt.errors import BagsError, DeclarationError


def as_real_array(value: object, subject: str) -> Vector:
    """Return real numbers as a float64 array, which may contain NaN and infinity; sparse arrays become dense.

    If the values are not real numbers, `DeclarationError` is raised, with a message that begins with `subject`.
    """
    try:
        array = np.asarray(as_dense(value))
        # numpy converts None to NaN, and the message would be about NaN.
        has_none = array.dtype.kind == "O" and any(entry is None for entry in array.flat)
        if array.dtype.kind in "biufO" and not has_none:
            return np.asarray(array, dtype=float)
    except (TypeError, ValueError):
        pass  # ragged lists, or objects that are not numbers: raise the error below
    raise DeclarationError(f"{subject} must be real numbers, not {_describe_type(value)}.")


def as_dense(value: Any) -> Any:
    """Return a sparse array as a dense array, and anything else unchanged."""
    return value.toarray() if _is_sparse(value) else value


def _is_sparse(value: object) -> bool:
    """Return True if a value is a sparse matrix or array."""
    return bool(sp.issparse(value))


def as_numbers(value: object) -> Vector:
    """Return numbers for use in an expression; raise `DeclarationError` if one is NaN or infinite."""
    array = _as_array(value)
    if not np.isfinite(array).all():
        raise DeclarationError("A number in an expression is NaN or infinite.")
    return array


def as_side_numbers(value: object) -> Vector:
    """Return numbers for one side of a comparison, which may be infinite; raise `DeclarationError` if one is NaN."""
    array = _as_array(value)
    if np.isnan(array).any():
        raise DeclarationError("A number in an expression is NaN.")
    return array


def _as_array(value: object) -> Vector:
    """Return numbers as an array; raise `DeclarationError` if they are neither numbers nor an expression."""
    if type(value) is float or type(value) is int:
        return np.asarray(value, dtype=float)
    try:
        return as_real_array(value, "")
    except DeclarationError:
        remedy = f": {value.operand_remedy}" if isinstance(value, HasOperandRemedy) else ""
        raise DeclarationError(f"Expected numbers or an expression, got {_describe_type(value)}{remedy}.") from None


@runtime_checkable
class HasOperandRemedy(Protocol):
    """Protocol of objects that are not expressions, but of which expressions can be made."""

    @property
    def operand_remedy(self) -> str:
        """How to write an expression, for the error message."""


def as_matrix(value: Any) -> Vector | sp.csr_array:
    """Return a constant factor of `@` as a dense array, or as a copied sparse matrix; all numbers must be finite."""
    if not _is_sparse(value) or value.ndim == 1:
        return as_numbers(value)
    # Copy the matrix, because the user may write to it later.
    entries = as_csr(value).copy()
    as_numbers(entries.data)
    return entries


def as_points(value: object, subject: str) -> Points:
    """Return points as rows of finite numbers, dense or sparse; an array in this form is returned unchanged.

    For anything else, `DeclarationError` is raised, with a message that begins with `subject`.
    """
    try:
        rows = as_canonical_csr(value) if sp.issparse(value) else to_float_array(value, subject)
    except BagsError as error:
        raise DeclarationError(str(error)) from None
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise DeclarationError(f"{subject} must be a 2-D array with one row per point, not of shape {rows.shape}.")
    entries = np.asarray(rows.data) if isinstance(rows, sp.csr_array) else rows
    wrong = ~np.isfinite(entries)
    if wrong.any():
        raise DeclarationError(
            f"{subject} has {describe_nonfinite(entries[wrong][0])} in it: every value must be finite."
        )
    return rows


def _describe_type(value: object) -> str:
    """Return a short description of a value for messages."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return repr(value) if value is None or isinstance(value, (str, complex)) else type(value).__name__
