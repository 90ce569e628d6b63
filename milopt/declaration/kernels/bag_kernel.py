"""Kernels K(B, B') between bags: `kernel(bags_a, bags_b)` is the Gram matrix, a row a bag.

A program's function in the space of such a kernel is evaluated at bags, one value per bag: `f(bags)`.
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
    """A symmetric function K(B, B') of two bags."""

    remedy: ClassVar[str] = (
        'take its Clipped or EmpiricalMap, which a model with such a choice calls gram="clipped" or "empirical"'
    )

    def __call__(self, A: Any, B: Any) -> Floats:
        """The Gram matrix K(A, B), len(A) x len(B); exactly symmetric where B is A."""
        left = as_bag_rows(A).bags
        right = left if B is A else as_bag_rows(B).bags
        if left.dimension != right.dimension:
            raise BagsError(
                f"A kernel compares bags of equally many features, not {left.dimension} and {right.dimension}."
            )
        return self._between(left, right)

    def diagonal(self, A: Any) -> Floats:
        """K(B, B) for each bag."""
        return self._own(as_bag_rows(A).bags)

    def fitted_to(self, bags: Bags) -> BagKernel:
        """The kernel with what depends on the training bags resolved; itself where nothing does."""
        return self

    @abstractmethod
    def _between(self, A: Bags, B: Bags) -> Floats:
        """K(A, B) in an array of its own."""

    def _own(self, A: Bags) -> Floats:
        return np.array([self._between(A[i : i + 1], A[i : i + 1])[0, 0] for i in range(len(A))])

    def _gram(self, A: Points, B: Points) -> Floats:
        raise BagsError("A kernel of bags compares bags, not single instances: give bags.")

    def _diagonal(self, A: Points) -> Floats:
        raise BagsError("A kernel of bags compares bags, not single instances: give bags.")
