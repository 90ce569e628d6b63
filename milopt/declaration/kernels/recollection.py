"""What was computed of the same points before: Gram matrices, widths, centroids, while models are compared over them.

A grid is fitted to the same bags again and again, and of all that a fit computes the Gram matrix costs most. Between
`with recollection():` and its end, results are kept with the points that they are of, which are compared number by
number, and handed out read-only; the least recently used are forgotten beyond `MOST` bytes. Elsewhere nothing is kept.
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

MOST = 512 * 2**20
"""Bytes of results that are kept."""


@dataclass(frozen=True)
class Kept:
    """A result, what it is of its points, and these."""

    what: object
    points: tuple[Points, ...]
    result: Floats

    def is_of(self, what: object, points: tuple[Points, ...]) -> bool:
        """Whether it is this of these points."""
        return self.what == what and all(_equal(a, b) for a, b in zip(self.points, points, strict=True))


_KEPT: ContextVar[list[Kept] | None] = ContextVar("_KEPT", default=None)
"""The most recently used last; None where nothing is kept."""


@contextmanager
def recollection() -> Iterator[None]:
    """Keep results up to the end of the block, or of the outermost one."""
    if _KEPT.get() is not None:
        yield
        return
    token = _KEPT.set([])
    try:
        yield
    finally:
        _KEPT.reset(token)


def recalled(what: object, points: tuple[Points, ...], computed: Callable[[], Floats]) -> Floats:
    """The result that was kept of this and these points, or the one `computed` now."""
    kept = _KEPT.get()
    if kept is None:
        return computed()
    place = next((i for i in reversed(range(len(kept))) if kept[i].is_of(what, points)), None)
    if place is not None:
        kept.append(kept.pop(place))
        return kept[-1].result
    result = computed()
    if result.nbytes <= MOST:
        # A view, for a kernel may have handed out an array of its own.
        result = result.view()
        result.setflags(write=False)
        kept.append(Kept(what, points, result))
        while sum(one.result.nbytes for one in kept) > MOST:
            kept.pop(0)
    return result


def gram_of(kernel: Kernel, A: Points, B: Points) -> Floats:
    """K(A, B), not to be written to; that of points with themselves is exactly symmetric, and another."""
    return recalled((kernel, B is A), (A,) if B is A else (A, B), lambda: kernel(A, B))


def _equal(a: Points, b: Points) -> bool:
    if a is b:
        return True
    if type(a) is not type(b) or a.shape != b.shape:
        return False
    if isinstance(a, sp.csr_array) and isinstance(b, sp.csr_array):
        return all(
            np.array_equal(mine, its) for mine, its in ((a.indptr, b.indptr), (a.indices, b.indices), (a.data, b.data))
        )
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
