"""What each instance of a bag adds to an ensemble's score, from the two largest values of every column.

Without x a column is what it was, unless x was its maximiser: then it falls to its second largest value. So

    g(B) - g(B without x) = sum_{t : x*_t = x} w_t sign_t (u_t(x*_t) - max_{x' in B, x' != x} u_t(x'))

takes one look at the bag, not one for every instance. Where columns look at windows these are the instances, those of
the first length before those of the next; a column whose only window is gone adds nothing. So that scores of windows of
different lengths compare, a window's has what the columns of other lengths make of the bag.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Floats, Index
from milopt.estimator.shown_bag import ShownBag
from milopt.outcome.columns import columns_of
from milopt.outcome.result import Result


@dataclass(frozen=True, eq=False)
class Losses:
    """One entry an instance."""

    scores: Floats
    """The bag's, if x were all that the columns which look at x can see."""
    contributions: Floats
    starts: Index | None
    lengths: Index | None


def losses(result: Result, bag: ShownBag, total: float) -> Losses:
    """Of one bag with this score."""
    assert result.ensemble is not None
    offset, parts = result.ensemble.offset, columns_of(result)
    found = []
    all_samples = tuple(dict.fromkeys(part.samples for part in parts)) or (None,)
    for samples in all_samples:
        mine = [part for part in parts if part.samples == samples]
        seen = mine[0].seen(bag.scaled) if mine else bag.scaled
        count = int(seen.offsets[-1])
        scores, lost, own = np.full(count, offset), np.zeros(count), 0.0
        for part in mine:
            values = part.values(seen)
            scores += part.sign * (values @ part.weights)
            own += part.sign * float(values.max(axis=0) @ part.weights)
            np.add.at(lost, values.argmax(axis=0), part.sign * part.weights * _lead(values))
        if len(all_samples) > 1:
            scores += total - offset - own
        found.append((scores, lost, bag.spans(np.arange(count), samples)))
    scores, lost = (np.concatenate([one[k] for one in found]) for k in (0, 1))
    # Values that would be equal but for rounding.
    lost[np.abs(lost) <= 1e-12 * (1.0 + abs(total))] = 0.0
    spans = [one[2] for one in found]
    starts, lengths = (
        None if any(span is None for span in spans) else np.concatenate([span[k] for span in spans if span is not None])
        for k in (0, 1)
    )
    return Losses(scores, np.array([total]) if lost.size == 1 else lost, starts, lengths)


def _lead(values: Floats) -> Floats:
    """By how much the largest value of each column exceeds the second largest; the value itself where it is alone."""
    if values.shape[0] == 1:
        return np.asarray(values[0])
    second, first = np.partition(values, -2, axis=0)[-2:]
    return np.asarray(first - second)
