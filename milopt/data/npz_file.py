"""Reader of NumPy archives (`numpy.savez`) with `instances` (N x D), `offsets` (m + 1) and `labels` (m), as in `Bags`.

Instead of `offsets` there may be `bag`, the name or number of each instance's bag; then `labels` also has one entry per
instance. Object arrays contain pickles and are never loaded.

More than 4 million values of instances are memory-mapped if the archive is not compressed, and keep their type. If the
archive NAME.npz has no `instances`, they are those of NAME.npy next to it, which are mapped too.
"""

from __future__ import annotations

import zipfile
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from milopt.archive import check_unicode
from milopt.data.data_set import DataSet
from milopt.data.limits import MAX_NAME_LENGTH, MAX_NAMES, MAX_UNPACKED_VALUES
from milopt.data.mapped_array import map_member, map_npy, read_npy_header
from milopt.data.messages import file_error
from milopt.data.row_grouping import group_rows, label_bags
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.scaled_rows import fits_in_block
from milopt.errors import BagsError, MiloptError


def read_npz(path: Path, name: str, labelled: bool = True) -> DataSet:
    """Read the bags of an array file. If `labelled` is False, `labels` may be missing."""
    arrays = _read_arrays(path)
    beside = path.with_suffix(".npy")
    if "instances" not in arrays and beside.is_file():
        arrays["instances"] = _map_instances_file(beside)
    for wanted in ("instances", "labels"):
        if wanted not in arrays and (labelled or wanted == "instances"):
            raise file_error(path, f'there is no array "{wanted}"; save instances, offsets and labels')
    instances = _as_instance_rows(arrays["instances"], path)
    labels = _as_texts(arrays["labels"], "labels", path) if "labels" in arrays else None
    if "offsets" in arrays:
        try:
            bags = Bags(instances, arrays["offsets"], name=name)
        except BagsError as error:
            raise file_error(path, str(error).rstrip(".")) from None
        return label_bags(bags, [""] * len(bags) if labels is None else labels, name, path, labelled=labelled)
    if "bag" not in arrays:
        raise file_error(path, 'there is neither an array "offsets" nor an array "bag"; save one of them')
    names = _as_texts(arrays["bag"], "bag", path)
    return group_rows(names, [""] * len(names) if labels is None else labels, instances, name, path, labelled=labelled)


def _map_instances_file(path: Path) -> npt.NDArray[Any]:
    """Return the instances of a `.npy` file, memory-mapped."""
    try:
        return map_npy(path)
    except Exception as error:  # the reader of npy raises many types of errors on invalid bytes
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise file_error(path, f"this is not an .npy file, or a broken one ({reason[:200]})") from None


def _as_instance_rows(array: npt.NDArray[Any], path: Path) -> npt.NDArray[Any]:
    """Return the instances, or raise an error if they are not a nonempty 2-D array of numbers.

    Instances that fit into a block become floats.
    """
    if array.ndim != 2 or array.dtype.kind not in "biuf" or 0 in array.shape:
        raise file_error(path, 'the array "instances" must be 2-D and numeric, one row per instance')
    return np.asarray(array, dtype=np.float64) if fits_in_block(array.size) else array


def _as_texts(array: npt.NDArray[Any], name: str, path: Path) -> list[str]:
    """Return the entries of a 1-D array as strings ("0" or "1" for booleans); `name` is used in messages."""
    if array.ndim != 1 or array.size > MAX_NAMES:
        raise file_error(
            path, f'the array "{name}" has shape {array.shape}; it must be 1-D, with at most {MAX_NAMES} entries'
        )
    if array.dtype.kind == "U":
        try:
            check_unicode(array)
        except ValueError:
            raise file_error(path, f'the array "{name}" contains invalid Unicode; the file is broken') from None
    return [str(entry) for entry in (array.astype(np.int8) if array.dtype.kind == "b" else array).tolist()]


def _read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays `instances`, `offsets`, `labels` and `bag` of the file by name, if they are in it."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                stem = member.filename.removesuffix(".npy")
                if stem in arrays:
                    raise file_error(path, f'there are two arrays "{stem}"; save each of them once')
                if stem in ("instances", "offsets", "labels", "bag"):
                    with archive.open(_check_size(member, path)) as stream:
                        array = _read_array(stream, member, path, may_map=stem == "instances")
                    arrays[stem] = map_member(path, member) if array is None else array
    except MiloptError:
        raise
    except Exception as error:  # the readers of zip and npy raise many types of errors on invalid bytes
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise file_error(path, f"this is not an .npz file, or a broken one ({reason[:200]})") from None
    return arrays


def _check_size(member: zipfile.ZipInfo, path: Path) -> zipfile.ZipInfo:
    """Return the archive member if its decompressed size is acceptable, otherwise raise an error.

    Only the compression methods of numpy are accepted, because others can decompress to far more than stated.
    """
    if member.compress_type == zipfile.ZIP_STORED and member.file_size <= path.stat().st_size:
        return member
    if member.compress_type == zipfile.ZIP_DEFLATED and member.file_size <= 8 * MAX_UNPACKED_VALUES:
        return member
    raise file_error(path, f'the array "{member.filename}" is compressed too strongly; save it with numpy.savez')


def _read_array(stream: IO[bytes], member: zipfile.ZipInfo, path: Path, may_map: bool) -> npt.NDArray[Any] | None:
    """Read one array; its header is checked against the available bytes before memory is allocated.

    Return None if the array should be mapped instead: `may_map`, and it is uncompressed and larger than a block.
    """
    shape, fortran, dtype = read_npy_header(stream)
    subject = f'the array "{member.filename.removesuffix(".npy")}"'
    if dtype.hasobject:
        raise file_error(path, f"{subject} contains Python objects, which are never loaded; save plain numbers or text")
    if dtype.kind not in "biufU" or not 0 < dtype.itemsize <= 4 * MAX_NAME_LENGTH:
        raise file_error(path, f"{subject} has values of type {dtype.kind}{dtype.itemsize}; save numbers or short text")
    count = prod(shape)
    if count * dtype.itemsize > member.file_size:
        raise file_error(path, f"the stated size of {subject} exceeds the file; the file is broken")
    if member.compress_type != zipfile.ZIP_STORED and count > MAX_UNPACKED_VALUES:
        raise file_error(path, f"{subject} decompresses to too many values; save it with numpy.savez")
    if may_map and member.compress_type == zipfile.ZIP_STORED and not fits_in_block(count):
        return None
    # Read one byte more than expected, which also makes zipfile compare the checksum.
    content = stream.read(count * dtype.itemsize + 1)
    if len(content) != count * dtype.itemsize:
        raise file_error(path, f"{subject} has a header that does not match its data; the file is broken")
    return np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")
