"""Similarities K[z, x] of a dictionary to the instances of bags, and the products with them that a game needs.

    values   u(x) = sum_z a_z K[z, x]  for the few z with a_z != 0: rows of K, for the relevant bags
    rows     k_x = (K[z, x])_z  for the few x that are ever the largest of their bag: cached in a separate array,
             because the entries of a column of K are not adjacent in memory

Compiled by numba; all functions have plain arrays as arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from milopt.arrays import Matrix, Points, Vector
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.gram_blocks import gram_blocks
from milopt.declaration.kernels.kernel import Kernel
from milopt.jit import njit, njit_inner

Index = npt.NDArray[np.int64]

INSTANCES_PER_CHUNK = 2048
"""Number of instances processed at a time, so that their values stay in the processor's cache."""
BLOCK_SIZE_BYTES = 2**22
"""Bytes of kernel values computed at a time, so that a block can be transposed within the processor's cache."""
MAX_ROW_CACHE_BYTES = 2**24
"""Maximum number of bytes of cached rows k_x; at least 64 rows are cached."""


class Similarities(NamedTuple):
    """The matrix K, the bag maxima of its rows, and a cache of its columns k_x (symbols as in the module docstring)."""

    K: Matrix
    """Similarities of shape (k, N), 8 k N bytes for a dictionary of k atoms and N instances."""
    offsets: Index
    """Index of the first instance of each bag, followed by the number of instances."""
    largest: Matrix
    """Bag maxima of shape (m, 2k): the largest K[z, x] for the atoms e_z, then the largest -K[z, x] for -e_z."""
    witness: Index
    """First instance at which each of these maxima is attained, of shape (m, 2k)."""
    cached_rows: Matrix
    """Cached rows k_x."""
    cache_slot: Index
    """Row of `cached_rows` that holds k_x of each instance x; -1 if it is not cached."""
    n_cached: Index
    """Number of cached rows, as an array of length 1."""
    values: Vector
    """Value u(x) = k_x'a at each instance, from the last time that it was computed."""


@dataclass(frozen=True, eq=False)
class SharedSimilarities:
    """Similarities and the objects from which they were computed; shared as long as references to them exist."""

    similarities: Similarities
    arguments: tuple[Kernel, Points, Bags]


_SHARED_SIMILARITIES: WeakValueDictionary[tuple[int, int, int], SharedSimilarities] = WeakValueDictionary()


def get_shared_similarities(kernel: Kernel, dictionary: Points, bags: Bags) -> SharedSimilarities:
    """Return the similarities for these objects, computing them at most once.

    An oracle and its negated counterpart use the same kernel, dictionary and bags. The cache holds weak references:
    keep a reference to the returned object for as long as it should stay cached.
    """
    arguments = kernel, dictionary, bags
    key = id(kernel), id(dictionary), id(bags)
    shared = _SHARED_SIMILARITIES.get(key)
    if shared is None:
        shared = _SHARED_SIMILARITIES[key] = SharedSimilarities(compute_similarities(*arguments), arguments)
    return shared


def compute_similarities(kernel: Kernel, dictionary: Points, bags: Bags) -> Similarities:
    """Compute the similarities of a dictionary to the instances of bags, block by block."""
    k, n, m = dictionary.shape[0], int(bags.offsets[-1]), len(bags)
    K = np.empty((k, n))
    for block_instances, block in gram_blocks(kernel, bags.instances, dictionary, BLOCK_SIZE_BYTES):
        K[:, block_instances] = block.T
    offsets = np.ascontiguousarray(bags.offsets, dtype=np.int64)
    largest, witness = np.empty((m, 2 * k)), np.empty((m, 2 * k), dtype=np.int64)
    _write_bag_maxima(K, offsets, largest, witness)
    capacity = min(n, max(64, MAX_ROW_CACHE_BYTES // (8 * k)))
    return Similarities(
        K=K,
        offsets=offsets,
        largest=largest,
        witness=witness,
        cached_rows=np.empty((capacity, k)),
        cache_slot=np.full(n, -1, dtype=np.int64),
        n_cached=np.zeros(1, dtype=np.int64),
        values=np.zeros(n),
    )


@njit
def _write_bag_maxima(K: Matrix, offsets: Index, largest: Matrix, witness: Index) -> None:
    """Write the bag maxima of K and -K to `largest`, and the first instances that attain them to `witness`."""
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
def clear_full_row_cache(s: Similarities) -> None:
    """Discard all cached rows k_x if there is no space for another."""
    if s.n_cached[0] == s.cached_rows.shape[0]:
        s.cache_slot[:] = -1
        s.n_cached[0] = 0


@njit_inner
def add_scaled_row(s: Similarities, x: int, factor: float, total: Vector) -> None:
    """Add factor * k_x to `total` in place, and cache k_x if there is space; k_x has the similarities of instance x."""
    k, slot = total.size, s.cache_slot[x]
    if slot < 0 and s.n_cached[0] < s.cached_rows.shape[0]:
        slot = s.n_cached[0]
        row = s.cached_rows[slot]
        for z in range(k):
            row[z] = s.K[z, x]
        s.cache_slot[x], s.n_cached[0] = slot, slot + 1
    if slot < 0:
        for z in range(k):
            total[z] += factor * s.K[z, x]
    else:
        row = s.cached_rows[slot]
        for z in range(k):
            total[z] += factor * row[z]


@njit_inner
def update_bag_maxima(s: Similarities, a: Vector, bags: Index, witnesses: Index, bag_maxima: Vector) -> None:
    """Write the largest u(x) = k_x'a of each of these bags to `bag_maxima`, and its first instance to `witnesses`.

    `bags` must be in ascending order. Entries of other bags are not changed.
    """
    offsets, values, count = s.offsets, s.values, bags.size
    first = 0
    while first < count:
        last = first + 1
        while last < count and bags[last] == bags[last - 1] + 1:
            last += 1
        _update_values(s, a, offsets[bags[first]], offsets[bags[last - 1] + 1])
        first = last
    for i in bags:
        best = offsets[i]
        top = values[best]
        for x in range(offsets[i] + 1, offsets[i + 1]):
            if values[x] > top:
                best, top = x, values[x]
        witnesses[i], bag_maxima[i] = best, top


@njit_inner
def _update_values(s: Similarities, a: Vector, low: int, high: int) -> None:
    """Compute u(x) = k_x'a for the instances from low to high - 1, and store it in `s.values`."""
    K, values = s.K, s.values
    for start in range(low, high, INSTANCES_PER_CHUNK):
        stop = min(start + INSTANCES_PER_CHUNK, high)
        for x in range(start, stop):
            values[x] = 0.0
        for z in range(a.size):
            if a[z] != 0.0:
                factor, row = a[z], K[z]
                for x in range(start, stop):
                    values[x] += factor * row[x]
