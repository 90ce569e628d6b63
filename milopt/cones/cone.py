"""The interface of a cone: everything that milopt asks about the rows of a program that lie in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.errors import UnsupportedError


@dataclass(frozen=True)
class CbfCone:
    """A cone in the Conic Benchmark Format."""

    code: str
    order: tuple[int, ...] | None = None
    """The rows of a factor in the order of the format; None for the same order."""
    version: int = 1
    """The first version of the format that has the cone."""


class Cone(ABC):
    """A closed convex cone K. Rows of a program lie in a product of such cones, its factors.

    Methods take the values of all rows of a product and `sizes`, the number of rows of each factor. They return one
    number per factor, or one number per row. K* is the dual cone: all z with <s, z> >= 0 for every s in K.

    A subclass that omits a required member raises an error when the class is created. Every class has one instance, so
    cones are compared with `is`.
    """

    name: ClassVar[str]
    """The name under which solvers and files refer to the cone."""
    words: ClassVar[str]
    """The name of one cone in messages; the plural adds an s."""
    kind: ClassVar[str | None]
    """The kind of a program with such a cone; None if the cone does not change the kind."""
    integer_kind: ClassVar[str | None]
    """The kind of a program with such a cone and integer columns."""
    cbf: ClassVar[CbfCone]
    """How files in the Conic Benchmark Format write the cone."""
    is_polyhedral: ClassVar[bool]
    """Whether the cone is described by finitely many linear rows."""
    may_be_lazy: ClassVar[bool]
    """Whether a program without some of the rows is a relaxation, so that rows may be generated when needed."""
    row_size: ClassVar[int | None]
    """The number of rows of every factor; None if `sizes` gives it."""

    _instance: ClassVar[Cone | None] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        members = [name for name in Cone.__annotations__ if not name.startswith("_") and not hasattr(cls, name)]
        abstract = sorted(Cone.__abstractmethods__)
        methods = [name for name in abstract if getattr(getattr(cls, name), "__isabstractmethod__", False)]
        if members or methods:
            raise TypeError(f"The cone {cls.__name__} must define {', '.join([*members, *methods])}.")
        cls._instance = None

    def __new__(cls) -> Self:
        """Return the one instance of the class."""
        if not isinstance(cls._instance, cls):
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return f"<{self.words}>"

    @abstractmethod
    def distance(self, s: Vector, sizes: Index) -> Vector:
        """Return per factor 0 if s is in K, otherwise an upper bound on the Euclidean distance from s to K.

        In a bounded set, the upper bound tends to 0 with the distance.
        """

    @abstractmethod
    def dual_distance(self, z: Vector, sizes: Index) -> Vector:
        """Return the same as `distance`, for the dual cone K*."""

    @abstractmethod
    def inside(self, s: Vector, sizes: Index) -> Vector:
        """Return a point of K near s: s itself if it is in K, otherwise a point at most `distance` away from s."""

    @abstractmethod
    def dual_inside(self, z: Vector, sizes: Index) -> Vector:
        """Return the same as `inside`, for the dual cone K*."""

    @abstractmethod
    def dual_rows(self, size: int) -> sp.csr_array | None:
        """Return M such that z is in K* if and only if M z is in K, for one factor; None if K* is the whole space."""

    @abstractmethod
    def interior(self, size: int) -> Vector | None:
        """Return a point in the interior of one factor; None if the interior is empty."""

    def sizes_of(self, count: int, sizes: Index | None, rows: str) -> Index:
        """Return the number of rows of each factor of a product of `count` rows; check `sizes` if it is given.

        Without `sizes`, all factors have `row_size` rows, or all rows are one factor. Messages call the rows `rows`.
        """
        if sizes is not None:
            fits = self.row_size is None or bool((sizes == self.row_size).all())
            if not fits or int(sizes.sum()) != count or (sizes < 1).any():
                raise UnsupportedError(f"The {count} rows {rows!r} cannot be {self.words}s of {sizes.tolist()} rows.")
            return sizes
        if self.row_size is None:
            return np.array([count] if count else [], dtype=np.intp)
        if count % self.row_size:
            raise UnsupportedError(
                f"The {count} rows {rows!r} lie in {self.words}s of {self.row_size} rows each, so their number must be "
                f"a multiple of {self.row_size}."
            )
        return np.full(count // self.row_size, self.row_size, dtype=np.intp)


def factor_starts(sizes: Index) -> Index:
    """Return the first row of each factor."""
    return np.asarray(np.cumsum(sizes) - sizes, dtype=np.intp)
