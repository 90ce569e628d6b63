"""Atoms: vectors of convex functions, each of a run of entries of one argument.

    atom(e)_i = phi_i(e[run i]),   phi_i convex

A run is one entry (an absolute value), a bag (`bag_max`), or all entries (a norm). An atom is one file: a subclass of
`Atom` with everything that milopt asks of it. On its convex side, where it is needed from above, an atom becomes its
`epigraph`. On its other side, where it is needed from below, it becomes an affine minorant, of `slopes` and `value`.
Certificates rely on `value` and `conjugate` alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import ClassVar, Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from milopt.arrays import Index, Vector
from milopt.cones import CONES
from milopt.declaration.atoms.membership import Membership, NewVariables
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.atoms.vertices import largest_at_vertices
from milopt.declaration.programs.expression import Expression, Leaf, Shape
from milopt.declaration.programs.leaves import FeatureWeight, Function
from milopt.errors import DeclarationError

Directions = npt.NDArray[np.int8]
"""Per entry of an argument: +1 if an atom does not decrease in it, -1 if it does not increase, 0 otherwise."""
Weight: TypeAlias = npt.NDArray[np.float64]
"""A symmetric matrix, or the diagonal of one as a vector."""


class Notation(Protocol):
    """Writes parts of an atom in LaTeX."""

    def argument(self, index: str) -> str:
        """Return one entry of the argument; the argument itself if it is a function."""

    def bracketed(self, index: str) -> str:
        """Return one entry of the argument, in brackets unless it is a single symbol."""

    @property
    def instance(self) -> str:
        """The symbol of an instance of a bag."""

    def part(self, expression: Expression, index: str) -> str:
        """Return one entry of another expression that the atom holds."""

    def matrix(self, values: Weight, letter: str, row: str, column: str) -> str:
        """Return one entry of a matrix, as a symbol with two indices."""

    def after(self, index: str) -> str:
        """Return an index that is not in use; empty if the argument is a scalar."""

    def number(self, value: float) -> str:
        """Return a number as text."""

    def numbers(self, values: Vector, letter: str, index: str) -> str:
        """Return one of several numbers: the number itself if all are equal, otherwise a symbol with an index."""


class Atom(Leaf, ABC):
    """A vector of convex functions of the runs of one argument; see the module.

    Every method gets the values of some runs only. `at` states which: `at.entries` are their indices in the atom.

    A subclass must define all abstract members; an error is raised when the class is created, not at its first use.
    Classes between `Atom` and the atoms themselves are declared with `abstract=True`.

    Parameters
    ----------
    argument : Expression or Function
        The argument e. A matrix becomes the vector of its entries, row after row. Only `Radial` atoms take a function
        of a kernel's space.
    segments : Segments
        The run of entries that each entry of the atom reads.
    shape : tuple
        () for a scalar atom, otherwise a shape with one entry per run.
    """

    is_atom = True
    word: ClassVar[str]
    """Name of the atom in messages and of its columns in files."""
    negated_word: ClassVar[str] = ""
    """Name of minus the atom if that is the function that users write, such as entropy; otherwise empty."""
    cones: ClassVar[frozenset[str]]
    """Names of the cones that `epigraph` may use."""
    is_quadratic: bool = False
    """True if `quadratic` returns a weight: an objective then keeps the quadratic, whatever its sign."""

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

    def __init__(self, argument: Expression | Function, segments: Segments, shape: Shape) -> None:
        entrywise = isinstance(argument, Expression) and segments.count == segments.total == argument.size
        super().__init__(shape, argument.bags if entrywise and isinstance(argument, Expression) else None)
        self._argument = argument.ravel() if isinstance(argument, Expression) and argument.shape else argument
        self.segments = segments

    @property
    def argument(self) -> Expression:
        """The argument as an expression."""
        if isinstance(self._argument, Function):
            raise DeclarationError(f"The argument of {self.describe()} is a function, which is not an expression.")
        return self._argument

    @property
    def function(self) -> Function | None:
        """The argument if it is a function of a kernel's space, otherwise None."""
        return self._argument if isinstance(self._argument, Function) else None

    def describe(self) -> str:
        """Return the atom and its argument in words."""
        return f"-{self._call(self.negated_word)}" if self.negated_word else self._call(self.word)

    def describe_negated(self) -> str:
        """Return minus the atom in words."""
        return self._call(self.negated_word) if self.negated_word else f"-{self.describe()}"

    def _call(self, word: str) -> str:
        inside = self._argument
        return f"{word}({inside.name if isinstance(inside, Function) else inside.describe()})"

    def of(self, argument: Expression) -> Self:
        """Return the same atom of another argument of the same size."""
        other = copy(self)
        Atom.__init__(other, argument, self.segments, self.shape)
        return other

    def without_quadratic(self) -> Self:
        """Return the same atom, but one that has sides in an objective even if it is quadratic."""
        other = copy(self)
        Atom.__init__(other, self._argument, self.segments, self.shape)
        other.is_quadratic = False
        return other

    def latex_run(self, index: str, row: str) -> str:
        """Return the index `row` of an entry of one run; the run G_index of an atom with several runs."""
        return rf"{row} \in G_{{{index}}}" if self.shape else row

    # -- what every atom defines ---------------------------------------------------------------------------------

    @abstractmethod
    def value(self, e: Vector, at: Segments) -> Vector:
        """Return phi_i of each run; outside the domain, the value at the nearest point of the domain."""

    @abstractmethod
    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return memberships that express t_i >= phi_i(e[run i]) for any affine t and e.

        The memberships are expressions in t (one entry per run), e (the entries of all runs) and the variables that
        `new(name, count, lower=-inf)` returns.
        """

    @abstractmethod
    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return one subgradient of each phi_i, as one number per entry of e; the smallest index if there are ties."""

    @abstractmethod
    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return (g', phi_i*(g')): the slopes nearest to g that an affine minorant may have, and its constants.

        phi_i(e) >= g'e - phi_i*(g') for all e. A certificate relies on this inequality and on `value`.
        """

    @abstractmethod
    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return per entry of e in which direction phi is monotone if low <= e <= high: +1, -1, or 0 for neither."""

    @abstractmethod
    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of one entry."""

    # -- defaults that hold for every atom -----------------------------------------------------------------------

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return a lower bound of the values if low <= e <= high."""
        return np.full(at.count, -np.inf)

    def greatest(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return an upper bound of the values if low <= e <= high; inf if none is known."""
        return largest_at_vertices(self, low, high, at)

    def nearest(self, e: Vector, at: Segments) -> Vector:
        """Return the point of the domain that is nearest to e."""
        return e

    def has_finite_slopes(self, low: Vector, high: Vector, at: Segments) -> bool:
        """Return True if the slopes are finite wherever low <= e <= high, so that the atom has minorants there."""
        return True

    def quadratic(self, weights: Vector) -> Weight | None:
        """Return W with weights @ atom(e) = e'We if the atom is quadratic, otherwise None."""
        return None

    @property
    def diagonal(self) -> Weight | FeatureWeight | None:
        """The diagonal of W if the atom is the scalar e'We with a diagonal W, otherwise None."""
        return None


class Radial(Atom, abstract=True):
    """A scalar atom or vector of atoms profile(||e||) with an increasing profile.

    It is the only kind of atom that also takes a function f, with the norm of the kernel's space.
    """

    def of_function(self, function: Function) -> Self:
        """Return the same atom of a function of a kernel's space."""
        other = copy(self)
        Atom.__init__(other, function, self.segments, self.shape)
        return other

    @abstractmethod
    def profile(self, r: Vector) -> Vector:
        """Return the profile at radii r."""

    @abstractmethod
    def profile_slope(self, r: Vector) -> Vector:
        """Return the derivative of the profile at radii r."""

    @abstractmethod
    def profile_conjugate(self, s: Vector) -> tuple[Vector, Vector]:
        """Return the slopes s' >= 0 nearest to s that a minorant may have, and the conjugate of the profile there."""

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return the profile of the norm of each run."""
        return self.profile(_radii(e, at))

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return profile'(r) e / r; nearly 0 where r is so small that 1 / r overflows."""
        r = _radii(e, at)
        return e * (self.profile_slope(r) / np.where(r > np.finfo(np.float64).tiny, r, 1.0))[at.of]

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return g with the length of each run changed to one that a minorant may have, and the conjugate."""
        length = _radii(g, at)
        allowed, conjugate = self.profile_conjugate(length)
        return g * (allowed / np.where(length > 0, length, 1.0))[at.of], conjugate

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return +1 where the entry is non-negative, -1 where it is non-positive."""
        return np.where(low >= 0, 1, np.where(high <= 0, -1, 0)).astype(np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the profile of the shortest vector within the bounds."""
        return self.profile(_radii(np.maximum(0.0, np.maximum(low, -high)), at))

    def greatest(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the profile of the longest vector within the bounds."""
        longest = np.maximum(np.abs(low), np.abs(high))
        is_finite = at.sum(np.where(np.isinf(longest), 1.0, 0.0)) == 0
        found = self.profile(_radii(np.where(np.isinf(longest), 0.0, longest), at))
        return np.where(is_finite, found, np.inf)


class Selecting(Atom, abstract=True):
    """A maximum over each run: its slopes select one entry per run, the witness."""

    def choice(self, e: Vector, at: Segments) -> Index:
        """Return one entry of e per run at which the run has its maximum; the smallest if there are ties."""
        return at.argmax(e)


def _radii(e: Vector, at: Segments) -> Vector:
    """Return the Euclidean norm of each run, without overflow."""
    size = np.abs(e)
    top = at.max(size) if at.sizes.all() else np.full(at.count, size.max(initial=0.0))
    unit = np.where(top > 0, top, 1.0)
    return np.asarray(unit * np.sqrt(at.sum((e / unit[at.of]) ** 2)))
