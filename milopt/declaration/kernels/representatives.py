"""Where an alternation over representatives starts: one point a bag, or one of its instances."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Floats, Index
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import one_of
from milopt.declaration.kernels.kernel import Kernel, Precomputed


def starting_points(start: str, bags: Bags, kernel: Kernel, seed: object) -> Floats | Index | None:
    """`mean`: the mean of each bag's instances; `random`: an instance of each bag, by its flat index.

    A precomputed kernel's points are row numbers, whose mean is no point: None, for the mean of the function's values.
    """
    if one_of("start", start, ("mean", "random")) == "random":
        rng = np.random.default_rng(seed if isinstance(seed, (int, np.integer)) else 0)
        chosen: npt.NDArray[np.intp] = bags.offsets[:-1] + rng.integers(bags.sizes)
        return chosen
    if isinstance(kernel, Precomputed):
        return None
    instances = bags.instances
    if not isinstance(instances, sp.csr_array):
        return bags.mean(instances)
    share = np.repeat(1.0 / bags.sizes, bags.sizes)
    shape = (len(bags), instances.shape[0])
    averaging = sp.csr_array((share, np.arange(instances.shape[0]), bags.offsets), shape=shape)
    return np.asarray((averaging @ instances).toarray(), dtype=np.float64)
