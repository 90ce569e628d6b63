"""Bags on a grid: the sorted distinct integer codes of the points of each bag, and a digest of each bag.

Two bags with the same set of points are the same bag here, whatever their origin and the order of their instances. So
for two sets of points there is one count, one seed and one cache entry.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from milopt.arrays import Codes, Index, Words
from milopt.bag_kernels.grid import Grid
from milopt.declaration.bags.bags import Bags


@dataclass(frozen=True, eq=False)
class CodedBags:
    """Bags of integer points: bag i has the rows points[i], and words[i] is a 64-bit digest of these rows."""

    points: tuple[Codes, ...]
    words: Words

    def stack(self) -> tuple[Codes, Index]:
        """Return all points in one array, and the offsets: bag i has the rows offsets[i] to offsets[i + 1] - 1."""
        offsets = np.concatenate([[0], np.cumsum([part.shape[0] for part in self.points])]).astype(np.intp)
        return np.vstack(self.points), offsets


_RECENT_CODES: OrderedDict[tuple[str, str], CodedBags] = OrderedDict()
"""Cache of recently coded sets of bags, by the digests of grid and bags; the least recently used set comes first."""
MAX_RECENT_SETS = 16
"""Maximum number of cached sets of bags. One fit uses a few sets of bags many times."""


def code_bags(grid: Grid, bags: Bags) -> CodedBags:
    """Return the codes of the bags on a grid, from the cache if possible."""
    key = grid.digest, bags.digest()
    codes = _RECENT_CODES.get(key) or _compute_codes(grid, bags)
    _RECENT_CODES[key] = codes
    _RECENT_CODES.move_to_end(key)
    while len(_RECENT_CODES) > MAX_RECENT_SETS:
        _RECENT_CODES.popitem(last=False)
    return codes


def _compute_codes(grid: Grid, bags: Bags) -> CodedBags:
    """Compute the distinct codes of the points of each bag on a grid."""
    parts = np.split(grid.codes(bags), bags.offsets[1:-1])
    points = tuple(_distinct_rows(part) for part in parts)
    return CodedBags(points, as_words(_content_digest(part) for part in points))


def merge_distinct(sets: Sequence[CodedBags]) -> CodedBags:
    """Merge several sets of bags, with every distinct bag once."""
    points_by_word = {word: part for some in sets for word, part in zip(some.words.tolist(), some.points, strict=True)}
    return CodedBags(tuple(points_by_word.values()), as_words(points_by_word))


def as_words(words: Iterable[int]) -> Words:
    """Return digests as an array of 64-bit integers."""
    return np.array(list(words), dtype=np.uint64)


def _distinct_rows(part: Codes) -> Codes:
    """Return the distinct rows of an array in lexicographic order."""
    order = np.lexsort(part.T[::-1])
    rows = part[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return np.ascontiguousarray(rows[new])


def _content_digest(part: Codes) -> int:
    """Return a 64-bit digest of the points of one bag."""
    content = blake2b(str(part.shape).encode(), digest_size=8)
    content.update(part.astype("<i4").tobytes())
    return int.from_bytes(content.digest(), "little")
