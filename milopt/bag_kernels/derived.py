"""Kernels of bags made from others: damped, made positive semidefinite over reference bags, or mapped to these.

    Damped        k'(P, Q) = (k(P, Q) / c(P, Q))^tau          c: a constant, or sqrt(k(P, P) k(Q, Q))
    EmpiricalMap  <phi(P), phi(Q)> / q,   phi(P) = (k'(P, R_1), ..., k'(P, R_q))
    Clipped       k'(P, R) V+ L+^-1 V+' k'(R, Q),   where k'(R, R) = V L V', and + are the positive eigenvalues

The last two are positive semidefinite whatever k' is. On the reference bags themselves `Clipped` is k' with its
negative eigenvalues set to 0; k' itself where it has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from milopt.bag_kernels.log_kernel import LogKernel
from milopt.declaration.arrays import Floats
from milopt.declaration.bag_kernel import BagKernel
from milopt.declaration.bags import Bags
from milopt.declaration.checks import one_of, share
from milopt.errors import ParameterError

NORMALISATIONS = ("constant", "cosine")
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
    normalise: str = "constant"

    def __post_init__(self) -> None:
        share("tau", self.tau)
        one_of("normalise", self.normalise, NORMALISATIONS)

    def fitted_to(self, bags: Bags) -> Damped:
        """The kernel with its inner one fitted."""
        return Damped(self.kernel.fitted_to(bags), self.tau, self.normalise)

    def latex(self) -> str:
        """K(B, B') in LaTeX."""
        return rf"({self.kernel.latex()})^{{\tau}}"

    def _between(self, A: Bags, B: Bags) -> Floats:
        logarithms = self._logarithms(A, B)
        if self.normalise == "cosine":
            own = self._own_logarithms(A)
            logarithms -= 0.5 * (own[:, None] + (own if B is A else self._own_logarithms(B)))
        else:
            logarithms -= self.kernel.log_scale if isinstance(self.kernel, LogKernel) else 0.0
        return np.asarray(np.exp(self.tau * logarithms))

    def _logarithms(self, A: Bags, B: Bags) -> Floats:
        if isinstance(self.kernel, LogKernel):
            return self.kernel.log(A, B)
        return _log(self.kernel(A, B))

    def _own_logarithms(self, A: Bags) -> Floats:
        return self.kernel.log_diagonal(A) if isinstance(self.kernel, LogKernel) else _log(self.kernel.diagonal(A))


@dataclass(frozen=True, eq=False, repr=False)
class EmpiricalMap(BagKernel):
    """The inner product of a bag's kernel values with reference bags: their mean, not their sum."""

    is_semidefinite: ClassVar[bool] = True
    kernel: BagKernel
    reference: Bags

    def features(self, bags: Bags) -> Floats:
        """phi / sqrt(q), a row a bag."""
        return np.asarray(self.kernel(bags, self.reference) / np.sqrt(len(self.reference)))

    def latex(self) -> str:
        """K(B, B') in LaTeX."""
        return r"\tfrac{1}{q}\sum_{j} k'(x, R_j) k'(R_j, z)"

    def _between(self, A: Bags, B: Bags) -> Floats:
        left = self.features(A)
        # Where B is A, numpy computes one triangle and mirrors it.
        return np.asarray(left @ (left if B is A else self.features(B)).T)

    def _own(self, A: Bags) -> Floats:
        return np.asarray((self.features(A) ** 2).sum(axis=1))

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
class Clipped(BagKernel):
    """A kernel whose negative directions over reference bags are left out."""

    is_semidefinite: ClassVar[bool] = True
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

    def features(self, bags: Bags) -> Floats:
        """k'(P, R) V+ L+^-1/2, a row a bag."""
        values, vectors = self._spectrum
        kept = values > ROUNDING * values[-1]
        return np.asarray(self.kernel(bags, self.reference) @ (vectors[:, kept] / np.sqrt(values[kept])))

    def latex(self) -> str:
        """K(B, B') in LaTeX."""
        return r"[k'(x, z)]_+"

    def _between(self, A: Bags, B: Bags) -> Floats:
        left = self.features(A)
        return np.asarray(left @ (left if B is A else self.features(B)).T)

    def _own(self, A: Bags) -> Floats:
        return np.asarray((self.features(A) ** 2).sum(axis=1))

    def __repr__(self) -> str:
        return f"Clipped({self.kernel!r}, {len(self.reference)} bags)"


def _log(values: Floats) -> Floats:
    if (values <= 0).any():
        raise ParameterError("Damped takes a kernel whose values are all positive, and this one has others.")
    return np.log(values)
