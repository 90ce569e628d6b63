"""Counts that were computed before, by grid and way of counting: a fit with another C, or other labels, counts nothing.

Pairs of bags are known by the words of their content. The least recently used grids are forgotten.
"""

from __future__ import annotations

from collections import OrderedDict

Count = tuple[float, float, float]
"""log count, draws, log |U|."""
Known = dict[tuple[int, int], Count]

MOST_PAIRS = 2_000_000
"""Pairs that are kept over all grids, some 200 bytes each."""

_KNOWN: OrderedDict[object, Known] = OrderedDict()


def known_counts(key: object) -> Known:
    """The counts of one grid and way of counting, to be read and added to."""
    known = _KNOWN.setdefault(key, {})
    _KNOWN.move_to_end(key)
    while len(_KNOWN) > 1 and sum(map(len, _KNOWN.values())) > MOST_PAIRS:
        _KNOWN.popitem(last=False)
    return known


def forget_counts() -> None:
    """Forget everything, as a benchmark must before it counts again."""
    _KNOWN.clear()
