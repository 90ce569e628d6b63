"""What an ensemble looks for: the patterns z behind its columns, each with its weight in the final hypothesis.

    g(B) = sum_t w_t sign_t max_{x in B} sum_z a_tz K(z, x) + bias,   omega_tz = sign_t w_t a_tz

A coefficient below 1e-8 of its column's largest counts as zero. Patterns are in the units of the data, whatever the
scaling; a pattern that is the mean of instances has its nearest training instance beside it, one that has occurred.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from milopt.arrays import Floats, Index, Points
from milopt.data.windows import Cut
from milopt.declaration.kernels.kernel import Kernel, Precomputed
from milopt.estimator.maximisers import CAUTION, plain, samples, sign
from milopt.estimator.shown_bag import ShownBag
from milopt.estimator.training_set import TrainingSet
from milopt.outcome.columns import Columns, columns_of
from milopt.outcome.result import Result
from milopt.table import Table

_SHOWN = 10
_NUMBERS = ("weights", "signs", "coefficients", "distances")


@dataclass(frozen=True, eq=False)
class PatternTable:
    """The patterns of the final hypothesis, the largest |omega| first; `str` for people, `as_dict` for machines."""

    positive_label: object
    """The label that positive scores speak for."""
    columns: Index
    """t, the place of the column in the ensemble."""
    atoms: Index
    """z, the place of the pattern in the dictionary of its column."""
    weights: Floats
    """omega = sign w a."""
    signs: Floats
    coefficients: Floats
    """a: where it is negative, the column asks how like z the instance least like z is."""
    patterns: tuple[Floats, ...]
    """z, as many numbers as an instance or a window has; a window has the features of all its samples in order."""
    training_bags: Index
    """The bag of the nearest training instance, among those that count for something."""
    training_instances: Index
    """The place of that instance in its bag, or among its windows."""
    neighbours: tuple[Floats, ...]
    """That instance."""
    lengths: Index | None
    """Of patterns that are windows, in samples."""
    instances: Index | None
    """The instance of the shown bag that is nearest to the pattern; None where no bag is shown."""
    starts: Index | None
    """j* = argmin_j ||(tau[j], ..., tau[j + ell - 1]) - z||, the first sample of that window of the shown series."""
    distances: Floats | None
    """The root mean square of the differences between that window and the pattern."""
    series: Floats | None
    """The shown series, L x D."""
    features: int = 1
    """D: how many numbers a sample has, where patterns are windows."""

    def __len__(self) -> int:
        return int(self.columns.size)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        columns: dict[str, list[Any]] = {
            "column": self.columns.tolist(),
            "atom": self.atoms.tolist(),
            "weight": self.weights.tolist(),
            "sign": self.signs.tolist(),
            "coefficient": self.coefficients.tolist(),
            "training_bag": self.training_bags.tolist(),
            "training_instance": self.training_instances.tolist(),
            "length": self._listed(self.lengths),
            "instance": self._listed(self.instances),
            "start": self._listed(self.starts),
            "distance": self._listed(self.distances),
            "pattern": [one.tolist() for one in self.patterns],
        }
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return {"positive_label": plain(self.positive_label), "patterns": rows}

    def _listed(self, held: Index | Floats | None) -> list[Any]:
        return [None] * len(self) if held is None else held.tolist()

    def __str__(self) -> str:
        shown = range(min(len(self), _SHOWN))
        spans = samples(self.starts, self.lengths, shown)
        rows = [
            (
                *(f"{self.weights[k]:.4g}", str(self.columns[k]), sign(self.signs[k]), str(self.atoms[k])),
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
        title = f"{len(self)} patterns (positive speaks for {self.positive_label})."
        text = str(Table(title, header, tuple(rows), frozenset(header) - {"nearest in training", "samples"}))
        more = f"\n  and {len(self) - _SHOWN} more of smaller weight." if len(self) > _SHOWN else ""
        caution = f"\n  {CAUTION}" if (self.coefficients < 0).any() else ""
        return text + more + caution


def patterns(
    result: Result, training: TrainingSet, bag: ShownBag | None, cut: Cut | None, positive_label: object
) -> PatternTable:
    """The table of a result; `cut` is how the training instances were cut from series, where they were."""
    parts = [_part(one, training, bag, cut, positive_label) for one in columns_of(result) if one.used.any()]
    joined = {
        field.name: _joined([getattr(part, field.name) for part in parts], field.name)
        for field in fields(PatternTable)
        if field.name not in ("positive_label", "series", "features")
    }
    order = np.argsort(-np.abs(joined["weights"]), kind="stable")
    chosen: dict[str, Any] = {
        name: tuple(held[k] for k in order) if isinstance(held, tuple) else None if held is None else held[order]
        for name, held in joined.items()
    }
    series, features = (parts[0].series, parts[0].features) if parts else (None, 1)
    return PatternTable(positive_label, **chosen, series=series, features=features)


def _part(
    one: Columns, training: TrainingSet, bag: ShownBag | None, cut: Cut | None, positive_label: object
) -> PatternTable:
    """The patterns of one oracle's columns."""
    z, t = np.nonzero(one.used)
    used, row = np.unique(z, return_inverse=True)
    points, seen, scaling = one.points[used], one.seen(training.bags), training.scaling
    near = _nearest(one.kernel, points, seen.instances)
    drawn, neighbours = scaling.undone(points), scaling.undone(seen.instances[near])
    bags = seen.bag_of[near]
    length = one.samples if one.samples is not None else None if cut is None else cut.length
    here = None if bag is None else _nearest(one.kernel, drawn, bag.seen(one.samples).instances)[row]
    spans = None if bag is None or here is None else bag.spans(here, one.samples)
    return PatternTable(
        positive_label=positive_label,
        columns=one.places[t],
        atoms=z,
        weights=one.sign * one.weights[t] * one.coefficients[z, t],
        signs=np.full(t.size, one.sign),
        coefficients=one.coefficients[z, t],
        patterns=tuple(drawn[row]),
        training_bags=bags[row],
        training_instances=(near - seen.offsets[bags])[row],
        neighbours=tuple(neighbours[row]),
        lengths=None if length is None else np.full(t.size, length),
        instances=here,
        starts=None if spans is None else spans[0],
        distances=None if bag is None or here is None or spans is None else _apart(drawn[row], bag, one.samples, here),
        series=None if bag is None or spans is None else bag.series,
        features=1 if one.samples is None else training.bags.dimension,
    )


def _nearest(kernel: Kernel, points: Points, instances: Points) -> Index:
    """For each point the nearest instance; where instances are numbers of a precomputed kernel, as that has it."""
    if isinstance(kernel, Precomputed):
        return np.asarray((2 * kernel(points, instances) - kernel.diagonal(instances)).argmax(axis=1))
    from sklearn.metrics import pairwise_distances_argmin

    return np.asarray(pairwise_distances_argmin(points, instances), dtype=np.intp)


def _apart(points: Points, bag: ShownBag, samples: int | None, instances: Index) -> Floats:
    """How far points are from instances of a shown bag, each from its own, in the units of its numbers."""
    from sklearn.metrics.pairwise import paired_distances

    return np.asarray(paired_distances(points, bag.seen(samples).instances[instances]) / np.sqrt(points.shape[1]))


def _joined(held: list[Any], name: str) -> Any:
    if name in ("patterns", "neighbours"):
        return tuple(row for part in held for row in part)
    if any(part is None for part in held):
        return None
    return np.concatenate(held) if held else np.zeros(0, dtype=float if name in _NUMBERS else np.intp)
