"""MATLAB's binary files of level 5 (`-v6`, `-v7`): numbers, sparse matrices, text, cells and structs.

A reader of its own, because every count in the file must be held against the bytes that are there before anything is
made for it, and because objects are only ever read as the plain fields they consist of.
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

from milopt.data.limits import COLUMNS, UNPACKED_VALUES

_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_ENCODINGS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_MATRIX, _PACKED = 14, 15
_CELL, _STRUCT, _OBJECT, _CHAR, _SPARSE, _LAST_NUMBER = 1, 2, 3, 4, 5, 15
_COMPLEX = 0x800
_DEPTH = 8
"""Cells within cells within ...: more than any data set has."""


class BrokenFileError(Exception):
    """The bytes are not what the format asks for; the text says in which way."""


@dataclass(frozen=True)
class Cell:
    """An array of values of any kind, in column order."""

    shape: tuple[int, ...]
    items: list[Value] = field(repr=False)


Value: TypeAlias = npt.NDArray[Any] | sp.csc_array | Cell | list[str] | dict[str, Any]
"""Numbers, a sparse matrix, cells, rows of text, or the fields of a 1 x 1 struct."""


def variables(content: bytes) -> dict[str, Value]:
    """The variables of a file by name."""
    if len(content) < 128 or content[126:128] not in (b"IM", b"MI"):
        raise BrokenFileError("this is no MATLAB file of level 5; save it with -v7")
    order = "<" if content[126:128] == b"IM" else ">"
    found: dict[str, Value] = {}
    unpacked = 0
    # Views, so that a variable lies in memory once however deep it is nested.
    for kind, body in _Elements(memoryview(content)[128:], order, padded=False):
        if kind == _PACKED:
            inner = _unpacked(body, 8 * UNPACKED_VALUES - unpacked)
            unpacked += len(inner)
            kind, body = next(iter(_Elements(memoryview(inner), order)), (0, body))
        if kind == _MATRIX:
            name, value = _matrix(body, order, 0)
            if value is not None:
                found[name] = value
    return found


@dataclass
class _Elements:
    """The elements of a stretch of bytes, each a type and a body."""

    content: memoryview
    order: str
    padded: bool = True
    at: int = 0

    def __iter__(self) -> Iterator[tuple[int, memoryview]]:
        while self.at < len(self.content):
            yield self.take()

    def take(self) -> tuple[int, memoryview]:
        if self.at + 8 > len(self.content):
            raise BrokenFileError("an element is cut off")
        kind, size = struct.unpack_from(self.order + "II", self.content, self.at)
        if kind >> 16:
            kind, size, start, step = kind & 0xFFFF, kind >> 16, self.at + 4, 8
            if size > 4:
                raise BrokenFileError("a small element has more than 4 bytes")
        else:
            start, step = self.at + 8, 8 + size
            # Packed elements, which stand at the top, are followed by the next without a gap.
            step += -size % 8 if self.padded or kind != _PACKED else 0
        if start + size > len(self.content):
            raise BrokenFileError("an element says to be larger than the file is")
        self.at += step
        return kind, self.content[start : start + size]


def _unpacked(body: memoryview, room: int) -> bytes:
    worker = zlib.decompressobj()
    try:
        content = worker.decompress(body, max(room, 1))
    except zlib.error as error:
        raise BrokenFileError(f"a packed variable cannot be unpacked: {error}") from None
    if worker.unconsumed_tail:
        raise BrokenFileError("the variables unpack to too many values; save them with -v6")
    if not worker.eof:
        raise BrokenFileError("a packed variable is cut off")
    return content


def _matrix(body: memoryview, order: str, depth: int) -> tuple[str, Value | None]:
    """The name and value of a variable or a part of one; None for what is no data (functions, opaque objects)."""
    if not body:
        return "", np.empty((0, 0))
    if depth > _DEPTH:
        raise BrokenFileError(f"cells lie within cells more than {_DEPTH} deep")
    parts = _Elements(body, order)
    flags = _integers(parts, "u4")
    if flags.size != 2:
        raise BrokenFileError("a variable has no flags")
    kind = int(flags[0]) & 0xFF
    if kind > _LAST_NUMBER:
        return "", None
    shape = tuple(int(extent) for extent in _integers(parts, "i4"))
    if len(shape) < 2 or min(shape) < 0:
        raise BrokenFileError("a variable has no dimensions")
    name = bytes(parts.take()[1]).decode("latin-1")
    if kind == _CELL:
        return name, Cell(shape, [_child(parts, order, depth) for _ in range(_room(shape, parts))])
    if kind == _CHAR:
        return name, _rows_of_text(parts, shape)
    if kind in (_STRUCT, _OBJECT):
        return name, _fields(parts, order, shape, depth, kind == _OBJECT)
    if int(flags[0]) & _COMPLEX:
        raise BrokenFileError(f"the variable {name!r} is complex; only real numbers are taken")
    return name, _sparse(parts, shape) if kind == _SPARSE else _full(parts, shape)


def _room(shape: tuple[int, ...], parts: _Elements) -> int:
    """The number of parts of a cell array or struct array, if each can have its 8 bytes at least."""
    count = prod(shape)
    if count > min((len(parts.content) - parts.at) // 8, COLUMNS):
        raise BrokenFileError(f"an array of {count} cells is larger than the file is, or than {COLUMNS}")
    return count


def _child(parts: _Elements, order: str, depth: int) -> Value:
    kind, body = parts.take()
    value = _matrix(body, order, depth + 1)[1] if kind == _MATRIX else None
    if value is None:
        raise BrokenFileError("a cell holds what is no array")
    return value


def _fields(parts: _Elements, order: str, shape: tuple[int, ...], depth: int, is_object: bool) -> Value:
    if is_object:
        parts.take()
    width = _integers(parts, "i4")
    text = bytes(parts.take()[1])
    if width.size != 1 or not 0 < width[0] <= 64:
        raise BrokenFileError("a struct has field names of an impossible length")
    step = int(width[0])
    names = [text[i : i + step].split(b"\0")[0].decode("latin-1") for i in range(0, len(text), step)]
    if prod(shape) != 1:
        raise BrokenFileError("an array of structs is no data set; save cells")
    return {name: _child(parts, order, depth) for name in names}


def _integers(parts: _Elements, dtype: str) -> npt.NDArray[Any]:
    _, body = parts.take()
    if len(body) % 4:
        raise BrokenFileError("a count is cut off")
    return np.frombuffer(body, parts.order + dtype)


def _numbers(parts: _Elements) -> npt.NDArray[Any]:
    kind, body = parts.take()
    if kind not in _TYPES:
        raise BrokenFileError(f"numbers of an unknown type ({kind})")
    dtype = np.dtype(parts.order + _TYPES[kind])
    if len(body) % dtype.itemsize or len(body) // dtype.itemsize > UNPACKED_VALUES:
        raise BrokenFileError("an array is cut off, or has too many values")
    return np.frombuffer(body, dtype)


def _full(parts: _Elements, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    values = _numbers(parts)
    if values.size != prod(shape):
        raise BrokenFileError(f"an array has {values.size} values where its dimensions say {prod(shape)}")
    return values.reshape(shape, order="F")


def _sparse(parts: _Elements, shape: tuple[int, ...]) -> sp.csc_array:
    rows, bounds, values = _integers(parts, "i4"), _integers(parts, "i4"), _numbers(parts)
    count = int(bounds[-1]) if bounds.size == shape[1] + 1 else -1
    ordered = count >= 0 and bounds[0] == 0 and bool((np.diff(bounds) >= 0).all())
    inside = ordered and count <= min(rows.size, values.size)
    if len(shape) != 2 or not inside or (count and not 0 <= rows[:count].min() <= rows[:count].max() < shape[0]):
        raise BrokenFileError("a sparse matrix has indices outside its dimensions")
    pieces = (values[:count].astype(np.float64), rows[:count].astype(np.int32), bounds.astype(np.int32))
    return sp.csc_array(pieces, shape=shape)


def _rows_of_text(parts: _Elements, shape: tuple[int, ...]) -> list[str]:
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
        raise BrokenFileError("text is longer or shorter than its dimensions say")
    # Column order: row i is every shape[0]-th letter from the i-th.
    return [text[i :: shape[0]].rstrip() for i in range(min(shape[0], COLUMNS))]
