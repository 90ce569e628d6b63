"""Patterns z of the columns of an ensemble, with their weights in the final hypothesis.

    g(B) = sum_t w_t sign_t max_{x in B} sum_z a_tz K(z, x) + bias,   omega_tz = sign_t w_t a_tz

A column t is a weak learner with weight w_t, sign sign_t (+1 or -1) and coefficients a_tz. A coefficient below 1e-8 of
the largest one in its column counts as zero. Patterns are in the units of the data, before scaling. A pattern z may be
a mean of instances, so its nearest training instance is given too.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from milopt.arrays import Floats, Index, Points
from milopt.data.windows import WindowSettings
from milopt.declaration.kernels.kernel import Kernel, Precomputed
from milopt.estimator.explained_bag import ExplainedBag
from milopt.estimator.maximisers import NEGATIVE_COEFFICIENT_CAUTION, as_plain_label, format_sample_ranges, sign_text
from milopt.estimator.training_set import TrainingSet
from milopt.outcome.ensemble_columns import EnsembleColumns, readable_columns
from milopt.outcome.result import Result
from milopt.table import Table

_MAX_SHOWN_ROWS = 10
"""Number of patterns that the text of a table shows."""
_FLOAT_FIELDS = ("weights", "signs", "coefficients", "distances")
"""Fields that are arrays of floats; the other arrays are indices."""


@dataclass(frozen=True, eq=False)
class PatternTable:
    """Patterns of the final hypothesis of an ensemble, sorted by decreasing |omega|.

    The score of a bag is g(B) = sum_t w_t sign_t max_{x in B} sum_z a_tz K(z, x) + bias, with columns (weak learners) t
    and patterns z; omega = sign * w * a. Returned by `EnsembleClassifier.patterns`. `print` shows it as a table, and
    `as_dict` returns JSON data. If no bag is given, `instances`, `starts`, `distances` and `series` are None. If
    instances are not windows of a time series, `lengths`, `starts`, `distances` and `series` are None.

    Parameters
    ----------
    positive_label : object
        Label for which positive scores stand.
    columns : ndarray of shape (n_patterns,)
        Index t of the column of each pattern in the ensemble.
    atoms : ndarray of shape (n_patterns,)
        Index of the pattern z in the dictionary of its column.
    weights : ndarray of shape (n_patterns,)
        Weights omega = sign * w * a.
    signs : ndarray of shape (n_patterns,)
        Signs of the columns, +1 or -1.
    coefficients : ndarray of shape (n_patterns,)
        Coefficients a. If a is negative, the column looks for the instance that is least similar to z.
    patterns : tuple of ndarray
        Patterns z, each with the numbers of an instance or a window. A window has the features of all its samples in
        order.
    training_bags : ndarray of shape (n_patterns,)
        Index of the bag of the nearest training instance, among the training bags of positive weight.
    training_instances : ndarray of shape (n_patterns,)
        Index of the nearest training instance in its bag, or among the windows of its bag.
    neighbours : tuple of ndarray
        The nearest training instance of each pattern.
    lengths : ndarray of shape (n_patterns,) or None
        Number of samples of each pattern, if patterns are windows.
    instances : ndarray of shape (n_patterns,) or None
        Index of the instance of the given bag that is nearest to the pattern.
    starts : ndarray of shape (n_patterns,) or None
        First sample j of the window that is nearest to the pattern, in the given series tau: j minimises
        ||(tau[j], ..., tau[j + ell - 1]) - z||, where ell is the length of the window.
    distances : ndarray of shape (n_patterns,) or None
        Root mean square of the differences between this window and the pattern.
    series : ndarray of shape (n_samples, n_features) or None
        The given series, if it is known.
    features : int, default=1
        Number of features of a sample, if columns cut their own windows; otherwise 1.

    Examples
    --------
    >>> import numpy as np
    >>> from milopt.models import ShapeletBoost
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1, 0] += 4
    >>> table = ShapeletBoost(atoms=10).fit(bags, y).patterns()
    >>> len(table) > 0, table.patterns[0].shape
    (True, (2,))
    """

    positive_label: object
    columns: Index
    atoms: Index
    weights: Floats
    signs: Floats
    coefficients: Floats
    patterns: tuple[Floats, ...]
    training_bags: Index
    training_instances: Index
    neighbours: tuple[Floats, ...]
    lengths: Index | None
    instances: Index | None
    starts: Index | None
    distances: Floats | None
    series: Floats | None
    features: int = 1

    def __len__(self) -> int:
        """Return the number of patterns."""
        return int(self.columns.size)

    def as_dict(self) -> dict[str, Any]:
        """Return the table as JSON data.

        Returns
        -------
        dict
            With the keys `positive_label` and `patterns`, a list of one dict per pattern.
        """
        columns: dict[str, list[Any]] = {
            "column": self.columns.tolist(),
            "atom": self.atoms.tolist(),
            "weight": self.weights.tolist(),
            "sign": self.signs.tolist(),
            "coefficient": self.coefficients.tolist(),
            "training_bag": self.training_bags.tolist(),
            "training_instance": self.training_instances.tolist(),
            "length": self._as_list(self.lengths),
            "instance": self._as_list(self.instances),
            "start": self._as_list(self.starts),
            "distance": self._as_list(self.distances),
            "pattern": [pattern.tolist() for pattern in self.patterns],
        }
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return {"positive_label": as_plain_label(self.positive_label), "patterns": rows}

    def _as_list(self, array: Index | Floats | None) -> list[Any]:
        """Return an array as a list, or a list of None if there is no array."""
        return [None] * len(self) if array is None else array.tolist()

    def __str__(self) -> str:
        """Format the patterns with the largest weights as a table."""
        shown = range(min(len(self), _MAX_SHOWN_ROWS))
        spans = format_sample_ranges(self.starts, self.lengths, shown)
        rows = [
            (
                *(f"{self.weights[k]:.4g}", str(self.columns[k]), sign_text(self.signs[k]), str(self.atoms[k])),
                *(f"{self.coefficients[k]:.4g}", "" if self.lengths is None else str(self.lengths[k])),
                f"{self.training_instances[k]} of bag {self.training_bags[k]}",
                "" if self.instances is None else str(self.instances[k]),
                span,
            )
            for k, span in zip(shown, spans, strict=True)
        ]
        header = (
            *("omega", "column", "sign", "pattern", "coefficient", "length", "nearest in training"),
            *("nearest here", "samples"),
        )
        title = f"{len(self)} patterns (positive scores mean class {self.positive_label})."
        text = str(Table(title, header, tuple(rows), frozenset(header) - {"nearest in training", "samples"}))
        more = f"\n  and {len(self) - _MAX_SHOWN_ROWS} more of smaller weight." if len(self) > _MAX_SHOWN_ROWS else ""
        caution = f"\n  {NEGATIVE_COEFFICIENT_CAUTION}" if (self.coefficients < 0).any() else ""
        return text + more + caution


def build_pattern_table(
    result: Result,
    training: TrainingSet,
    bag: ExplainedBag | None,
    settings: WindowSettings | None,
    positive_label: object,
) -> PatternTable:
    """Build the pattern table of a result, and locate the patterns in `bag` if it is not None.

    `settings` states how the training instances were cut from time series, or is None. Positive scores stand for
    `positive_label`.
    """
    parts = [
        _build_table_of_columns(columns, training, bag, settings, positive_label)
        for columns in readable_columns(result)
        if columns.is_nonzero.any()
    ]
    joined = {
        field.name: _concatenate_field([getattr(part, field.name) for part in parts], field.name)
        for field in fields(PatternTable)
        if field.name not in ("positive_label", "series", "features")
    }
    order = np.argsort(-np.abs(joined["weights"]), kind="stable")
    chosen: dict[str, Any] = {
        name: tuple(values[k] for k in order)
        if isinstance(values, tuple)
        else None
        if values is None
        else values[order]
        for name, values in joined.items()
    }
    series, features = (parts[0].series, parts[0].features) if parts else (None, 1)
    return PatternTable(positive_label, **chosen, series=series, features=features)


def _build_table_of_columns(
    columns: EnsembleColumns,
    training: TrainingSet,
    bag: ExplainedBag | None,
    settings: WindowSettings | None,
    positive_label: object,
) -> PatternTable:
    """Build the table of the patterns of the columns (weak learners) that one oracle found."""
    z, t = np.nonzero(columns.is_nonzero)
    used, row = np.unique(z, return_inverse=True)
    points, seen, scaling = columns.points[used], columns.cut_windows(training.bags), training.scaling
    nearest = _nearest_instances(columns.kernel, points, seen.instances)
    unscaled, neighbours = scaling.unscale_points(points), scaling.unscale_points(seen.instances[nearest])
    bags = seen.bag_of[nearest]
    length = columns.samples if columns.samples is not None else None if settings is None else settings.length
    nearest_in_bag = (
        None
        if bag is None
        else _nearest_instances(columns.kernel, unscaled, bag.column_instances(columns.samples).instances)[row]
    )
    spans = None if bag is None or nearest_in_bag is None else bag.window_spans(nearest_in_bag, columns.samples)
    return PatternTable(
        positive_label=positive_label,
        columns=columns.places[t],
        atoms=z,
        weights=columns.sign * columns.weights[t] * columns.coefficients[z, t],
        signs=np.full(t.size, columns.sign),
        coefficients=columns.coefficients[z, t],
        patterns=tuple(unscaled[row]),
        training_bags=bags[row],
        training_instances=(nearest - seen.offsets[bags])[row],
        neighbours=tuple(neighbours[row]),
        lengths=None if length is None else np.full(t.size, length),
        instances=nearest_in_bag,
        starts=None if spans is None else spans[0],
        distances=None
        if bag is None or nearest_in_bag is None or spans is None
        else _root_mean_square_differences(unscaled[row], bag, columns.samples, nearest_in_bag),
        series=None if bag is None or spans is None else bag.series,
        features=1 if columns.samples is None else training.bags.dimension,
    )


def _nearest_instances(kernel: Kernel, points: Points, instances: Points) -> Index:
    """Return the index of the nearest instance to each point, in Euclidean distance or that of a precomputed kernel."""
    if isinstance(kernel, Precomputed):
        return np.asarray((2 * kernel(points, instances) - kernel.diagonal(instances)).argmax(axis=1))
    from sklearn.metrics import pairwise_distances_argmin

    return np.asarray(pairwise_distances_argmin(points, instances), dtype=np.intp)


def _root_mean_square_differences(points: Points, bag: ExplainedBag, samples: int | None, instances: Index) -> Floats:
    """Return the root mean square difference between each point and its instance of the shown bag.

    `instances` has one index per point, among the instances or, if `samples` is not None, among the windows of this
    length.
    """
    from sklearn.metrics.pairwise import paired_distances

    return np.asarray(
        paired_distances(points, bag.column_instances(samples).instances[instances]) / np.sqrt(points.shape[1])
    )


def _concatenate_field(values: list[Any], name: str) -> Any:
    """Concatenate the values of the field `name` of several tables; None if one of the values is None."""
    if name in ("patterns", "neighbours"):
        return tuple(row for part in values for row in part)
    if any(part is None for part in values):
        return None
    return np.concatenate(values) if values else np.zeros(0, dtype=float if name in _FLOAT_FIELDS else np.intp)
