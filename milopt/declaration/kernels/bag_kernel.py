"""Kernels K(B, B') between bags; `kernel(bags_a, bags_b)` is the Gram matrix with one row per bag of `bags_a`.

In a program, a function in the space of such a kernel is evaluated at bags: `f(bags)` has one value per bag.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from milopt.arrays import Floats, Points
from milopt.declaration.bags.bag_rows import as_bag_rows
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.kernel import Kernel
from milopt.errors import BagsError


class BagKernel(Kernel):
    """Base class of kernels between bags: symmetric functions K(B, B') of two bags.

    Subclasses implement `latex` and `_bag_gram`, and, if the kernel depends on the training bags, `fitted_to`.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> kernel = milopt.SetKernel(milopt.Linear(), "mean")
    >>> isinstance(kernel, milopt.BagKernel)
    True
    >>> bags = milopt.as_bags([np.array([[1.0], [3.0]]), np.array([[4.0]])])
    >>> kernel(bags, bags)
    array([[ 4.,  8.],
           [ 8., 16.]])
    """

    indefinite_remedy: ClassVar[str] = (
        'use ClippedKernel or EmpiricalMap of the kernel (in models with this choice, gram="clipped" or "empirical")'
    )
    """Advice for error messages if a Gram matrix is not positive semidefinite."""

    def __call__(self, A: Any, B: Any) -> Floats:
        """Return the Gram matrix K(A, B).

        Parameters
        ----------
        A, B : Bags or list of arrays
            Bags with the same number of features.

        Returns
        -------
        ndarray of shape (len(A), len(B))
            Kernel values. If ``B is A``, the matrix is exactly symmetric.
        """
        left = as_bag_rows(A).bags
        right = left if B is A else as_bag_rows(B).bags
        if left.dimension != right.dimension:
            raise BagsError(
                f"A kernel compares bags with the same number of features, not {left.dimension} and {right.dimension}."
            )
        return self._bag_gram(left, right)

    def diagonal(self, A: Any) -> Floats:
        """Return K(B, B) for each bag B.

        Parameters
        ----------
        A : Bags or list of arrays
            The bags.

        Returns
        -------
        ndarray of shape (len(A),)
            Diagonal of K(A, A).
        """
        return self._bag_diagonal(as_bag_rows(A).bags)

    def fitted_to(self, bags: Bags) -> BagKernel:
        """Return the kernel with all parameters that depend on the training bags replaced by numbers.

        Parameters
        ----------
        bags : Bags
            Training bags.

        Returns
        -------
        BagKernel
            The kernel itself if no parameter depends on the bags.
        """
        return self

    @abstractmethod
    def _bag_gram(self, A: Bags, B: Bags) -> Floats:
        """Return the Gram matrix K(A, B) as a new array, with one row per bag of A and one column per bag of B."""

    def _bag_diagonal(self, A: Bags) -> Floats:
        """Return K(B, B) for each bag B of A, from one 1 x 1 Gram matrix per bag."""
        return np.array([self._bag_gram(A[i : i + 1], A[i : i + 1])[0, 0] for i in range(len(A))])

    def _gram(self, A: Points, B: Points) -> Floats:
        """Raise `BagsError`: a kernel of bags is not defined for single instances."""
        raise BagsError("A kernel of bags compares bags, not single instances: give bags.")

    def _diagonal(self, A: Points) -> Floats:
        """Raise `BagsError`: a kernel of bags is not defined for single instances."""
        raise BagsError("A kernel of bags compares bags, not single instances: give bags.")
