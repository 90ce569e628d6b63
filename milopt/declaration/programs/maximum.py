"""What a column is made of, where it is the maximum of one function over a bag: so it can be read, not only evaluated.

h(B) = sign max_{x in B} u(x),   u = sum_z a_z K(z, .),   over the instances of B or over its windows
"""

from __future__ import annotations

from dataclasses import dataclass

from milopt.arrays import Points
from milopt.declaration.kernels.kernel import Kernel
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.leaves import Function


@dataclass(frozen=True, eq=False)
class Combination:
    """u = sum_z a_z K(z, .) with coefficients that are an expression in an oracle's variables."""

    kernel: Kernel
    dictionary: Points
    coefficients: Expression


@dataclass(frozen=True, eq=False)
class Maximum:
    """The maximum of u, or its negative."""

    sign: float
    u: Function | Combination
    samples: int | None = None
    """How many consecutive instances a window has; None where x are the instances themselves."""
