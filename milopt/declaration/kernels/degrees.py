"""The weights v of instances in the core of kernel PCA (1) and of kernel spectral clustering (1 / their degrees).

With landmarks the degrees are those of the kernel that they leave,  K_XZ K_ZZ^+ K_ZX c = Phi (Phi'c)  with the features
Phi = K_XZ R: one pass over the instances gives Phi'c, and whoever then makes Phi has the degrees with it.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Floats, Points
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import one_of
from milopt.declaration.kernels.blocks import kernel_times
from milopt.declaration.programs.leaves import FeatureWeight, Function
from milopt.errors import ParameterError

CORES = ("ksc", "kpca")


def core_weights(core: str, f: Function, bags: Bags, counts: Floats) -> Floats | FeatureWeight:
    """c_p v_p for every instance, c_p what it counts for: v = 1, or 1 / sum_q c_q K(x_p, x_q)."""
    if one_of("core", core, CORES) == "kpca":
        return counts
    if f.dictionary is not None:
        return InverseDegrees(f, bags, counts)
    degrees = kernel_times(f.kernel, bags.instances, bags.instances, counts)
    _check(degrees, float(np.abs(degrees).max()), bags, 0)
    return np.asarray(counts / degrees)


class InverseDegrees(FeatureWeight):
    """c_p / (Phi Phi'c)_p."""

    def __init__(self, f: Function, bags: Bags, counts: Floats) -> None:
        assert f.dictionary is not None
        assert f.basis is not None
        self.size = counts.size
        self._bags, self._counts = bags, counts
        self._kernel, self._Z, self._R = f.kernel, f.dictionary, f.basis
        self._inside = self._R.T @ kernel_times(self._kernel, self._Z, bags.instances, counts)
        # The largest degree is looked for among the landmarks: those of all instances are not known yet.
        self._largest = float(np.abs(self._degrees(self._Z)).max())

    def of(self, rows: slice, features: Floats) -> Floats:
        """The weights of some instances, from their rows of Phi."""
        return self._inverse(features @ self._inside, rows)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Floats:
        """All weights, by a pass of their own."""
        return self._inverse(self._degrees(self._bags.instances), slice(0, self.size))

    def _degrees(self, points: Points) -> Floats:
        return kernel_times(self._kernel, points, self._Z, self._R @ self._inside)

    def _inverse(self, degrees: Floats, rows: slice) -> Floats:
        _check(degrees, self._largest, self._bags, rows.start)
        return np.asarray(self._counts[rows] / degrees)


def _check(degrees: Floats, largest: float, bags: Bags, start: int) -> None:
    """Refuse degrees that are nothing beside the largest; the first one is that of instance `start`."""
    wrong = np.flatnonzero(degrees <= 1e-12 * largest)
    if wrong.size:
        place = start + int(wrong[0])
        bag = int(bags.bag_of[place])
        raise ParameterError(
            f"Spectral clustering divides by the degrees sum_q K(x_p, x_q): instance {place - bags.offsets[bag]} of "
            f"bag {bag} has degree {degrees[wrong[0]]:.3g}. Take a kernel of positive values such as RBF(), a wider "
            'one or more landmarks, or kernel PCA (core="kpca") where there is a choice.'
        )
