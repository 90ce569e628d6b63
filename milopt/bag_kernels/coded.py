"""Bags of grid points, each point once and in order, with a word that stands for its content.

Two bags of the same points are the same bag here, wherever they come from and however their instances are ordered: so a
pair of bags has one count, one seed and one place in memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from milopt.arrays import Index
from milopt.bag_kernels.estimators import Codes
from milopt.bag_kernels.grid import Grid
from milopt.bag_kernels.stream import Words
from milopt.declaration.bags.bags import Bags


@dataclass(frozen=True, eq=False)
class CodedBags:
    """Bag i is points[i], of which words[i] is a 64-bit digest."""

    points: tuple[Codes, ...]
    words: Words

    def stacked(self) -> tuple[Codes, Index]:
        """All points in one array, and the bounds of the bags in it."""
        offsets = np.concatenate([[0], np.cumsum([part.shape[0] for part in self.points])]).astype(np.intp)
        return np.vstack(self.points), offsets


_RECENT: OrderedDict[tuple[str, str], CodedBags] = OrderedDict()
MOST_RECENT = 16
"""Sets of bags whose codes are kept: one fit meets the same few again and again."""


def coded(grid: Grid, bags: Bags) -> CodedBags:
    """The bags on a grid."""
    key = grid.digest, bags.digest()
    found = _RECENT.get(key) or _coded(grid, bags)
    _RECENT[key] = found
    _RECENT.move_to_end(key)
    while len(_RECENT) > MOST_RECENT:
        _RECENT.popitem(last=False)
    return found


def _coded(grid: Grid, bags: Bags) -> CodedBags:
    parts = np.split(grid.codes(bags), bags.offsets[1:-1])
    points = tuple(_distinct(part) for part in parts)
    return CodedBags(points, as_words(_word(part) for part in points))


def distinct(sets: Sequence[CodedBags]) -> CodedBags:
    """Every different bag of some sets once."""
    found = {word: part for some in sets for word, part in zip(some.words.tolist(), some.points, strict=True)}
    return CodedBags(tuple(found.values()), as_words(found))


def as_words(words: Iterable[int]) -> Words:
    """Digests in one array."""
    return np.array(list(words), dtype=np.uint64)


def _distinct(part: Codes) -> Codes:
    order = np.lexsort(part.T[::-1])
    rows = part[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return np.ascontiguousarray(rows[new])


def _word(part: Codes) -> int:
    content = blake2b(str(part.shape).encode(), digest_size=8)
    content.update(part.astype("<i4").tobytes())
    return int.from_bytes(content.digest(), "little")
