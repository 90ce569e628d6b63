"""Constraints that rows lie in cones: `Atom.epigraph` returns a list of such memberships."""

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
"""Type of `new(name, count, lower=-inf)`, which returns `count` auxiliary variables for use in memberships."""


@dataclass(frozen=True)
class Membership:
    """Constraint that rows lie in a product of cones of one kind."""

    name: str
    """Suffix of the name of this block of rows."""
    rows: Expression
    """Rows of all cones, one cone after the other."""
    cone: Cone
    """Kind of the cones."""
    sizes: Index
    """Number of rows of each cone."""
    lazy: bool = False
    """Whether a row may be left out until a solution violates it; only for non-negative rows."""
    ends_in_function: bool = False
    """Whether there is a single cone, in which a function of a kernel's space (the argument) follows the rows."""


def zero(name: str, rows: Expression) -> Membership:
    """Return the constraint rows == 0."""
    return Membership(name, rows, ZERO, np.ones(rows.size, dtype=np.intp))


def non_negative(name: str, rows: Expression, *, lazy: bool = False) -> Membership:
    """Return the constraint rows >= 0.

    `lazy` states that each row is a lower bound on one entry of the epigraph variable t, so that a row may be left out
    until a solution violates it.
    """
    return Membership(name, rows, NONNEGATIVE, np.ones(rows.size, dtype=np.intp), lazy)


def second_order(name: str, heads: list[Operand], tail: Expression | None, runs: Segments) -> Membership:
    """Return the constraint head_0 >= ||(head_1, head_2, ..., tail)|| for each run.

    `heads` are vectors with one entry per run, or scalars, and `tail` is a vector with the entries of all runs. A cone
    consists of one entry of every head and one run of the tail. If the tail is None, it is a function of a kernel's
    space, which has no rows.
    """
    tails = np.zeros(runs.count, dtype=np.intp) if tail is None else runs.sizes
    sizes = len(heads) + tails
    starts = np.cumsum(sizes) - sizes
    rows = sum(
        (_scatter(broadcast(as_expression(h), (runs.count,)), starts + k, sizes) for k, h in enumerate(heads)), 0.0
    )
    if tail is not None:
        positions = np.arange(runs.entry_count) + np.repeat(starts - runs.offsets[:-1] + len(heads), runs.sizes)
        rows = rows + _scatter(tail, positions, sizes)
    return Membership(name, as_expression(rows), SECOND_ORDER, sizes, ends_in_function=tail is None)


def exponential(name: str, x: Operand, y: Operand, z: Operand, count: int) -> Membership:
    """Return the constraint y exp(x / y) <= z, entry by entry, for `count` entries."""
    sizes = np.full(count, 3, dtype=np.intp)
    starts = 3 * np.arange(count)
    parts = [_scatter(broadcast(as_expression(e), (count,)), starts + k, sizes) for k, e in enumerate((x, y, z))]
    return Membership(name, as_expression(sum(parts, 0.0)), EXPONENTIAL, sizes)


def _scatter(expression: Expression, positions: Index, sizes: Index) -> Expression:
    """Return a vector of sum(sizes) entries with the entries of an expression at `positions`, and zeros elsewhere."""
    count = int(sizes.sum())
    order = np.argsort(positions, kind="stable")
    indptr = np.searchsorted(positions[order], np.arange(count + 1))
    matrix = from_parts(np.ones(positions.size), order, indptr, (count, positions.size))
    return matrix @ expression
