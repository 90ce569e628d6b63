"""Bags in the role of points: a function of a bag kernel is evaluated at bags instead of the rows of an array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Points
from milopt.declaration.bags.bags import Bags, as_bags
from milopt.declaration.bags.scaled_rows import bag_slices
from milopt.errors import BagsError


class BagRows:
    """Sequence of bags, one row per bag, at which a function of a bag kernel is evaluated.

    Unlike `Bags`, it may be empty.
    """

    def __init__(self, bags: Bags, indices: Index | None = None) -> None:
        self._bags = bags
        self._indices = indices

    @property
    def shape(self) -> tuple[int, int]:
        """Number of bags and number of features."""
        return len(self._bags) if self._indices is None else int(self._indices.size), self._bags.dimension

    @property
    def bags(self) -> Bags:
        """The bags of all rows; `BagsError` is raised if there are no rows."""
        return self._bags if self._indices is None else self._bags[self._indices]

    def __getitem__(self, which: slice | Index) -> BagRows:
        """Return the rows selected by a slice or by indices."""
        indices = np.arange(len(self._bags)) if self._indices is None else self._indices
        return BagRows(self._bags, indices[which])


def bag_rows(bags: Bags) -> Points:
    """Return the `BagRows` of all bags; always the same object for the same bags.

    For the type checker, the result is an array of points, but only a kernel of bags can be evaluated at it.
    """
    return cast(Points, vars(bags).setdefault("_as_rows", BagRows(bags)))


def as_bag_rows(given: Any) -> BagRows:
    """Return `BagRows` unchanged, and convert everything else by `as_bags`."""
    return given if isinstance(given, BagRows) else BagRows(as_bags(given))


def concatenate_bags(parts: Sequence[Bags]) -> Bags:
    """Return all bags of the parts, in order; raise `BagsError` if their numbers of features differ."""
    if len(parts) == 1:
        return parts[0]
    widths = sorted({part.dimension for part in parts})
    if len(widths) > 1:
        raise BagsError(f"Bags of one list have the same number of features, not {widths[0]} and {widths[-1]}.")
    starts = np.cumsum([0, *(part.offsets[-1] for part in parts[:-1])])
    offsets = np.concatenate([[0], *(part.offsets[1:] + start for part, start in zip(parts, starts, strict=True))])
    rows = [part.instances for part in parts]
    if any(sp.issparse(part) for part in rows):
        return Bags(sp.vstack([sp.csr_array(part) for part in rows], format="csr"), offsets)
    return Bags(np.vstack([np.asarray(part) for part in rows]), offsets)


def bag_blocks(bags: Bags) -> Iterator[Bags]:
    """Yield parts of consecutive bags that fit into a block; the bags themselves if they fit into one."""
    parts = list(bag_slices(bags.offsets, bags.dimension))
    yield from [bags] if len(parts) == 1 else (bags[part] for part in parts)


def distinct_bags(bags: Bags) -> Bags:
    """Return every distinct bag once, in the order of first occurrence.

    Two bags with the same instances in different orders are distinct.
    """
    first: dict[bytes, int] = {}
    for i, bag in enumerate(bags):
        rows = bag.toarray() if isinstance(bag, sp.csr_array) else bag
        first.setdefault(np.ascontiguousarray(rows).tobytes(), i)
    return bags if len(first) == len(bags) else bags[np.array(list(first.values()))]
