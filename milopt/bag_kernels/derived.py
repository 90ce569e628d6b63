"""Kernels of bags made from others: damped, made positive semidefinite over reference bags, or mapped to these.

    Damped        k'(P, Q) = (k(P, Q) / c(P, Q))^tau          c: a constant, or sqrt(k(P, P) k(Q, Q))
    EmpiricalMap  <phi(P), phi(Q)>,   phi(P) = (k'(P, R_1), ..., k'(P, R_q))
    Clipped       <phi(P), phi(Q)>,   phi(P) = k'(P, R) V+ L+^-1/2,   k'(R, R) = V L V', + the positive eigenvalues

The last two are positive semidefinite whatever k' is; their features are centred and scaled over the reference bags R.
On these themselves `Clipped` is k' with its negative eigenvalues set to 0, but for that.
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
from milopt.declaration.checks import one_of, share
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.errors import ParameterError

NORMALIZATIONS = ("constant", "cosine")
LEAST = -1e300
"""In place of the logarithm of 0, where it is subtracted."""
ROUNDING = 1e-12
"""Of the largest eigenvalue: what is below is taken for 0."""


@dataclass(frozen=True)
class Damped(BagKernel):
    """k^tau, which tames a kernel whose diagonal is far larger than the rest; not positive semidefinite in general.

    `constant` divides by a number that no value exceeds where the kernel knows one, so that values are at most 1;
    `cosine` by sqrt(k(P, P) k(Q, Q)).
    """

    kernel: BagKernel
    tau: float = 0.02
    normalize: str = "constant"

    def __post_init__(self) -> None:
        share("tau", self.tau)
        one_of("normalize", self.normalize, NORMALIZATIONS)

    def fitted_to(self, bags: Bags) -> Damped:
        """The kernel with its inner one fitted."""
        return Damped(self.kernel.fitted_to(bags), self.tau, self.normalize)

    def latex(self) -> str:
        """K(B, B') in LaTeX."""
        return rf"({self.kernel.latex()})^{{\tau}}"

    def _between(self, A: Bags, B: Bags) -> Floats:
        logarithms = self._logarithms(A, B)
        if self.normalize == "cosine":
            own = self._own_logarithms(A)
            other = own if B is A else self._own_logarithms(B)
            # A bag that is 0 with itself is 0 with all others, whatever that is divided by.
            logarithms -= 0.5 * (np.maximum(own, LEAST)[:, None] + np.maximum(other, LEAST))
        else:
            logarithms -= self.kernel.log_scale if isinstance(self.kernel, LogKernel) else 0.0
        return np.asarray(np.exp(self.tau * logarithms))

    def _logarithms(self, A: Bags, B: Bags) -> Floats:
        if isinstance(self.kernel, LogKernel):
            return self.kernel.log(A, B)
        return _log(self.kernel(A, B))

    def _own_logarithms(self, A: Bags) -> Floats:
        return self.kernel.log_diagonal(A) if isinstance(self.kernel, LogKernel) else _log(self.kernel.diagonal(A))


class FeatureMap(BagKernel):
    """A kernel by features over reference bags, which are centred, and in units of their spread, over these bags.

    Neither changes what an SVM with a free bias can do; both let one C mean about the same for every kernel.
    """

    is_semidefinite: ClassVar[bool] = True
    reference: Bags

    @abstractmethod
    def raw_features(self, bags: Bags) -> Floats:
        """phi, a row a bag."""

    def features(self, bags: Bags) -> Floats:
        """(phi - mean) / spread, a row a bag."""
        centre, spread = self._frame
        return (self.raw_features(bags) - centre) / spread

    @cached_property
    def _frame(self) -> tuple[Floats, float]:
        phi = self.raw_features(self.reference)
        centre = phi.mean(axis=0)
        spread = float(np.sqrt(((phi - centre) ** 2).sum(axis=1).mean()))
        # Bags that are all alike have no spread but rounding.
        return centre, spread if spread > ROUNDING * float(np.abs(phi).max()) else 1.0

    def _between(self, A: Bags, B: Bags) -> Floats:
        left = self.features(A)
        # Where B is A, numpy computes one triangle and mirrors it.
        return np.asarray(left @ (left if B is A else self.features(B)).T)

    def _own(self, A: Bags) -> Floats:
        return np.asarray((self.features(A) ** 2).sum(axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class EmpiricalMap(FeatureMap):
    """The inner product of the kernel values of bags with reference bags."""

    kernel: BagKernel
    reference: Bags

    def raw_features(self, bags: Bags) -> Floats:
        """k'(P, R), a row a bag."""
        return self.kernel(bags, self.reference)

    def latex(self) -> str:
        """K(B, B') in LaTeX."""
        return r"\langle k'(x, R), k'(z, R)\rangle"

    def __repr__(self) -> str:
        return f"EmpiricalMap({self.kernel!r}, {len(self.reference)} bags)"


@dataclass(frozen=True)
class Repair:
    """What it took to make a Gram matrix positive semidefinite."""

    negative: int
    """Eigenvalues that were set to 0."""
    smallest: float
    largest: float
    moved: float
    """The norm of what was taken away, relative to the norm of the matrix."""

    def __str__(self) -> str:
        if not self.negative:
            return "The Gram matrix is positive semidefinite as it is."
        many = f"{self.negative} negative eigenvalue{'s' if self.negative > 1 else ''}"
        return (
            f"The Gram matrix had {many}, the smallest {self.smallest:.2g} where the largest is {self.largest:.2g}: "
            f"set to 0, which moved it by {self.moved:.2g} of its norm."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Clipped(FeatureMap):
    """A kernel whose negative directions over reference bags are left out."""

    kernel: BagKernel
    reference: Bags

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats]:
        gram = self.kernel(self.reference, self.reference)
        values, vectors = np.linalg.eigh((gram + gram.T) / 2)
        return values, vectors

    @property
    def repair(self) -> Repair:
        """What was left out."""
        values = self._spectrum[0]
        top = float(values[-1])
        negative = values < -ROUNDING * top
        norm = float(np.linalg.norm(values))
        return Repair(int(negative.sum()), float(values[0]), top, float(np.linalg.norm(values[negative])) / norm)

    def raw_features(self, bags: Bags) -> Floats:
        """k'(P, R) V+ L+^-1/2, a row a bag."""
        values, vectors = self._spectrum
        kept = values > ROUNDING * values[-1]
        return np.asarray(self.kernel(bags, self.reference) @ (vectors[:, kept] / np.sqrt(values[kept])))

    def latex(self) -> str:
        """K(B, B') in LaTeX."""
        return r"[k'(x, z)]_+"

    def __repr__(self) -> str:
        return f"Clipped({self.kernel!r}, {len(self.reference)} bags)"


def _log(values: Floats) -> Floats:
    """log, where 0 stays 0 under every root: its logarithm is -inf."""
    if (values < 0).any():
        raise ParameterError("Damped takes a kernel whose values are nowhere negative, and this has such.")
    with np.errstate(divide="ignore"):
        return np.log(values)
