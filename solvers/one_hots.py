"""Single patterns u = K(z, .) / ||K(z, .)|| as the starts of weak learning: what each is worth, and its witnesses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.compilation.quadratic import Matrix, Vector
from milopt.compiled import njit
from milopt.declaration.bags import Bags
from milopt.declaration.kernels import Kernel
from milopt.declaration.leaves import Points
from milopt.solvers.corral import Index

PIECE = 2**22
"""Kernel values that are computed at a time."""


@dataclass(frozen=True, eq=False)
class OneHots:
    """The maxima of some patterns over all bags, m x k, and where they are attained."""

    largest: Matrix
    witness: Index

    @classmethod
    def room(cls, bags: int, patterns: int) -> OneHots:
        """Filled a block of instances or of patterns at a time."""
        return cls(np.zeros((bags, patterns)), np.zeros((bags, patterns), dtype=np.intp))

    @classmethod
    def of(cls, kernel: Kernel, bags: Bags, patterns: Points) -> OneHots:
        """Of the rows of an array."""
        count = patterns.shape[0]
        made = cls.room(len(bags), count)
        step = max(1, PIECE // int(bags.offsets[-1]))
        every = np.asarray(bags.offsets)
        for start in range(0, count, step):
            some = patterns[start : start + step]
            part = slice(start, start + some.shape[0])
            fill(
                np.ascontiguousarray(kernel(bags.instances, some)), every, made.largest[:, part], made.witness[:, part]
            )
        made.normalise(kernel, patterns)
        return made

    def normalise(self, kernel: Kernel, patterns: Points) -> None:
        """From K(z, .) to patterns of norm 1; 0 stays 0."""
        lengths = np.sqrt(np.maximum(kernel.diagonal(patterns), 0.0))
        self.largest[:] /= np.where(lengths > 0, lengths, 1.0)

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
def fill(values: Matrix, offsets: Index, largest: Matrix, witness: Index) -> None:
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
