"""Contributions of the instances of a bag to the score of an ensemble, from the two largest values of every column.

The score is g(B) = sum_t w_t sign_t max_{x in B} u_t(x) + bias, with columns (weak learners) t and maximisers x*_t.
Without x, a column keeps its value unless x is its maximiser; in that case the column falls to its second largest
value:

    g(B) - g(B without x) = sum_{t : x*_t = x} w_t sign_t (u_t(x*_t) - max_{x' in B, x' != x} u_t(x'))

The bag is therefore evaluated once, not once per instance. If columns use windows, the windows are the instances, those
of the first length before those of the next. A column whose only window is removed has the value 0. For windows of
several lengths, the score of a window contains the values that columns of other lengths have on the whole bag, so that
the scores of windows of different lengths are comparable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Floats, Index
from milopt.estimator.explained_bag import ExplainedBag
from milopt.outcome.ensemble_columns import columns_of
from milopt.outcome.result import Result


@dataclass(frozen=True, eq=False)
class InstanceContributions:
    """Contribution of each instance (or window) to the score of one bag.

    Attributes
    ----------
    scores : ndarray of shape (n_instances,)
        Score that the bag would have if the instance were the only one in it. If the columns (weak learners) of an
        ensemble use windows of several lengths, those of other lengths keep the value that they have on the whole bag,
        so that scores are comparable.
    contributions : ndarray of shape (n_instances,)
        Score of the bag minus the score of the bag without the instance; the score of the bag if it has one instance.
        NaN if it was not computed.
    starts, lengths : ndarray of shape (n_instances,) or None
        First sample of each window in the series, and its number of samples. None if instances are not windows.
    """

    scores: Floats
    contributions: Floats
    starts: Index | None
    lengths: Index | None


def instance_contributions(result: Result, bag: ExplainedBag, total: float) -> InstanceContributions:
    """Compute the contributions of the instances of one bag, whose score is `total`."""
    assert result.ensemble is not None
    offset, all_columns = result.ensemble.offset, columns_of(result)
    parts = []
    all_samples = tuple(dict.fromkeys(columns.samples for columns in all_columns)) or (None,)
    for samples in all_samples:
        same_length = [columns for columns in all_columns if columns.samples == samples]
        windows = same_length[0].cut_windows(bag.scaled) if same_length else bag.scaled
        count = int(windows.offsets[-1])
        scores, contributions, part_score = np.full(count, offset), np.zeros(count), 0.0
        for columns in same_length:
            values, signed_weights = columns.values(windows), columns.sign * columns.weights
            scores += columns.sign * (values @ columns.weights)
            part_score += columns.sign * float(values.max(axis=0) @ columns.weights)
            np.add.at(contributions, values.argmax(axis=0), signed_weights * _lead_over_second_largest(values))
        if len(all_samples) > 1:
            scores += total - offset - part_score
        parts.append((scores, contributions, bag.window_spans(np.arange(count), samples)))
    scores, contributions = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    # Contributions of at most 1e-12 (1 + |score of the bag|) are rounding errors.
    contributions[np.abs(contributions) <= 1e-12 * (1.0 + abs(total))] = 0.0
    spans = [part[2] for part in parts]
    starts, lengths = (
        None if any(span is None for span in spans) else np.concatenate([span[k] for span in spans if span is not None])
        for k in (0, 1)
    )
    if contributions.size == 1:
        contributions = np.array([total])
    return InstanceContributions(scores, contributions, starts, lengths)


def _lead_over_second_largest(values: Floats) -> Floats:
    """Return the largest minus the second largest entry of each matrix column; the entry itself if there is one row."""
    if values.shape[0] == 1:
        return np.asarray(values[0])
    second, first = np.partition(values, -2, axis=0)[-2:]
    return np.asarray(first - second)
