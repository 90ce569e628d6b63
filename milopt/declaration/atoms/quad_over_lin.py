"""Atom of a sum of squares divided by a positive number, ||x||^2 / y, which is jointly convex in x and y."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Directions, Mask, Vector
from milopt.declaration.atoms.argument_checks import check_not_empty
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, second_order
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression
from milopt.declaration.programs.joining import concatenate
from milopt.errors import DeclarationError

MIN_DIVISOR = 1e-100
"""Smallest divisor; smaller ones are replaced by it. The slopes there are finite."""
BISECTION_STEPS = 100
"""Number of bisection steps of the projection in `conjugate`."""


class QuadOverLin(Atom):
    """Quotient ||x||^2 / y of each run, for y > 0.

    The last entry of a run is y, and the other entries are x.

    Epigraph: t y >= ||x||^2, that is ((t + y)/2, (t - y)/2, x) in the second-order cone.
    """

    word = "quad_over_lin"
    cones = frozenset({"second-order"})

    def argument_texts(self) -> list[str]:
        """Return the texts of x and y."""
        return [self.argument[:-1].describe(), self.argument[-1].describe()]

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return ||x||^2 / y for each run, with y replaced by max(y, 1e-100)."""
        x, y = _split_divisors(self.nearest(e, runs), runs)
        return np.asarray(runs.sum(x**2) / y)

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraint t y >= ||x||^2 for each run; y is the last entry of the run, x are the others."""
        is_divisor = _divisor_mask(runs)
        x, y = e[np.flatnonzero(~is_divisor)], e[np.flatnonzero(is_divisor)]
        return [second_order("cone", [0.5 * (t + y), 0.5 * (t - y)], x, Segments(runs.sizes - 1))]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return 2 x / y for the entries of x, and -||x||^2 / y^2 for y, with y replaced by max(y, 1e-100)."""
        x, y = _split_divisors(self.nearest(e, runs), runs)
        ratio = x / y[runs.run_of_entry]
        return _join_divisors(2.0 * ratio, -runs.sum(ratio**2), runs)

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return (h, 0), where h is nearest to g with b <= -||a||^2 / 4 for the slopes (a, b) of (x, y) in each run."""
        a, b = _split_divisors(g, runs)
        length = np.sqrt(runs.sum(a**2))
        allowed = _nearest_length(length, b)
        scale = np.where(length > 0, allowed / np.where(length > 0, length, 1.0), 1.0)
        return _join_divisors(a * scale[runs.run_of_entry], np.minimum(b, -(allowed**2) / 4.0), runs), np.zeros(
            runs.count
        )

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return -1 for y; for entries of x, +1 if low >= 0, -1 if high <= 0, and 0 otherwise."""
        of_x = np.where(low >= 0, 1, np.where(high <= 0, -1, 0))
        return np.where(_divisor_mask(runs), -1, of_x).astype(np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the shortest x and the largest y within the bounds."""
        shortest = np.maximum(0.0, np.maximum(low, -high))
        return self.value(np.where(_divisor_mask(runs), high, shortest), runs)

    def greatest(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the longest x and the smallest y within the bounds; inf if the bounds allow y <= 0."""
        x, y = _split_divisors(np.where(_divisor_mask(runs), low, np.maximum(np.abs(low), np.abs(high))), runs)
        return np.where(y > 0, runs.sum(x**2) / np.where(y > 0, y, 1.0), np.inf)

    def nearest(self, e: Vector, runs: Segments) -> Vector:
        """Return x unchanged, and max(y, 1e-100)."""
        return np.where(_divisor_mask(runs), np.maximum(e, MIN_DIVISOR), e)

    def has_finite_slopes(self, low: Vector, high: Vector, runs: Segments) -> bool:
        """Return True if the lower bounds of all divisors y are above 1e-100."""
        return bool((low[_divisor_mask(runs)] > MIN_DIVISOR).all())

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of the fraction ||x||^2 / y."""
        row, parts = write.next_index(index), self.argument
        x = rf"\sum_{{{row}}} \left({write.part(parts[:-1], row)}\right)^2"
        return rf"\frac{{{x}}}{{{write.part(parts[-1], '')}}}"


def quad_over_lin(x: Operand, y: Operand) -> Expression:
    """Return the sum of squares sum_j x_j^2, divided by the scalar y.

    The atom is jointly convex in x and y, and requires y > 0.

    Parameters
    ----------
    x : Expression
        Expression whose squared entries are added up, with at least one entry.
    y : Expression
        Divisor, a scalar expression.

    Returns
    -------
    Expression
        Scalar expression.

    Raises
    ------
    DeclarationError
        If y is not a scalar or x has no entries.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("quotient")
    >>> x, y = program.variable("x", 2, lower=1), program.variable("y", upper=4)
    >>> program.minimize(milopt.quad_over_lin(x, y))
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f}")
    0.500
    """
    numerator, divisor = check_not_empty(x, "quad_over_lin"), as_expression(y)
    if divisor.size != 1:
        raise DeclarationError(f"The divisor of quad_over_lin must be a scalar, not of shape {divisor.shape}.")
    return QuadOverLin(concatenate([numerator.ravel(), divisor.ravel()]), Segments([numerator.size + 1]), ())


def _divisor_mask(runs: Segments) -> Mask:
    """Return a mask of the entries that are divisors y: True for the last entry of each run."""
    mask = np.zeros(runs.entry_count, dtype=bool)
    mask[runs.offsets[1:] - 1] = True
    return mask


def _split_divisors(e: Vector, runs: Segments) -> tuple[Vector, Vector]:
    """Return (x, y): the entries with 0 in the last position of each run, and these last entries, one per run."""
    is_divisor = _divisor_mask(runs)
    return np.where(is_divisor, 0.0, e), e[is_divisor]


def _join_divisors(x: Vector, y: Vector, runs: Segments) -> Vector:
    """Return the entries x with y in the last position of each run: the inverse of `_split_divisors`."""
    return np.where(_divisor_mask(runs), y[runs.run_of_entry], x)


def _nearest_length(r: Vector, b: Vector) -> Vector:
    """Return the s in [0, r] for which (s, min(b, -s^2 / 4)) is nearest to (r, b)."""
    # Half the squared distance has the derivative s^3 / 8 + (1 + b / 2) s - r. The derivative is convex for s >= 0, and
    # at s = 0 it is -r <= 0, so it has one root, which bisection finds.
    is_allowed = b <= -(r**2) / 4.0
    low, high = np.zeros(r.size), np.where(is_allowed, 0.0, r)
    for _ in range(BISECTION_STEPS):
        middle = 0.5 * (low + high)
        is_above = middle**3 / 8.0 + (1.0 + b / 2.0) * middle >= r
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return np.where(is_allowed, r, 0.5 * (low + high))
