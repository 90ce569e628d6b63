"""Margin program on bare arrays, with its objective, its dual objective and the exact bias.

    min_{w,b}  1/2 |w|^2 + sum_g h_g(max_{r in g} v_r),    v_r = q_r - R_r w - e_r b,
    h_g(t) = c_g [t]_+ + k_g/2 [t]_+^2,    c_g, k_g >= 0,  c_g + k_g > 0

R_r is a row of features, q_r its offset, e_r its coefficient of the bias. The hinge has k = 0 and the squared hinge
c = 0. Without a bias, e = 0. The dual is

    max_a  q'a - 1/2 |R'a|^2 - sum_g h_g*(S_g)   s.t.  a >= 0,  e'a = 0,    S_g = sum_{r in g} a_r,
    h_g*(S) = [S - c_g]_+^2 / (2 k_g),  which is infinite for S > c_g if k_g = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Points, Vector
from milopt.declaration.bags.scaled_rows import is_scaled_rows
from milopt.declaration.kernels.feature_rows import FeatureRows
from milopt.declaration.programs.sparse import take_rows

ZERO_SLOPE_FRACTION = 1e-12
"""Slopes of the loss in the bias below this fraction of the sum of all weights count as 0."""
BISECTION_STEPS = 100
"""Number of bisections for the bias if its coefficients differ within a group."""


@dataclass(frozen=True)
class MarginRows:
    """Rows R = [combinations @ features, extra]; the product is never stored for all rows."""

    features: FeatureRows
    """Features of the points, dense or sparse."""
    combinations: sp.csr_array
    """One row per row of R, one column per point."""
    extra: sp.csr_array | None = None
    """Further columns of R, such as a regularised bias; None if there are none."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of R."""
        more = 0 if self.extra is None else self.extra.shape[1]
        return int(self.combinations.shape[0]), self.features.count + more

    def times(self, w: Vector) -> Vector:
        """Return R w, by one pass over the features."""
        size = self.features.count
        total = np.asarray(self.combinations @ self.features.times(w[:size]))
        return total if self.extra is None else total + self.extra @ w[size:]

    def transpose_times(self, a: Vector) -> Vector:
        """Return R'a, by one pass over the features."""
        total = self.features.transpose_times(np.asarray(self.combinations.T @ a))
        return total if self.extra is None else np.concatenate([total, np.asarray(self.extra.T @ a)])

    def combine(self, weights: sp.csr_array) -> Points:
        """Return weights @ R as an array, sparse if the features are."""
        product = self.features.combine(sp.csr_array(weights @ self.combinations))
        extra = None if self.extra is None else sp.csr_array(weights @ self.extra)
        return _join_features(product, extra)

    def take(self, index: Index) -> Points:
        """Return the rows in `index` as an array, sparse if the features are.

        Rows that are `ScaledRows` stay scaled on demand if there are many of them and no `extra` columns (see
        `FeatureRows.take`). All others are dense.
        """
        chosen = take_rows(self.combinations, index)
        extra = None if self.extra is None else take_rows(self.extra, index)
        return _join_features(self.features.take(chosen), extra)


def _join_features(features: Points, extra: sp.csr_array | None) -> Points:
    """Return [features, extra] in the type of `features`."""
    if extra is None and (isinstance(features, sp.csr_array) or is_scaled_rows(features)):
        return cast(Points, features)
    if extra is None:
        return np.ascontiguousarray(features, dtype=np.float64)
    if isinstance(features, sp.csr_array):
        return sp.csr_array(sp.hstack([features, extra], format="csr"))
    return np.hstack([np.asarray(features), extra.toarray()])


@dataclass(frozen=True)
class MarginProgram:
    """Margin program (see the module docstring); the rows of a group are consecutive, and no group is empty."""

    rows: MarginRows
    offset: Vector
    """Offset q_r of each row."""
    bias: Vector
    """Coefficient e_r of the bias in each row."""
    has_bias: bool
    """Whether there is a bias; if not, all e_r are 0."""
    group_starts: Index
    """First row of each group, and the total number of rows."""
    cap: Vector
    """Weight c_g of the linear part of the loss of each group."""
    curvature: Vector
    """Weight k_g of the quadratic part of the loss of each group."""

    @cached_property
    def group(self) -> Index:
        """Group of each row."""
        return np.repeat(np.arange(self.cap.size), np.diff(self.group_starts)).astype(np.intp)

    def loss(self, maxima: Vector) -> float:
        """Return the sum of the losses at the largest v_r of each group."""
        t = np.maximum(maxima, 0.0)
        return float(self.cap @ t + 0.5 * (self.curvature @ (t * t)))

    def conjugate(self, sums: Vector) -> float:
        """Return the sum of h_g*(S_g); excesses S_g > c_g of groups without curvature count as 0."""
        return conjugate_sum(sums, self.cap, self.curvature)

    def slope_error(self, maxima: Vector, sums: Vector) -> float:
        """Return sum_g t_g |c_g + k_g t_g - S_g| over groups with curvature and t_g = max v_r > 0.

        At the optimum, S_g is the slope of the loss. The duality gap is of second order in the difference, but a
        certificate that evaluates the Lagrangian at the primal point is of first order.
        """
        if not self.curvature.any():
            return 0.0
        t = np.where(self.curvature > 0, np.maximum(maxima, 0.0), 0.0)
        return float(t @ np.abs(self.cap + self.curvature * t - sums))

    def maxima_with_bias(self, v: Vector, group_starts: Index, bias: Vector) -> tuple[Vector, float]:
        """Return max_r (v_r - e_r b) per group and the best bias b, for rows with values v = q - R w.

        `group_starts` and the bias coefficients e = `bias` are those of the rows of v: all rows, or some of each group.
        """
        first = group_starts[:-1]
        if not self.has_bias:
            return np.maximum.reduceat(v, first), 0.0
        low, high = np.minimum.reduceat(bias, first), np.maximum.reduceat(bias, first)
        if np.array_equal(low, high):
            largest = np.maximum.reduceat(v, first)
            b = best_bias(largest, low, self.cap, self.curvature)
            return largest - low * b, b
        b = self._bisect_bias(v, group_starts, bias)
        return np.maximum.reduceat(v - bias * b, first), b

    def _bisect_bias(self, v: Vector, group_starts: Index, bias: Vector) -> float:
        """Return the best bias by bisection of the slope, for coefficients that differ within a group."""
        first, group = group_starts[:-1], np.repeat(np.arange(self.cap.size), np.diff(group_starts))

        def slope(b: float) -> float:
            """Return a subgradient of the loss in b."""
            values = v - bias * b
            t = np.maximum.reduceat(values, first)
            at = np.flatnonzero(values == t[group])
            coefficient = np.zeros(t.size)
            coefficient[group[at]] = bias[at]
            return -float(coefficient @ np.where(t > 0, self.cap + self.curvature * t, 0.0))

        used = bias != 0
        points = v[used] / bias[used]
        low, high = float(points.min(initial=0.0)) - 1.0, float(points.max(initial=0.0)) + 1.0
        for _ in range(BISECTION_STEPS):
            b = 0.5 * (low + high)
            if b in (low, high):
                break
            low, high = (b, high) if slope(b) < 0 else (low, b)
        return 0.5 * (low + high)


def conjugate_sum(sums: Vector, cap: Vector, curvature: Vector) -> float:
    """Return sum_g [S_g - c_g]_+^2 / (2 k_g), over the groups with k_g > 0."""
    excess = np.where(curvature > 0, np.maximum(sums - cap, 0.0), 0.0)
    return 0.5 * float((excess**2 / np.where(curvature > 0, curvature, 1.0)).sum())


def best_bias(maxima: Vector, bias: Vector, cap: Vector, curvature: Vector) -> float:
    """Return the b that minimises sum_g h_g(m_g - e_g b); the middle one if several do.

    The derivative is piecewise linear in b, with one break point m_g / e_g per group. It is computed on all pieces from
    left to right.
    """
    used = bias != 0
    m, e, c, k = maxima[used], bias[used], cap[used], curvature[used]
    if not m.size:
        return 0.0
    at = m / e
    order = np.argsort(at, kind="stable")
    at, m, e, c, k = at[order], m[order], e[order], c[order], k[order]
    # A group with e > 0 contributes -e (c + k (m - e b)) to the left of its break point, one with e < 0 to the right.
    constant, slope = -e * (c + k * m), e * e * k
    rises = np.where(e > 0, -1.0, 1.0)
    falling = e > 0
    constants = float(constant[falling].sum()) + np.concatenate([[0.0], np.cumsum(rises * constant)])
    slopes = float(slope[falling].sum()) + np.concatenate([[0.0], np.cumsum(rises * slope)])
    tiny = ZERO_SLOPE_FRACTION * float(np.abs(e) @ (c + k * np.abs(m)))
    right = constants[1:] + slopes[1:] * at
    reached = np.flatnonzero(right >= -tiny)
    if not reached.size:
        return float(at[-1])
    j = int(reached[0])
    left = constants[j] + slopes[j] * at[j]
    if left > tiny and slopes[j] > 0:
        return float(-constants[j] / slopes[j])
    if right[j] > tiny:
        return float(at[j])
    beyond = np.flatnonzero(right > tiny)
    end = at[beyond[0]] if beyond.size else at[j]
    is_flat = slopes[j + 1] * (end - at[j]) <= tiny
    return float(0.5 * (at[j] + end) if is_flat else at[j])
