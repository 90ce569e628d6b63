"""Random Fourier features, which approximate a Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milopt.arrays import Floats, Points
from milopt.declaration.checks import check_integer
from milopt.declaration.kernels.feature_kernel import FeatureKernel
from milopt.declaration.kernels.gram import as_point_rows
from milopt.declaration.kernels.kernel import RBF
from milopt.errors import BagsError, ParameterError

_DEFAULT_KERNEL = RBF("median")


@dataclass(frozen=True, eq=False, repr=False)
class RandomFourier(FeatureKernel):
    """Approximation of a Gaussian kernel by random Fourier features.

    The features are phi(x) = (cos(<v_j, x>), sin(<v_j, x>)) / sqrt(m) for m = count / 2 random frequencies v_j, whose
    entries are normal with variance 2 s. The mean of phi(x)'phi(z) over the frequencies is exp(-s ||x - z||^2), and its
    error decreases as 1 / sqrt(count). Unlike `Nystrom`, the features do not depend on the instances, except through
    the width.

    Parameters
    ----------
    kernel : RBF, default=RBF("median")
        Gaussian kernel that is approximated.
    count : int, default=1000
        Number of features, an even number.
    seed : int, default=0
        Seed of the frequencies.
    frequencies : ndarray of shape (count / 2, n_features) or None, default=None
        The frequencies, which `fitted` draws.

    Raises
    ------
    ParameterError
        If `kernel` is not an RBF kernel, or another parameter is invalid, such as an odd `count`.

    References
    ----------
    .. [1] A. Rahimi and B. Recht. Random features for large-scale kernel machines. Advances in Neural Information
       Processing Systems 20, 1177-1184, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> points = np.random.default_rng(0).normal(size=(200, 2))
    >>> kernel = milopt.RandomFourier(milopt.RBF(s=0.5), count=4000).fitted(points)
    >>> kernel.features(points).shape
    (200, 4000)
    >>> bool(np.abs(kernel(points, points) - milopt.RBF(s=0.5)(points, points)).max() < 0.1)
    True
    """

    kernel: RBF = _DEFAULT_KERNEL
    count: int = 1000
    seed: int = 0
    frequencies: Floats | None = None

    def __post_init__(self) -> None:
        kernel: object = self.kernel
        if not isinstance(kernel, RBF):
            raise ParameterError(f"RandomFourier approximates RBF kernels, not {kernel!r}: use Nystrom.")
        check_integer("count of RandomFourier", self.count, 2)
        check_integer("seed of RandomFourier", self.seed, 0)
        if self.count % 2:
            raise ParameterError(
                f"count of RandomFourier must be even, not {self.count}: cosines and sines are paired."
            )

        drawn: object = self.frequencies
        if drawn is not None and not (
            isinstance(drawn, np.ndarray) and drawn.ndim == 2 and drawn.shape[0] == self.count // 2
        ):
            raise ParameterError("The frequencies of RandomFourier must have count / 2 rows, or be None.")

    def fitted(self, instances: Any) -> RandomFourier:
        """Return the kernel with a number for the width, and with its frequencies.

        Parameters
        ----------
        instances : array-like or sparse matrix of shape (n_instances, n_features)
            Training instances.

        Returns
        -------
        RandomFourier
            The kernel itself if it has frequencies already.
        """
        if self.frequencies is not None:
            return self
        rows = as_point_rows(instances)
        kernel = self.kernel.fitted(rows)
        assert isinstance(kernel.s, (int, float))
        normal = np.random.default_rng(self.seed).standard_normal((self.count // 2, rows.shape[1]))
        return replace(self, kernel=kernel, frequencies=np.sqrt(2.0 * kernel.s) * normal)

    def latex(self) -> str:
        """Return K(x, z) as LaTeX."""
        return r"\tfrac{1}{m}\sum_{j=1}^{m}\cos\langle v_j,x-z\rangle"

    def _features(self, A: Points) -> Floats:
        """Return the cosines and sines of the rows of A."""
        if self.frequencies is None:
            raise ParameterError(f"{self!r} depends on the data: call kernel.fitted(instances) first.")
        if A.shape[1] != self.frequencies.shape[1]:
            raise BagsError(f"{self!r} has frequencies of {self.frequencies.shape[1]} features, not {A.shape[1]}.")
        angles = np.asarray(A @ self.frequencies.T)
        half = angles.shape[1]
        features = np.empty((angles.shape[0], 2 * half))
        np.cos(angles, out=features[:, :half])
        np.sin(angles, out=features[:, half:])
        features *= 1.0 / np.sqrt(half)
        return features

    def __repr__(self) -> str:
        return f"RandomFourier({self.kernel!r}, count={self.count}{f', seed={self.seed}' if self.seed else ''})"
