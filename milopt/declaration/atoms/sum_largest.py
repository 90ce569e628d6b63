"""Sums of the k largest entries: of a whole expression, and of each bag."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Index, Vector
from milopt.declaration.atoms.along_axis import runs_of
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.bag_argument import bags_of
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative
from milopt.declaration.atoms.projections import onto_capped_simplex, ranks, sorted_downwards
from milopt.declaration.atoms.scalar_arguments import positive_count, with_entries
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.expression import Expression, Leaf, Operand, Shape


class SumLargest(Atom):
    """The sum of the k largest entries of each run; of all entries if the run has at most k.

    Epigraph: t >= k s + sum u with u >= e - s and u >= 0. Any number may be s; the k-th largest entry is optimal.
    """

    word = "sum_largest"
    cones = frozenset({"nonnegative"})

    def __init__(self, argument: Expression, segments: Segments, shape: Shape, k: int) -> None:
        super().__init__(argument, segments, shape)
        self.k = k

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return the sum of the k largest entries of each run."""
        return at.sum(np.where(self._is_largest(e, at), e, 0.0))

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return t >= k s + sum u and u >= e - s."""
        threshold, excess = new("threshold", at.count), new("excess", at.total, lower=0.0)
        total = self._counts(at) * threshold + at.indicator @ excess
        return [non_negative("sum", t - total), non_negative("excess", excess - e + threshold[at.of])]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return 1 at the k largest entries of each run, 0 elsewhere."""
        return self._is_largest(e, at).astype(np.float64)

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return the nearest slopes between 0 and 1 that add up to k, where the conjugate is 0."""
        return onto_capped_simplex(g, at, self._counts(at)), np.zeros(at.count)

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return +1."""
        return np.ones(low.size, dtype=np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the value at the lower bounds."""
        return self.value(low, at)

    def latex(self, index: str, write: Notation) -> str:
        """Return a sum over the k largest entries."""
        row = write.after(index)
        if not row:
            return write.argument(row)
        members = rf"S \subseteq G_{{{index}}}, " if self.shape else ""
        count = min(self.k, int(self.segments.sizes.max(initial=0)))
        return rf"\max_{{{members}|S| = {count}}} \sum_{{{row} \in S}} {write.bracketed(row)}"

    def _counts(self, at: Segments) -> Index:
        return np.minimum(self.k, at.sizes)

    def _is_largest(self, e: Vector, at: Segments) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return per entry whether it is one of the k largest of its run."""
        result = np.zeros(e.size, dtype=bool)
        result[sorted_downwards(e, at)[ranks(at) < self.k]] = True
        return result


class BagSumLargest(SumLargest):
    """(The sum of the k largest e_x over x in B_i)_i; the sum over the whole bag if it has at most k instances."""

    word = "bag_sum_largest"

    def __init__(self, argument: Expression, bags: Bags, k: int) -> None:
        super().__init__(argument, Segments(bags.sizes), (len(bags),), k)
        self.over = bags
        """The bags."""

    def latex(self, index: str, write: Notation) -> str:
        """Return a sum over the k largest entries of a bag."""
        inner = write.bracketed(write.instance)
        bag = rf"B_{{{index}}}"
        return rf"\max_{{S \subseteq {bag}, |S| = \min(|{bag}|, {self.k})}} \sum_{{x \in S}} {inner}"


def sum_largest(expression: Operand, k: int, axis: int | None = None) -> Expression:
    """Return the sum of the k largest of all entries, a scalar, or one sum per run of entries along an axis.

    Parameters
    ----------
    expression : Expression
        The argument e, with at least one entry.
    k : int
        Number of entries to add up; all entries if k is at least their number.
    axis : int, optional
        The axis along which sums are taken: 1 for the k largest entries of each row of a matrix. All entries by
        default.
    """
    runs = runs_of(with_entries(expression, "sum_largest"), axis, "sum_largest")
    return SumLargest(*runs, positive_count(k, "k", "sum_largest"))


def bag_sum_largest(expression: Expression, bags: Bags | None = None, k: int | None = None) -> Expression:
    """Return the sum of the k largest entries of each bag, one entry per bag.

    A bag with fewer than k instances contributes the sum of all of them: the number of entries that are added up is
    min(k, size of the bag), for which the function is convex.

    Parameters
    ----------
    expression : Expression
        One entry per instance, such as f(bags).
    bags : Bags, optional
        The bags; those of the expression if it is over instances.
    k : int
        Number of instances to add up per bag.
    """
    over = bags_of(expression, bags, "bag_sum_largest")
    return BagSumLargest(expression, over, positive_count(k, "k", "bag_sum_largest"))
