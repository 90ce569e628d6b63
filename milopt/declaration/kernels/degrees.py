"""Weights v of the instances in kernel PCA (v = 1) and in kernel spectral clustering (v = 1 / degree).

The degree of instance p is sum_q c_q K(x_p, x_q), with weights c_q of the instances.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Floats
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import check_choice
from milopt.declaration.kernels.gram_blocks import kernel_times
from milopt.declaration.kernels.kernel import Kernel
from milopt.errors import ParameterError

CORE_CHOICES = ("ksc", "kpca")
"""Admissible values of `core`, the choice of weights: kernel spectral clustering and kernel PCA."""


def core_weights(core: str, kernel: Kernel, bags: Bags, counts: Floats) -> Floats:
    """Return c_p v_p for every instance p of the bags, with c_p = `counts[p]` the weight of the instance.

    v_p is 1 if `core` is "kpca", and 1 / sum_q c_q K(x_p, x_q) if `core` is "ksc", with the kernel K.
    """
    if check_choice("core", core, CORE_CHOICES) == "kpca":
        return counts
    degrees = kernel_times(kernel, bags.instances, bags.instances, counts)
    _check_degrees(degrees, bags)
    return np.asarray(counts / degrees)


def _check_degrees(degrees: Floats, bags: Bags) -> None:
    """Raise `ParameterError` if a degree is at most 1e-12 times the largest absolute value of a degree."""
    wrong = np.flatnonzero(degrees <= 1e-12 * float(np.abs(degrees).max()))
    if wrong.size:
        instance = int(wrong[0])
        bag = int(bags.bag_of[instance])
        raise ParameterError(
            f"Spectral clustering divides by the degrees sum_q K(x_p, x_q): instance {instance - bags.offsets[bag]} of "
            f"bag {bag} has degree {degrees[wrong[0]]:.3g}. Use a kernel with positive values such as RBF(), a "
            'wider kernel or more landmarks, or kernel PCA (core="kpca") if the model has this choice.'
        )
