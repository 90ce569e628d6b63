"""Smooth maxima T log sum exp(e / T): of a whole expression, of several expressions, and of each bag."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.special import xlogy

from milopt.arrays import Vector
from milopt.declaration.atoms.along_axis import runs_of
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.bag_argument import bags_of
from milopt.declaration.atoms.interleaved import at_one_shape, interleaved, separated
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential, non_negative
from milopt.declaration.atoms.projections import onto_simplex
from milopt.declaration.atoms.scalar_arguments import positive_number, with_entries
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.expression import Expression, Leaf, Operand, Shape
from milopt.errors import DeclarationError


class LogSumExp(Atom):
    """T log sum exp(e / T) of each run: at least the maximum, and at most T log n above it.

    Epigraph: exp((e_j - t) / T) <= u_j with sum u <= 1, by one exponential cone per entry.
    """

    word = "log_sum_exp"
    cones = frozenset({"nonnegative", "exponential"})
    temperature: float = 1.0
    """T."""

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return T log sum exp(e / T) of each run, without overflow."""
        top = _finite(at.max(e))
        with np.errstate(divide="ignore"):
            return top + self.temperature * np.log(at.sum(np.exp((e - top[at.of]) / self.temperature)))

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return sum_j exp((e_j - t) / T) <= 1."""
        u = new("u", at.total, lower=0.0)
        return [
            non_negative("sum", 1.0 - at.indicator @ u),
            exponential("cone", (e - t[at.of]) / self.temperature, 1.0, u, at.total),
        ]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return exp(e / T) / sum exp(e / T)."""
        share = np.exp((e - _finite(at.max(e))[at.of]) / self.temperature)
        return np.asarray(share / at.sum(share)[at.of])

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return the nearest convex combination of each run, with the conjugate T sum g log g."""
        allowed = onto_simplex(g, at)
        return allowed, self.temperature * at.sum(np.asarray(xlogy(allowed, allowed), dtype=np.float64))

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return +1."""
        return np.ones(low.size, dtype=np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the value at the lower bounds."""
        return self.value(low, at)

    def latex(self, index: str, write: Notation) -> str:
        """Return the logarithm of a sum of exponentials."""
        row = write.after(index)
        if not row:
            return write.argument(row)
        return rf"\log \sum_{{{self.latex_run(index, row)}}} \exp\left({write.argument(row)}\right)"


class EntrywiseLogSumExp(LogSumExp):
    """log(exp a + exp b + ...), entry by entry; the entries of a, b, ... alternate in the argument."""

    def __init__(self, parts: tuple[Expression, ...], shape: Shape) -> None:
        super().__init__(interleaved(parts), Segments(np.full(parts[0].size, len(parts))), shape)
        self.parts = parts
        """The expressions, each at the shape of the atom."""

    def of(self, argument: Expression) -> Self:
        """Return the same atom of another argument of the same size."""
        other = super().of(argument)
        other.parts = separated(argument, len(self.parts), self.shape)
        return other

    def latex(self, index: str, write: Notation) -> str:
        """Return the logarithm of a sum with one exponential per expression."""
        terms = (rf"\exp\left({write.part(part, index)}\right)" for part in self.parts)
        return rf"\log\left({' + '.join(terms)}\right)"


class BagLogSumExp(LogSumExp):
    """(T log sum_{x in B_i} exp(e_x / T))_i."""

    word = "bag_log_sum_exp"

    def __init__(self, argument: Expression, bags: Bags, T: float) -> None:
        super().__init__(argument, Segments(bags.sizes), (len(bags),))
        self.over = bags
        """The bags."""
        self.temperature = T

    def latex(self, index: str, write: Notation) -> str:
        """Return the logarithm of a sum over the instances of a bag."""
        inner, number = write.argument(write.instance), write.number(self.temperature)
        total = rf"\log \sum_{{x \in B_{{{index}}}}} \exp\left("
        if self.temperature == 1.0:
            return rf"{total}{inner}\right)"
        return rf"{number} {total}\frac{{{inner}}}{{{number}}}\right)"


def log_sum_exp(*expressions: Operand, axis: int | None = None) -> Expression:
    """Return log sum_j exp e_j of one expression, a scalar; or log(exp a + exp b + ...) entry by entry.

    Parameters
    ----------
    *expressions : Expression
        One expression e, over whose entries the sum is taken. Or several expressions or numbers a, b, ..., which
        are broadcast to one shape; the result then has this shape.
    axis : int, optional
        The axis of one expression along which sums are taken: 1 for each row of a matrix. All entries by default.
    """
    if not expressions:
        raise DeclarationError("log_sum_exp takes at least one expression.")
    if len(expressions) == 1:
        return LogSumExp(*runs_of(with_entries(expressions[0], "log_sum_exp"), axis, "log_sum_exp"))
    if axis is not None:
        raise DeclarationError("log_sum_exp takes an axis with one expression only.")
    return EntrywiseLogSumExp(*at_one_shape(expressions, "log_sum_exp"))


def bag_log_sum_exp(expression: Expression, bags: Bags | None = None, T: float = 1.0) -> Expression:
    """Return T log sum_{x in B_i} exp(e_x / T), one entry per bag: a smooth maximum of each bag.

    Parameters
    ----------
    expression : Expression
        One entry per instance, such as f(bags).
    bags : Bags, optional
        The bags; those of the expression if it is over instances.
    T : float, default=1.0
        The temperature, positive. The value exceeds the maximum of a bag of n instances by at most T log n.
    """
    over = bags_of(expression, bags, "bag_log_sum_exp")
    return BagLogSumExp(expression, over, positive_number(T, "T", "bag_log_sum_exp"))


def _finite(top: Vector) -> Vector:
    """Return the largest entries of runs, 0 where they are infinite, so that they may be subtracted."""
    return np.where(np.isfinite(top), top, 0.0)
