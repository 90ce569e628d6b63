"""What flat solvers get:  min 1/2 x'Px + q'x + c   s.t.  F x + g in K,  lower <= x <= upper,  some x integer.

K is a product of cones (`milopt.cones`), one `RowBlock` after the other. The multiplier z of the rows lies in the dual
cone K*, and  P x + q = F'z + reduced costs  (reduced cost >= 0 at a lower bound, <= 0 at an
upper bound). For HiGHS that is `row_lower = -g`; Clarabel and ECOS get `A = -F`, `b = g`.
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
from milopt.declaration.programs.sparse import same_entries
from milopt.errors import UnsupportedError


def check_cone(cone: object, name: str) -> None:
    """Raise an error if a block of rows lies in a cone that milopt does not know."""
    if not isinstance(cone, Cone):
        known = ", ".join(CONES)
        raise UnsupportedError(f"The rows {name!r} lie in an unknown cone, {cone!r}; milopt knows {known}.")


@dataclass(frozen=True, eq=False)
class ColumnBlock:
    """Consecutive columns that came from one named variable (or auxiliary) of the program, or, in a dual, from rows."""

    name: str
    start: int
    stop: int
    _: KW_ONLY
    scalar: bool = False
    """Declared without a shape: its one column is called by the bare name."""
    declared: npt.NDArray[np.intp] | None = None
    instance: npt.NDArray[np.intp] | None = None
    """As in a row block, for the columns of a dual."""
    shape: tuple[int, ...] = ()
    """The shape of a matrix of variables, for labels; otherwise ()."""

    @property
    def size(self) -> int:
        """How many."""
        return self.stop - self.start

    @property
    def labels(self) -> list[str]:
        """One label a column, as in a row block; "0,2" in a matrix."""
        if self.shape:
            return [",".join(map(str, index)) for index in np.ndindex(self.shape)]
        return _labels(self.size, self.declared, self.instance)


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Consecutive rows that came from one named constraint block, all in one kind of cone."""

    name: str
    cone: Cone
    start: int
    stop: int
    _: KW_ONLY
    declared: npt.NDArray[np.intp] | None = None
    """Per row, the entry of the declared block; None means 0, 1, 2, ..."""
    instance: npt.NDArray[np.intp] | None = None
    """Per row, the flat instance of an epigraph row, -1 for the others; None when there are none."""
    sizes: Index | None = None
    """The number of rows of each cone of the block; None for the default of `cone_sizes`."""

    def __post_init__(self) -> None:
        check_cone(self.cone, self.name)
        self.cone.sizes_of(self.size, self.sizes, self.name)

    @property
    def cone_sizes(self) -> Index:
        """Return the number of rows of each cone of the block.

        By default every cone has `row_size` rows. If a kind of cone has no such number, the block is one cone.
        """
        return self.cone.sizes_of(self.size, self.sizes, self.name)

    @property
    def size(self) -> int:
        """How many."""
        return self.stop - self.start

    @property
    def labels(self) -> list[str]:
        """One label a row: "3", or "3,17" for the row of instance 17 in entry 3; made only when asked for."""
        return _labels(self.size, self.declared, self.instance)


@dataclass(frozen=True)
class StandardForm:
    """A flat program; immutable. See the module for signs."""

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
    """The program was declared as a maximisation; this form is the minimisation of its negative."""
    notes: tuple[str, ...] = ()
    """What a person who opens its file should know."""
    known_convex: bool = False
    """P is positive semidefinite by how it was made: nobody needs to find out."""
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Names of the entries of blocks, by the name of the block, for a program that was read from a file."""

    @property
    def n(self) -> int:
        """How many columns."""
        return int(self.q.size)

    @property
    def m(self) -> int:
        """How many rows."""
        return int(self.g.size)

    def value(self, x: Vector) -> float:
        """1/2 x'Px + q'x + c."""
        return self.P.value(x) + float(self.q @ x) + self.constant

    def differs_in_q_only(self, other: StandardForm) -> bool:
        """Whether all but q and the constant are the same numbers, so that what was factorised serves both."""
        return (
            same_entries(self.F, other.F)
            and self.P.equals(other.P)
            and all(
                np.array_equal(getattr(self, name), getattr(other, name)) for name in ("g", "lower", "upper", "integer")
            )
            and same_cones(self.rows, other.rows)
        )

    def rows_in(self, cone: Cone) -> npt.NDArray[np.intp]:
        """Indices of the rows in one kind of cone."""
        ranges = [np.arange(block.start, block.stop) for block in self.rows if block.cone is cone]
        return np.concatenate(ranges) if ranges else np.zeros(0, dtype=np.intp)

    @cached_property
    def conic(self) -> tuple[RowBlock, ...]:
        """Return the blocks whose cones are not polyhedral."""
        return tuple(block for block in self.rows if not block.cone.is_polyhedral)

    def column_names(self) -> list[str]:
        """Return one name per column: `b`, `slack[3]`, `X[0,2]`, or its name in the file that was read."""
        return [name for block in self.columns for name in self._names(block, block.scalar)]

    def row_names(self) -> list[str]:
        """One readable name a row: `margin[3]`, or `margin[3,17]` for instance 17 of bag 3."""
        return [name for block in self.rows for name in self._names(block)]

    def _names(self, block: ColumnBlock | RowBlock, scalar: bool = False) -> Sequence[str]:
        if scalar:
            return [block.name]
        names = self.labels.get(block.name)
        if names is not None and block.instance is None:
            return names if block.declared is None else [names[i] for i in block.declared.tolist()]
        return [f"{block.name}[{label}]" for label in block.labels]


def same_cones(some: Sequence[RowBlock], others: Sequence[RowBlock]) -> bool:
    """Return True if the blocks of two forms are the same cones over the same rows."""
    return len(some) == len(others) and all(
        a.cone is b.cone and a.stop == b.stop and np.array_equal(a.cone_sizes, b.cone_sizes)
        for a, b in zip(some, others, strict=True)
    )


def _labels(size: int, declared: npt.NDArray[np.intp] | None, instance: npt.NDArray[np.intp] | None) -> list[str]:
    entries = range(size) if declared is None else declared.tolist()
    if instance is None:
        return [str(i) for i in entries]
    return [str(i) if p < 0 else f"{i},{p}" for i, p in zip(entries, instance.tolist(), strict=True)]
