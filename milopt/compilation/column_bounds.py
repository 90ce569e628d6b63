"""Bounds on columns, with cached quantities that are needed for every certificate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from milopt.arrays import Vector


@dataclass(frozen=True)
class ColumnBounds:
    """Bounds lower <= x <= upper of the columns; a missing bound is infinite."""

    lower: Vector
    upper: Vector

    @cached_property
    def _finite_masks(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Two masks over the columns: whether the lower bound is finite, and whether the upper bound is finite."""
        return np.isfinite(self.lower), np.isfinite(self.upper)

    @cached_property
    def _finite_values(self) -> tuple[Vector, Vector]:
        """Lower and upper bounds, with 0 in place of infinite ones."""
        below, above = self._finite_masks
        return np.where(below, self.lower, 0.0), np.where(above, self.upper, 0.0)

    @cached_property
    def _violation_weights(self) -> tuple[Vector, Vector]:
        """1 / (1 + |bound|) for lower and upper bounds; 0 for infinite ones."""
        return 1.0 / (1.0 + np.abs(self.lower)), 1.0 / (1.0 + np.abs(self.upper))

    def largest_violations(self, x: Vector) -> tuple[float, float]:
        """Return (relative, absolute): the largest violation / (1 + |bound|) of a bound, and the largest violation."""
        below, above = np.maximum(self.lower - x, 0.0), np.maximum(x - self.upper, 0.0)
        weight_below, weight_above = self._violation_weights
        scaled = np.maximum(below * weight_below, above * weight_above)
        return float(scaled.max(initial=0.0)), float(np.maximum(below, above).max(initial=0.0))

    def distance(self, x: Vector) -> Vector:
        """Return, per column, the distance of x from the interval between the bounds; 0 if the bounds hold."""
        return np.maximum(np.maximum(self.lower - x, x - self.upper), 0.0)

    def split_gradient(self, gradient: Vector) -> tuple[Vector, float]:
        """Split the gradient of the Lagrangian into reduced costs and a stationarity residual.

        A positive entry is the reduced cost of the lower bound, a negative entry that of the upper bound. If that bound
        is infinite, the entry cannot be a reduced cost and belongs to the residual.

        Parameters
        ----------
        gradient : ndarray of shape (n_columns,)
            Gradient P x + q - A'z, where A are the coefficients of the rows and z their multipliers.

        Returns
        -------
        residual : ndarray of shape (n_columns,)
            Part of the gradient that no finite bound accounts for.
        bound_term : float
            Sum over the columns of reduced cost times bound (a term of the dual objective).
        """
        positive = gradient > 0.0
        is_reduced_cost = np.where(positive, *self._finite_masks)
        residual = np.where(is_reduced_cost, 0.0, gradient)
        return residual, float((gradient - residual) @ np.where(positive, *self._finite_values))
