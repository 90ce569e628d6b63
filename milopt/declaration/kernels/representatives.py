"""Starting points of alternating schemes that represent each bag by one point or by one of its instances."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Floats, Index
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import check_choice
from milopt.declaration.kernels.kernel import Kernel, Precomputed


def starting_points(start: str, bags: Bags, kernel: Kernel, seed: object) -> Floats | Index | None:
    """Return one starting point per bag.

    If `start` is "mean", the starting point is the mean of the bag's instances. If `start` is "random", it is the row
    number in `bags.instances` of a random instance of the bag; a `seed` that is not an integer counts as 0. The points
    of a precomputed kernel are row numbers, which have no mean. For such a kernel, "mean" returns None, and the scheme
    starts from the mean of the function values over each bag.
    """
    if check_choice("start", start, ("mean", "random")) == "random":
        rng = np.random.default_rng(seed if isinstance(seed, (int, np.integer)) else 0)
        chosen: npt.NDArray[np.intp] = bags.offsets[:-1] + rng.integers(bags.sizes)
        return chosen
    if isinstance(kernel, Precomputed):
        return None
    instances = bags.instances
    if not isinstance(instances, sp.csr_array):
        return bags.mean(instances)
    weights = np.repeat(1.0 / bags.sizes, bags.sizes)
    shape = (len(bags), instances.shape[0])
    averaging = sp.csr_array((weights, np.arange(instances.shape[0]), bags.offsets), shape=shape)
    return np.asarray((averaging @ instances).toarray(), dtype=np.float64)
