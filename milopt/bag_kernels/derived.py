"""Bag kernels derived from other bag kernels: powers, and positive semidefinite versions over reference bags.

    PowerKernel    k'(P, Q) = (k(P, Q) / c(P, Q))^tau          c: a constant, or sqrt(k(P, P) k(Q, Q))
    EmpiricalMap   <phi(P), phi(Q)>,   phi(P) = (k'(P, R_1), ..., k'(P, R_q))
    ClippedKernel  <phi(P), phi(Q)>,   phi(P) = k'(P, R) V+ L+^-1/2,   k'(R, R) = V L V'

R = (R_1, ..., R_q) are reference bags, and k' is any bag kernel. V+ and L+ are the parts of V and L with positive
eigenvalues. `EmpiricalMap` and `ClippedKernel` are positive semidefinite for every k'. Their features phi are centred
and scaled over the reference bags.
Apart from centring and scaling, `ClippedKernel` on R is k' with its negative eigenvalues set to 0.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from milopt.arrays import Floats
from milopt.bag_kernels.log_kernel import LogKernel
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import check_choice, check_fraction
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.errors import ParameterError

NORMALISATION_CHOICES = ("constant", "cosine")
"""Admissible values of `normalise`: c is a constant, or sqrt(k(P, P) k(Q, Q))."""
LOG_OF_ZERO = -1e300
"""Replacement of log 0 before it is subtracted, so that -inf - (-inf) does not occur."""
FEATURE_ROUNDING_TOLERANCE = 1e-12
"""Eigenvalues below this fraction of the largest eigenvalue, and spreads below this fraction of the largest absolute
feature, count as 0.
"""


@dataclass(frozen=True)
class PowerKernel(BagKernel):
    """Power k^tau of a bag kernel, for kernels whose diagonal is much larger than the other entries.

    The power of a positive semidefinite kernel is in general not positive semidefinite.

    Parameters
    ----------
    kernel : BagKernel
        Kernel k with nonnegative values.
    tau : float, default=0.02
        Exponent, in (0, 1].
    normalise : {"constant", "cosine"}, default="constant"
        "constant" divides k by an upper bound of its values if k is a `LogKernel` with such a bound, and by 1
        otherwise. With a bound, the values of the power are at most 1.
        "cosine" divides by sqrt(k(P, P) k(Q, Q)).
    """

    kernel: BagKernel
    tau: float = 0.02
    normalise: str = "constant"

    def __post_init__(self) -> None:
        check_fraction("tau", self.tau)
        check_choice("normalise", self.normalise, NORMALISATION_CHOICES)

    def fitted_to(self, bags: Bags) -> PowerKernel:
        """Return this kernel with its inner kernel fitted to training bags."""
        return PowerKernel(self.kernel.fitted_to(bags), self.tau, self.normalise)

    def latex(self) -> str:
        """Return K(B, B') in LaTeX."""
        return rf"({self.kernel.latex()})^{{\tau}}"

    def _bag_gram(self, A: Bags, B: Bags) -> Floats:
        logarithms = self._log_gram(A, B)
        if self.normalise == "cosine":
            own = self._log_diagonal(A)
            other = own if B is A else self._log_diagonal(B)
            # If k(P, P) = 0, then k(P, Q) = 0 for all Q, and the divisor does not matter.
            logarithms -= 0.5 * (np.maximum(own, LOG_OF_ZERO)[:, None] + np.maximum(other, LOG_OF_ZERO))
        else:
            logarithms -= self.kernel.log_scale if isinstance(self.kernel, LogKernel) else 0.0
        return np.asarray(np.exp(self.tau * logarithms))

    def _log_gram(self, A: Bags, B: Bags) -> Floats:
        """Return the logarithms of the inner kernel k of all pairs of bags, an array of shape (len(A), len(B))."""
        if isinstance(self.kernel, LogKernel):
            return self.kernel.log(A, B)
        return _log_values(self.kernel(A, B))

    def _log_diagonal(self, A: Bags) -> Floats:
        """Return log k(B, B) of the inner kernel k for each bag B of A."""
        return (
            self.kernel.log_diagonal(A) if isinstance(self.kernel, LogKernel) else _log_values(self.kernel.diagonal(A))
        )


class FeatureMap(BagKernel):
    """Base class of kernels with explicit features over reference bags.

    The features are centred by their mean over the reference bags, and divided by their spread, the root mean squared
    distance from this mean. For an SVM with a free bias, this changes only the scale of the parameter C, which becomes
    comparable between kernels.
    """

    is_semidefinite: ClassVar[bool] = True
    reference: Bags

    @property
    def has_features(self) -> bool:
        """Always False: there are as many features as reference bags, so programs use the Gram matrix."""
        return False

    @abstractmethod
    def raw_features(self, bags: Bags) -> Floats:
        """Return the features phi before centring and scaling, one row per bag."""

    def features(self, bags: Bags) -> Floats:
        """Return the centred and scaled features (phi - mean) / spread, one row per bag."""
        centre, spread = self._centre_and_spread
        return (self.raw_features(bags) - centre) / spread

    @cached_property
    def _centre_and_spread(self) -> tuple[Floats, float]:
        """(mean, spread) of the features phi over the reference bags; the spread is 1 if these bags are equal."""
        phi = self.raw_features(self.reference)
        centre = phi.mean(axis=0)
        spread = float(np.sqrt(((phi - centre) ** 2).sum(axis=1).mean()))
        # If all bags are equal, the spread is a rounding error.
        return centre, spread if spread > FEATURE_ROUNDING_TOLERANCE * float(np.abs(phi).max()) else 1.0

    def _bag_gram(self, A: Bags, B: Bags) -> Floats:
        left = self.features(A)
        # If B is A, numpy computes one triangle and mirrors it.
        return np.asarray(left @ (left if B is A else self.features(B)).T)

    def _bag_diagonal(self, A: Bags) -> Floats:
        return np.asarray((self.features(A) ** 2).sum(axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class EmpiricalMap(FeatureMap):
    """Inner product of the kernel values of two bags with reference bags (empirical kernel map).

    Parameters
    ----------
    kernel : BagKernel
        Kernel k'.
    reference : Bags
        Reference bags R.
    """

    kernel: BagKernel
    reference: Bags

    def raw_features(self, bags: Bags) -> Floats:
        """Return k'(P, R), one row per bag P and one column per reference bag."""
        return self.kernel(bags, self.reference)

    def latex(self) -> str:
        """Return K(B, B') in LaTeX."""
        return rf"\langle k'(x, R), k'(z, R)\rangle,\ {_inner_kernel_latex(self.kernel, self.reference)}"

    def __repr__(self) -> str:
        return f"EmpiricalMap({self.kernel!r}, {len(self.reference)} bags)"


@dataclass(frozen=True)
class PSDCorrection:
    """Change that made a Gram matrix positive semidefinite.

    Attributes
    ----------
    n_negative : int
        Number of negative eigenvalues, which were set to 0.
    smallest, largest : float
        Smallest and largest eigenvalue before the correction.
    relative_change : float
        Frobenius norm of the change, relative to the norm of the matrix.
    """

    n_negative: int
    smallest: float
    largest: float
    relative_change: float

    def __str__(self) -> str:
        if not self.n_negative:
            return "The Gram matrix is positive semidefinite as it is."
        many = f"{self.n_negative} negative eigenvalue{'s' if self.n_negative > 1 else ''}"
        return (
            f"The Gram matrix had {many}, the smallest {self.smallest:.2g}, the largest eigenvalue {self.largest:.2g}; "
            f"negative eigenvalues were set to 0, which changed the matrix by {self.relative_change:.2g} of its norm."
        )


@dataclass(frozen=True, eq=False, repr=False)
class ClippedKernel(FeatureMap):
    """Bag kernel with the negative eigenvalues of its Gram matrix over reference bags set to 0.

    Parameters
    ----------
    kernel : BagKernel
        Kernel k'.
    reference : Bags
        Reference bags R.
    """

    kernel: BagKernel
    reference: Bags

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats]:
        """(eigenvalues, eigenvectors) of k'(R, R), in increasing order of the eigenvalues."""
        gram = self.kernel(self.reference, self.reference)
        values, vectors = np.linalg.eigh((gram + gram.T) / 2)
        return values, vectors

    @property
    def psd_correction(self) -> PSDCorrection:
        """Change of the Gram matrix over the reference bags when its negative eigenvalues are set to 0."""
        values = self._spectrum[0]
        top = float(values[-1])
        negative = values < -FEATURE_ROUNDING_TOLERANCE * top
        norm = float(np.linalg.norm(values))
        return PSDCorrection(int(negative.sum()), float(values[0]), top, float(np.linalg.norm(values[negative])) / norm)

    def raw_features(self, bags: Bags) -> Floats:
        """Return k'(P, R) V+ L+^-1/2, one row per bag P (see the module docstring)."""
        values, vectors = self._spectrum
        positive = values > FEATURE_ROUNDING_TOLERANCE * values[-1]
        return np.asarray(self.kernel(bags, self.reference) @ (vectors[:, positive] / np.sqrt(values[positive])))

    def latex(self) -> str:
        """Return K(B, B') in LaTeX."""
        return rf"[k'(x, z)]_+,\ {_inner_kernel_latex(self.kernel, self.reference)}"

    def __repr__(self) -> str:
        return f"ClippedKernel({self.kernel!r}, {len(self.reference)} bags)"


def _inner_kernel_latex(kernel: BagKernel, reference: Bags) -> str:
    """Return the definitions of k' and of the reference bags R in LaTeX."""
    return rf"k'(x, z) = {kernel.latex()},\ R = (R_1, \ldots, R_{{{len(reference)}}}) \text{{ reference bags}}"


def _log_values(values: Floats) -> Floats:
    """Return the logarithms of kernel values, -inf for 0; raise `ParameterError` if a value is negative."""
    if (values < 0).any():
        raise ParameterError("PowerKernel needs a kernel with nonnegative values, and this kernel has negative values.")
    with np.errstate(divide="ignore"):
        return np.log(values)
