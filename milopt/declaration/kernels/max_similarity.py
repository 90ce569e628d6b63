"""The kernel K(B, B') = max_{x in B, x' in B'} K(x, x') between bags, for similarities of bags to points.

For points z of a dictionary, u(B) = sum_z a_z max_{x in B} K(x, z) is a function of this kernel over one-point bags.
Declaring u(B) does not compute the similarities; an algorithm can compute them in blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Floats, Points
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.declaration.kernels.kernel import Kernel
from milopt.declaration.kernels.similarity import similarity_without_cache


@dataclass(frozen=True)
class MaxSimilarity(BagKernel):
    """Largest kernel value between an instance of one bag and an instance of the other.

    It is symmetric, but not positive semidefinite. It is meant for functions over a dictionary, without their norms.

    Parameters
    ----------
    kernel : Kernel
        Kernel between instances.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> from milopt.declaration.kernels.max_similarity import MaxSimilarity
    >>> bags = milopt.as_bags([np.array([[1.0], [3.0]]), np.array([[4.0]])])
    >>> MaxSimilarity(milopt.Linear())(bags, bags)
    array([[ 9., 12.],
           [12., 16.]])
    """

    kernel: Kernel

    is_semidefinite = False

    def latex(self) -> str:
        """Return K(B, B') in LaTeX."""
        return r"\max_{u \in x, v \in z} K(u, v)"

    def _bag_gram(self, A: Bags, B: Bags) -> Floats:
        """Return the largest kernel value for each pair of a bag of A and a bag of B."""
        return np.ascontiguousarray(B.max(similarity_without_cache(self.kernel, A, B.instances).T).T)


def single_instance_bags(points: Points) -> Bags:
    """Return bags of one point each."""
    return Bags(points, np.arange(points.shape[0] + 1))
