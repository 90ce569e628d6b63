"""One file of a JSON header and arrays: an ordinary zip of `header.json` and `.npy` members, none compressed.

The zip's comment, which is the end of the file, is the SHA-256 of everything before it: no byte can change unnoticed.
Nothing is unpickled, and no member is larger than it says, since compressed ones are refused.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from milopt.errors import ModelFileError, ParameterError
from milopt.files import check_place, write_whole

Arrays = dict[str, npt.NDArray[Any]]

_MARK = b"milopt model, sha256 "
_HEADER = "header.json"
_DIGITS = 64
_EPOCH = (1980, 1, 1, 0, 0, 0)


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
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - len(_MARK) - _DIGITS))
            if not file.read().startswith(_MARK):
                raise ModelFileError(f"{path} is not a {what} that milopt saved, or it was cut short: save it again.")
            file.seek(0)
            content = file.read()
    except OSError as error:
        raise ModelFileError(f"The {what} file {path} cannot be read: {error.strerror or error}.") from error
    if hashlib.sha256(content[:-_DIGITS]).hexdigest().encode() != content[-_DIGITS:]:
        raise ModelFileError(f"{path} is damaged: its checksum does not hold, so that it must not be trusted.")
    try:
        # NotImplementedError is what zipfile says of a way of packing that it does not know.
        return _unpacked(content)
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
        raise ModelFileError(f"{path} does not hold what a saved {what} holds ({_first_line(error)}).") from error


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
        if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise ValueError("a member is compressed")
        header = archive.read(_HEADER)
        names = [name for name in archive.namelist() if name != _HEADER]
        return header, {name.removesuffix(".npy"): _array(archive.read(name)) for name in names}


def _array(member: bytes) -> npt.NDArray[Any]:
    """The array of an .npy member, which must be exactly as large as it says before anything is allocated."""
    stream = io.BytesIO(member)
    if npy.read_magic(stream) != (1, 0):
        raise ValueError("an array is of an unknown version")
    shape, fortran, dtype = npy.read_array_header_1_0(stream)
    body = member[stream.tell() :]
    if dtype.hasobject or fortran or dtype.itemsize * int(np.prod(shape, dtype=object)) != len(body):
        raise ValueError("an array does not match its description")
    return np.frombuffer(body, dtype=dtype).reshape(shape)


def _first_line(error: Exception) -> str:
    return str(error).strip("'\"").partition("\n")[0][:200] or type(error).__name__
