"""Files that consist of a JSON header and arrays: an uncompressed zip file of `header.json` and `.npy` members.

The zip comment is the last part of the file. It ends with the SHA-256 hash of all bytes before the hash, so that any
change is detected. Nothing is unpickled. Compressed members and members that share bytes are rejected, so that reading
a file needs no more memory than a small multiple of its size.
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
from milopt.files import check_can_write, open_regular_file, write_atomically

Arrays = dict[str, npt.NDArray[Any]]
"""Arrays of a file by name."""

_SIGNATURE = b"milopt model, sha256 "
"""Start of the comment of the zip file; the hash follows."""
_HEADER_MEMBER = "header.json"
"""Name of the zip member with the JSON header."""
_CHECKSUM_DIGITS = 64
"""Number of hexadecimal digits of a SHA-256 hash."""
_MEMBER_DATE = (1980, 1, 1, 0, 0, 0)
"""Date that is written for every zip member, so that equal contents give equal files."""
_ALLOWED_DTYPE_KINDS = "biufUSmM"
"""Allowed values of `numpy.dtype.kind`: booleans, real numbers, strings, and (as labels) dates and times."""
_LOCAL_HEADER_BYTES = 30
"""Bytes of the local header that precedes the name and content of a zip member."""


def write_archive(path: Path, header: bytes, arrays: Mapping[str, npt.NDArray[Any]], file_kind: str = "model") -> None:
    """Write a header and arrays to a file atomically; raise `ModelFileError` if the file cannot be written.

    `file_kind` is the kind of file, such as "model", for the error message.
    """
    content = pack_archive(header, arrays)
    write_atomically(path, lambda part: part.write_bytes(content), f"The {file_kind}", ModelFileError)


def as_path(given: object, file_kind: str = "model") -> Path:
    """Return `given` as a path, or raise `ParameterError` if it is neither a string nor path-like.

    `file_kind` is the kind of file, such as "model", for the error message.
    """
    if not isinstance(given, (str, os.PathLike)):
        raise ParameterError(f"A {file_kind} is stored in a file: give its path, not {given!r}.")
    return Path(given)


def check_model_writable(path: Path) -> None:
    """Raise `ModelFileError` if a model cannot be written to this path.

    The check is for the start of a long computation whose model will be saved there.
    """
    check_can_write(path, "The model", ModelFileError)


def read_archive(path: Path, file_kind: str = "model") -> tuple[bytes, Arrays]:
    """Return (header, arrays) of a file, or raise `ModelFileError` if the file is not readable or is damaged.

    `file_kind` is the kind of file, such as "model", for the error message.
    """
    try:
        with open_regular_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - len(_SIGNATURE) - _CHECKSUM_DIGITS))
            if not file.read(len(_SIGNATURE) + _CHECKSUM_DIGITS).startswith(_SIGNATURE):
                raise ModelFileError(
                    f"{path} is not a {file_kind} saved by milopt, or the file is truncated: save it again."
                )
            file.seek(0)
            content = file.read(size)
    except OSError as error:
        raise ModelFileError(f"The {file_kind} file {path} cannot be read: {error.strerror or error}.") from error
    if hashlib.sha256(memoryview(content)[:-_CHECKSUM_DIGITS]).hexdigest().encode() != content[-_CHECKSUM_DIGITS:]:
        raise ModelFileError(f"{path} is damaged: its checksum is wrong.")
    try:
        return _unpack_archive(content)
    except Exception as error:  # the readers of zip and npy may raise any exception for invalid bytes
        raise invalid_content_error(path, file_kind, error) from error


def invalid_content_error(path: Path, file_kind: str, error: Exception) -> ModelFileError:
    """Return the exception to raise if the checksum of a file is correct but `error` occurred while it was read."""
    reason = one_line_message(error)
    if isinstance(error, MemoryError):
        return ModelFileError(f"There is not enough memory to load the {file_kind} {path} ({reason}).")
    return ModelFileError(f"{path} does not have the content of a saved {file_kind} ({reason}).")


def one_line_message(error: Exception) -> str:
    """Return the message of an error as one line of at most 200 printable characters."""
    text = " ".join(str(error).split()).strip("'\"").rstrip(".")[:200] or type(error).__name__
    return "".join(character if character.isprintable() else "?" for character in text)


def pack_archive(header: bytes, arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return the bytes of a file with this header and these arrays; equal arguments give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER_MEMBER, _MEMBER_DATE), header)
        for name, array in arrays.items():
            member = io.BytesIO()
            npy.write_array(member, np.asarray(array, order="C"), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _MEMBER_DATE), member.getvalue())
        archive.comment = _SIGNATURE + b"0" * _CHECKSUM_DIGITS
    body = buffer.getvalue()[:-_CHECKSUM_DIGITS]
    return body + hashlib.sha256(body).hexdigest().encode()


def _unpack_archive(content: bytes) -> tuple[bytes, Arrays]:
    """Return (header, arrays) from the bytes of a file; the inverse of `pack_archive`."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        _check_members(members, len(content))
        header = archive.read(_HEADER_MEMBER)
        names = [member.filename for member in members if member.filename != _HEADER_MEMBER]
        return header, {name.removesuffix(".npy"): _read_array(archive.read(name)) for name in names}


def _check_members(members: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Raise ValueError unless all zip members are uncompressed, have distinct valid names and share no bytes.

    All members must also end within `size`, the number of bytes of the file.
    """
    if any(m.compress_type != zipfile.ZIP_STORED or m.compress_size != m.file_size for m in members):
        raise ValueError("a member is compressed")
    names = [member.filename for member in members]
    if len(set(names)) < len(names):
        raise ValueError("two members have the same name")
    if not all(name == _HEADER_MEMBER or name.endswith(".npy") for name in names):
        raise ValueError("a member is neither the header nor an array")
    end = 0
    for member in sorted(members, key=lambda member: member.header_offset):
        if member.header_offset < end:
            raise ValueError("two members overlap")
        end = member.header_offset + _LOCAL_HEADER_BYTES + len(member.orig_filename) + member.file_size
    if end > size:
        raise ValueError("a member is larger than the file")


def _read_array(member: bytes) -> npt.NDArray[Any]:
    """Return the array of an .npy member; raise ValueError for a type that milopt does not save or a wrong size."""
    stream = io.BytesIO(member)
    if npy.read_magic(stream) != (1, 0):
        raise ValueError("an array is of an unknown version")
    shape, fortran, dtype = npy.read_array_header_1_0(stream)
    start, count = stream.tell(), math.prod(shape)
    if dtype.kind not in _ALLOWED_DTYPE_KINDS or dtype.itemsize == 0 or min(shape, default=0) < 0 or fortran:
        raise ValueError("an array is of a kind that milopt does not save")
    if dtype.itemsize * count != len(member) - start:
        raise ValueError("an array does not match its description")
    array = np.frombuffer(member, dtype=dtype, offset=start, count=count).reshape(shape)
    if dtype.kind == "U":
        check_unicode(array)
    return array


def check_unicode(array: npt.NDArray[np.str_]) -> None:
    """Raise ValueError if an array of strings contains numbers that are not Unicode characters.

    numpy reads any 32-bit number as a character. Numbers above 0x10FFFF raise an error when they are converted to a
    Python string, and surrogates (0xD800 to 0xDFFF) when the string is written.
    """
    native = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    codes = native.reshape(-1).view(np.uint32)
    if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))).any():
        raise ValueError("an array of text holds numbers that are not Unicode characters")
