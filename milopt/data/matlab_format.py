"""Parser of MATLAB's binary files of level 5 (`-v6`, `-v7`): numbers, sparse matrices, text, cells and structs.

milopt has its own parser so that every size in the file is checked against the available bytes before memory is
allocated, and so that an object is only read as its fields.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.data.limits import MAX_TABLE_COLUMNS, MAX_UNPACKED_VALUES

_NUMPY_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""NumPy type codes by the numbers of the numeric element types of the format."""
_ENCODINGS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
"""Text encodings by the numbers of the element types of the format."""
_MATRIX_ELEMENT, _COMPRESSED_ELEMENT = 14, 15
"""Numbers of the element types of an array and of a compressed variable."""
_CELL_CLASS, _STRUCT_CLASS, _OBJECT_CLASS, _CHAR_CLASS, _SPARSE_CLASS, _LAST_NUMERIC_CLASS = 1, 2, 3, 4, 5, 15
"""Numbers of the array classes of the format. Classes from 6 to 15 are numeric."""
_COMPLEX_FLAG = 0x800
"""Flag of an array of complex numbers."""
_MAX_NESTING_DEPTH = 8
"""Maximum nesting depth of cells and structs."""


class BrokenFileError(Exception):
    """Error for bytes that do not follow the format; the message describes the problem."""


@dataclass(frozen=True)
class CellArray:
    """Cell array: values of any kind, in column-major order."""

    shape: tuple[int, ...]
    items: list[Value] = field(repr=False)


Value: TypeAlias = npt.NDArray[Any] | sp.csc_array | CellArray | list[str] | dict[str, Any]
"""Numbers, a sparse matrix, cells, rows of text, or the fields of a 1 x 1 struct."""


def read_variables(content: bytes) -> dict[str, Value]:
    """Return the variables in the bytes of a MATLAB file by name, without functions and opaque objects."""
    if len(content) < 128 or content[126:128] not in (b"IM", b"MI"):
        raise BrokenFileError("this is not a MATLAB file of level 5; save it with -v7")
    order = "<" if content[126:128] == b"IM" else ">"
    values: dict[str, Value] = {}
    unpacked = 0
    # Use views, so that a nested variable is in memory only once.
    for kind, body in _ElementReader(memoryview(content)[128:], order, padded=False):
        if kind == _COMPRESSED_ELEMENT:
            inner = _decompress(body, 8 * MAX_UNPACKED_VALUES - unpacked)
            unpacked += len(inner)
            kind, body = next(iter(_ElementReader(memoryview(inner), order)), (0, body))
        if kind == _MATRIX_ELEMENT:
            name, value = _parse_array(body, order, 0)
            if value is not None:
                values[name] = value
    return values


@dataclass
class _ElementReader:
    """Elements of a range of bytes; each element has a type (a number of the format) and a body of bytes.

    `order` is the byte order ("<" or ">"), `at` the position of the next element, and `padded` states whether
    compressed elements are padded to 8 bytes like all others.
    """

    content: memoryview
    order: str
    padded: bool = True
    at: int = 0

    def __iter__(self) -> Iterator[tuple[int, memoryview]]:
        while self.at < len(self.content):
            yield self.take()

    def take(self) -> tuple[int, memoryview]:
        """Return the type and the body of the next element, and advance to the element after it."""
        if self.at + 8 > len(self.content):
            raise BrokenFileError("an element is truncated")
        kind, size = struct.unpack_from(self.order + "II", self.content, self.at)
        if kind >> 16:
            kind, size, start, step = kind & 0xFFFF, kind >> 16, self.at + 4, 8
            if size > 4:
                raise BrokenFileError("a small element has more than 4 bytes")
        else:
            start, step = self.at + 8, 8 + size
            # Compressed elements (top level only) are followed by the next element without padding.
            step += -size % 8 if self.padded or kind != _COMPRESSED_ELEMENT else 0
        if start + size > len(self.content):
            raise BrokenFileError("the stated size of an element exceeds the file")
        self.at += step
        return kind, self.content[start : start + size]


def _decompress(body: memoryview, max_bytes: int) -> bytes:
    """Return the decompressed bytes of a variable, or raise an error if there are more than `max_bytes` bytes."""
    worker = zlib.decompressobj()
    try:
        content = worker.decompress(body, max(max_bytes, 1))
    except zlib.error as error:
        raise BrokenFileError(f"a compressed variable cannot be decompressed: {error}") from None
    if worker.unconsumed_tail:
        raise BrokenFileError("the variables decompress to too many values; save them with -v6")
    if not worker.eof:
        raise BrokenFileError("a compressed variable is truncated")
    return content


def _parse_array(body: memoryview, order: str, depth: int) -> tuple[str, Value | None]:
    """Return (name, value) of an array; the value is None for functions and opaque objects, which are not data."""
    if not body:
        return "", np.empty((0, 0))
    if depth > _MAX_NESTING_DEPTH:
        raise BrokenFileError(f"cells are nested more than {_MAX_NESTING_DEPTH} deep")
    parts = _ElementReader(body, order)
    flags = _take_integers(parts, "u4")
    if flags.size != 2:
        raise BrokenFileError("a variable has no flags")
    kind = int(flags[0]) & 0xFF
    if kind > _LAST_NUMERIC_CLASS:
        return "", None
    shape = tuple(int(extent) for extent in _take_integers(parts, "i4"))
    if len(shape) < 2 or min(shape) < 0:
        raise BrokenFileError("a variable has no dimensions")
    name = bytes(parts.take()[1]).decode("latin-1")
    if kind == _CELL_CLASS:
        return name, CellArray(shape, [_parse_child(parts, order, depth) for _ in range(_cell_count(shape, parts))])
    if kind == _CHAR_CLASS:
        return name, _take_text_rows(parts, shape)
    if kind in (_STRUCT_CLASS, _OBJECT_CLASS):
        return name, _parse_fields(parts, order, shape, depth, kind == _OBJECT_CLASS)
    if int(flags[0]) & _COMPLEX_FLAG:
        raise BrokenFileError(f"the variable {name!r} is complex; only real numbers are supported")
    return name, _take_sparse_matrix(parts, shape) if kind == _SPARSE_CLASS else _take_full_array(parts, shape)


def _cell_count(shape: tuple[int, ...], parts: _ElementReader) -> int:
    """Return the number of cells of an array, or raise an error if the file has less than 8 bytes for each of them."""
    count = prod(shape)
    if count > min((len(parts.content) - parts.at) // 8, MAX_TABLE_COLUMNS):
        raise BrokenFileError(f"an array of {count} cells exceeds the file, or {MAX_TABLE_COLUMNS}")
    return count


def _parse_child(parts: _ElementReader, order: str, depth: int) -> Value:
    """Return the next value of a cell array or struct."""
    kind, body = parts.take()
    value = _parse_array(body, order, depth + 1)[1] if kind == _MATRIX_ELEMENT else None
    if value is None:
        raise BrokenFileError("a cell contains a value that is not an array")
    return value


def _parse_fields(parts: _ElementReader, order: str, shape: tuple[int, ...], depth: int, is_object: bool) -> Value:
    """Return the fields of a 1 x 1 struct or object by name; raise an error for an array of structs."""
    if is_object:
        parts.take()
    width = _take_integers(parts, "i4")
    text = bytes(parts.take()[1])
    if width.size != 1 or not 0 < width[0] <= 64:
        raise BrokenFileError("a struct has field names of an impossible length")
    step = int(width[0])
    names = [text[i : i + step].split(b"\0")[0].decode("latin-1") for i in range(0, len(text), step)]
    if prod(shape) != 1:
        raise BrokenFileError("an array of structs is not supported; save cells")
    return {name: _parse_child(parts, order, depth) for name in names}


def _take_integers(parts: _ElementReader, dtype: str) -> npt.NDArray[Any]:
    """Return the next element as an array of 4-byte integers of this dtype ("i4" or "u4")."""
    _, body = parts.take()
    if len(body) % 4:
        raise BrokenFileError("an array of integers is truncated")
    return np.frombuffer(body, parts.order + dtype)


def _take_numbers(parts: _ElementReader) -> npt.NDArray[Any]:
    """Return the next element as a 1-D array of numbers of the type that the element states."""
    kind, body = parts.take()
    if kind not in _NUMPY_TYPES:
        raise BrokenFileError(f"numbers of an unknown type ({kind})")
    dtype = np.dtype(parts.order + _NUMPY_TYPES[kind])
    if len(body) % dtype.itemsize or len(body) // dtype.itemsize > MAX_UNPACKED_VALUES:
        raise BrokenFileError("an array is truncated, or has too many values")
    return np.frombuffer(body, dtype)


def _take_full_array(parts: _ElementReader, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return the next element as a full array of this shape."""
    values = _take_numbers(parts)
    if values.size != prod(shape):
        raise BrokenFileError(f"an array has {values.size} values, but its dimensions require {prod(shape)}")
    return values.reshape(shape, order="F")


def _take_sparse_matrix(parts: _ElementReader, shape: tuple[int, ...]) -> sp.csc_array:
    """Return the next elements (row indices, column starts, values) as a sparse matrix of this shape."""
    rows, bounds, values = _take_integers(parts, "i4"), _take_integers(parts, "i4"), _take_numbers(parts)
    count = int(bounds[-1]) if bounds.size == shape[1] + 1 else -1
    ordered = count >= 0 and bounds[0] == 0 and bool((np.diff(bounds) >= 0).all())
    inside = ordered and count <= min(rows.size, values.size)
    if len(shape) != 2 or not inside or (count and not 0 <= rows[:count].min() <= rows[:count].max() < shape[0]):
        raise BrokenFileError("a sparse matrix has indices outside its dimensions")
    pieces = (values[:count].astype(np.float64), rows[:count].astype(np.int32), bounds.astype(np.int32))
    return sp.csc_array(pieces, shape=shape)


def _take_text_rows(parts: _ElementReader, shape: tuple[int, ...]) -> list[str]:
    """Return the rows of a character array of this shape as strings, without blanks at their ends."""
    if not prod(shape):
        return []
    kind, body = parts.take()
    encoding = _ENCODINGS.get(kind, "")
    endian = {"<": "-le", ">": "-be"}[parts.order] if encoding.startswith(("utf-16", "utf-32")) else ""
    try:
        text = bytes(body).decode(encoding + endian)
    except (UnicodeDecodeError, LookupError):
        raise BrokenFileError("text is not in its encoding") from None
    if len(text) != prod(shape):
        raise BrokenFileError("the length of a text does not match its dimensions")
    # Text is in column-major order: row i is every shape[0]-th letter, starting with letter i.
    return [text[i :: shape[0]].rstrip() for i in range(min(shape[0], MAX_TABLE_COLUMNS))]
