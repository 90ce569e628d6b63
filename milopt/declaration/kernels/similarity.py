"""Similarities of bags to points: the largest kernel value within a bag, computed from the data."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Floats, Points
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.gram_blocks import GRAM_BLOCK_BYTES, gram_blocks
from milopt.declaration.kernels.kernel import Kernel


def similarity(kernel: Kernel, bags: Bags, Z: Points) -> Floats:
    """Return M[i, z] = max_{x in B_i} K(x, z) for each bag B_i and row z of Z, computed in blocks of kernel values."""
    M = np.empty((len(bags), Z.shape[0]))
    for part, block in gram_blocks(kernel, Z, bags.instances):
        M[:, part] = bags.max(block.T)
    return M


def similarity_without_cache(kernel: Kernel, bags: Bags, Z: Points, memory: int = GRAM_BLOCK_BYTES) -> Floats:
    """Return the same as `similarity`, with at most `memory` bytes of kernel values (or one row) at a time.

    Kernel values are not cached, so that the memory is bounded also within `result_cache`.
    """
    M = np.empty((len(bags), Z.shape[0]))
    step = max(1, memory // (8 * bags.instances.shape[0]))
    for start in range(0, Z.shape[0], step):
        part = slice(start, start + step)
        M[:, part] = bags.max(kernel(Z[part], bags.instances).T)
    return M


def signed_similarity(kernel: Kernel, bags: Bags, Z: Points) -> Floats:
    """Return [max_{x in B_i} K(x, z), max_{x in B_i} -K(x, z)], one row per bag B_i and two columns per row z of Z.

    Column z is the bag maximum of the function K(z, .), and column len(Z) + z that of -K(z, .).
    """
    count = Z.shape[0]
    M = np.empty((len(bags), 2 * count))
    for part, block in gram_blocks(kernel, Z, bags.instances):
        M[:, part] = bags.max(block.T)
        M[:, slice(count + part.start, count + part.stop)] = bags.max(-block.T)
    return M
