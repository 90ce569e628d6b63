"""Invalid MATLAB files."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import scipy.io

from tests.data.ways import way

LEVEL_5 = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"


def saved(packed: bool = True, **variables: object) -> bytes:
    stream = io.BytesIO()
    scipy.io.savemat(stream, variables, do_compression=packed)
    return stream.getvalue()


def cells(*members: object) -> np.ndarray:
    made = np.empty((len(members), 1), dtype=object)
    for i, member in enumerate(members):
        made[i, 0] = member
    return made


def element(kind: int, body: bytes) -> bytes:
    return struct.pack("<II", kind, len(body)) + body + b"\0" * (-len(body) % 8)


def variable(kind: int, shape: tuple[int, ...], *parts: bytes) -> bytes:
    head = element(6, struct.pack("<II", kind, 0)) + element(5, struct.pack(f"<{len(shape)}i", *shape))
    return element(14, head + element(1, b"bags") + b"".join(parts))


@way
def mat_cut_off(draw):
    content = saved(draw.random() < 0.5, bags=cells(np.eye(3), np.ones((2, 3))), labels=[1, 0])
    return ".mat", content[: draw.randrange(len(content) - 1)]


@way
def mat_other_version(draw):
    return ".mat", draw.choice(
        [b"\x89HDF\r\n\x1a\n" + bytes(600), b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n", bytes(20)]
    )


@way
def mat_larger_than_it_is(draw):
    shape = draw.choice([(2**31 - 1, 2**31 - 1), (10**9, 1), (2_000_000, 1), (-1, 5), (1, -(2**31))])
    inside = variable(draw.choice([1, 2, 4, 5, 6, 9]), shape, element(9, bytes(64)))
    if draw.random() < 0.5:
        packed = zlib.compress(inside)
        inside = struct.pack("<II", 15, len(packed)) + packed
    return ".mat", LEVEL_5 + inside


@way
def mat_element_size(draw):
    return ".mat", LEVEL_5 + struct.pack(
        "<II", draw.choice([14, 15, 9, 0]), draw.choice([2**32 - 1, 2**31, 10**6])
    ) + bytes(64)


@way
def mat_deep(draw):
    inside = variable(6, (1, 1), element(9, bytes(8)))
    for _ in range(draw.choice([20, 2000])):
        inside = variable(1, (1, 1), inside)
    return ".mat", LEVEL_5 + inside


@way
def mat_bomb(draw):
    return ".mat", LEVEL_5 + struct.pack("<II", 15, len(_mat_bomb())) + _mat_bomb()


_MAT_BOMB: list[bytes] = []


def _mat_bomb() -> bytes:
    """Return millions of cells, compressed to some kB."""
    if not _MAT_BOMB:
        _MAT_BOMB.append(zlib.compress(variable(1, (2_000_000, 1), struct.pack("<II", 14, 0) * 2_000_000)))
    return _MAT_BOMB[0]


@way
def mat_no_bags(draw):
    bags = cells(np.eye(2), np.ones((3, 2)))
    return ".mat", draw.choice(
        [
            saved(x=3.0),
            saved(bags=bags),
            saved(bags=bags, labels=[1, 0, 1]),
            saved(bags=cells(np.eye(2), np.ones((3, 3))), labels=[1, 0]),
            saved(bags=cells(np.eye(2), np.full((2, 2), np.nan)), labels=[1, 0]),
            saved(bags=cells(np.eye(2), np.empty((0, 2))), labels=[1, 0]),
            saved(bags=cells(np.eye(2), "word"), labels=[1, 0]),
            saved(bags=cells(np.eye(2), 1j * np.eye(2)), labels=[1, 0]),
            saved(bags=cells(np.eye(2), np.ones((2, 2, 2))), labels=[1, 0]),
            saved(bags=bags, labels=np.eye(2)),
            saved(X=np.eye(3), labels=[1, 0, 1]),
            saved(X=np.eye(3), bag_ids=[1, 1, 2]),
            saved(X=np.eye(3), bag_ids=[1, 1, 1], labels=[1, 0, 1]),
            saved(X=np.eye(3), bag_ids=[1, 1], labels=[1, 0]),
            saved(X=np.full((2, 2), np.inf), bag_ids=[1, 2], labels=[1, 0]),
            saved(X=np.empty((0, 0)), bag_ids=[], labels=[]),
            saved(data={"data": np.eye(2), "nlab": [1, 9], "lablist": ["a", "b"], "ident": {"milbag": [1, 2]}}),
        ]
    )  # fmt: skip
