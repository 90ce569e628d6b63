"""Invalid NumPy archives."""

from __future__ import annotations

import io
import os
import struct
import zipfile

import numpy as np

from tests.data.ways import way


def arrays(packed: bool = False, **named: object) -> bytes:
    stream = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(stream, **named)
    return stream.getvalue()


def archive(method: int = zipfile.ZIP_STORED, **members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as made:
        for name, content in members.items():
            made.writestr(f"{name}.npy", content)
    return stream.getvalue()


def npy(header: str, content: bytes = bytes(64)) -> bytes:
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


@way
def npz_cut_off(draw):
    content = arrays(draw.random() < 0.5, instances=np.eye(4), offsets=[0, 2, 4], labels=[1, 0])
    return ".npz", content[: draw.randrange(len(content) - 1)]


@way
def npz_changed(draw):
    content = bytearray(arrays(instances=np.arange(64.0).reshape(8, 8), offsets=[0, 2, 8], labels=[1, 0]))
    # Change a byte of the first array, so that the checksum of the archive is wrong.
    content[draw.randrange(250, 600)] ^= 0x55
    return ".npz", bytes(content)


@way
def npz_objects(draw):
    name = draw.choice(["instances", "labels", "offsets"])
    given = {"instances": np.eye(4), "offsets": np.array([0, 2, 4]), "labels": np.array([1, 0])}
    given[name] = np.array([{"a": 1}, os.sep], dtype=object)
    return ".npz", arrays(**given)


@way
def npz_header(draw):
    headers = [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 4), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-4, -4), }",
        "{'descr': '<U999999', 'fortran_order': False, 'shape': (2, 4), }",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (99999999999, 4), }",
        "{'descr': '|V0', 'fortran_order': False, 'shape': (9, 4), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2, 4), }",
        "{'descr': '<c16', 'fortran_order': False, 'shape': (2, 2), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (8,), }",
        "{'descr': '<f8', 'fortran_order': 3, 'shape': (2, 4), }",
        "{'shape': (2, 4)}",
        "(" * 110,
        "__import__('os').getcwd()",
        "",
    ]
    return ".npz", archive(instances=npy(draw.choice(headers)), offsets=npy(headers[0]), labels=npy(headers[0]))


@way
def npz_arrays(draw):
    good = {"instances": np.eye(4), "offsets": np.array([0, 2, 4]), "labels": np.array([1, 0])}
    other = draw.choice(
        [
            {"offsets": [0, 3, 2, 4]},
            {"offsets": [0, 2]},
            {"offsets": [0, 2, 9]},
            {"offsets": [0.0, 2.0, 4.0]},
            {"offsets": [0, 0, 4]},
            {"offsets": [-1, 2, 4]},
            {"offsets": []},
            {"offsets": [[0, 4]]},
            {"offsets": np.array([0, 2**63, 4], dtype=np.uint64)},
            {"offsets": ["a", "b"]},
            {"labels": [1, 0, 1]},
            {"labels": [1, np.nan]},
            {"labels": [[1, 0]]},
            {"labels": 1},
            {"labels": ["", "a"]},
            {"instances": np.full((4, 4), np.nan)},
            {"instances": np.ones(4)},
            {"instances": np.ones((4, 0))},
            {"instances": np.ones((0, 4))},
            {"instances": [["a"] * 4] * 4},
            {"instances": 1j * np.eye(4)},
            {"instances": np.float64(3)},
        ]
    )
    return ".npz", arrays(draw.random() < 0.5, **{**good, **other})


@way
def npz_missing(draw):
    good = {"instances": np.eye(4), "offsets": np.array([0, 2, 4]), "labels": np.array([1, 0])}
    del good[draw.choice(list(good))]
    return ".npz", arrays(**good)


@way
def npz_bags(draw):
    bag, label = draw.choice(
        [
            ([1, 1, 2], [1, 1, 0]),
            ([1, 1, 2, 2], [1, 0, 0, 0]),
            (["", "a", "b", "c"], [1, 1, 0, 0]),
            ([[1, 2, 3, 4]], [1] * 4),
        ]
    )
    return ".npz", arrays(instances=np.eye(4), bag=bag, labels=label)


@way
def npz_bomb(draw):
    if draw.random() < 0.5:
        return ".npz", archive(
            zipfile.ZIP_BZIP2, instances=npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 4), }"), labels=b""
        )
    return ".npz", _npz_bomb()


_NPZ_BOMB: list[bytes] = []


def _npz_bomb() -> bytes:
    """Return 40 million one-byte numbers, compressed to 40 kB."""
    if not _NPZ_BOMB:
        _NPZ_BOMB.append(arrays(True, instances=np.zeros((4000, 10_000), dtype=np.int8), offsets=[0, 4000], labels=[1]))
    return _NPZ_BOMB[0]


@way
def npz_is_npy(draw):
    stream = io.BytesIO()
    np.save(stream, np.eye(draw.randint(1, 5)))
    return ".npz", stream.getvalue()


@way
def npz_is_another_archive(draw):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        made.writestr(draw.choice(["../../evil", "/etc/passwd", "instances.npy/../labels.npy", "a" * 60_000]), b"x")
    return ".npz", stream.getvalue()
