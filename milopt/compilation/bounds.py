"""Bounds on columns, with what every certificate asks of them kept at hand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from milopt.arrays import Vector


@dataclass(frozen=True)
class Bounds:
    """lower <= x <= upper, either of them infinite where there is none."""

    lower: Vector
    upper: Vector

    @cached_property
    def _finite(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        return np.isfinite(self.lower), np.isfinite(self.upper)

    @cached_property
    def _values(self) -> tuple[Vector, Vector]:
        """The bounds, 0 where there is none."""
        below, above = self._finite
        return np.where(below, self.lower, 0.0), np.where(above, self.upper, 0.0)

    @cached_property
    def _weights(self) -> tuple[Vector, Vector]:
        """1 / (1 + |bound|), 0 where there is none."""
        return 1.0 / (1.0 + np.abs(self.lower)), 1.0 / (1.0 + np.abs(self.upper))

    def violation(self, x: Vector) -> tuple[float, float]:
        """(the largest violation / (1 + |bound|), the largest violation)."""
        below, above = np.maximum(self.lower - x, 0.0), np.maximum(x - self.upper, 0.0)
        weight_below, weight_above = self._weights
        scaled = np.maximum(below * weight_below, above * weight_above)
        return float(scaled.max(initial=0.0)), float(np.maximum(below, above).max(initial=0.0))

    def distance(self, x: Vector) -> Vector:
        """Return the violation of each column's bounds."""
        return np.maximum(np.maximum(self.lower - x, x - self.upper), 0.0)

    def shared(self, gradient: Vector) -> tuple[Vector, float]:
        """(what of d/dx no bound can take, the reduced costs times their bounds).

        A positive entry is the reduced cost of a lower bound, a negative one of an upper bound, where there is such.
        """
        positive = gradient > 0.0
        taken = np.where(positive, *self._finite)
        rest = np.where(taken, 0.0, gradient)
        return rest, float((gradient - rest) @ np.where(positive, *self._values))
