"""In which order the parts of a comparison are run, so that nobody waits for a solver that is still being compiled.

Where a solver compiles its algorithms, one part of each of its cells starts at once and compiles them for the others,
which come last; meanwhile the other processes have all the rest to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from milopt.comparison.part import Part
from milopt.solving import registry


def in_good_order(parts: Iterable[Part]) -> list[Part]:
    """The parts, cell by cell as given, but for those of solvers that compile: one first, the others last."""
    first, amid, last = [], [], []
    for _, group in groupby(parts, key=lambda part: part.cell):
        own = list(group)
        if registry.get(own[0].solver).compiles:
            first.append(own[0])
            last += own[1:]
        else:
            amid += own
    return first + amid + last
