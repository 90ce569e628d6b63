"""Single patterns u = +-K(z, .) / ||K(z, .)|| as starts of weak learning: what each is worth, and its witnesses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Index, Matrix, Points, Vector
from milopt.compiled import njit
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.kernel import Kernel

PIECE = 2**22
"""Kernel values that are computed at a time."""


@dataclass(frozen=True, eq=False)
class OneHots:
    """The maxima of k patterns and of their negatives over all bags, m x 2k, and where they are attained."""

    largest: Matrix
    witness: Index

    @classmethod
    def room(cls, bags: int, patterns: int) -> OneHots:
        """Filled a block of instances or of patterns at a time."""
        return cls(np.zeros((bags, 2 * patterns)), np.zeros((bags, 2 * patterns), dtype=np.intp))

    @classmethod
    def of(cls, kernel: Kernel, bags: Bags, patterns: Points) -> OneHots:
        """Of the rows of an array."""
        count = patterns.shape[0]
        made = cls.room(len(bags), count)
        step = max(1, PIECE // int(bags.offsets[-1]))
        every = slice(0, len(bags))
        for start in range(0, count, step):
            some = patterns[start : start + step]
            made.fill(every, start, np.ascontiguousarray(kernel(bags.instances, some)), np.asarray(bags.offsets))
        made.normalise(kernel, patterns)
        return made

    def fill(self, bags: slice, first: int, values: Matrix, offsets: Index) -> None:
        """Of some bags, whose instances are the rows of `values`, and of the patterns from `first` on, its columns."""
        count, half = values.shape[1], self.largest.shape[1] // 2
        for sign, start in ((1.0, first), (-1.0, half + first)):
            part = slice(start, start + count)
            _maxima(sign * values, offsets, self.largest[bags, part], self.witness[bags, part])

    def normalise(self, kernel: Kernel, patterns: Points) -> None:
        """From K(z, .) to patterns of norm 1; 0 stays 0."""
        lengths = np.sqrt(np.maximum(kernel.diagonal(patterns), 0.0))
        self.largest[:] /= np.tile(np.where(lengths > 0, lengths, 1.0), 2)

    def starts(self, weights: Vector, count: int) -> list[Index]:
        """The witnesses, in the bags of positive weight, of the best patterns that differ in them."""
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
def _maxima(values: Matrix, offsets: Index, largest: Matrix, witness: Index) -> None:
    """Per bag and column, the largest value and its row: bags are rows offsets[i] to offsets[i + 1], shifted to 0."""
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
