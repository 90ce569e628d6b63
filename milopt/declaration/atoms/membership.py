"""Rows that must lie in cones, written as expressions: the language of `Atom.epigraph`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from milopt.arrays import Index
from milopt.cones import EXPONENTIAL, NONNEGATIVE, SECOND_ORDER, ZERO, Cone
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression, broadcast
from milopt.declaration.programs.sparse import from_parts

NewVariables = Callable[..., Leaf]
"""`new(name, count, lower=-inf)` returns new columns, which may occur in the memberships."""


@dataclass(frozen=True)
class Membership:
    """Rows that lie in a product of cones of one kind."""

    name: str
    """Suffix of the name of the block of rows."""
    rows: Expression
    cone: Cone
    sizes: Index
    """Number of rows of each cone."""
    lazy: bool = False
    """Return True if rows may be generated lazily: leaving some out gives a relaxation. Non-negative rows only."""
    ends_in_function: bool = False
    """The argument of the atom is a function of a kernel's space, which follows the rows of the (only) cone."""


def zero(name: str, rows: Expression) -> Membership:
    """Return rows == 0."""
    return Membership(name, rows, ZERO, np.ones(rows.size, dtype=np.intp))


def non_negative(name: str, rows: Expression, *, lazy: bool = False) -> Membership:
    """Return rows >= 0; `lazy` if each row bounds one entry of t and may be left out until it is violated."""
    return Membership(name, rows, NONNEGATIVE, np.ones(rows.size, dtype=np.intp), lazy)


def second_order(name: str, heads: list[Operand], tail: Expression | None, at: Segments) -> Membership:
    """Return head_0 >= ||(head_1, ..., tail)|| per run: one entry of every head, and the run of the tail.

    A tail of None stands for a function of a kernel's space, which has no rows.
    """
    tails = np.zeros(at.count, dtype=np.intp) if tail is None else at.sizes
    sizes = len(heads) + tails
    starts = np.cumsum(sizes) - sizes
    rows = sum((_spread(broadcast(as_expression(h), (at.count,)), starts + k, sizes) for k, h in enumerate(heads)), 0.0)
    if tail is not None:
        places = np.arange(at.total) + np.repeat(starts - at.offsets[:-1] + len(heads), at.sizes)
        rows = rows + _spread(tail, places, sizes)
    return Membership(name, as_expression(rows), SECOND_ORDER, sizes, ends_in_function=tail is None)


def exponential(name: str, x: Operand, y: Operand, z: Operand, count: int) -> Membership:
    """Return y exp(x / y) <= z, entry by entry."""
    sizes = np.full(count, 3, dtype=np.intp)
    starts = 3 * np.arange(count)
    parts = [_spread(broadcast(as_expression(e), (count,)), starts + k, sizes) for k, e in enumerate((x, y, z))]
    return Membership(name, as_expression(sum(parts, 0.0)), EXPONENTIAL, sizes)


def _spread(expression: Expression, places: Index, sizes: Index) -> Expression:
    """Return the entries of an expression at some places of a longer one."""
    count = int(sizes.sum())
    order = np.argsort(places, kind="stable")
    indptr = np.searchsorted(places[order], np.arange(count + 1))
    matrix = from_parts(np.ones(places.size), order, indptr, (count, places.size))
    return matrix @ expression
