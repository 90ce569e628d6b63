"""Warn about a trivial solution: all training bags have the same score, so that the model tells no bag from another."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from milopt.arrays import Floats, Index
from milopt.declaration.bags.bags import Bags
from milopt.errors import MiloptWarning
from milopt.outcome.result import Result

SCORE_TOLERANCE = 1e-6
"""Scores that differ by no more than this, beside 1 + their size, are equal: certificates prove values no better."""


def with_constant_scores_told(result: Result, bags: Bags, place: Index) -> Result:
    """Warn if all training scores are equal, and add the sentence to the message, which reports show.

    One bag of each class is scored first; all bags are scored only if those scores are equal. `place` is the class of
    each bag, as an index.
    """
    few = np.unique(place, return_index=True)[1]
    if not result.program.scores_bags or not _are_equal(result.score(bags[few])):
        return result
    scores = result.score(bags)
    if not _are_equal(scores):
        return result
    told = f"All {len(bags)} training scores are equal ({scores[0]:.4g}): this solution tells no bag from another."
    remedy = "Try other hyper-parameters (less regularisation, another kernel), or another start."
    warnings.warn(f"{result.program.name} by {result.solver}: {told} {remedy}", MiloptWarning, stacklevel=3)
    return replace(result, message=f"{result.message} {told}".strip())


def _are_equal(scores: Floats) -> bool:
    return bool(np.ptp(scores) <= SCORE_TOLERANCE * (1.0 + np.abs(scores).max()))
