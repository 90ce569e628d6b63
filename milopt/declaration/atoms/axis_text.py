"""Arguments of atoms that reduce along an axis, or per bag, as text."""

from __future__ import annotations

import numpy as np

from milopt.declaration.atoms.segments import Segments
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.expression import Expression, Shape


def axis_texts(argument: Expression, runs: Segments, shape: Shape) -> list[str]:
    """Return the texts of the argument of an atom of this shape that reduces each run, such as ["X", "axis=1"].

    Several matrices and axes have these runs, such as X with axis 1 and X.T with axis 0; the shortest text is chosen.
    """
    length = int(runs.sizes[0])
    if (runs.sizes != length).any():
        return [argument.describe()]
    texts = []
    for axis in reversed(range(len(shape) + 1)):
        entries = np.moveaxis(np.arange(argument.size).reshape(*shape, length), -1, axis)
        texts.append([argument[entries].describe(), f"axis={axis}"])
    return min(texts, key=lambda parts: len(parts[0]))


def bag_texts(argument: Expression, bags: Bags) -> list[str]:
    """Return the texts of the arguments of an atom over bags; the bags are omitted if the argument belongs to them."""
    belongs = argument.bags is bags or any(leaf.bags is bags for leaf, _ in argument.terms)
    return [argument.describe()] if belongs else [argument.describe(), f"{len(bags)} bags"]
