"""Ranges of expressions by interval arithmetic.

For the directions in which atoms are monotone, atoms have lower ends only: a column that stands for an atom may be
larger than the atom. Constraints that hold under a condition need the upper ends of the atoms themselves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.expression import Expression, Leaf
from milopt.declaration.programs.leaves import Parameter, Variable
from milopt.declaration.programs.sparse import row_lengths


def range_of(expression: Expression) -> tuple[Vector, Vector]:
    """Return bounds of each entry of an expression, from the bounds of variables and the least values of atoms."""
    return _range(expression, _lower_ends)


def true_range_of(expression: Expression) -> tuple[Vector, Vector]:
    """Return bounds of each entry of an expression, from the bounds of variables and both ends of atoms."""
    return _range(expression, true_range_of_leaf)


def _range(expression: Expression, leaf_range: Callable[[Leaf], tuple[Vector, Vector]]) -> tuple[Vector, Vector]:
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


def true_range_of_leaf(leaf: Leaf) -> tuple[Vector, Vector]:
    """Return bounds of each entry of a leaf; atoms have both ends."""
    bottom, top = _lower_ends(leaf)
    if isinstance(leaf, Atom) and leaf.function is None:
        inside = true_range_of(leaf.argument)
        return leaf.least(*inside, leaf.segments), leaf.greatest(*inside, leaf.segments)
    return bottom, top


def _lower_ends(leaf: Leaf) -> tuple[Vector, Vector]:
    if isinstance(leaf, Variable):
        return leaf.lower, leaf.upper
    if isinstance(leaf, Parameter):
        return leaf.current(), leaf.current()
    top = np.full(leaf.size, np.inf)
    if not isinstance(leaf, Atom):
        return -top, top
    if leaf.function is not None:
        return np.zeros(leaf.size), top
    return leaf.least(*range_of(leaf.argument), leaf.segments), top
