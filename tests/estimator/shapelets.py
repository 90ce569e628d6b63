"""Small data in every form that boosted shapelets support, and scores recomputed from kernel values alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt import RBF, Bags, as_bags, from_series
from milopt.models import ShapeletBoost

K = RBF(0.7)
FORMS = ("bags", "windows", "series", "two channels")
BALLS = ("l1", "hilbert", "one-hot")


@dataclass(frozen=True)
class ShapeletCase:
    """Bags of one form, a model for them, and their labels."""

    bags: Bags
    y: np.ndarray
    model: ShapeletBoost

    def column_instances(self, bag: np.ndarray, length: int | None) -> np.ndarray:
        """Return the instances that columns with patterns of this length use, scaled as by minmax01."""
        low, high = self.bags.instances.min(axis=0), self.bags.instances.max(axis=0)
        scaled = (bag - low) / (high - low)
        if self.model.window is None:
            return scaled
        return np.array([scaled[j : j + length].ravel() for j in range(len(bag) - length + 1)])

    def scaled_pattern(self, pattern: np.ndarray) -> np.ndarray:
        low, high = self.bags.instances.min(axis=0), self.bags.instances.max(axis=0)
        return ((pattern.reshape(-1, low.size) - low) / (high - low)).ravel()


def case(form: str, ball: str = "l1", classes: int = 2, seed: int = 0, **settings: object) -> ShapeletCase:
    """Return a fitted model on 24 bags; in one class, some samples or one instance have a bump."""
    rng, y = np.random.default_rng(seed), np.arange(24) % classes
    window: object = None
    if form == "bags":
        raw = [rng.normal(0, 1, size=(int(rng.integers(1, 6)), 3)) * [1, 100, 0.01] for _ in y]
        for samples, label in zip(raw, y, strict=True):
            samples[0] += 2 * label * np.array([1, 100, 0.01])
        bags = as_bags(raw)
    else:
        channels = 2 if form == "two channels" else 1
        raw = [rng.normal(0, 0.3, size=(int(rng.integers(14, 18)), channels)) * 5 + 40 for _ in y]
        for samples, label in zip(raw, y, strict=True):
            start = int(rng.integers(8))
            samples[start : start + 6, 0] += 10 * label * np.hanning(6)
        if form == "windows":
            bags = from_series([samples[:, 0] for samples in raw], length=5, stride=2)
        else:
            bags, window = as_bags(raw), (4, 6)
    chosen = {"atoms": 12, "dictionary": "kmeans", "nu": 0.4, "solver": "native", "random_state": 0, "kernel": K}
    model = ShapeletBoost(ball=ball, window=window, **chosen | settings).fit(bags, y)
    return ShapeletCase(bags, y, model)


def recompute_score(given: ShapeletCase, table: object, bag: np.ndarray, bias: float) -> float:
    """Compute sum_t sign_t max_x sum_z sign_t omega_tz K(z, x) + bias from the rows of a pattern table."""
    total = bias
    for t in np.unique(table.columns):
        rows = np.flatnonzero(table.columns == t)
        sign = table.signs[rows[0]]
        x = given.column_instances(bag, None if table.lengths is None else int(table.lengths[rows[0]]))
        Z = np.array([given.scaled_pattern(table.patterns[k]) for k in rows])
        total += sign * (given.model.kernel(x, Z) @ (sign * table.weights[rows])).max()
    return float(total)
