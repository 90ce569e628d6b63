"""One file of a JSON header and arrays: an ordinary zip of `header.json` and `.npy` members, none compressed.

The zip's comment, which is the end of the file, is the SHA-256 of everything before it: no byte can change unnoticed.
Nothing is unpickled. Members that are compressed, or that share bytes with one another, are refused, so that reading a
file takes no more than a small multiple of its size.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from milopt.errors import ModelFileError, ParameterError
from milopt.files import check_place, open_regular, write_whole

Arrays = dict[str, npt.NDArray[Any]]

_MARK = b"milopt model, sha256 "
_HEADER = "header.json"
_DIGITS = 64
_EPOCH = (1980, 1, 1, 0, 0, 0)
_KINDS = "biufUSmM"
"""Kinds of arrays that models hold: booleans, numbers, texts and, as labels, times."""
_LOCAL_HEADER_BYTES = 30
"""Of a member in the zip, before its name and its content."""


def written(path: Path, header: bytes, arrays: Mapping[str, npt.NDArray[Any]], what: str = "model") -> None:
    """Write the file: it is there whole or not at all."""
    content = packed(header, arrays)
    write_whole(path, lambda beside: beside.write_bytes(content), f"The {what}", ModelFileError)


def as_path(given: object, what: str = "model") -> Path:
    """Where a file is."""
    if not isinstance(given, (str, os.PathLike)):
        raise ParameterError(f"A {what} is kept in a file: give its path, not {given!r}.")
    return Path(given)


def check_writable(path: Path) -> None:
    """Say so now if a model could not be written there, before anybody waits for it."""
    check_place(path, "The model", ModelFileError)


def read(path: Path, what: str = "model") -> tuple[bytes, Arrays]:
    """The header and the arrays of a file that carries its own checksum."""
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - len(_MARK) - _DIGITS))
            if not file.read(len(_MARK) + _DIGITS).startswith(_MARK):
                raise ModelFileError(f"{path} is not a {what} that milopt saved, or it was cut short: save it again.")
            file.seek(0)
            content = file.read(size)
    except OSError as error:
        raise ModelFileError(f"The {what} file {path} cannot be read: {error.strerror or error}.") from error
    if hashlib.sha256(memoryview(content)[:-_DIGITS]).hexdigest().encode() != content[-_DIGITS:]:
        raise ModelFileError(f"{path} is damaged: its checksum does not hold, so that it must not be trusted.")
    try:
        return _unpacked(content)
    except Exception as error:  # the readers of zip and npy raise almost anything on bytes that are neither
        raise wrong_content(path, what, error) from error


def wrong_content(path: Path, what: str, error: Exception) -> ModelFileError:
    """Make the error of a file whose checksum holds, but whose content cannot be used."""
    said = one_line(error)
    if isinstance(error, MemoryError):
        return ModelFileError(f"There is not enough memory to load the {what} {path} ({said}).")
    return ModelFileError(f"{path} does not hold what a saved {what} holds ({said}).")


def one_line(error: Exception) -> str:
    """Shorten the message of an error to one line of printable characters."""
    said = " ".join(str(error).split()).strip("'\"").rstrip(".")[:200] or type(error).__name__
    return "".join(one if one.isprintable() else "?" for one in said)


def packed(header: bytes, arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """The bytes of the file; the same for the same content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER, _EPOCH), header)
        for name, array in arrays.items():
            member = io.BytesIO()
            npy.write_array(member, np.asarray(array, order="C"), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _EPOCH), member.getvalue())
        archive.comment = _MARK + b"0" * _DIGITS
    body = buffer.getvalue()[:-_DIGITS]
    return body + hashlib.sha256(body).hexdigest().encode()


def _unpacked(content: bytes) -> tuple[bytes, Arrays]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        _check_members(members, len(content))
        header = archive.read(_HEADER)
        names = [member.filename for member in members if member.filename != _HEADER]
        return header, {name.removesuffix(".npy"): _array(archive.read(name)) for name in names}


def _check_members(members: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Raise a ValueError unless every member has a name and bytes of its own within the file, not compressed."""
    if any(one.compress_type != zipfile.ZIP_STORED or one.compress_size != one.file_size for one in members):
        raise ValueError("a member is compressed")
    names = [one.filename for one in members]
    if len(set(names)) < len(names):
        raise ValueError("two members have the same name")
    if not all(name == _HEADER or name.endswith(".npy") for name in names):
        raise ValueError("a member is neither the header nor an array")
    end = 0
    for one in sorted(members, key=lambda one: one.header_offset):
        if one.header_offset < end:
            raise ValueError("two members overlap")
        end = one.header_offset + _LOCAL_HEADER_BYTES + len(one.orig_filename) + one.file_size
    if end > size:
        raise ValueError("a member is larger than the file")


def _array(member: bytes) -> npt.NDArray[Any]:
    """The array of an .npy member, which must be exactly as large as it says before anything is allocated."""
    stream = io.BytesIO(member)
    if npy.read_magic(stream) != (1, 0):
        raise ValueError("an array is of an unknown version")
    shape, fortran, dtype = npy.read_array_header_1_0(stream)
    start, count = stream.tell(), math.prod(shape)
    if dtype.kind not in _KINDS or dtype.itemsize == 0 or min(shape, default=0) < 0 or fortran:
        raise ValueError("an array is of a kind that milopt does not save")
    if dtype.itemsize * count != len(member) - start:
        raise ValueError("an array does not match its description")
    array = np.frombuffer(member, dtype=dtype, offset=start, count=count).reshape(shape)
    if dtype.kind == "U":
        check_text(array)
    return array


def check_text(array: npt.NDArray[np.str_]) -> None:
    """Raise a ValueError if an array of text holds numbers that are not Unicode characters.

    numpy reads any 32-bit number as a character. Those above 0x10FFFF fail when they become a Python string, and
    surrogates (0xD800 to 0xDFFF) when that string is written.
    """
    native = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    codes = native.reshape(-1).view(np.uint32)
    if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))).any():
        raise ValueError("an array of text holds numbers that are not Unicode characters")
