"""A few bags and their scores, saved with a model and compared when it is loaded.

A file holds the data and the solution, and loading declares the program again. If the file was changed, or another
version of milopt declares another program, the model would give other scores without a word. So a file also holds some
training bags in their own units with their scores, and a model that scores them otherwise is refused.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Floats, Index
from milopt.declaration.bags.bags import Bags
from milopt.errors import BagsError
from milopt.estimator.fitted import Fitted
from milopt.estimator.scaling import Scaling

MAX_BAGS, MAX_INSTANCES = 64, 512
"""Of the probes: enough to notice a change, few enough that scoring them takes no longer than declaring."""
SCORE_TOLERANCE = 1e-6
"""Of a score, relative to 1 + the largest score: far above rounding on another machine."""

SCALING_TOLERANCE = 1e-12
"""Of a value scaled back, relative to the value and the shift."""


def probe_scores(fitted: Fitted) -> tuple[Bags, Floats] | None:
    """Choose some training bags and score them; None if the model does not score bags, or no bag can be unscaled."""
    programs = [result.program for result in fitted.results]
    if not all(program.scores_bags for program in programs):
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
    """Raise a ValueError if the bags are not those of the training set, or do not have the scores that were saved."""
    training = fitted.training
    if not _is_same(training.scaling.inverse(training.bags[_chosen(training.bags.sizes)]), bags, training.scaling):
        # A kernel that is constant over small parts of the space would not notice another scaling.
        raise ValueError("its training bags or their scaling are not those that were saved")
    scores = fitted.scores(fitted.training.scaling(bags))
    if scores.shape != saved.shape or saved.dtype != np.float64:
        raise ValueError("its training bags have scores of another shape")
    bound = SCORE_TOLERANCE * (1.0 + np.abs(saved[np.isfinite(saved)]).max(initial=0.0))
    if not np.allclose(scores, saved, rtol=0.0, atol=bound, equal_nan=True):
        raise ValueError("its training bags do not have the scores that they had when it was saved")


def _is_same(some: Bags, others: Bags, scaling: Scaling) -> bool:
    """Whether bags are equal but for the rounding of scaling back and forth."""
    if not np.array_equal(some.offsets, others.offsets) or some.dimension != others.dimension:
        return False
    (values, places), (other_values, other_places) = _entries(some), _entries(others)
    if values.shape != other_values.shape or not np.array_equal(places, other_places):
        return False
    shift = 0.0 if scaling.shift is None else np.abs(scaling.shift)
    return bool((np.abs(values - other_values) <= SCALING_TOLERANCE * (np.abs(values) + 2 * shift)).all())


def _entries(bags: Bags) -> tuple[Floats, Index]:
    """The values of bags, and their columns if the bags are sparse."""
    rows = bags.instances
    if isinstance(rows, sp.csr_array):
        return rows.data, rows.indices.astype(np.intp)
    return rows, np.arange(0)


def _chosen(sizes: Index) -> Index:
    """Index of bags evenly spaced over the training set, as many as the limits allow, and at least the smallest."""
    spaced = np.unique(np.linspace(0, sizes.size - 1, min(MAX_BAGS, sizes.size)).astype(np.intp))
    by_size = spaced[np.argsort(sizes[spaced], kind="stable")]
    kept = by_size[np.cumsum(sizes[by_size]) <= MAX_INSTANCES]
    return np.sort(kept) if kept.size else np.array([int(np.argmin(sizes))])
