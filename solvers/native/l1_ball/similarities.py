"""Similarities K[z, x] of a dictionary to the instances of bags, and the few products with them that a game needs.

    values   u(x) = sum_z a_z K[z, x]  for the few z with a_z != 0: rows of K, over the bags that count
    rows     k_x = (K[z, x])_z  for the few x that are ever the largest of their bag: kept in an array of their own,
             for a column of K is spread over all of memory

Compiled by numba; all functions take plain arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from milopt.arrays import Matrix, Points, Vector
from milopt.compiled import njit, njit_inner
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.blocks import gram_blocks
from milopt.declaration.kernels.kernel import Kernel

Index = npt.NDArray[np.int64]

CHUNK = 2048
"""Instances at a time, so that their values stay in the processor's cache."""
BLOCK = 2**22
"""Bytes of kernel values that are computed together, for they are turned on their side in the cache."""
KEPT = 2**24
"""Bytes of rows k_x that are kept, at most; 64 rows at least."""


class Similarities(NamedTuple):
    """K and what is kept of its columns."""

    K: Matrix
    """k x N: 8 k N bytes, which is what a dictionary of k costs."""
    offsets: Index
    largest: Matrix
    """m x 2k: the largest K[z, x] of each bag, and then the largest -K[z, x]: what e_z and -e_z make of it."""
    witness: Index
    """m x 2k: the instance x where that is, the first of those that tie."""
    rows: Matrix
    place: Index
    """Where in `rows` that of an instance is, -1 where it is not kept."""
    kept: Index
    """How many are, as an array of one."""
    values: Vector
    """Of u at the instances, as far as they were computed last."""


@dataclass(frozen=True, eq=False)
class Shared:
    """Similarities, and what they are of, for as long as anyone needs them."""

    similar: Similarities
    of: tuple[Kernel, Points, Bags]


_SHARED: WeakValueDictionary[tuple[int, int, int], Shared] = WeakValueDictionary()


def shared_similarities(kernel: Kernel, dictionary: Points, bags: Bags) -> Shared:
    """Those of the very same objects once, for an oracle and its opposite differ in nothing else; keep the answer."""
    of = kernel, dictionary, bags
    key = id(kernel), id(dictionary), id(bags)
    found = _SHARED.get(key)
    if found is None:
        found = _SHARED[key] = Shared(similarities(*of), of)
    return found


def similarities(kernel: Kernel, dictionary: Points, bags: Bags) -> Similarities:
    """K, by blocks of instances."""
    k, n, m = dictionary.shape[0], int(bags.offsets[-1]), len(bags)
    K = np.empty((k, n))
    for some, block in gram_blocks(kernel, bags.instances, dictionary, BLOCK):
        K[:, some] = block.T
    offsets = np.ascontiguousarray(bags.offsets, dtype=np.int64)
    largest, witness = np.empty((m, 2 * k)), np.empty((m, 2 * k), dtype=np.int64)
    _largest(K, offsets, largest, witness)
    room = min(n, max(64, KEPT // (8 * k)))
    return Similarities(
        K=K,
        offsets=offsets,
        largest=largest,
        witness=witness,
        rows=np.empty((room, k)),
        place=np.full(n, -1, dtype=np.int64),
        kept=np.zeros(1, dtype=np.int64),
        values=np.zeros(n),
    )


@njit
def _largest(K: Matrix, offsets: Index, largest: Matrix, witness: Index) -> None:
    k = K.shape[0]
    for z in range(k):
        row = K[z]
        for i in range(offsets.size - 1):
            high = low = offsets[i]
            for x in range(offsets[i] + 1, offsets[i + 1]):
                if row[x] > row[high]:
                    high = x
                elif row[x] < row[low]:
                    low = x
            largest[i, z], witness[i, z] = row[high], high
            largest[i, k + z], witness[i, k + z] = -row[low], low


@njit_inner
def forget_rows(s: Similarities) -> None:
    """Make room where none is left."""
    if s.kept[0] == s.rows.shape[0]:
        s.place[:] = -1
        s.kept[0] = 0


@njit_inner
def add_row(s: Similarities, x: int, factor: float, total: Vector) -> None:
    """total += factor k_x."""
    k, slot = total.size, s.place[x]
    if slot < 0 and s.kept[0] < s.rows.shape[0]:
        slot = s.kept[0]
        row = s.rows[slot]
        for z in range(k):
            row[z] = s.K[z, x]
        s.place[x], s.kept[0] = slot, slot + 1
    if slot < 0:
        for z in range(k):
            total[z] += factor * s.K[z, x]
    else:
        row = s.rows[slot]
        for z in range(k):
            total[z] += factor * row[z]


@njit_inner
def maxima(s: Similarities, a: Vector, bags: Index, chosen: Index, tops: Vector) -> None:
    """The largest u(x) of some bags (in ascending order), into `tops`, and where it is, into `chosen`."""
    offsets, values, count = s.offsets, s.values, bags.size
    first = 0
    while first < count:
        last = first + 1
        while last < count and bags[last] == bags[last - 1] + 1:
            last += 1
        _values(s, a, offsets[bags[first]], offsets[bags[last - 1] + 1])
        first = last
    for i in bags:
        best = offsets[i]
        top = values[best]
        for x in range(offsets[i] + 1, offsets[i + 1]):
            if values[x] > top:
                best, top = x, values[x]
        chosen[i], tops[i] = best, top


@njit_inner
def _values(s: Similarities, a: Vector, low: int, high: int) -> None:
    """u(x) for the instances from low to high - 1."""
    K, values = s.K, s.values
    for start in range(low, high, CHUNK):
        stop = min(start + CHUNK, high)
        for x in range(start, stop):
            values[x] = 0.0
        for z in range(a.size):
            if a[z] != 0.0:
                factor, row = a[z], K[z]
                for x in range(start, stop):
                    values[x] += factor * row[x]
