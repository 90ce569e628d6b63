"""Balls of functions: how large the class is that an oracle searches, which is what bounds of its errors ask for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Points
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.kernel import Kernel


@dataclass(frozen=True, eq=False)
class Ball:
    """Functions u of a kernel's space with ||u|| <= radius, or u = sum_z a_z Phi(z) over atoms with ||a||_1 <= radius.

    An oracle that has it as its class finds columns +-h_u, where h_u(B) = max_{x in B} <u, Phi(x)>.
    """

    kernel: Kernel
    bags: Bags
    """The training bags as the functions see them."""
    radius: float
    atoms: Points | None = None

    @property
    def norm(self) -> float:
        """Lam, with ||u|| <= Lam for every u: over atoms radius max_z sqrt(K(z, z)), as +-radius Phi(z) are corners."""
        if self.atoms is None:
            return self.radius
        return self.radius * float(np.sqrt(self.kernel.diagonal(self.atoms).max()))
