"""Kernels of bags whose values are positive, and computed as logarithms: they may be larger than any float."""

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
    """A kernel of bags given by log K."""

    @property
    def log_scale(self) -> float:
        """The logarithm of a number that no value exceeds, or 0 where there is none to tell."""
        return 0.0

    def log(self, A: Any, B: Any) -> Floats:
        """log K(A, B), len(A) x len(B)."""
        left = as_bag_rows(A).bags
        return self._logarithms(left, left if B is A else as_bag_rows(B).bags)

    def log_diagonal(self, A: Any) -> Floats:
        """log K(B, B) for each bag."""
        bags = as_bag_rows(A).bags
        return np.array([self._logarithms(one, one)[0, 0] for one in (bags[i : i + 1] for i in range(len(bags)))])

    @abstractmethod
    def _logarithms(self, A: Bags, B: Bags) -> Floats: ...

    def _between(self, A: Bags, B: Bags) -> Floats:
        logarithms = self._logarithms(A, B)
        largest = float(logarithms.max())
        if largest > 700:
            raise ParameterError(
                f"The kernel has values of 10^{largest / np.log(10):.0f}, beyond what a number holds: take "
                "kernel.log(A, B), or Damped(kernel, tau)."
            )
        return np.asarray(np.exp(logarithms))
