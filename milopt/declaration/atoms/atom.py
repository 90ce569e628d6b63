"""Base classes of atoms: vectors of convex functions, each of which depends on one run of entries of the argument.

    atom(e)_i = phi_i(e[run i]),   phi_i convex

A run is a sequence of consecutive entries: one entry (an absolute value), the instances of a bag (`bag_max`), or all
entries (a norm). Each atom is one subclass of `Atom` in a module of its own.

An entry of an atom is on its convex side if the program needs an upper bound on it, as in norm(x) <= 1. The program
then contains the rows of `epigraph`. The entry is on its other side if the program needs a lower bound on it, as in
norm(x) >= 1. The entry is then replaced by an affine minorant, which is computed from `value` and `slopes`.
Certificates rely on `value` and `conjugate`, and on `nearest` for an atom that is not defined everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import ClassVar, Protocol, Self

import numpy as np

from milopt.arrays import Directions, Index, Vector, Weight
from milopt.cones import CONES
from milopt.declaration.atoms.axis_text import axis_texts
from milopt.declaration.atoms.membership import Membership, NewVariables
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.atoms.vertices import max_over_vertices
from milopt.declaration.programs.expression import Expression, Leaf, Shape
from milopt.declaration.programs.expression_text import format_expression
from milopt.declaration.programs.leaves import Function
from milopt.errors import DeclarationError

MAX_ARGUMENT_LENGTH = 80
"""Length in characters above which the arguments of an atom are written as "..."."""


class Notation(Protocol):
    """Writer of the parts of an atom as LaTeX text; an index is a letter such as "i", or "" for a scalar."""

    def argument(self, index: str) -> str:
        """Return the LaTeX text of the entry `index` of the argument, or the symbol of the argument if a function."""

    def bracketed(self, index: str) -> str:
        """Return the LaTeX text of the entry `index` of the argument, in brackets unless it is a single term."""

    @property
    def instance(self) -> str:
        """LaTeX symbol of an instance of a bag, to be used as an index."""

    def part(self, expression: Expression, index: str) -> str:
        """Return the LaTeX text of the entry `index` of `expression`, a part of the argument."""

    def matrix(self, values: Weight, letter: str, row: str, column: str) -> str:
        """Return the LaTeX text of one entry of the matrix `values`: `letter` with the indices `row` and `column`."""

    def next_index(self, index: str) -> str:
        """Return the index letter that follows `index`, or "" if the argument of the atom is a scalar."""

    def number(self, value: float) -> str:
        """Return a number as LaTeX text."""

    def numbers(self, values: Vector, letter: str, index: str) -> str:
        """Return the LaTeX text of the entry `index` of `values`.

        The text is "" if all numbers are 1, the number if all numbers are equal, and otherwise `letter` with the index.
        """


class Atom(Leaf, ABC):
    """Base class of atoms: a vector of convex functions phi_i of the runs of one argument e.

    Every method may be called for some runs of the atom only. The parameter `runs` describes these runs, and
    `runs.entries` are their indices in the atom. The values e, low and high are vectors with the entries of these runs.

    A subclass must define all abstract members; otherwise its class statement raises a TypeError. Intermediate base
    classes are declared with `abstract=True`, which skips this check.

    Parameters
    ----------
    argument : Expression or Function
        The argument e. A matrix is flattened row by row. Only a `RadialAtom` accepts a function of a kernel's space.
    segments : Segments
        The run of argument entries on which each entry of the atom depends.
    shape : tuple
        () for a scalar atom, otherwise a shape with one entry per run.
    """

    is_atom = True
    argument_shape: Shape | None = None
    """Shape of the argument before it was flattened, or None; only the text of the atom depends on it."""
    word: ClassVar[str]
    """Name of the atom in messages, and of the variable that replaces it in files."""
    negated_word: ClassVar[str] = ""
    """Name of the negated atom if users write that one, such as the concave "entropy"; otherwise empty."""
    cones: ClassVar[frozenset[str]]
    """Names of the cones that `epigraph` may use."""
    is_quadratic: bool = False
    """Whether `quadratic` returns a matrix. An objective then keeps the quadratic term, whether convex or not."""
    is_convex: bool = True
    """Whether the atom is convex. An indefinite quadratic form is not, and only objectives may contain it."""

    def __init_subclass__(cls, abstract: bool = False, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        if abstract:
            return
        missing = [
            name
            for base in cls.__mro__
            for name, member in vars(base).items()
            if getattr(member, "__isabstractmethod__", False)
            and getattr(getattr(cls, name), "__isabstractmethod__", False)
        ]
        missing += [name for name in ("word", "cones") if not hasattr(cls, name)]
        if missing:
            raise TypeError(f"The atom {cls.__name__} must define {', '.join(sorted(set(missing)))}.")
        if not isinstance(cls.word, str) or not cls.word.strip():
            raise TypeError(f"The word of the atom {cls.__name__} must be a text that is not empty, not {cls.word!r}.")
        if not isinstance(cls.cones, frozenset) or not cls.cones <= CONES.keys():
            raise TypeError(
                f"The cones of the atom {cls.__name__} must be a frozenset of names from {', '.join(CONES)}, "
                f"not {cls.cones!r}."
            )

        if cls.is_quadratic and cls.quadratic is Atom.quadratic:
            raise TypeError(f"The atom {cls.__name__} has is_quadratic = True: it must define quadratic.")

    def __init__(self, argument: Expression | Function, segments: Segments, shape: Shape) -> None:
        entrywise = isinstance(argument, Expression) and segments.count == segments.entry_count == argument.size
        super().__init__(shape, argument.bags if entrywise and isinstance(argument, Expression) else None)
        self._argument = argument.ravel() if isinstance(argument, Expression) and argument.shape else argument
        if isinstance(argument, Expression) and isinstance(self._argument, Expression):
            self._argument.joined = argument.joined
            self.argument_shape = argument.shape
        self.segments = segments

    @property
    def argument(self) -> Expression:
        """Argument e as an expression; an error is raised if the argument is a function."""
        if isinstance(self._argument, Function):
            raise DeclarationError(f"The argument of {self.describe()} is a function, which is not an expression.")
        return self._argument

    @property
    def function(self) -> Function | None:
        """Argument if it is a function of a kernel's space, otherwise None."""
        return self._argument if isinstance(self._argument, Function) else None

    def describe(self) -> str:
        """Return the atom with its argument as text, such as "norm(x)"."""
        inside = ", ".join(self.argument_texts())
        if len(inside) > MAX_ARGUMENT_LENGTH:
            inside = "..."
        return f"-{self.negated_word}({inside})" if self.negated_word else f"{self.word}({inside})"

    def argument_texts(self) -> list[str]:
        """Return the texts of the arguments that the user passed to the function which made the atom."""
        if isinstance(self._argument, Function):
            return [self._argument.name]
        if self.shape and self.segments.entry_count > self.segments.count > 0:
            return axis_texts(self._argument, self.segments, self.shape)
        return [format_expression(self._argument, self.argument_shape, MAX_ARGUMENT_LENGTH)]

    def with_argument(self, argument: Expression) -> Self:
        """Return a copy of the atom with another argument of the same size."""
        return self._copy_with_argument(argument)

    def _copy_with_argument(self, argument: Expression | Function) -> Self:
        """Return a copy with another argument of the same size."""
        other = copy(self)
        Atom.__init__(other, argument, self.segments, self.shape)
        other.argument_shape = self.argument_shape
        return other

    def without_quadratic(self) -> Self:
        """Return a copy that is not treated as quadratic: an objective then uses the rows of `epigraph` for it."""
        other = self._copy_with_argument(self._argument)
        other.is_quadratic = False
        return other

    def latex_run(self, index: str, row: str) -> str:
        """Return the LaTeX range of a sum over the run `index` with summation index `row`: "row", or "row in G_index".

        The second form is for atoms that are not scalars; G_index stands for the entries of the run.
        """
        return rf"{row} \in G_{{{index}}}" if self.shape else row

    # -- members that every atom must define ------------------------------------------------------

    @abstractmethod
    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return phi_i(e[run i]) for each run; outside the domain, the value at the nearest point of the domain."""

    @abstractmethod
    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return rows in cones that express t_i >= phi_i(e[run i]) for all affine t and e.

        The rows are expressions in t (one entry per run), e (the entries of all runs) and the auxiliary variables that
        `new(name, count, lower=-inf)` creates. For every t and e with t_i >= phi_i, some values of the auxiliary
        variables satisfy the rows.
        """

    @abstractmethod
    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return a subgradient of each phi_i at e, with one number per entry of e; ties go to the smallest index."""

    @abstractmethod
    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return (h, phi*(h)), where h is the point nearest to the slopes g in the domain of the conjugate phi*.

        h has one number per entry of e, and phi*(h) one number per run. For each run, the affine function
        <h, e> - phi*(h) is a minorant: phi(e) >= <h, e> - phi*(h) for all e in the domain of phi. A certificate relies
        on this inequality, on `value` and on `nearest`.
        """

    @abstractmethod
    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return the direction in which phi is monotone in each entry of e, for low <= e <= high.

        The direction is +1 if phi is nondecreasing in the entry, -1 if nonincreasing, and 0 if neither is known.
        """

    @abstractmethod
    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of the entry `index` of the atom."""

    # -- members with a default ------------------------------------------------------

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return a lower bound of the values for low <= e <= high, one number per run; -inf if none is known."""
        return np.full(runs.count, -np.inf)

    def greatest(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return an upper bound of the values for low <= e <= high, one number per run; inf if none is known."""
        return max_over_vertices(self, low, high, runs)

    def nearest(self, e: Vector, runs: Segments) -> Vector:
        """Return the point of the domain that is nearest to e; e itself if the atom is defined everywhere."""
        return e

    def has_finite_slopes(self, low: Vector, high: Vector, runs: Segments) -> bool:
        """Return True if the slopes are finite for all low <= e <= high, so that tangents exist there."""
        return True

    def quadratic(self, weights: Vector) -> Weight | None:
        """Return W with weights @ atom(e) = e'We, as a matrix or its diagonal; None only if `is_quadratic` is False."""
        return None

    @property
    def diagonal(self) -> Weight | None:
        """Diagonal of W if the atom is a scalar e'We and W was declared by its diagonal, otherwise None."""
        return None


class RadialAtom(Atom, abstract=True):
    """Base class of atoms profile(||e||), with one Euclidean norm per run and an increasing convex profile.

    The argument may also be a function f of a kernel's space; ||f|| is then the norm of that space.
    """

    def with_function(self, function: Function) -> Self:
        """Return a copy of the atom with a function of a kernel's space as its argument."""
        return self._copy_with_argument(function)

    @abstractmethod
    def profile(self, r: Vector) -> Vector:
        """Return the profile at the radii r >= 0, one number per run."""

    @abstractmethod
    def profile_slope(self, r: Vector) -> Vector:
        """Return the derivative of the profile at the radii r >= 0, one number per run."""

    @abstractmethod
    def profile_conjugate(self, s: Vector) -> tuple[Vector, Vector]:
        """Return (h, profile*(h)), where h is the number nearest to s >= 0 in the domain of the conjugate profile*."""

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return profile(||e||) for each run."""
        return self.profile(_run_norms(e, runs))

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return profile'(r) e / r with r = ||e|| of the run; 1 replaces a divisor r that is 0 or subnormal."""
        r = _run_norms(e, runs)
        return e * (self.profile_slope(r) / np.where(r > np.finfo(np.float64).tiny, r, 1.0))[runs.run_of_entry]

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return (h, conjugate of h), where h is g with each run rescaled into the domain of the conjugate."""
        length = _run_norms(g, runs)
        allowed, conjugate = self.profile_conjugate(length)
        return g * (allowed / np.where(length > 0, length, 1.0))[runs.run_of_entry], conjugate

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return +1 for entries with low >= 0, -1 for entries with high <= 0, and 0 for all others."""
        return np.where(low >= 0, 1, np.where(high <= 0, -1, 0)).astype(np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return, for each run, the profile at the smallest norm of a vector within the bounds."""
        return self.profile(_run_norms(np.maximum(0.0, np.maximum(low, -high)), runs))

    def greatest(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return, for each run, the profile at the largest norm within the bounds; inf if a bound is infinite."""
        longest = np.maximum(np.abs(low), np.abs(high))
        is_finite = runs.sum(np.where(np.isinf(longest), 1.0, 0.0)) == 0
        values = self.profile(_run_norms(np.where(np.isinf(longest), 0.0, longest), runs))
        return np.where(is_finite, values, np.inf)


class SelectionAtom(Atom, abstract=True):
    """Base class of maxima over each run; the slopes are 1 at one entry per run, the witness, and 0 elsewhere."""

    def witnesses(self, e: Vector, runs: Segments) -> Index:
        """Return the index in e of the maximum of each run; ties go to the smallest index."""
        return runs.argmax(e)


def _run_norms(e: Vector, runs: Segments) -> Vector:
    """Return the Euclidean norm of each run, without overflow."""
    size = np.abs(e)
    top = runs.max(size) if runs.sizes.all() else np.full(runs.count, size.max(initial=0.0))
    unit = np.where(top > 0, top, 1.0)
    return np.asarray(unit * np.sqrt(runs.sum((e / unit[runs.run_of_entry]) ** 2)))
