"""Balls of functions: the class of functions in which an oracle searches for columns of an ensemble.

Bounds of the generalisation error depend on the size of the ball.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Points
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.kernel import Kernel


@dataclass(frozen=True, eq=False)
class FunctionBall:
    """Ball of functions u in the space of a kernel.

    If `atoms` is None, the ball is ||u|| <= radius. Otherwise it is u = sum_z a_z Phi(z) over the rows z of `atoms`,
    with sum_z |a_z| <= radius. Phi is the feature map of the kernel. An oracle for this ball finds columns (functions
    of a bag B) h_u or -h_u, where h_u(B) = max_{x in B} <u, Phi(x)>.
    """

    kernel: Kernel
    bags: Bags
    """Training bags, after any conversion such as sliding windows: their instances are the points x."""
    radius: float
    atoms: Points | None = None

    @property
    def norm(self) -> float:
        """Largest norm ||u|| of a function in the ball.

        With `atoms`, it is radius max_z sqrt(K(z, z)), because the functions +-radius Phi(z) are the vertices of the
        ball.
        """
        if self.atoms is None:
            return self.radius
        return self.radius * float(np.sqrt(self.kernel.diagonal(self.atoms).max()))
