"""Description of a column h of an ensemble that is the maximum of one function over a bag, so that it can be displayed.

h(B) = sign max_{x in B} u(x),   u = sum_z a_z K(z, .),   over the instances of B or over its windows
"""

from __future__ import annotations

from dataclasses import dataclass

from milopt.arrays import Points
from milopt.declaration.kernels.kernel import Kernel
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.leaves import Function


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """Function u = sum_z a_z K(z, .) over the rows z of `dictionary`; `coefficients` is the expression a.

    The expression has the variables of an oracle, the program that finds the column.
    """

    kernel: Kernel
    dictionary: Points
    coefficients: Expression


@dataclass(frozen=True, eq=False)
class BagMaximumColumn:
    """Column h(B) = sign max_{x in B} u(x), with `sign` 1 or -1 (see the module docstring)."""

    sign: float
    u: Function | KernelExpansion
    samples: int | None = None
    """Number of consecutive instances in a window x; None if x are the instances themselves."""
