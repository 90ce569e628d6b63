"""Base class of bag kernels whose values are computed as logarithms, because the values may overflow."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from milopt.arrays import Floats
from milopt.declaration.bags.bag_rows import as_bag_rows
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.errors import ParameterError


class LogKernel(BagKernel):
    """Base class of bag kernels that compute log K."""

    @property
    def log_scale(self) -> float:
        """Logarithm of an upper bound of all values, or 0 if there is no bound."""
        return 0.0

    def log(self, A: Any, B: Any) -> Floats:
        """Return the logarithms of the kernel values of all pairs of bags.

        Parameters
        ----------
        A, B : bags
            Bags in any form that `milopt.as_bags` accepts.

        Returns
        -------
        ndarray of shape (len(A), len(B))
            Logarithms of the kernel values.
        """
        left = as_bag_rows(A).bags
        return self._log_gram(left, left if B is A else as_bag_rows(B).bags)

    def log_diagonal(self, A: Any) -> Floats:
        """Return log K(B, B) for each bag B of A."""
        bags = as_bag_rows(A).bags
        return np.array([self._log_gram(bag, bag)[0, 0] for bag in (bags[i : i + 1] for i in range(len(bags)))])

    @abstractmethod
    def _log_gram(self, A: Bags, B: Bags) -> Floats:
        """Return the logarithms of the kernel values of all pairs of bags, an array of shape (len(A), len(B))."""

    def _bag_gram(self, A: Bags, B: Bags) -> Floats:
        logarithms = self._log_gram(A, B)
        largest = float(logarithms.max())
        if largest > 700:
            raise ParameterError(
                f"The kernel has values of 10^{largest / np.log(10):.0f}, which overflow: use "
                "kernel.log(A, B), or PowerKernel(kernel, tau)."
            )
        return np.asarray(np.exp(logarithms))
