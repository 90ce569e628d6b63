"""A few bags and their scores, saved with a model and compared when it is loaded.

A file holds the data and the solution, and loading declares the program again. If the file was changed, or another
version of milopt declares another program, the model would give other scores without a word. So a file also holds some
training bags in their own units with their scores, and a model that scores them otherwise is refused.
"""

from __future__ import annotations

import numpy as np

from milopt.declaration.arrays import Floats, Indices
from milopt.declaration.bags import Bags
from milopt.declaration.program import Program
from milopt.errors import BagsError
from milopt.estimator.fitted import Fitted

MAX_BAGS, MAX_INSTANCES = 64, 512
"""Of the probes: enough to notice a change, few enough that scoring them takes no longer than declaring."""
SCORE_TOLERANCE = 1e-6
"""Of a score, relative to 1 + the largest score: far above rounding on another machine."""


def probe_scores(fitted: Fitted) -> tuple[Bags, Floats] | None:
    """Choose some training bags and score them; None if the model does not score bags, or no bag can be unscaled."""
    programs = [result.program for result in fitted.results]
    if any(isinstance(program, Program) and program.bag_score is None for program in programs):
        return None
    training = fitted.training
    try:
        bags = training.scaling.inverse(training.bags[_chosen(training.bags.sizes)])
        scaled = training.scaling(bags)
    except BagsError:
        # Values about the largest number do not survive being scaled back and forth.
        return None
    return bags, fitted.scores(scaled)


def check_probes(fitted: Fitted, bags: Bags, saved: Floats) -> None:
    """Raise a ValueError if the bags do not have the scores that were saved."""
    scores = fitted.scores(fitted.training.scaling(bags))
    if scores.shape != saved.shape or saved.dtype != np.float64:
        raise ValueError("its training bags have scores of another shape")
    bound = SCORE_TOLERANCE * (1.0 + np.abs(saved[np.isfinite(saved)]).max(initial=0.0))
    if not np.allclose(scores, saved, rtol=0.0, atol=bound, equal_nan=True):
        raise ValueError("its training bags do not have the scores that they had when it was saved")


def _chosen(sizes: Indices) -> Indices:
    """Indices of bags evenly spaced over the training set, as many as the limits allow, and at least the smallest."""
    spaced = np.unique(np.linspace(0, sizes.size - 1, min(MAX_BAGS, sizes.size)).astype(np.intp))
    by_size = spaced[np.argsort(sizes[spaced], kind="stable")]
    kept = by_size[np.cumsum(sizes[by_size]) <= MAX_INSTANCES]
    return np.sort(kept) if kept.size else np.array([int(np.argmin(sizes))])
