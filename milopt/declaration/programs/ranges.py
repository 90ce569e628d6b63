"""Lower and upper bounds of expressions, by interval arithmetic.

There are two kinds. The epigraph range has no upper bounds of atoms, because the epigraph variable that replaces an
atom may be larger than the atom; this range decides in which directions atoms are monotone. The value range has lower
and upper bounds of atoms; conditional constraints need it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.expression import Expression, Leaf
from milopt.declaration.programs.leaves import Parameter, Variable
from milopt.declaration.programs.sparse import row_lengths


def epigraph_range(expression: Expression) -> tuple[Vector, Vector]:
    """Return (lower, upper) bounds of each entry of an expression; atoms are bounded only from below."""
    return _combine_leaf_ranges(expression, _leaf_epigraph_range)


def value_range(expression: Expression) -> tuple[Vector, Vector]:
    """Return (lower, upper) bounds of each entry of an expression; atoms are bounded on both sides, if possible."""
    return _combine_leaf_ranges(expression, leaf_value_range)


def _combine_leaf_ranges(
    expression: Expression, leaf_range: Callable[[Leaf], tuple[Vector, Vector]]
) -> tuple[Vector, Vector]:
    """Return (lower, upper) bounds of each entry of an expression; `leaf_range(leaf)` are the bounds of a leaf."""
    low, high = expression.constant.copy(), expression.constant.copy()
    for leaf, coefficient in expression.terms:
        bottom, top = leaf_range(leaf)
        matrix = coefficient.value()
        rows = np.repeat(np.arange(matrix.shape[0]), row_lengths(matrix))
        used = matrix.data != 0
        data, rows, columns = matrix.data[used], rows[used], matrix.indices[used]
        ends = data * bottom[columns], data * top[columns]
        np.add.at(low, rows, np.minimum(*ends))
        np.add.at(high, rows, np.maximum(*ends))
    return low, high


def leaf_value_range(leaf: Leaf) -> tuple[Vector, Vector]:
    """Return (lower, upper) bounds of each entry of a leaf; 0 and inf for an atom whose argument is a function."""
    bottom, top = _leaf_epigraph_range(leaf)
    if isinstance(leaf, Atom) and leaf.function is None:
        inside = value_range(leaf.argument)
        return leaf.least(*inside, leaf.segments), leaf.greatest(*inside, leaf.segments)
    return bottom, top


def _leaf_epigraph_range(leaf: Leaf) -> tuple[Vector, Vector]:
    """Return (lower, upper) bounds of each entry of a leaf; atoms are bounded only from below."""
    if isinstance(leaf, Variable):
        return leaf.lower, leaf.upper
    if isinstance(leaf, Parameter):
        return leaf.current_value(), leaf.current_value()
    top = np.full(leaf.size, np.inf)
    if not isinstance(leaf, Atom):
        return -top, top
    if leaf.function is not None:
        return np.zeros(leaf.size), top
    return leaf.least(*epigraph_range(leaf.argument), leaf.segments), top
