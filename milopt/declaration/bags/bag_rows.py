"""Bags as rows: what a function of bags is evaluated at, where others are evaluated at the rows of an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Floats, Index, Points
from milopt.declaration.bags.bags import Bags, as_bags
from milopt.errors import BagsError


class BagRows:
    """Bags as the rows at which a function of bags is evaluated: one row a bag, of which there may be none."""

    def __init__(self, bags: Bags, places: Index | None = None) -> None:
        self._of = bags
        self._places = places

    @property
    def shape(self) -> tuple[int, int]:
        """How many bags, of how many features."""
        return len(self._of) if self._places is None else int(self._places.size), self._of.dimension

    @property
    def bags(self) -> Bags:
        """The bags, where there are any."""
        return self._of if self._places is None else self._of[self._places]

    def __getitem__(self, which: slice | Index) -> BagRows:
        places = np.arange(len(self._of)) if self._places is None else self._places
        return BagRows(self._of, places[which])


def bag_rows(bags: Bags) -> Points:
    """The rows of bags, always the same object: they go wherever points go, and only a kernel of bags looks inside."""
    return cast(Points, vars(bags).setdefault("_as_rows", BagRows(bags)))


def as_bag_rows(given: Any) -> BagRows:
    """Rows as they are, or bags in any form that `as_bags` knows."""
    return given if isinstance(given, BagRows) else BagRows(as_bags(given))


def joined(parts: Sequence[Bags]) -> Bags:
    """All bags of the parts, in order."""
    if len(parts) == 1:
        return parts[0]
    widths = sorted({part.dimension for part in parts})
    if len(widths) > 1:
        raise BagsError(f"Bags that are taken together have equally many features, not {widths[0]} and {widths[-1]}.")
    starts = np.cumsum([0, *(part.offsets[-1] for part in parts[:-1])])
    offsets = np.concatenate([[0], *(part.offsets[1:] + start for part, start in zip(parts, starts, strict=True))])
    rows = [part.instances for part in parts]
    if any(sp.issparse(some) for some in rows):
        return Bags(sp.vstack([sp.csr_array(some) for some in rows], format="csr"), offsets)
    return Bags(np.vstack(cast("list[Floats]", rows)), offsets)


def different(bags: Bags) -> Bags:
    """Every bag once, in order of first occurrence: a bag given twice is one."""
    first: dict[bytes, int] = {}
    for i, bag in enumerate(bags):
        rows = bag.toarray() if isinstance(bag, sp.csr_array) else bag
        first.setdefault(np.ascontiguousarray(rows).tobytes(), i)
    return bags if len(first) == len(bags) else bags[np.array(list(first.values()))]
