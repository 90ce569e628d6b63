"""Number of selections: the ways in which functions in a kernel's space select one instance of every bag.

The selection theta_u(B_i) = argmax_{x in B_i} <u, Phi(x)> changes only if u crosses one of the P = sum_i C(n_i, 2)
hyperplanes <u, Phi(x) - Phi(x')> = 0 with x and x' in the same bag. Let q be the dimension of the span of these
differences. Then

    ln|Theta| <= min{ sum_i ln n_i,  ln( 2 sum_{k<q} C(P - 1, k) ) }

The first term counts all choices, the second (Cover) counts the cells of P hyperplanes through the origin of R^q. For u
on a hyperplane, the selections of both neighbouring cells give the same maxima.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from milopt.arrays import Floats
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.kernel import Kernel

DIMENSION_TOLERANCE = 1e-10
"""A difference is neglected if its squared length beyond the directions found so far is below this, relative to R^2.

Neglecting differences of this length changes no maximum of a function in a ball of radius Lam by more than 1e-5 Lam R.
"""
MAX_MULTIPLICATIONS = 1e8
"""Limit on N q^2, the number of multiplications for computing the dimension q."""


@dataclass(frozen=True)
class SelectionCount:
    """Logarithms of two bounds on the number of selections; `q` and `ln_cover` are None if `reason` is not empty."""

    ln_product: float
    """Logarithm of the product of the bag sizes."""
    q: int | None
    """Dimension of the span of differences within bags."""
    ln_cover: float | None
    """Logarithm of Cover's count."""
    reason: str = ""
    """Reason why Cover's count is missing."""

    @property
    def ln_count(self) -> float:
        """Smaller of the two logarithms."""
        return self.ln_product if self.ln_cover is None else min(self.ln_product, self.ln_cover)


def count_selections(kernel: Kernel, bags: Bags) -> SelectionCount:
    """Return the logarithms of both bounds on the number of selections over some bags (see the module docstring).

    The search for q ends as soon as Cover's count exceeds the product of the bag sizes.
    """
    sizes = bags.sizes.astype(float)
    product, count = float(np.log(sizes).sum()), int(sizes.sum())
    counts = ln_cell_counts(int((sizes * (sizes - 1) / 2).sum()), count - len(bags))
    useful = min(int(np.searchsorted(counts, product)), counts.size - 1)
    max_dimension = min(useful, int(sqrt(MAX_MULTIPLICATIONS / count)))
    q = within_bag_dimension(kernel, bags, max_dimension)
    if q is not None:
        return SelectionCount(product, q, float(counts[q]))
    why = (
        "Cover's count is then above the product of the bag sizes"
        if max_dimension == useful
        else "finding it would cost much"
    )
    return SelectionCount(
        product, None, None, f"q, the dimension of differences within bags, is above {max_dimension}: {why}."
    )


def ln_cell_counts(hyperplanes: int, max_dimension: int) -> Floats:
    """Return ln(2 sum_{k<q} C(P - 1, k)) for q = 0, ..., max_dimension, with P = `hyperplanes`.

    Entry q is the logarithm of the largest number of cells into which P hyperplanes through 0 divide R^q; there is one
    cell if P or q is 0.
    """
    k = np.arange(1, min(max_dimension, hyperplanes))
    binomials = np.concatenate([[0.0], np.cumsum(np.log((hyperplanes - k) / k))])
    cells = np.concatenate([[0.0], log(2) + np.logaddexp.accumulate(binomials)]) if hyperplanes else np.zeros(1)
    return cells[np.minimum(np.arange(max_dimension + 1), cells.size - 1)]


def within_bag_dimension(kernel: Kernel, bags: Bags, max_dimension: int) -> int | None:
    """Return q = dim span{Phi(x) - Phi(x') : x, x' in the same bag}, or None if it is above `max_dimension`.

    The method is a pivoted Cholesky factorisation of the Gram matrix of v_p = Phi(x_p) - Phi(first instance of the
    bag), which computes one column per step.
    """
    rows, first = bags.instances, bags.offsets[:-1][bags.bag_of]
    squares = kernel.diagonal(rows)
    to_first = np.concatenate([kernel(bag, bag[:1])[:, 0] for bag in bags])
    left = squares + squares[first] - 2 * to_first
    left[bags.offsets[:-1]] = 0
    factor = np.empty((left.size, max_dimension))
    for q in range(max_dimension + 1):
        pivot = int(left.argmax())
        if left[pivot] <= DIMENSION_TOLERANCE * squares.max():
            return q
        if q < max_dimension:
            pair = kernel(rows, rows[[pivot, int(first[pivot])]])
            column = pair[:, 0] - pair[:, 1]
            column = column - column[first] - factor[:, :q] @ factor[pivot, :q]
            factor[:, q] = column / sqrt(left[pivot])
            left -= factor[:, q] ** 2
            left[pivot] = 0
    return None
