"""Detection of a trivial solution: all training bags have the same score, so the model does not distinguish bags."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from milopt.arrays import Floats, Index
from milopt.declaration.bags.bags import Bags
from milopt.errors import MiloptWarning
from milopt.outcome.result import Result

SCORE_TOLERANCE = 1e-6
"""Scores are equal if they differ by at most this tolerance times 1 + the largest absolute score."""


def warn_if_scores_are_constant(result: Result, bags: Bags, class_indices: Index) -> Result:
    """Return the result; if all training scores are equal, warn and append this fact to its message.

    One bag of each class is scored first; all bags are scored only if those scores are equal. `class_indices` has the
    index of the class of each bag.
    """
    one_per_class = np.unique(class_indices, return_index=True)[1]
    if not result.program.scores_bags or not _are_equal(result.score(bags[one_per_class])):
        return result
    scores = result.score(bags)
    if not _are_equal(scores):
        return result
    fact = f"All {len(bags)} training scores are equal ({scores[0]:.4g}): this solution does not distinguish bags."
    remedy = "Try other hyper-parameters (less regularisation, another kernel), or another start."
    warnings.warn(f"{result.program.name} by {result.solver}: {fact} {remedy}", MiloptWarning, stacklevel=3)
    return replace(result, message=f"{result.message} {fact}".strip())


def _are_equal(scores: Floats) -> bool:
    """Return True if all scores are equal within SCORE_TOLERANCE."""
    return bool(np.ptp(scores) <= SCORE_TOLERANCE * (1.0 + np.abs(scores).max()))
