"""Selections: the ways in which functions of a kernel's space choose one instance of every bag, and how many there are.

theta_u(B_i) = argmax_{x in B_i} <u, Phi(x)> changes only where u crosses one of the P = sum_i C(n_i, 2) hyperplanes
<u, Phi(x) - Phi(x')> = 0, x and x' of the same bag, so that with q the dimension of the span of these differences

    ln|Theta| <= min{ sum_i ln n_i,  ln( 2 sum_{k<q} C(P - 1, k) ) }

where the first counts all choices and the second (Cover) the cells of P hyperplanes through the origin of R^q. On a
hyperplane itself either neighbour's selection gives the same maxima.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from milopt.arrays import Floats
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.kernel import Kernel

NEGLIGIBLE = 1e-10
"""Of R^2: differences are of dimension q where what q directions leave of each is no longer, squared.

Leaving that out moves no maximum of a function in a ball of radius Lam by more than 1e-5 Lam R.
"""
WORK = 1e8
"""N q^2, the multiplications that a dimension is looked for with."""


@dataclass(frozen=True)
class Selections:
    """Both counts; that of Cover, and q, are None where `reason` says why."""

    ln_product: float
    q: int | None
    ln_cover: float | None
    reason: str = ""

    @property
    def ln_count(self) -> float:
        """The smaller count."""
        return self.ln_product if self.ln_cover is None else min(self.ln_product, self.ln_cover)


def selections(kernel: Kernel, bags: Bags) -> Selections:
    """The counts over some bags; q is looked for no further than where Cover's count is the larger one anyway."""
    sizes = bags.sizes.astype(float)
    product, count = float(np.log(sizes).sum()), int(sizes.sum())
    counts = ln_cells(int((sizes * (sizes - 1) / 2).sum()), count - len(bags))
    useful = min(int(np.searchsorted(counts, product)), counts.size - 1)
    most = min(useful, int(sqrt(WORK / count)))
    q = within_bag_dimension(kernel, bags, most)
    if q is not None:
        return Selections(product, q, float(counts[q]))
    why = "Cover's count is then above the product of the bag sizes" if most == useful else "finding it would cost much"
    return Selections(product, None, None, f"q, the dimension of differences within bags, is above {most}: {why}.")


def ln_cells(hyperplanes: int, most: int) -> Floats:
    """ln(2 sum_{k<q} C(P - 1, k)) for q = 0, ..., most: cells of P hyperplanes through 0 in R^q; one if P or q is 0."""
    k = np.arange(1, min(most, hyperplanes))
    binomials = np.concatenate([[0.0], np.cumsum(np.log((hyperplanes - k) / k))])
    cells = np.concatenate([[0.0], log(2) + np.logaddexp.accumulate(binomials)]) if hyperplanes else np.zeros(1)
    return cells[np.minimum(np.arange(most + 1), cells.size - 1)]


def within_bag_dimension(kernel: Kernel, bags: Bags, most: int) -> int | None:
    """q = dim span{Phi(x) - Phi(x') : x, x' in the same bag}, or None where it is above `most`.

    Pivoted Cholesky of the Gram matrix of v_p = Phi(x_p) - Phi(first instance of the bag), one of its columns a step.
    """
    rows, first = bags.instances, bags.offsets[:-1][bags.bag_of]
    squares = kernel.diagonal(rows)
    to_first = np.concatenate([kernel(bag, bag[:1])[:, 0] for bag in bags])
    left = squares + squares[first] - 2 * to_first
    left[bags.offsets[:-1]] = 0
    factor = np.empty((left.size, most))
    for q in range(most + 1):
        pivot = int(left.argmax())
        if left[pivot] <= NEGLIGIBLE * squares.max():
            return q
        if q < most:
            pair = kernel(rows, rows[[pivot, int(first[pivot])]])
            column = pair[:, 0] - pair[:, 1]
            column = column - column[first] - factor[:, :q] @ factor[pivot, :q]
            factor[:, q] = column / sqrt(left[pivot])
            left -= factor[:, q] ** 2
            left[pivot] = 0
    return None
