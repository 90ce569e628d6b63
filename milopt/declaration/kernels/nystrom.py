"""Nystroem approximation of a kernel by landmarks: features K(x, Z) R over a few points Z."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milopt.arrays import Floats, Points
from milopt.declaration.checks import check_choice, check_integer
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.declaration.kernels.dictionary import choose_dictionary
from milopt.declaration.kernels.feature_kernel import FeatureKernel
from milopt.declaration.kernels.gram import as_point_rows, orthonormal_basis
from milopt.declaration.kernels.gram_cache import get_or_compute
from milopt.declaration.kernels.kernel import RBF, Kernel, as_kernel
from milopt.errors import ParameterError

LANDMARK_CHOICES = ("kmeans", "sample", "uniform")
"""Ways to choose landmarks."""
_DEFAULT_KERNEL = RBF("median")


@dataclass(frozen=True, eq=False, repr=False)
class Nystrom(FeatureKernel):
    """Nystroem approximation of a kernel by at most `rank` landmarks.

    The features are phi(x) = R'K(Z, x) over landmarks Z, with R'K(Z, Z) R = I. The kernel phi(x)'phi(z) equals K(x, z)
    if x or z is a landmark. Time and memory of models grow linearly with the number of instances.

    Parameters
    ----------
    kernel : Kernel, default=RBF("median")
        Kernel K that is approximated.
    rank : int, default=300
        Maximum number of landmarks, and of features.
    landmarks : {"kmeans", "sample", "uniform"} or array of shape (n_landmarks, n_features), default="kmeans"
        How landmarks are chosen among the training instances: k-means centroids, a k-means++ sample in the space of the
        kernel, or uniformly at random. An array contains the landmarks themselves, in the scale in which the model sees
        instances.
    seed : int, default=0
        Seed of the choice.
    basis : ndarray of shape (n_landmarks, n_features_out) or None, default=None
        The matrix R, which `fitted` computes.

    Raises
    ------
    ParameterError
        If `kernel` is a kernel of bags, or another parameter is invalid, such as a rank below 1.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> points = np.random.default_rng(0).normal(size=(200, 2))
    >>> kernel = milopt.Nystrom(milopt.RBF(s=0.1), rank=30).fitted(points)
    >>> kernel.features(points).shape
    (200, 30)
    >>> bool(np.abs(kernel(points, points) - milopt.RBF(s=0.1)(points, points)).max() < 1e-3)
    True
    """

    kernel: Kernel = _DEFAULT_KERNEL
    rank: int = 300
    landmarks: str | Points = "kmeans"
    seed: int = 0
    basis: Floats | None = None

    def __post_init__(self) -> None:
        kernel = as_kernel(self.kernel)
        object.__setattr__(self, "kernel", kernel)
        if isinstance(kernel, BagKernel):
            raise ParameterError(f"Nystrom needs a kernel of instances, and {kernel!r} is a kernel of bags.")
        check_integer("rank of Nystrom", self.rank, 1)
        check_integer("seed of Nystrom", self.seed, 0)
        if isinstance(self.landmarks, str):
            check_choice("landmarks of Nystrom", self.landmarks, LANDMARK_CHOICES)
        else:
            object.__setattr__(self, "landmarks", as_point_rows(self.landmarks))
        if self.basis is not None and (
            isinstance(self.landmarks, str) or not _basis_matches_landmarks(self.basis, self.landmarks)
        ):
            raise ParameterError("The basis of Nystrom must have one row per landmark; None computes it in fitted.")

    @property
    def requires_unscaled_input(self) -> bool:
        """Whether the approximated kernel requires unscaled features."""
        return self.kernel.requires_unscaled_input

    def fitted(self, instances: Any) -> Nystrom:
        """Return the kernel with its landmarks and basis.

        Parameters
        ----------
        instances : array-like or sparse matrix of shape (n_instances, n_features)
            Training instances.

        Returns
        -------
        Nystrom
            The kernel itself if it has a basis already.
        """
        if self.basis is not None:
            return self
        rows = as_point_rows(instances)
        kernel = self.kernel.fitted(rows)
        Z = self.landmarks
        if isinstance(Z, str):
            Z = choose_dictionary(rows, Z, self.rank, kernel, self.seed)
        points = Z
        basis = get_or_compute(
            (orthonormal_basis, kernel), (points,), lambda: orthonormal_basis(kernel(points, points))
        )
        return replace(self, kernel=kernel, landmarks=points, basis=basis)

    def latex(self) -> str:
        """Return K(x, z) as LaTeX."""
        return r"K_{xZ}K_{ZZ}^{+}K_{Zz}"

    def _features(self, A: Points) -> Floats:
        """Return K(A, Z) R."""
        if self.basis is None or isinstance(self.landmarks, str):
            raise ParameterError(f"{self!r} depends on the data: call kernel.fitted(instances) first.")
        return np.asarray(self.kernel(A, self.landmarks) @ self.basis)

    def __repr__(self) -> str:
        chosen = repr(self.landmarks) if isinstance(self.landmarks, str) else f"{self.landmarks.shape[0]} points"
        seed = f", seed={self.seed}" if self.seed else ""
        return f"Nystrom({self.kernel!r}, rank={self.rank}, landmarks={chosen}{seed})"


def _basis_matches_landmarks(basis: object, landmarks: Points) -> bool:
    """Return True if the basis is a matrix with one row per landmark."""
    return isinstance(basis, np.ndarray) and basis.ndim == 2 and basis.shape[0] == landmarks.shape[0]
