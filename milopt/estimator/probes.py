"""Probes: some training bags and their scores, saved with a model and compared when it is loaded.

A file contains the data and the solution, and loading declares the program again. If the file was changed, or if
another version of milopt declares another program, the loaded model would silently give other scores. A file therefore
also contains some training bags in their original units with their scores, and loading fails if the model scores them
differently.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Floats, Index
from milopt.declaration.bags.bags import Bags
from milopt.errors import BagsError
from milopt.estimator.fitted import FittedState
from milopt.estimator.scaling import Scaling

MAX_PROBE_BAGS, MAX_PROBE_INSTANCES = 64, 512
"""Maximum numbers of bags and instances of the probes: enough to detect changes, few enough to be scored quickly."""
PROBE_SCORE_TOLERANCE = 1e-6
"""Largest accepted change of a score, relative to 1 + the largest score: far above rounding on another machine."""

SCALING_TOLERANCE = 1e-12
"""Largest accepted change of a value that was scaled and scaled back, relative to the value and the shift."""


def make_probes(fitted: FittedState) -> tuple[Bags, Floats] | None:
    """Choose some training bags as probes; return (these bags in their original units, their scores).

    Return None if the program does not score bags, or if bags overflow when they are scaled back.
    """
    programs = [result.program for result in fitted.results]
    if not all(program.scores_bags for program in programs):
        return None
    training = fitted.training
    try:
        bags = training.scaling.unscale_bags(training.bags[_choose_probes(training.bags.sizes)])
        scaled = training.scaling(bags)
    except BagsError:
        # Values close to the largest float overflow when they are scaled back.
        return None
    return bags, fitted.scores(scaled)


def check_probes(fitted: FittedState, bags: Bags, saved: Floats) -> None:
    """Raise a ValueError if the bags are not the probes of the training set, or do not have the saved scores."""
    training = fitted.training
    if not _are_same_bags(
        training.scaling.unscale_bags(training.bags[_choose_probes(training.bags.sizes)]), bags, training.scaling
    ):
        # The scores alone would not detect another scaling if the kernel is piecewise constant.
        raise ValueError("its training bags or their scaling are not those that were saved")
    scores = fitted.scores(fitted.training.scaling(bags))
    if scores.shape != saved.shape or saved.dtype != np.float64:
        raise ValueError("its training bags have scores of another shape")
    bound = PROBE_SCORE_TOLERANCE * (1.0 + np.abs(saved[np.isfinite(saved)]).max(initial=0.0))
    if not np.allclose(scores, saved, rtol=0.0, atol=bound, equal_nan=True):
        raise ValueError("its training bags do not have the scores that they had when it was saved")


def _are_same_bags(bags: Bags, others: Bags, scaling: Scaling) -> bool:
    """Return True if bags in original units are equal up to the rounding errors of scaling and scaling back."""
    if not np.array_equal(bags.offsets, others.offsets) or bags.dimension != others.dimension:
        return False
    (values, places), (other_values, other_places) = _stored_values(bags), _stored_values(others)
    if values.shape != other_values.shape or not np.array_equal(places, other_places):
        return False
    shift = 0.0 if scaling.shift is None else np.abs(scaling.shift)
    return bool((np.abs(values - other_values) <= SCALING_TOLERANCE * (np.abs(values) + 2 * shift)).all())


def _stored_values(bags: Bags) -> tuple[Floats, Index]:
    """Return (stored values of bags, their feature indices); the indices are an empty array if the bags are dense."""
    rows = bags.instances
    if isinstance(rows, sp.csr_array):
        return rows.data, rows.indices.astype(np.intp)
    return rows, np.arange(0)


def _choose_probes(sizes: Index) -> Index:
    """Return the indices of the training bags that are used as probes, sorted; `sizes` has their numbers of instances.

    From at most MAX_PROBE_BAGS evenly spaced bags, the smallest ones are taken, up to MAX_PROBE_INSTANCES instances in
    total. If none is small enough, the smallest bag of the training set is the only probe.
    """
    spaced = np.unique(np.linspace(0, sizes.size - 1, min(MAX_PROBE_BAGS, sizes.size)).astype(np.intp))
    by_size = spaced[np.argsort(sizes[spaced], kind="stable")]
    within_limit = by_size[np.cumsum(sizes[by_size]) <= MAX_PROBE_INSTANCES]
    return np.sort(within_limit) if within_limit.size else np.array([int(np.argmin(sizes))])
