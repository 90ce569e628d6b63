"""Weights v of the instances in kernel PCA (v = 1) and in kernel spectral clustering (v = 1 / degree).

The degree of instance p is sum_q c_q K(x_p, x_q), with weights c_q of the instances. A function with a dictionary has
landmarks Z, the points of the dictionary, and a basis R.

With landmarks, the degrees of the instances X are those of the low-rank kernel,  K_XZ K_ZZ^+ K_ZX c = Phi (Phi'c)
with the features Phi = K_XZ R. One pass over the instances gives Phi'c. Code that computes rows of Phi later multiplies
them by Phi'c to get the degrees.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Floats, Points
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import check_choice
from milopt.declaration.kernels.gram_blocks import kernel_times
from milopt.declaration.programs.leaves import FeatureWeight, Function
from milopt.errors import ParameterError

CORE_CHOICES = ("ksc", "kpca")
"""Admissible values of `core`, the choice of weights: kernel spectral clustering and kernel PCA."""


def core_weights(core: str, f: Function, bags: Bags, counts: Floats) -> Floats | FeatureWeight:
    """Return c_p v_p for every instance p of the bags, with c_p = `counts[p]` the weight of the instance.

    v_p is 1 if `core` is "kpca", and 1 / sum_q c_q K(x_p, x_q) if `core` is "ksc". K is the kernel of f, or the
    low-rank approximation of this kernel if f has a dictionary; the result is then an `InverseDegrees`, which computes
    the weights later.
    """
    if check_choice("core", core, CORE_CHOICES) == "kpca":
        return counts
    if f.dictionary is not None:
        return InverseDegrees(f, bags, counts)
    degrees = kernel_times(f.kernel, bags.instances, bags.instances, counts)
    _check_degrees(degrees, float(np.abs(degrees).max()), bags, 0)
    return np.asarray(counts / degrees)


class InverseDegrees(FeatureWeight):
    """Weights c_p / (Phi Phi'c)_p of the instances, with the features Phi of a function f that has a dictionary."""

    def __init__(self, f: Function, bags: Bags, counts: Floats) -> None:
        assert f.dictionary is not None
        assert f.basis is not None
        self.size = counts.size
        self._bags, self._counts = bags, counts
        self._kernel, self._Z, self._R = f.kernel, f.dictionary, f.basis
        self._inside = self._R.T @ kernel_times(self._kernel, self._Z, bags.instances, counts)
        # The largest degree is estimated from the landmarks: the degrees of all instances are not known yet.
        self._largest = float(np.abs(self._degrees(self._Z)).max())

    def from_features(self, rows: slice, features: Floats) -> Floats:
        """Return the weights of the instances in the slice `rows` from `features`, the same rows of Phi."""
        return self._weights_from_degrees(features @ self._inside, rows)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Floats:
        """Return the weights of all instances; this evaluates the kernel for all of them."""
        return self._weights_from_degrees(self._degrees(self._bags.instances), slice(0, self.size))

    def _degrees(self, points: Points) -> Floats:
        """Return the degree of each point, in the low-rank kernel."""
        return kernel_times(self._kernel, points, self._Z, self._R @ self._inside)

    def _weights_from_degrees(self, degrees: Floats, rows: slice) -> Floats:
        """Return the weights of the instances in the slice `rows` from their degrees."""
        _check_degrees(degrees, self._largest, self._bags, rows.start)
        return np.asarray(self._counts[rows] / degrees)


def _check_degrees(degrees: Floats, largest: float, bags: Bags, start: int) -> None:
    """Raise `ParameterError` if a degree is at most 1e-12 times `largest`, the largest degree.

    `start` is the index of the instance with the first degree.
    """
    wrong = np.flatnonzero(degrees <= 1e-12 * largest)
    if wrong.size:
        instance = start + int(wrong[0])
        bag = int(bags.bag_of[instance])
        raise ParameterError(
            f"Spectral clustering divides by the degrees sum_q K(x_p, x_q): instance {instance - bags.offsets[bag]} of "
            f"bag {bag} has degree {degrees[wrong[0]]:.3g}. Use a kernel with positive values such as RBF(), a "
            'wider kernel or more landmarks, or kernel PCA (core="kpca") if the model has this choice.'
        )
