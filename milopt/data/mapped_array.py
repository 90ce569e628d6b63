"""Arrays in `.npy` files and in uncompressed members of `.npz` archives, memory-mapped for reading."""

from __future__ import annotations

import os
import zipfile
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

LOCAL_HEADER_BYTES = 30
"""Size of the header before a member of a zip archive, without the name and the extra field that follow it."""


def read_npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an array; return its shape, whether it is in Fortran order, and its type."""
    version = npy.read_magic(stream)
    shape, fortran, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(stream)
    return tuple(int(extent) for extent in shape), bool(fortran), dtype


def map_member(path: Path, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """Map an array in an uncompressed member of a zip archive; its checksum is not compared.

    Raise a ValueError if the member does not fit into the file.
    """
    with path.open("rb") as stream:
        stream.seek(member.header_offset)
        header = stream.read(LOCAL_HEADER_BYTES)
        if len(header) < LOCAL_HEADER_BYTES or header[:4] != b"PK\x03\x04":
            raise ValueError("a member of the archive has no header")
        lengths = (int.from_bytes(header[start : start + 2], "little") for start in (26, 28))
        return _map_array(path, member.header_offset + LOCAL_HEADER_BYTES + sum(lengths), member.file_size)


def map_npy(path: Path) -> npt.NDArray[Any]:
    """Map the array of a `.npy` file; raise a ValueError if the file is broken, or contains objects."""
    return _map_array(path, 0, path.stat().st_size)


def _map_array(path: Path, start: int, size: int) -> npt.NDArray[Any]:
    """Map an array with its header, which takes `size` bytes of a file from byte `start`."""
    with path.open("rb") as stream:
        stream.seek(start)
        shape, fortran, dtype = read_npy_header(stream)
        offset = stream.tell()
    if dtype.hasobject:
        raise ValueError("it contains Python objects, which are never loaded")
    end = offset + prod(shape) * dtype.itemsize
    if end > start + size or end > os.path.getsize(path):
        raise ValueError("the stated size of an array exceeds the file")
    return np.memmap(path, dtype, "r", offset, shape, "F" if fortran else "C")
