"""How similar bags are to points: the largest kernel value in a bag, as a number of the data and of no unknown."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Floats, Points
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.blocks import gram_blocks
from milopt.declaration.kernels.kernel import Kernel


def similarity(kernel: Kernel, bags: Bags, Z: Points) -> Floats:
    """M[i, z] = max_{x in B_i} K(x, z), with no more than a block of kernel values at a time."""
    M = np.empty((len(bags), Z.shape[0]))
    for some, block in gram_blocks(kernel, Z, bags.instances):
        M[:, some] = bags.max(block.T)
    return M


def signed_similarity(kernel: Kernel, bags: Bags, Z: Points) -> Floats:
    """[max_{x in B_i} K(x, z), max_{x in B_i} -K(x, z)]: what the functions K(z, .) and -K(z, .) make of each bag."""
    count = Z.shape[0]
    M = np.empty((len(bags), 2 * count))
    for some, block in gram_blocks(kernel, Z, bags.instances):
        M[:, some] = bags.max(block.T)
        M[:, slice(count + some.start, count + some.stop)] = bags.max(-block.T)
    return M
