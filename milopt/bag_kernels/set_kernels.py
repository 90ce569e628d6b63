"""Set kernels: bags compared by sums of a kernel over their instances, or by their extreme coordinates.

SetKernel  sum_{x in B, x' in B'} K(x, x')^p / (c c'),   c = 1 (`sum`), the number of instances of B (`mean`), or the
           square root of the sum of B with itself (`feature`: every bag then has norm 1)
Minimax    (<s(B), s(B')> + 1)^p,   s(B) = (min_{x in B} x_k, max_{x in B} x_k)_k
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Floats, Points
from milopt.bag_kernels.grid import as_dense_instances
from milopt.declaration.bags.bag_rows import as_bag_rows
from milopt.declaration.bags.bags import Bags, as_bags
from milopt.declaration.checks import check_choice, check_integer
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.declaration.kernels.feature_rows import FEATURE_BLOCK_BYTES, FeatureRows
from milopt.declaration.kernels.gram import squared_norms
from milopt.declaration.kernels.gram_blocks import gram_blocks
from milopt.declaration.kernels.kernel import RBF, Kernel, as_kernel
from milopt.declaration.programs.sparse import from_parts, scale_rows
from milopt.errors import ParameterError

_DEFAULT_KERNEL = RBF("median")


@dataclass(frozen=True)
class SetKernel(BagKernel):
    """Set kernel: the normalised sum of an instance kernel over all pairs of instances of two bags.

    K(B, B') = sum_{x in B, x' in B'} k(x, x')^power / (c c').

    Parameters
    ----------
    kernel : Kernel, default=RBF("median")
        Kernel k between instances.
    normalise : {"mean", "sum", "feature"}, default="mean"
        Divisor c of each bag: its number of instances, 1, or its norm in feature space.
    power : int, default=1
        Exponent of the instance kernel.

    Raises
    ------
    ParameterError
        If `kernel` is a kernel of bags, or `normalise` or `power` is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> bags = [np.array([[0.0], [2.0]]), np.array([[1.0]])]
    >>> milopt.SetKernel(milopt.Linear())(bags, bags)
    array([[1., 1.],
           [1., 1.]])
    >>> milopt.SetKernel(milopt.Linear(), normalise="sum")(bags, bags)
    array([[4., 2.],
           [2., 1.]])
    """

    kernel: Kernel = _DEFAULT_KERNEL
    normalise: str = "mean"
    power: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.kernel, BagKernel):
            raise ParameterError(f"SetKernel needs a kernel of instances, and {self.kernel!r} is a kernel of bags.")
        object.__setattr__(self, "kernel", as_kernel(self.kernel))
        check_choice("normalise", self.normalise, ("mean", "sum", "feature"))
        check_integer("power", self.power, 1)
        # Sums and products of positive semidefinite kernels are positive semidefinite.
        object.__setattr__(self, "is_semidefinite", self.kernel.is_semidefinite)

    def fitted_to(self, bags: Any) -> SetKernel:
        """Return this kernel with its instance kernel fitted to the instances of training bags.

        Parameters
        ----------
        bags : bags
            Training bags in any form that `milopt.as_bags` accepts.

        Returns
        -------
        SetKernel
            Kernel whose instance kernel has no open parameters.
        """
        return replace(self, kernel=self.kernel.fitted_to(as_bags(bags)))

    @property
    def has_features(self) -> bool:
        """Whether the instance kernel has features, and the exponent is 1."""
        return self.kernel.has_features and self.power == 1

    def features(self, A: Any) -> Points | None:
        """Return the normalised sum of the features of the instances of each bag.

        Parameters
        ----------
        A : bags
            Bags in any form that `milopt.as_bags` accepts.

        Returns
        -------
        array, csr_array or None
            One row of features per bag; None if the instance kernel has no features or the exponent is not 1.
        """
        if not self.has_features:
            return None
        bags = as_bag_rows(A).bags
        rows = FeatureRows(self.kernel, bags.instances, FEATURE_BLOCK_BYTES)
        sums = rows.combine(_sum_matrix(bags))
        if self.normalise == "sum":
            return sums
        divisors = self._divisors(bags) if self.normalise == "mean" else _square_roots_or_one(squared_norms(sums))
        scale = 1.0 / divisors
        return scale_rows(sums, scale) if isinstance(sums, sp.csr_array) else sums * scale[:, None]

    def latex(self) -> str:
        """Return K(B, B') in LaTeX."""
        return rf"\sum_{{u \in x, v \in z}} K(u, v){'' if self.power == 1 else f'^{{{self.power}}}'}"

    def _bag_gram(self, A: Bags, B: Bags) -> Floats:
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
        """Return the divisor c of each bag; 1 if the norm of a bag is 0, because all sums of this bag are then 0."""
        if self.normalise == "sum":
            return np.ones(len(bags))
        if self.normalise == "mean":
            return bags.sizes.astype(np.float64)
        squared = np.array([(self.kernel(bag, bag) ** self.power).sum() for bag in bags])
        return _square_roots_or_one(squared)


def _sum_matrix(bags: Bags) -> sp.csr_array:
    """Return the matrix that sums instances over bags, with one row per bag."""
    count = int(bags.offsets[-1])
    return from_parts(np.ones(count), np.arange(count), bags.offsets, (len(bags), count))


def _square_roots_or_one(squared: Floats) -> Floats:
    """Return the square roots; 1 for numbers that are not positive."""
    return np.sqrt(np.where(squared > 0, squared, 1.0))


@dataclass(frozen=True)
class Minimax(BagKernel):
    """Minimax kernel: a polynomial kernel of the smallest and largest values of the features in a bag.

    K(B, B') = (<s(B), s(B')> + 1)^power, where s(B) contains the minimum and the maximum of each feature over the bag.

    Parameters
    ----------
    power : int, default=1
        Degree of the polynomial.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> bags = [np.array([[0.0], [2.0]]), np.array([[1.0]])]
    >>> milopt.Minimax()(bags, bags)
    array([[5., 3.],
           [3., 3.]])
    """

    is_semidefinite: ClassVar[bool] = True
    power: int = 1

    def __post_init__(self) -> None:
        check_integer("power", self.power, 1)

    def latex(self) -> str:
        """Return K(B, B') in LaTeX."""
        return rf"(\langle s(x), s(z)\rangle + 1)^{{{self.power}}}"

    def _bag_gram(self, A: Bags, B: Bags) -> Floats:
        left = feature_extremes(A)
        return np.asarray((left @ (left if B is A else feature_extremes(B)).T + 1.0) ** self.power)


def feature_extremes(bags: Bags) -> Floats:
    """Return s(B), one row per bag: the smallest value of every feature, then the largest."""
    values = as_dense_instances(bags.instances)
    return np.hstack([-bags.max(-values), bags.max(values)])


def as_bag_kernel(kernel: Kernel) -> BagKernel:
    """Return a bag kernel unchanged, and an instance kernel as the `SetKernel` of means over pairs of instances."""
    return kernel if isinstance(kernel, BagKernel) else SetKernel(kernel, "mean")
