"""The weights v of instances in the core of kernel PCA (1) and of kernel spectral clustering (1 / their degrees)."""

from __future__ import annotations

import numpy as np

from milopt.declaration.arrays import Floats
from milopt.declaration.bags import Bags
from milopt.declaration.blocks import kernel_times
from milopt.declaration.checks import one_of
from milopt.declaration.leaves import Function
from milopt.errors import ParameterError

CORES = ("ksc", "kpca")


def core_weights(core: str, f: Function, bags: Bags, counts: Floats) -> Floats:
    """c_p v_p for every instance, c_p what it counts for: v = 1, or 1 / sum_q c_q K(x_p, x_q)."""
    if one_of("core", core, CORES) == "kpca":
        return counts
    degrees = _degrees(f, bags, counts)
    wrong = np.flatnonzero(degrees <= 1e-12 * np.abs(degrees).max())
    if wrong.size:
        bag = int(bags.bag_of[wrong[0]])
        raise ParameterError(
            f'core="ksc" divides by the degrees sum_q K(x_p, x_q), and instance {wrong[0] - bags.offsets[bag]} of bag '
            f'{bag} has degree {degrees[wrong[0]]:.3g}: take core="kpca", or a kernel of positive values such as RBF().'
        )
    return np.asarray(counts / degrees)


def _degrees(f: Function, bags: Bags, counts: Floats) -> Floats:
    """sum_q c_q K(x_p, x_q); with landmarks those of the kernel that they leave, K_XZ K_ZZ^+ K_ZX, at least 1e-12."""
    X, Z = bags.instances, f.dictionary
    if Z is None:
        return kernel_times(f.kernel, X, X, counts)
    assert f.basis is not None
    inside = f.basis.T @ kernel_times(f.kernel, Z, X, counts)
    return np.maximum(kernel_times(f.kernel, X, Z, f.basis @ inside), 1e-12)
