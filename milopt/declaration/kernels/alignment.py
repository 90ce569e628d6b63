"""Kernels between windows of series that forgive shifts and stretches in time.

A window of ell samples with c channels is an instance of ell c features, sample after sample, as sliding windows of
bags are. An alignment pairs the samples of x with those of z in order: see `warping`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Floats, Points
from milopt.declaration.kernels.gram import points
from milopt.declaration.kernels.kernel import Kernel
from milopt.declaration.kernels.warping import log_alignment_sums, warping_costs
from milopt.declaration.kernels.width import inverse_median, inverse_median_distance, is_positive, over_median
from milopt.errors import BagsError, ParameterError

# Numbers of one block of pairs: those of a few antidiagonals stay in the processor's cache.
_BLOCK = 2**16


class _Alignment(Kernel):
    """What the kernels have in common: a width that may depend on the data, channels, K(x, x) = 1."""

    s: float | str
    channels: int

    def __post_init__(self) -> None:
        name = type(self).__name__
        if over_median(self.s) is None and not is_positive(self.s):
            raise ParameterError(f's of {name} must be a positive number, "median" or "4/median", not {self.s!r}.')
        _whole(f"channels of {name}", self.channels, least=1)

    def _width(self) -> float:
        if isinstance(self.s, str):
            raise ParameterError(
                f'{type(self).__name__}(s="{self.s}") has no number yet: call kernel.fitted(instances) first.'
            )
        return float(self.s)

    def _series(self, A: Points) -> Floats:
        """Rows as samples x channels x rows."""
        rows = A.toarray() if isinstance(A, sp.csr_array) else A
        if rows.shape[1] % self.channels:
            raise BagsError(
                f"{rows.shape[1]} features are no whole number of samples of {self.channels} channels: "
                f"give channels to {type(self).__name__} as the series have them."
            )
        shape = (rows.shape[1] // self.channels, self.channels, rows.shape[0])
        return np.ascontiguousarray(rows.T).reshape(shape)

    def _diagonal(self, A: Points) -> Floats:
        return np.ones(A.shape[0])

    def __repr__(self) -> str:
        given = {name: value for name, value in vars(self).items() if name == "s" or value != getattr(type(self), name)}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"


@dataclass(frozen=True, repr=False)
class DTW(_Alignment):
    """exp(-s DTW(x, z)), with DTW the least sum of ||x_i - z_j||^2 over the cells (i, j) of an alignment.

    A similarity that is not positive semidefinite: for the 1-norm ball and single patterns, not for the ball of a
    Hilbert space. `s` is a positive number, or "median" for 1/median DTW(x, z) over the pairs of at most 200 different
    instances ("4/median" is four times that). `band` is the largest |i - j| of a cell (Sakoe and Chiba): 0 is the
    Gaussian kernel. None is no band.
    """

    s: float | str = "median"
    band: int | None = None
    channels: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.band is not None:
            _whole("band of DTW", self.band, least=0, otherwise=", or None for no band")

    def fitted(self, instances: Any) -> DTW:
        """The kernel with a number for s."""
        factor = over_median(self.s)
        if factor is None:
            return self
        inverse = inverse_median(points(instances), lambda some: self._costs(some, some), most=200)
        return replace(self, s=factor * inverse)

    def latex(self) -> str:
        """K(x, z) in LaTeX."""
        return r"\exp(-s\,\mathrm{DTW}(x,z))"

    def _gram(self, A: Points, B: Points) -> Floats:
        gram = self._costs(A, B)
        gram *= -self._width()
        return np.exp(gram, out=gram)

    def _costs(self, A: Points, B: Points) -> Floats:
        X = self._series(A)
        Z = X if B is A else self._series(B)
        band = X.shape[0] if self.band is None else self.band
        return _over_pairs(X, Z, lambda x, z: warping_costs(x, z, band))


@dataclass(frozen=True, repr=False)
class GlobalAlignment(_Alignment):
    """The sum over all alignments of prod k(i, j), divided by its roots at (x, x) and (z, z); positive semidefinite.

    k = t / (2 - t) with t = w(i, j) exp(-s ||x_i - z_j||^2) (Cuturi, 2011). `s` is a positive number, or "median" for
    1/median ||x - z||^2 over the pairs of at most 1000 different windows ("4/median" is four times that). `triangular`
    is the T of w = max(0, 1 - |i - j| / T), which prefers small shifts and is faster; None is w = 1. Values below
    1e-60 may be given as 0.
    """

    is_semidefinite: ClassVar[bool] = True
    s: float | str = "median"
    triangular: int | None = None
    channels: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.triangular is not None:
            _whole("triangular of GlobalAlignment", self.triangular, least=1, otherwise=", or None")

    def fitted(self, instances: Any) -> GlobalAlignment:
        """The kernel with a number for s."""
        factor = over_median(self.s)
        if factor is None:
            return self
        return replace(self, s=factor * inverse_median_distance(points(instances)))

    def latex(self) -> str:
        """K(x, z) in LaTeX."""
        sums = r"\sum_{\pi}\prod_{(i,j)\in\pi}\frac{t_{ij}}{2-t_{ij}}"
        weight = "" if self.triangular is None else rf"(1-|i-j|/{self.triangular})_+"
        local = rf"t_{{ij}}={weight}\exp(-s\|x_i-z_j\|^2)"
        return rf"\bar{{G}}(x,z),\; G(x,z)={sums},\; {local}"

    def _gram(self, A: Points, B: Points) -> Floats:
        s = self._width()

        def sums(x: Floats, z: Floats) -> Floats:
            return log_alignment_sums(x, z, s, self.triangular)

        X = self._series(A)
        Z = X if B is A else self._series(B)
        left = _blockwise(X, sums)
        right = left if Z is X else _blockwise(Z, sums)
        gram = _over_pairs(X, Z, sums)
        gram -= (left[:, None] + right) / 2
        # By Cauchy and Schwarz, but for rounding.
        np.minimum(gram, 0, out=gram)
        return np.exp(gram, out=gram)


def _over_pairs(X: Floats, Z: Floats, values: Callable[[Floats, Floats], Floats]) -> Floats:
    """The matrix of `values` of all pairs, a block of pairs at a time; where Z is X, one triangle and its mirror."""
    rows, columns = X.shape[2], Z.shape[2]
    matrix = np.empty((rows, columns))
    step = _pairs_at_once(X)
    for start in range(0, matrix.size, step):
        i, j = np.divmod(np.arange(start, min(start + step, matrix.size)), columns)
        if Z is X:
            upper = j >= i
            i, j = i[upper], j[upper]
        matrix[i, j] = values(X[..., i], Z[..., j])
        if Z is X:
            matrix[j, i] = matrix[i, j]
    return matrix


def _blockwise(X: Floats, values: Callable[[Floats, Floats], Floats]) -> Floats:
    """`values` of each series with itself."""
    step = _pairs_at_once(X)
    parts = [X[..., start : start + step] for start in range(0, X.shape[2], step)]
    return np.concatenate([values(part, part) for part in parts] or [np.empty(0)])


def _pairs_at_once(X: Floats) -> int:
    samples, channels = map(int, X.shape[:2])
    return max(16, _BLOCK // (samples * channels))


def _whole(name: str, value: object, least: int, otherwise: str = "") -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}{otherwise}, not {value!r}.")
