"""Set kernels: bags compared by sums of a kernel over their instances, or by their extreme coordinates.

SetKernel  sum_{x in B, x' in B'} K(x, x')^p / (c c'),   c = 1 (`sum`), n (`mean`), sqrt of the sum of B with itself
           (`feature`: every bag has length 1)
Minimax    (<s(B), s(B')> + 1)^p,   s(B) = (min_{x in B} x_k, max_{x in B} x_k)_k
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from milopt.arrays import Floats
from milopt.bag_kernels.grid import dense
from milopt.declaration.bags.bags import Bags, as_bags
from milopt.declaration.checks import one_of, whole
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.declaration.kernels.blocks import gram_blocks
from milopt.declaration.kernels.kernel import RBF, Kernel, as_kernel
from milopt.errors import ParameterError

_MEDIAN = RBF("median")


@dataclass(frozen=True)
class SetKernel(BagKernel):
    """The sum of K^p over pairs of instances, divided as `normalize` says."""

    kernel: Kernel = _MEDIAN
    normalize: str = "mean"
    power: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.kernel, BagKernel):
            raise ParameterError(f"SetKernel adds up a kernel of instances, and {self.kernel!r} is one of bags.")
        object.__setattr__(self, "kernel", as_kernel(self.kernel))
        one_of("normalize", self.normalize, ("mean", "sum", "feature"))
        whole("power", self.power, 1)
        # A sum of products of positive semidefinite kernels is one.
        object.__setattr__(self, "is_semidefinite", self.kernel.is_semidefinite)

    def fitted_to(self, bags: Any) -> SetKernel:
        """The kernel with its inner one fitted to the instances."""
        return replace(self, kernel=self.kernel.fitted_to(as_bags(bags)))

    def latex(self) -> str:
        """K(B, B') in LaTeX."""
        return rf"\sum_{{u \in x, v \in z}} K(u, v){'' if self.power == 1 else f'^{{{self.power}}}'}"

    def _between(self, A: Bags, B: Bags) -> Floats:
        columns = np.empty((B.offsets[-1], len(A)))
        for some, block in gram_blocks(self.kernel, B.instances, A.instances):
            columns[some] = A.sum((block**self.power).T).T
        sums = B.sum(columns).T
        left = self._divisors(A)
        sums /= np.outer(left, left if B is A else self._divisors(B))
        if B is A:
            sums += sums.T.copy()
            sums *= 0.5
        return sums

    def _divisors(self, bags: Bags) -> Floats:
        """c of each bag; 1 for one that adds up to nothing, whose sums are 0 whatever they are divided by."""
        if self.normalize == "sum":
            return np.ones(len(bags))
        if self.normalize == "mean":
            return bags.sizes.astype(np.float64)
        squared = np.array([(self.kernel(bag, bag) ** self.power).sum() for bag in bags])
        return np.sqrt(np.where(squared > 0, squared, 1.0))


@dataclass(frozen=True)
class Minimax(BagKernel):
    """A polynomial kernel of the smallest and the largest value of each feature in a bag."""

    is_semidefinite: ClassVar[bool] = True
    power: int = 1

    def __post_init__(self) -> None:
        whole("power", self.power, 1)

    def latex(self) -> str:
        """K(B, B') in LaTeX."""
        return rf"(\langle s(x), s(z)\rangle + 1)^{{{self.power}}}"

    def _between(self, A: Bags, B: Bags) -> Floats:
        left = extremes(A)
        return np.asarray((left @ (left if B is A else extremes(B)).T + 1.0) ** self.power)


def extremes(bags: Bags) -> Floats:
    """s(B): the smallest value of every feature, then the largest."""
    values = dense(bags.instances)
    return np.hstack([-bags.max(-values), bags.max(values)])


def as_bag_kernel(kernel: Kernel) -> BagKernel:
    """A kernel of bags as it is, or one of instances by its mean over pairs of them."""
    return kernel if isinstance(kernel, BagKernel) else SetKernel(kernel, "mean")
