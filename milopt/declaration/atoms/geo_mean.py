"""Atom of the geometric mean, which is concave."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.along_axis import runs_along_axis
from milopt.declaration.atoms.argument_checks import check_not_empty
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential, non_negative
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand

MIN_SLOPE_ARGUMENT = 1e-100
"""Smallest argument at which slopes are computed; the slope at 0 is infinite."""
BISECTION_STEPS = 100
"""Number of bisection steps of the projection in `conjugate`."""


class NegativeGeoMean(Atom):
    """Negative geometric mean -(x_1 ... x_n)^(1/n) of each run, for x >= 0.

    Epigraph: t >= -s with s >= 0, (u_j, s, x_j) in the exponential cone, that is u_j <= s log(x_j / s), and sum u >= 0.
    """

    word, negated_word = "negative_geo_mean", "geo_mean"
    cones = frozenset({"nonnegative", "exponential"})

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return minus the geometric mean of each run; negative entries count as 0."""
        with np.errstate(divide="ignore"):
            return -np.exp(runs.sum(np.log(self.nearest(e, runs))) / runs.sizes)

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return t + s >= 0, s exp(u_j / s) <= e_j and sum_j u_j >= 0, with auxiliary variables s >= 0 and u."""
        s, u = new("s", runs.count, lower=0.0), new("u", runs.entry_count)
        return [
            non_negative("mean", t + s),
            exponential("cone", u, s[runs.run_of_entry], e, runs.entry_count),
            non_negative("sum", runs.indicator @ u),
        ]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return -mean / (n x_j), with the geometric mean of the run of n entries; x_j is max(e_j, 1e-100)."""
        x = np.maximum(e, MIN_SLOPE_ARGUMENT)
        return np.asarray((self.value(x, runs) / runs.sizes)[runs.run_of_entry] / x)

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return (-h, 0), where -h is nearest to g such that h > 0 has a geometric mean of at least 1 / n in each run.

        n is the number of entries of the run.
        """
        return -_project_onto_min_geometric_mean(-g, runs), np.zeros(runs.count)

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return -1 for every entry: the atom is nonincreasing."""
        return np.full(low.size, -1, dtype=np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the upper bounds, where the atom is smallest; -inf if an upper bound is infinite."""
        is_finite = runs.sum(np.where(np.isinf(high), 1.0, 0.0)) == 0
        return np.where(is_finite, self.value(np.where(np.isinf(high), 0.0, high), runs), -np.inf)

    def greatest(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the lower bounds, where the atom is largest; an infinite lower bound counts as 0."""
        return self.value(np.where(np.isinf(low), 0.0, low), runs)

    def nearest(self, e: Vector, runs: Segments) -> Vector:
        """Return max(e, 0)."""
        return np.maximum(e, 0.0)

    def has_finite_slopes(self, low: Vector, high: Vector, runs: Segments) -> bool:
        """Return True if all lower bounds are above 1e-100, so that slopes are finite."""
        return bool((low > MIN_SLOPE_ARGUMENT).all())

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of a negated root of a product."""
        row = write.next_index(index)
        if not row:
            return rf"-{write.bracketed('')}"
        group = self.latex_run(index, row)
        return rf"-\left(\prod_{{{group}}} {write.bracketed(row)}\right)^{{1/n}}"


def geo_mean(expression: Operand, axis: int | None = None) -> Expression:
    """Return the geometric mean (x_1 ... x_n)^(1/n) of all entries, or one mean per slice along an axis.

    The geometric mean is concave and increasing, and requires x >= 0.

    Parameters
    ----------
    expression : Expression
        The argument x, with at least one entry.
    axis : int, default=None
        Axis along which the mean is taken; 1 gives one mean per row of a matrix. None uses all entries.

    Returns
    -------
    Expression
        Scalar expression, or an expression with the shape of x without `axis`.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("largest rectangle")
    >>> sides = program.variable("sides", 2, lower=0)
    >>> program.maximize(milopt.geo_mean(sides))
    >>> program.subject_to(sides[0] + 2 * sides[1] <= 8)
    sides[0] + 2*sides[1] <= 8
    >>> result = milopt.solve(program)
    >>> print(result.value(sides).round(3))
    [4. 2.]
    """
    return -NegativeGeoMean(*runs_along_axis(check_not_empty(expression, "geo_mean"), axis, "geo_mean"))


def _project_onto_min_geometric_mean(a: Vector, runs: Segments) -> Vector:
    """Return, for each run of n entries, the point h > 0 nearest to a with a geometric mean of at least 1 / n."""
    # h solves h_j (h_j - a_j) = m with the smallest m >= 0 for which sum log h_j >= -n log n.
    min_log_sum = -runs.sizes * np.log(runs.sizes)
    scale = 1.0 + runs.max(np.abs(a))
    low, high = np.full(runs.count, -700.0), 2.0 * np.log(scale) + 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(BISECTION_STEPS):
            middle = 0.5 * (low + high)
            is_enough = runs.sum(np.log(_positive_root(a, np.exp(middle)[runs.run_of_entry]))) >= min_log_sum
            low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
        is_allowed = (runs.sum(np.where(a > 0, 0.0, 1.0)) == 0) & (
            runs.sum(np.log(np.where(a > 0, a, 1.0))) >= min_log_sum
        )
    return np.where(is_allowed[runs.run_of_entry], a, _positive_root(a, np.exp(high)[runs.run_of_entry]))


def _positive_root(a: Vector, m: Vector) -> Vector:
    """Return the positive root h of h (h - a) = m, without cancellation."""
    root = np.sqrt(a**2 + 4.0 * m)
    return np.where(a >= 0, 0.5 * (a + root), 2.0 * m / np.where(a >= 0, 1.0, root - a))
