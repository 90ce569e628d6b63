"""Arrays in one file (`numpy.savez`): `instances` (N x D), `offsets` (m + 1) and `labels` (m), as `Bags` holds them.

Instead of `offsets` there may be `bag`, the name or number of each instance's bag, and `labels` is one an instance too.
Objects would be pickles: they are never loaded.
"""

from __future__ import annotations

import zipfile
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from milopt.archive import check_text
from milopt.arrays import Floats
from milopt.data.data_set import DataSet
from milopt.data.gathering import long_table, with_labels
from milopt.data.limits import NAME_LENGTH, NAMES, UNPACKED_VALUES
from milopt.data.messages import file_error
from milopt.declaration.bags.bags import Bags
from milopt.errors import BagsError, MiloptError


def read_npz(path: Path, name: str, labelled: bool = True) -> DataSet:
    """The bags of an array file; where bags need not be labelled, there need not be `labels`."""
    arrays = _arrays(path)
    for wanted in ("instances", "labels"):
        if wanted not in arrays and (labelled or wanted == "instances"):
            raise file_error(path, f'there is no array "{wanted}"; save instances, offsets and labels')
    instances = _numbers(arrays["instances"], path)
    labels = _texts(arrays["labels"], "labels", path) if "labels" in arrays else None
    if "offsets" in arrays:
        try:
            bags = Bags(instances, arrays["offsets"], name=name)
        except BagsError as error:
            raise file_error(path, str(error).rstrip(".")) from None
        return with_labels(bags, [""] * len(bags) if labels is None else labels, name, path, labelled=labelled)
    if "bag" not in arrays:
        raise file_error(path, 'there is neither an array "offsets" nor an array "bag"; save one of them')
    names = _texts(arrays["bag"], "bag", path)
    return long_table(names, [""] * len(names) if labels is None else labels, instances, name, path, labelled=labelled)


def _numbers(array: npt.NDArray[Any], path: Path) -> Floats:
    if array.ndim != 2 or array.dtype.kind == "U" or 0 in array.shape:
        raise file_error(path, 'the array "instances" must be 2-D and of numbers, one row an instance')
    return np.asarray(array, dtype=np.float64)


def _texts(array: npt.NDArray[Any], what: str, path: Path) -> list[str]:
    if array.ndim != 1 or array.size > NAMES:
        raise file_error(
            path, f'the array "{what}" has shape {array.shape}; it must be 1-D, with at most {NAMES} entries'
        )
    if array.dtype.kind == "U":
        try:
            check_text(array)
        except ValueError:
            raise file_error(path, f'the array "{what}" holds text that is no Unicode; the file is broken') from None
    return [str(one) for one in (array.astype(np.int8) if array.dtype.kind == "b" else array).tolist()]


def _arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    found: dict[str, npt.NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                stem = member.filename.removesuffix(".npy")
                if stem in found:
                    raise file_error(path, f'there are two arrays "{stem}"; save each of them once')
                if stem in ("instances", "offsets", "labels", "bag"):
                    with archive.open(_bounded(member, path)) as stream:
                        found[stem] = _array(stream, member, path)
    except MiloptError:
        raise
    except Exception as error:  # whatever the readers of zip and npy raise on bytes that are neither
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise file_error(path, f"this is no .npz file, or a broken one ({reason[:200]})") from None
    return found


def _bounded(member: zipfile.ZipInfo, path: Path) -> zipfile.ZipInfo:
    """The member, if it cannot unpack to far more than it says; other ways of packing than numpy's can."""
    if member.compress_type == zipfile.ZIP_STORED and member.file_size <= path.stat().st_size:
        return member
    if member.compress_type == zipfile.ZIP_DEFLATED and member.file_size <= 8 * UNPACKED_VALUES:
        return member
    raise file_error(path, f'the array "{member.filename}" is packed too tightly; save it with numpy.savez')


def _array(stream: IO[bytes], member: zipfile.ZipInfo, path: Path) -> npt.NDArray[Any]:
    """One array whose header says no more than there is: the header is checked before anything is allocated for it."""
    version = npy.read_magic(stream)
    shape, fortran, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(stream)
    what = f'the array "{member.filename.removesuffix(".npy")}"'
    if dtype.hasobject:
        raise file_error(path, f"{what} holds Python objects, which are never loaded; save plain numbers or text")
    if dtype.kind not in "biufU" or not 0 < dtype.itemsize <= 4 * NAME_LENGTH:
        raise file_error(path, f"{what} has values of type {dtype.kind}{dtype.itemsize}; save numbers or short text")
    count = prod(int(extent) for extent in shape)
    if count * dtype.itemsize > member.file_size:
        raise file_error(path, f"{what} says to be larger than the file is; the file is broken")
    if member.compress_type != zipfile.ZIP_STORED and count > UNPACKED_VALUES:
        raise file_error(path, f"{what} unpacks to too many values; save it with numpy.savez")
    # One byte more than there should be: it also makes the reader compare the checksum of the archive.
    content = stream.read(count * dtype.itemsize + 1)
    if len(content) != count * dtype.itemsize:
        raise file_error(path, f"{what} has a header that does not fit what follows; the file is broken")
    return np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")
