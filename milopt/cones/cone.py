"""Base class of cones."""

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
    """Description of a cone in the Conic Benchmark Format (CBF)."""

    code: str
    """Name of the cone in CBF files, such as "Q"."""
    order: tuple[int, ...] | None = None
    """Per row of the cone in a CBF file, the index of the same row in milopt; None if the orders are equal."""
    version: int = 1
    """First version of the CBF format that supports the cone."""


class Cone(ABC):
    """Base class of closed convex cones K.

    Rows of a program lie in a product of cones of one kind; each cone of the product is called a factor. `distance`,
    `dual_distance`, `move_inside` and `move_inside_dual` get the values of all rows of a product and `sizes`, the
    number of rows of each factor. The distances are returned as one number per factor, the points as one number per
    row. K* is the dual cone: all z with <s, z> >= 0 for every s in K.

    A subclass must define all abstract methods and all class attributes; otherwise its class statement raises a
    TypeError. Every class has one instance, so cones are compared with `is`.
    """

    name: ClassVar[str]
    """Name by which solvers and files refer to the cone."""
    display_name: ClassVar[str]
    """Singular name of the cone in messages; an "s" is appended for the plural."""
    kind: ClassVar[str | None]
    """Kind of a program with rows in this cone, such as "SOCP"; None if the cone does not change the kind."""
    integer_kind: ClassVar[str | None]
    """Kind of a program with rows in this cone and integer variables, such as "MISOCP"; None if `kind` is None."""
    cbf: ClassVar[CbfCone]
    """Description of the cone in the Conic Benchmark Format."""
    is_polyhedral: ClassVar[bool]
    """Whether the cone is described by finitely many linear inequalities."""
    may_be_lazy: ClassVar[bool]
    """Whether rows in this cone may be omitted from a program and added only after a solution has violated them."""
    factor_size: ClassVar[int | None]
    """Number of rows of every factor; None if factors may have different sizes."""

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
        """Return the only instance of the class."""
        if not isinstance(cls._instance, cls):
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return f"<{self.display_name}>"

    @abstractmethod
    def distance(self, s: Vector, sizes: Index) -> Vector:
        """Return, for each factor, an upper bound on the Euclidean distance from s to K; the bound is 0 if s is in K.

        On a bounded set of points s, the bound tends to 0 as the distance tends to 0.
        """

    @abstractmethod
    def dual_distance(self, z: Vector, sizes: Index) -> Vector:
        """Return, for each factor, an upper bound on the Euclidean distance from z to K*; 0 if z is in K*."""

    @abstractmethod
    def move_inside(self, s: Vector, sizes: Index) -> Vector:
        """Return a point of K at most `distance` away from s in each factor; s itself if s is in K."""

    @abstractmethod
    def move_inside_dual(self, z: Vector, sizes: Index) -> Vector:
        """Return a point of K* at most `dual_distance` away from z in each factor; z itself if z is in K*."""

    @abstractmethod
    def dual_membership_matrix(self, size: int) -> sp.csr_array | None:
        """Return the matrix M such that z is in K* if and only if M z is in K; None if K* is the whole space.

        M is the matrix of one factor with `size` rows.
        """

    @abstractmethod
    def interior_point(self, size: int) -> Vector | None:
        """Return a point in the interior of one factor with `size` rows; None if the interior is empty."""

    def factor_sizes(self, count: int, sizes: Index | None, rows: str) -> Index:
        """Return the number of rows of each factor of a product with `count` rows.

        If `sizes` is given, it is checked and returned. Otherwise all factors have `factor_size` rows, or all rows form
        one factor if `factor_size` is None. Raise `UnsupportedError` if the sizes of the factors do not fit the cone or
        do not add up to `count`; `rows` is the name of the rows in the error message.
        """
        if sizes is not None:
            fits = self.factor_size is None or bool((sizes == self.factor_size).all())
            if not fits or int(sizes.sum()) != count or (sizes < 1).any():
                raise UnsupportedError(
                    f"The {count} rows {rows!r} cannot be {self.display_name}s of {sizes.tolist()} rows."
                )
            return sizes
        if self.factor_size is None:
            return np.array([count] if count else [], dtype=np.intp)
        if count % self.factor_size:
            raise UnsupportedError(
                f"The {count} rows {rows!r} lie in {self.display_name}s of {self.factor_size} rows each, so their "
                f"number must be a multiple of {self.factor_size}."
            )
        return np.full(count // self.factor_size, self.factor_size, dtype=np.intp)


def factor_starts(sizes: Index) -> Index:
    """Return the index of the first row of each factor of a product; `sizes` are the numbers of rows of the factors."""
    return np.asarray(np.cumsum(sizes) - sizes, dtype=np.intp)
