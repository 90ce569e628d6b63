"""Atoms of the smooth maximum T log sum_j exp(e_j / T): of one expression, of several, and of each bag."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.special import xlogy

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.along_axis import runs_along_axis
from milopt.declaration.atoms.argument_checks import check_not_empty, check_positive_number
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.axis_text import bag_texts
from milopt.declaration.atoms.bag_argument import resolve_bags
from milopt.declaration.atoms.interleaving import broadcast_together, deinterleave, interleave
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential, non_negative
from milopt.declaration.atoms.projections import project_onto_simplex
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.expression import Expression, Leaf, Operand, Shape
from milopt.declaration.programs.expression_text import format_expression
from milopt.errors import DeclarationError


class LogSumExp(Atom):
    """Smooth maximum T log sum_j exp(e_j / T) of each run.

    The value exceeds the maximum of the n entries by at most T log n.

    Epigraph: exp((e_j - t) / T) <= u_j with sum_j u_j <= 1, one exponential cone per entry.
    """

    word = "log_sum_exp"
    cones = frozenset({"nonnegative", "exponential"})
    temperature: float = 1.0
    """Temperature T."""

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return T log sum_j exp(e_j / T) for each run, without overflow."""
        top = _replace_infinite_maxima(runs.max(e))
        with np.errstate(divide="ignore"):
            return top + self.temperature * np.log(runs.sum(np.exp((e - top[runs.run_of_entry]) / self.temperature)))

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraints exp((e_j - t) / T) <= u_j and sum_j u_j <= 1, with auxiliary variables u."""
        u = new("u", runs.entry_count, lower=0.0)
        return [
            non_negative("sum", 1.0 - runs.indicator @ u),
            exponential("cone", (e - t[runs.run_of_entry]) / self.temperature, 1.0, u, runs.entry_count),
        ]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return the softmax exp(e_j / T) / sum_k exp(e_k / T) of each run."""
        weights = np.exp((e - _replace_infinite_maxima(runs.max(e))[runs.run_of_entry]) / self.temperature)
        return np.asarray(weights / runs.sum(weights)[runs.run_of_entry])

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return the projection of each run of g onto the simplex {h >= 0, sum h = 1}, and the conjugate there.

        The conjugate is T sum_j g_j log g_j.
        """
        allowed = project_onto_simplex(g, runs)
        return allowed, self.temperature * runs.sum(np.asarray(xlogy(allowed, allowed), dtype=np.float64))

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return +1 for every entry: the atom is nondecreasing."""
        return np.ones(low.size, dtype=np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the lower bounds, where the atom is smallest."""
        return self.value(low, runs)

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of the logarithm of a sum of exponentials."""
        row = write.next_index(index)
        if not row:
            return write.argument(row)
        return rf"\log \sum_{{{self.latex_run(index, row)}}} \exp\left({write.argument(row)}\right)"


class EntrywiseLogSumExp(LogSumExp):
    """Smooth maximum log(exp a + exp b + ...), entry by entry.

    The entries of a, b, ... alternate in the argument of the atom.
    """

    def __init__(self, parts: tuple[Expression, ...], shape: Shape) -> None:
        super().__init__(interleave(parts), Segments(np.full(parts[0].size, len(parts))), shape)
        self.parts = parts
        """Expressions a, b, ..., broadcast to the shape of the atom."""

    def with_argument(self, argument: Expression) -> Self:
        """Return a copy of the atom with another argument of the same size."""
        other = super().with_argument(argument)
        other.parts = deinterleave(argument, len(self.parts), self.shape)
        return other

    def argument_texts(self) -> list[str]:
        """Return the texts of the expressions."""
        return [format_expression(part, self.shape) for part in self.parts]

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of the logarithm of a sum with one exponential per expression."""
        terms = (rf"\exp\left({write.part(part, index)}\right)" for part in self.parts)
        return rf"\log\left({' + '.join(terms)}\right)"


class BagLogSumExp(LogSumExp):
    """Smooth maximum T log sum_{x in B_i} exp(e_x / T) of each bag."""

    word = "bag_log_sum_exp"

    def __init__(self, argument: Expression, bags: Bags, T: float) -> None:
        super().__init__(argument, Segments(bags.sizes), (len(bags),))
        self.argument_bags = bags
        """Bags to whose instances the entries of the argument belong."""
        self.temperature = T

    def argument_texts(self) -> list[str]:
        """Return the texts of the expression, of the bags if they do not follow from it, and of T unless it is 1."""
        temperature = [] if self.temperature == 1.0 else [f"T={self.temperature:g}"]
        return [*bag_texts(self.argument, self.argument_bags), *temperature]

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of the logarithm of a sum over the instances of a bag."""
        inner, number = write.argument(write.instance), write.number(self.temperature)
        total = rf"\log \sum_{{x \in B_{{{index}}}}} \exp\left("
        if self.temperature == 1.0:
            return rf"{total}{inner}\right)"
        return rf"{number} {total}\frac{{{inner}}}{{{number}}}\right)"


def log_sum_exp(*expressions: Operand, axis: int | None = None) -> Expression:
    """Return the smooth maximum log sum_j exp(e_j) of one expression, or log(exp a + exp b + ...) of several.

    The atom is convex and increasing.

    Parameters
    ----------
    *expressions : Expression
        One expression e, over whose entries the sum is taken, or several expressions or numbers a, b, ..., which are
        broadcast to one shape, and whose exponentials are added entry by entry.
    axis : int, default=None
        Axis of a single expression along which the sum is taken; 1 gives one value per row of a matrix. None uses all
        entries.

    Returns
    -------
    Expression
        Scalar expression for one argument, or an expression with the shape of e without `axis`. For several
        arguments, an expression of their common shape.

    Raises
    ------
    DeclarationError
        If there is no expression, an expression has no entries, `axis` is given with several expressions, or their
        shapes cannot be broadcast.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("smooth maximum")
    >>> x = program.variable("x", 2)
    >>> program.minimize(milopt.log_sum_exp(x))
    >>> program.subject_to(x.sum() == 2)
    sum(x) == 2
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f}")
    1.693
    """
    if not expressions:
        raise DeclarationError("log_sum_exp needs at least one expression.")
    if len(expressions) == 1:
        return LogSumExp(*runs_along_axis(check_not_empty(expressions[0], "log_sum_exp"), axis, "log_sum_exp"))
    if axis is not None:
        raise DeclarationError("log_sum_exp accepts an axis with one expression only.")
    return EntrywiseLogSumExp(*broadcast_together(expressions, "log_sum_exp"))


def bag_log_sum_exp(expression: Expression, bags: Bags | None = None, T: float = 1.0) -> Expression:
    """Return the smooth maximum T log sum_{x in B_i} exp(e_x / T) over the instances of each bag.

    The atom is convex and increasing.

    Parameters
    ----------
    expression : Expression
        Vector e with one entry per instance, such as f(bags).
    bags : Bags, default=None
        Bags that group the instances. None uses the bags at which the expression was evaluated.
    T : float, default=1.0
        Temperature. Must be positive. The value exceeds the maximum of a bag of n instances by at most T log n.

    Returns
    -------
    Expression
        Vector with one entry per bag.

    Examples
    --------
    >>> import milopt
    >>> bags = milopt.as_bags([[[1.0], [2.0]], [[3.0]]])
    >>> program = milopt.Program("smooth bag maxima")
    >>> x = program.variable("x", 3, lower=[1.0, 1.0, 3.0])
    >>> program.minimize(milopt.bag_log_sum_exp(x, bags, T=0.5).sum())
    >>> result = milopt.solve(program)
    >>> print(result.value(milopt.bag_log_sum_exp(x, bags, T=0.5)).round(3))
    [1.347 3.   ]
    """
    over = resolve_bags(expression, bags, "bag_log_sum_exp")
    return BagLogSumExp(expression, over, check_positive_number(T, "T", "bag_log_sum_exp"))


def _replace_infinite_maxima(top: Vector) -> Vector:
    """Return the maxima `top` of runs with infinite values replaced by 0, so that subtracting them gives no NaN."""
    return np.where(np.isfinite(top), top, 0.0)
