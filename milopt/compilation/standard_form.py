"""Standard form of a program, which solvers get: min 1/2 x'Px + q'x + c  s.t.  F x + g in K,  lower <= x <= upper.

The standard form is also called the flat form. Some columns may be integer. K is a product of cones (`milopt.cones`),
described by one `RowBlock` after the other. The multipliers z of the rows lie in the dual cone K*. At a solution,

    P x + q = F'z + reduced costs,   with reduced costs >= 0 at a lower bound and <= 0 at an upper bound.

HiGHS gets `row_lower = -g`; Clarabel and ECOS get `A = -F` and `b = g`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.compilation.quadratic import Quadratic
from milopt.cones import CONES, Cone
from milopt.declaration.programs.sparse import have_same_entries
from milopt.errors import UnsupportedError


def check_cone(cone: object, name: str) -> None:
    """Raise an `UnsupportedError` if `cone` is not a `Cone`; `name` is the name of its rows in the message."""
    if not isinstance(cone, Cone):
        known = ", ".join(CONES)
        raise UnsupportedError(f"The rows {name!r} lie in an unknown cone, {cone!r}; milopt supports {known}.")


@dataclass(frozen=True, eq=False)
class ColumnBlock:
    """Consecutive columns of one variable or of one block of auxiliary columns; in a dual, of one block of rows."""

    name: str
    start: int
    stop: int
    _: KW_ONLY
    scalar: bool = False
    """True if the variable was declared without a shape; the name of its column then has no index."""
    declared: npt.NDArray[np.intp] | None = None
    """Per column of a dual, the entry of the declared block of rows; None means 0, 1, 2, ..."""
    instance: npt.NDArray[np.intp] | None = None
    """Per column of a dual, the instance in the row of the primal, as in `RowBlock.instance`."""
    shape: tuple[int, ...] = ()
    """Shape of the variable if it has several dimensions, for the labels; otherwise ()."""

    @property
    def size(self) -> int:
        """Number of columns."""
        return self.stop - self.start

    @property
    def labels(self) -> list[str]:
        """One label per column: "3", "0,2" for an entry of a matrix variable, or "3,17" as in `RowBlock.labels`."""
        if self.shape:
            return [",".join(map(str, index)) for index in np.ndindex(self.shape)]
        return _labels(self.size, self.declared, self.instance)


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Consecutive rows of one named constraint block, all in one kind of cone."""

    name: str
    cone: Cone
    start: int
    stop: int
    _: KW_ONLY
    declared: npt.NDArray[np.intp] | None = None
    """Per row, the entry of the declared block; None means 0, 1, 2, ..."""
    instance: npt.NDArray[np.intp] | None = None
    """Per row, the instance (counted over all bags) of an epigraph row, or -1; None if there is no epigraph row."""
    sizes: Index | None = None
    """Number of rows of each cone of the block; None for the default of `cone_sizes`."""

    def __post_init__(self) -> None:
        check_cone(self.cone, self.name)
        self.cone.factor_sizes(self.size, self.sizes, self.name)

    @property
    def cone_sizes(self) -> Index:
        """Number of rows of each cone of the block.

        If `sizes` is None, every cone has `Cone.factor_size` rows; if that is None too, the whole block is one cone.
        """
        return self.cone.factor_sizes(self.size, self.sizes, self.name)

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.stop - self.start

    @property
    def labels(self) -> list[str]:
        """One label per row: "3", or "3,17" for the row of instance 17 in entry 3."""
        return _labels(self.size, self.declared, self.instance)


@dataclass(frozen=True)
class StandardForm:
    """Program in standard form, immutable; the module docstring defines the fields and the signs of multipliers."""

    name: str
    P: Quadratic
    q: Vector
    constant: float
    F: sp.csr_array
    g: Vector
    lower: Vector
    upper: Vector
    integer: npt.NDArray[np.bool_]
    columns: tuple[ColumnBlock, ...]
    rows: tuple[RowBlock, ...]
    maximize: bool = False
    """True if the program was declared as a maximisation; this form minimises the negated objective."""
    notes: tuple[str, ...] = ()
    """Remarks that are written as comments into a file of this program."""
    known_convex: bool = False
    """True if P is positive semidefinite by construction, so that convexity need not be checked."""
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Names of the columns or rows of blocks, by the name of the block, for a program that was read from a file."""

    @property
    def n(self) -> int:
        """Number of columns."""
        return int(self.q.size)

    @property
    def m(self) -> int:
        """Number of rows."""
        return int(self.g.size)

    def value(self, x: Vector) -> float:
        """Return 1/2 x'Px + q'x + c."""
        return self.P.value(x) + float(self.q @ x) + self.constant

    def differs_only_in(self, other: StandardForm, *parts: str) -> bool:
        """Return True if two forms are equal except for these attributes, the constant and names.

        An attribute is "q", "g", "lower" or "upper". Factorisations of P and F can then be reused.
        """
        vectors = [name for name in ("q", "g", "lower", "upper", "integer") if name not in parts]
        return (
            have_same_entries(self.F, other.F)
            and self.P.equals(other.P)
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in vectors)
            and have_same_cones(self.rows, other.rows)
        )

    def rows_in(self, cone: Cone) -> npt.NDArray[np.intp]:
        """Return the indices of the rows that lie in this kind of cone."""
        ranges = [np.arange(block.start, block.stop) for block in self.rows if block.cone is cone]
        return np.concatenate(ranges) if ranges else np.zeros(0, dtype=np.intp)

    @cached_property
    def conic_blocks(self) -> tuple[RowBlock, ...]:
        """Row blocks whose cones are not polyhedral."""
        return tuple(block for block in self.rows if not block.cone.is_polyhedral)

    def column_names(self) -> list[str]:
        """Return one name per column, such as `b`, `slack[3]` or `X[0,2]`, or the name in the file that was read."""
        return [name for block in self.columns for name in self._names(block, block.scalar)]

    def row_names(self) -> list[str]:
        """Return one name per row: `margin[3]`, `margin[3,17]` for instance 17 in entry 3, or the name in a file."""
        return [name for block in self.rows for name in self._names(block)]

    def _names(self, block: ColumnBlock | RowBlock, scalar: bool = False) -> Sequence[str]:
        """Return the names of the columns or rows of a block; if `scalar` is True, only the name of the block."""
        if scalar:
            return [block.name]
        names = self.labels.get(block.name)
        if names is not None and block.instance is None:
            return names if block.declared is None else [names[i] for i in block.declared.tolist()]
        return [f"{block.name}[{label}]" for label in block.labels]


def have_same_cones(some: Sequence[RowBlock], others: Sequence[RowBlock]) -> bool:
    """Return True if the row blocks of two forms have the same cones over the same rows; names may differ."""
    return len(some) == len(others) and all(
        a.cone is b.cone and a.stop == b.stop and np.array_equal(a.cone_sizes, b.cone_sizes)
        for a, b in zip(some, others, strict=True)
    )


def _labels(size: int, declared: npt.NDArray[np.intp] | None, instance: npt.NDArray[np.intp] | None) -> list[str]:
    """Return one label per entry of a block: "3", or "3,17" for instance 17 in entry 3."""
    entries = range(size) if declared is None else declared.tolist()
    if instance is None:
        return [str(i) for i in entries]
    return [str(i) if p < 0 else f"{i},{p}" for i, p in zip(entries, instance.tolist(), strict=True)]
