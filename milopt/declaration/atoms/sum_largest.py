"""Atoms of the sum of the k largest entries: of an expression, and of each bag."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Directions, Index, Vector
from milopt.declaration.atoms.along_axis import runs_along_axis
from milopt.declaration.atoms.argument_checks import check_not_empty, check_positive_count
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.axis_text import bag_texts
from milopt.declaration.atoms.bag_argument import resolve_bags
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative
from milopt.declaration.atoms.projections import descending_order, positions_in_runs, project_onto_capped_simplex
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.expression import Expression, Leaf, Operand, Shape


class SumLargest(Atom):
    """Sum of the k largest entries of each run, or of all entries if the run has at most k.

    Epigraph: t >= k s + sum_j u_j with u_j >= e_j - s and u_j >= 0. The optimal s is the k-th largest entry.
    """

    word = "sum_largest"
    cones = frozenset({"nonnegative"})

    def __init__(self, argument: Expression, segments: Segments, shape: Shape, k: int) -> None:
        super().__init__(argument, segments, shape)
        self.k = k

    def argument_texts(self) -> list[str]:
        """Return the texts of the expression, of k and of the axis, if there is one."""
        return [(texts := super().argument_texts())[0], str(self.k), *texts[1:]]

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return the sum of the k largest entries of each run."""
        return runs.sum(np.where(self._largest_entry_mask(e, runs), e, 0.0))

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return t >= k s + sum_j u_j and u_j >= e_j - s for each run, with auxiliary variables s and u >= 0."""
        threshold, excess = new("threshold", runs.count), new("excess", runs.entry_count, lower=0.0)
        total = self._summand_counts(runs) * threshold + runs.indicator @ excess
        return [non_negative("sum", t - total), non_negative("excess", excess - e + threshold[runs.run_of_entry])]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return 1 for the k largest entries of each run, and 0 for all others; ties go to the smallest index."""
        return self._largest_entry_mask(e, runs).astype(np.float64)

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return (h, 0), where h is nearest to g with entries in [0, 1] that add up to min(k, size) in each run."""
        return project_onto_capped_simplex(g, runs, self._summand_counts(runs)), np.zeros(runs.count)

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return +1 for every entry: the atom is nondecreasing."""
        return np.ones(low.size, dtype=np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the lower bounds, where the atom is smallest."""
        return self.value(low, runs)

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of the largest sum over k entries."""
        row = write.next_index(index)
        if not row:
            return write.argument(row)
        members = rf"S \subseteq G_{{{index}}}, " if self.shape else ""
        count = min(self.k, int(self.segments.sizes.max(initial=0)))
        return rf"\max_{{{members}|S| = {count}}} \sum_{{{row} \in S}} {write.bracketed(row)}"

    def _summand_counts(self, runs: Segments) -> Index:
        """Return the number of entries that are added up in each run, min(k, size of the run)."""
        return np.minimum(self.k, runs.sizes)

    def _largest_entry_mask(self, e: Vector, runs: Segments) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return a mask that is True for the k largest entries of each run."""
        mask = np.zeros(e.size, dtype=bool)
        mask[descending_order(e, runs)[positions_in_runs(runs) < self.k]] = True
        return mask


class BagSumLargest(SumLargest):
    """Sum of the k largest entries of each bag, or of all entries if the bag has at most k instances."""

    word = "bag_sum_largest"

    def __init__(self, argument: Expression, bags: Bags, k: int) -> None:
        super().__init__(argument, Segments(bags.sizes), (len(bags),), k)
        self.argument_bags = bags
        """Bags to whose instances the entries of the argument belong."""

    def argument_texts(self) -> list[str]:
        """Return the texts of the expression, of k and, if they do not follow from the expression, of the bags."""
        return [*bag_texts(self.argument, self.argument_bags), f"k={self.k}"]

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of the largest sum over k instances of a bag."""
        inner = write.bracketed(write.instance)
        bag = rf"B_{{{index}}}"
        return rf"\max_{{S \subseteq {bag}, |S| = \min(|{bag}|, {self.k})}} \sum_{{x \in S}} {inner}"


def sum_largest(expression: Operand, k: int, axis: int | None = None) -> Expression:
    """Return the sum of the k largest of all entries, or one sum per slice along an axis.

    The atom is convex and nondecreasing.

    Parameters
    ----------
    expression : Expression
        The argument e, with at least one entry.
    k : int
        Number of entries to add up. If there are fewer than k entries, all of them are added up.
    axis : int, default=None
        Axis along which the sum is taken; 1 gives one sum per row of a matrix. None uses all entries.

    Returns
    -------
    Expression
        Scalar expression, or an expression with the shape of e without `axis`.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("two largest")
    >>> x = program.variable("x", 3, lower=[1.0, 2.0, 3.0])
    >>> program.minimize(milopt.sum_largest(x, 2))
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f}")
    5.000
    """
    runs = runs_along_axis(check_not_empty(expression, "sum_largest"), axis, "sum_largest")
    return SumLargest(*runs, check_positive_count(k, "k", "sum_largest"))


def bag_sum_largest(expression: Expression, bags: Bags | None = None, k: int | None = None) -> Expression:
    """Return the sum of the k largest entries of each bag.

    The atom is convex and nondecreasing. For a bag with fewer than k instances, all entries are added up.

    Parameters
    ----------
    expression : Expression
        Vector e with one entry per instance, such as f(bags).
    bags : Bags, default=None
        Bags that group the instances. None uses the bags at which the expression was evaluated.
    k : int
        Number of instances to add up per bag. This argument is required.

    Returns
    -------
    Expression
        Vector with one entry per bag.

    Examples
    --------
    >>> import milopt
    >>> bags = milopt.as_bags([[[1.0], [2.0], [3.0]], [[4.0]]])
    >>> program = milopt.Program("two largest per bag")
    >>> x = program.variable("x", 4, lower=[1.0, 2.0, 3.0, 4.0])
    >>> program.minimize(milopt.bag_sum_largest(x, bags, k=2).sum())
    >>> result = milopt.solve(program)
    >>> print(result.value(milopt.bag_sum_largest(x, bags, k=2)).round(3))
    [5. 4.]
    """
    over = resolve_bags(expression, bags, "bag_sum_largest")
    return BagSumLargest(expression, over, check_positive_count(k, "k", "bag_sum_largest"))
