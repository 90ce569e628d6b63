"""Cache of Gram matrices, kernel widths and centroids, for fits that use the same points repeatedly.

In a grid search, the same bags are fitted many times, and the Gram matrix is the most expensive part of a fit. Inside a
`with result_cache():` block, results are cached together with the points they were computed from. A cached result is
reused only if its points are equal number by number, and cached arrays are read-only. If the cache exceeds
`MAX_CACHE_BYTES`, the least recently used results are removed. Outside such a block, nothing is cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Floats, Points

if TYPE_CHECKING:
    from milopt.declaration.kernels.kernel import Kernel

MAX_CACHE_BYTES = 512 * 2**20
"""Maximum total size of the cached arrays, in bytes."""


@dataclass(frozen=True)
class CachedResult:
    """Cached array together with the key and the points it was computed from."""

    key: object
    points: tuple[Points, ...]
    result: Floats

    def matches(self, key: object, points: tuple[Points, ...]) -> bool:
        """Return True if this entry was computed for `key` at exactly these points."""
        return self.key == key and all(_are_equal(a, b) for a, b in zip(self.points, points, strict=True))


_CACHE: ContextVar[list[CachedResult] | None] = ContextVar("_CACHE", default=None)
"""Cached results in the order of their last use, the most recent one last; None outside of `result_cache`."""


@contextmanager
def result_cache() -> Iterator[None]:
    """Cache results until the end of the `with` block; nested blocks share the cache of the outermost one."""
    if _CACHE.get() is not None:
        yield
        return
    token = _CACHE.set([])
    try:
        yield
    finally:
        _CACHE.reset(token)


def get_or_compute(key: object, points: tuple[Points, ...], compute: Callable[[], Floats]) -> Floats:
    """Return the result cached for `key` and `points`, or call `compute` and cache its result.

    Outside of a `result_cache` block, and for results larger than `MAX_CACHE_BYTES`, nothing is cached.
    """
    cache = _CACHE.get()
    if cache is None:
        return compute()
    position = next((i for i in reversed(range(len(cache))) if cache[i].matches(key, points)), None)
    if position is not None:
        cache.append(cache.pop(position))
        return cache[-1].result
    result = compute()
    if result.nbytes <= MAX_CACHE_BYTES:
        # Set the flag on a view: the array itself may belong to the kernel, which may still write to it.
        result = result.view()
        result.setflags(write=False)
        cache.append(CachedResult(key, points, result))
        while sum(entry.result.nbytes for entry in cache) > MAX_CACHE_BYTES:
            cache.pop(0)
    return result


def cached_gram(kernel: Kernel, A: Points, B: Points) -> Floats:
    """Return the Gram matrix K(A, B), cached while a `result_cache` block is active.

    The caller must not write to the matrix. If ``B is A``, the matrix is exactly symmetric. It is then cached under a
    separate key, because the matrix of two equal but distinct arrays may differ from it by rounding.
    """
    return get_or_compute((kernel, B is A), (A,) if B is A else (A, B), lambda: kernel(A, B))


def _are_equal(a: Points, b: Points) -> bool:
    """Return True if both arrays have the same type, shape and entries."""
    if a is b:
        return True
    if type(a) is not type(b) or a.shape != b.shape:
        return False
    if isinstance(a, sp.csr_array) and isinstance(b, sp.csr_array):
        pairs = ((a.indptr, b.indptr), (a.indices, b.indices), (a.data, b.data))
        return all(np.array_equal(left, right) for left, right in pairs)
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
