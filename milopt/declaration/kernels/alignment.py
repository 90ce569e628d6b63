"""Kernels between windows of time series that tolerate shifts and stretches in time.

A window of ell samples (time steps) with c channels is an instance with ell c features, sample after sample, as
`sliding_windows` makes them. An alignment pairs the samples of x with those of z in order; see `warping`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Floats, Points
from milopt.declaration.kernels.gram import as_point_rows
from milopt.declaration.kernels.kernel import Kernel
from milopt.declaration.kernels.warping import log_alignment_sums, warping_costs
from milopt.declaration.kernels.width import inverse_median, inverse_median_distance, is_positive, median_factor
from milopt.errors import BagsError, ParameterError

_MAX_FLOATS_PER_BLOCK = 2**16
"""Number of floats of the series in one block of pairs: a few antidiagonals of the dynamic program, for all pairs of
the block, then fit into the processor's cache.
"""


class _AlignmentKernel(Kernel):
    """Base class of the alignment kernels: kernels with K(x, x) = 1, a width s and a number of channels."""

    s: float | str
    channels: int

    def __post_init__(self) -> None:
        name = type(self).__name__
        if median_factor(self.s) is None and not is_positive(self.s):
            raise ParameterError(f's of {name} must be a positive number, "median" or "4/median", not {self.s!r}.')
        _check_integer(f"channels of {name}", self.channels, least=1)

    def _numeric_width(self) -> float:
        """Return s as a number; raise `ParameterError` if s is a string such as "median", which depends on the data."""
        if isinstance(self.s, str):
            raise ParameterError(
                f'{type(self).__name__}(s="{self.s}") depends on the data: call kernel.fitted(instances) first.'
            )
        return float(self.s)

    def _as_series(self, A: Points) -> Floats:
        """Return the rows of A, each of which is one series, as an array of shape (time steps, channels, rows)."""
        rows = A.toarray() if isinstance(A, sp.csr_array) else A
        if rows.shape[1] % self.channels:
            raise BagsError(
                f"{rows.shape[1]} features are not a multiple of {self.channels} channels: "
                f"set channels of {type(self).__name__} to the number of channels of the series."
            )
        shape = (rows.shape[1] // self.channels, self.channels, rows.shape[0])
        return np.ascontiguousarray(rows.T).reshape(shape)

    def _diagonal(self, A: Points) -> Floats:
        """Return ones: K(x, x) = 1."""
        return np.ones(A.shape[0])

    def __repr__(self) -> str:
        given = {name: value for name, value in vars(self).items() if name == "s" or value != getattr(type(self), name)}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"


@dataclass(frozen=True, repr=False)
class DTW(_AlignmentKernel):
    """Dynamic time warping similarity exp(-s DTW(x, z)).

    DTW(x, z) is the smallest sum of ||x_i - z_j||^2 over the cells (i, j) of an alignment. This similarity is not
    positive semidefinite. It can be used for functions sum_z a_z K(z, .) with a bounded sum of |a_z|, but not in models
    that need the norm ||f|| of a kernel's space.

    Parameters
    ----------
    s : float or str, default="median"
        Positive factor of the distance. "median" selects 1/median DTW(x, z) over all pairs of at most 200 instances,
        drawn with a fixed seed, repeated ones counted once. "4/median" is four times that value.
    band : int or None, default=None
        Largest |i - j| of a cell (Sakoe-Chiba band). 0 gives the Gaussian kernel, and None allows all alignments.
    channels : int, default=1
        Number of channels of the series.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> windows = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    >>> milopt.DTW(s=1.0)(windows, windows).round(4)
    array([[1.    , 1.    , 0.0498],
           [1.    , 1.    , 0.0498],
           [0.0498, 0.0498, 1.    ]])
    """

    s: float | str = "median"
    band: int | None = None
    channels: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.band is not None:
            _check_integer("band of DTW", self.band, least=0, alternative=", or None for no band")

    def fitted(self, instances: Any) -> DTW:
        """Return the kernel with a number for s.

        Parameters
        ----------
        instances : array-like or sparse matrix of shape (n_instances, n_features)
            Training instances.

        Returns
        -------
        DTW
            The kernel itself if s is a number already.
        """
        factor = median_factor(self.s)
        if factor is None:
            return self
        inverse = inverse_median(as_point_rows(instances), lambda rows: self._pairwise_costs(rows, rows), max_rows=200)
        return replace(self, s=factor * inverse)

    def latex(self) -> str:
        """Return K(x, z) as LaTeX."""
        return r"\exp(-s\,\mathrm{DTW}(x,z))"

    def _gram(self, A: Points, B: Points) -> Floats:
        """Return exp(-s DTW(x, z)) for all pairs of rows."""
        gram = self._pairwise_costs(A, B)
        gram *= -self._numeric_width()
        return np.exp(gram, out=gram)

    def _pairwise_costs(self, A: Points, B: Points) -> Floats:
        """Return the costs DTW(x, z) for all pairs of rows."""
        X = self._as_series(A)
        Z = X if B is A else self._as_series(B)
        band = X.shape[0] if self.band is None else self.band
        return _pairwise_matrix(X, Z, lambda x, z: warping_costs(x, z, band))


@dataclass(frozen=True, repr=False)
class GlobalAlignment(_AlignmentKernel):
    """Global alignment kernel (Cuturi, 2011), normalised to K(x, x) = 1.

    The kernel is G(x, z) / sqrt(G(x, x) G(z, z)). G sums, over all alignments, the product of k(i, j) over the cells
    (i, j), with k = t / (2 - t) and t = w(i, j) exp(-s ||x_i - z_j||^2), where w is the weight of the parameter
    `triangular`. The kernel is positive semidefinite. Values below 1e-60 may be returned as 0.

    Parameters
    ----------
    s : float or str, default="median"
        Positive factor of the squared distance. "median" selects 1/median ||x - z||^2 over all pairs of at most 1000
        instances, drawn with a fixed seed, repeated ones counted once. "4/median" is four times that value.
    triangular : int or None, default=None
        T in the weight w = max(0, 1 - |i - j| / T), which favours small shifts and makes the kernel faster. None
        selects w = 1.
    channels : int, default=1
        Number of channels of the series.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> windows = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    >>> milopt.GlobalAlignment(s=1.0)(windows, windows).round(4)
    array([[1.    , 0.5312, 0.0071],
           [0.5312, 1.    , 0.0071],
           [0.0071, 0.0071, 1.    ]])
    """

    is_semidefinite: ClassVar[bool] = True
    s: float | str = "median"
    triangular: int | None = None
    channels: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.triangular is not None:
            _check_integer("triangular of GlobalAlignment", self.triangular, least=1, alternative=", or None")

    def fitted(self, instances: Any) -> GlobalAlignment:
        """Return the kernel with a number for s.

        Parameters
        ----------
        instances : array-like or sparse matrix of shape (n_instances, n_features)
            Training instances.

        Returns
        -------
        GlobalAlignment
            The kernel itself if s is a number already.
        """
        factor = median_factor(self.s)
        if factor is None:
            return self
        return replace(self, s=factor * inverse_median_distance(as_point_rows(instances)))

    def latex(self) -> str:
        """Return K(x, z) as LaTeX."""
        sums = r"\sum_{\pi}\prod_{(i,j)\in\pi}\frac{t_{ij}}{2-t_{ij}}"
        weight = "" if self.triangular is None else rf"(1-|i-j|/{self.triangular})_+"
        local = rf"t_{{ij}}={weight}\exp(-s\|x_i-z_j\|^2)"
        return rf"\bar{{G}}(x,z),\; G(x,z)={sums},\; {local}"

    def _gram(self, A: Points, B: Points) -> Floats:
        """Return G(x, z) / sqrt(G(x, x) G(z, z)) for all pairs of rows."""
        s = self._numeric_width()

        def log_sums(x: Floats, z: Floats) -> Floats:
            """Return the logarithms of the sums over alignments, one per pair of series."""
            return log_alignment_sums(x, z, s, self.triangular)

        X = self._as_series(A)
        Z = X if B is A else self._as_series(B)
        left = _self_values(X, log_sums)
        right = left if Z is X else _self_values(Z, log_sums)
        gram = _pairwise_matrix(X, Z, log_sums)
        gram -= (left[:, None] + right) / 2
        # By the Cauchy-Schwarz inequality, no logarithm is positive. Rounding may violate this.
        np.minimum(gram, 0, out=gram)
        return np.exp(gram, out=gram)


def _pairwise_matrix(X: Floats, Z: Floats, values: Callable[[Floats, Floats], Floats]) -> Floats:
    """Return the matrix of `values(x, z)` for all series x of X and z of Z, computed in blocks of pairs.

    If ``Z is X``, only one triangle is computed, and the other one is its mirror image.
    """
    rows, columns = X.shape[2], Z.shape[2]
    matrix = np.empty((rows, columns))
    step = _pairs_per_block(X)
    for start in range(0, matrix.size, step):
        i, j = np.divmod(np.arange(start, min(start + step, matrix.size)), columns)
        if Z is X:
            upper = j >= i
            i, j = i[upper], j[upper]
        matrix[i, j] = values(X[..., i], Z[..., j])
        if Z is X:
            matrix[j, i] = matrix[i, j]
    return matrix


def _self_values(X: Floats, values: Callable[[Floats, Floats], Floats]) -> Floats:
    """Return `values(x, x)` for each series x of X."""
    step = _pairs_per_block(X)
    parts = [X[..., start : start + step] for start in range(0, X.shape[2], step)]
    return np.concatenate([values(part, part) for part in parts] or [np.empty(0)])


def _pairs_per_block(X: Floats) -> int:
    """Return the number of pairs of series in a block, at least 16."""
    samples, channels = map(int, X.shape[:2])
    return max(16, _MAX_FLOATS_PER_BLOCK // (samples * channels))


def _check_integer(name: str, value: object, least: int, alternative: str = "") -> None:
    """Raise `ParameterError` if a value is not an integer of at least `least`.

    `alternative` is the part of the message that names another admissible value, such as ", or None".
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}{alternative}, not {value!r}.")
