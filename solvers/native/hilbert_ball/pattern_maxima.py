"""Largest values of single patterns  u = +-K(z, .) / ||K(z, .)||  in each bag.

A pattern belongs to a point z: a point of the dictionary, or an instance if there is no dictionary. The instances at
which the best patterns attain their largest values are the starting points of `hilbert_ball`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Index, Matrix, Points, Vector
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.kernel import Kernel
from milopt.jit import njit

MAX_BLOCK_ENTRIES = 2**22
"""Number of kernel values that are computed at a time."""


@dataclass(frozen=True, eq=False)
class PatternMaxima:
    """Maxima of k patterns (see the module docstring) and of their negatives in each bag."""

    largest: Matrix
    """Largest value in each bag, of shape (n_bags, 2k): patterns first, then their negatives."""
    witness: Index
    """Index of the first instance at which each maximum is attained, of the same shape."""

    @classmethod
    def empty(cls, bags: int, patterns: int) -> PatternMaxima:
        """Allocate arrays of zeros; `fill` writes them block by block."""
        return cls(np.zeros((bags, 2 * patterns)), np.zeros((bags, 2 * patterns), dtype=np.intp))

    @classmethod
    def from_patterns(cls, kernel: Kernel, bags: Bags, patterns: Points) -> PatternMaxima:
        """Compute the normalised maxima for the patterns whose points z are the rows of `patterns`."""
        count = patterns.shape[0]
        result = cls.empty(len(bags), count)
        block_size = max(1, MAX_BLOCK_ENTRIES // int(bags.offsets[-1]))
        all_bags = slice(0, len(bags))
        for start in range(0, count, block_size):
            block = patterns[start : start + block_size]
            result.write_block(
                all_bags, start, np.ascontiguousarray(kernel(bags.instances, block)), np.asarray(bags.offsets)
            )
        result.normalise(kernel, patterns)
        return result

    def write_block(self, bags: slice, first: int, values: Matrix, offsets: Index) -> None:
        """Write the maxima, not yet normalised, of some bags and some patterns.

        The rows of `values` are the instances of `bags`, its columns the patterns from number `first` on. `offsets` has
        the first instance of each of these bags, and, as last entry, the end of the last
        bag.
        """
        count, half = values.shape[1], self.largest.shape[1] // 2
        for sign, start in ((1.0, first), (-1.0, half + first)):
            part = slice(start, start + count)
            _write_bag_maxima(sign * values, offsets, self.largest[bags, part], self.witness[bags, part])

    def normalise(self, kernel: Kernel, patterns: Points) -> None:
        """Divide the maxima by the norms of K(z, .), so that all patterns have norm 1. Zero patterns stay 0."""
        lengths = np.sqrt(np.maximum(kernel.diagonal(patterns), 0.0))
        self.largest[:] /= np.tile(np.where(lengths > 0, lengths, 1.0), 2)

    def starting_witnesses(self, weights: Vector, count: int) -> list[Index]:
        """Return at most `count` starting points: the witnesses of the best patterns in the bags of positive weight.

        The witness is the instance of a bag at which a pattern is largest. Patterns with equal witnesses count once.
        The best patterns are those with the largest edge, the sum of the bag maxima times `weights`.
        """
        edges = weights @ self.largest
        positive = np.flatnonzero(weights > 0)
        if count == 1:
            return [self.witness[positive, int(np.argmax(edges))]]
        best: dict[bytes, Index] = {}
        for z in np.argsort(-edges, kind="stable").tolist():
            witness = self.witness[positive, z]
            best.setdefault(witness.tobytes(), witness)
            if len(best) == count:
                break
        return list(best.values())


@njit
def _write_bag_maxima(values: Matrix, offsets: Index, largest: Matrix, witness: Index) -> None:
    """Write the largest value of each bag and column to `largest`, and its first instance to `witness`.

    The rows of bag i in `values` are offsets[i] to offsets[i + 1] - 1, minus offsets[0].
    """
    for i in range(offsets.size - 1):
        start = offsets[i] - offsets[0]
        for z in range(values.shape[1]):
            largest[i, z] = values[start, z]
            witness[i, z] = offsets[i]
        for p in range(start + 1, offsets[i + 1] - offsets[0]):
            for z in range(values.shape[1]):
                if values[p, z] > largest[i, z]:
                    largest[i, z] = values[p, z]
                    witness[i, z] = p + offsets[0]
