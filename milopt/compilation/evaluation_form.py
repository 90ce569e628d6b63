"""A convex program over evaluations, no coordinates yet:

    min  1/2 sum_k r_k'W_k r_k + q'x + sum_f (1/2 c_f ||f||^2 + p_f'f(points)) + constant
    s.t. A x + sum_f E_f f(points_f) + g in K,   lower <= x <= upper

Witnesses are chosen, parameters have their values, epigraph rows of every `bag_max` are all here (sparse: one entry a
row). Certificates are computed on this form; coordinates and duals are made from it, over as few of its rows as needed.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from milopt.arrays import Index, Points, Vector
from milopt.compilation.bounds import Bounds
from milopt.compilation.quadratic import weighted
from milopt.compilation.rows import Rows, stack
from milopt.compilation.standard_form import ColumnBlock, check_cone
from milopt.cones import NONNEGATIVE, ZERO, Cone
from milopt.declaration.programs.leaves import Function
from milopt.declaration.programs.sparse import row_lengths
from milopt.errors import UnsupportedError

MAX_FACTORISED_SIZE = 500
"""Size up to which a dense weight is factorised to find out whether it is semidefinite."""


@dataclass(frozen=True)
class Space:
    """A function and all the points at which the program evaluates it."""

    function: Function
    points: tuple[Points, ...]

    @property
    def count(self) -> int:
        """How many points."""
        return sum(p.shape[0] for p in self.points)


@dataclass(frozen=True)
class Block:
    """Rows of one declared constraint block (or of an auxiliary), all in one kind of cone."""

    name: str
    cone: Cone
    rows: Rows
    _: KW_ONLY
    origin: str
    """The declared block whose multipliers these rows carry; empty for auxiliary rows."""
    declared: Index
    """Per row, the entry of the declared block."""
    instance: Index
    """Per row, the flat instance of an epigraph row; -1 otherwise."""
    group: Index
    """Per row, which maximum it belongs to (rows of one group may be generated lazily); -1 for rows always needed."""
    space: int | None = None
    """The function f that ends a cone `(rows, f)`, by its place in the form's spaces."""
    share: Vector | None = None
    """Per row, what its multiplier adds to the declared entry's; None means 1."""
    sizes: Index | None = None
    """The number of rows of each cone of the block; None for the default of `cone_sizes`."""

    def __post_init__(self) -> None:
        check_cone(self.cone, self.name)
        if self.cone_sizes.size > 1 and self.space is not None:
            raise UnsupportedError(f"The rows {self.name!r} end in a function, so they must be one {self.cone.words}.")

    @property
    def cone_sizes(self) -> Index:
        """Return the number of rows of each cone of the block, as for a `RowBlock`."""
        return self.cone.sizes_of(self.count, self.sizes, self.name)

    @property
    def count(self) -> int:
        """How many rows."""
        return self.rows.count

    def widened(self, columns: int, points: tuple[int, ...]) -> Block:
        """The same rows over more columns and points."""
        wide = self.rows.widened(columns, points)
        return self if wide is self.rows else replace(self, rows=wide)


@dataclass(frozen=True)
class Square:
    """1/2 r'W r with r affine; W a diagonal given as a vector, or a symmetric matrix."""

    rows: Rows
    weight: npt.NDArray[np.float64]
    term: str
    """What it was declared as, for messages about curvature."""


@dataclass(frozen=True)
class Objective:
    """1/2 sum r'Wr + q'x + sum_f (1/2 ridge_f ||f||^2 + p_f'f(points_f)) + constant."""

    q: Vector
    p: tuple[Vector, ...]
    ridge: tuple[float, ...]
    squares: tuple[Square, ...]
    constant: float

    def widened(self, columns: int, points: tuple[int, ...]) -> Objective:
        """The same objective over more columns and points."""
        q = np.concatenate([self.q, np.zeros(columns - self.q.size)])
        p = tuple(np.concatenate([mine, np.zeros(n - mine.size)]) for mine, n in zip(self.p, points, strict=True))
        squares = tuple(replace(s, rows=s.rows.widened(columns, points)) for s in self.squares)
        return Objective(q, p, self.ridge, squares, self.constant)

    @cached_property
    def separable_curvature(self) -> Vector:
        """Per column, the curvature from squares of this column alone; 0 unless all squares are known to be convex.

        The objective curves up at least as much in the column, whatever the other columns do.
        """
        found = np.zeros(self.q.size)
        if not all(_is_known_convex(square.weight) for square in self.squares):
            return found
        for square in self.squares:
            lengths = row_lengths(square.rows.A)
            others = sum((row_lengths(e) for e in square.rows.E), start=np.zeros(lengths.size))
            if square.weight.ndim == 1:
                single = np.flatnonzero((lengths == 1) & (others == 0))
                at = square.rows.A.indptr[single]
                np.add.at(found, square.rows.A.indices[at], square.weight[single] * square.rows.A.data[at] ** 2)
        return found


def _is_known_convex(weight: npt.NDArray[np.float64]) -> bool:
    """Return True if a weight is semidefinite and that costs little to find out."""
    if weight.ndim == 1:
        return bool((weight >= 0).all())
    if len(weight) > MAX_FACTORISED_SIZE:
        return False
    size = float(np.max(np.abs(weight), initial=0.0))
    try:
        np.linalg.cholesky(weight + 1e-14 * size * len(weight) * np.eye(len(weight)))
    except np.linalg.LinAlgError:
        return False
    return True


@dataclass(frozen=True)
class EvaluationForm:
    """See the module; immutable."""

    name: str
    columns: tuple[ColumnBlock, ...]
    lower: Vector
    upper: Vector
    integer: npt.NDArray[np.bool_]
    spaces: tuple[Space, ...]
    blocks: tuple[Block, ...]
    objective: Objective
    maximize: bool

    @property
    def n(self) -> int:
        """How many columns."""
        return int(self.lower.size)

    @property
    def point_counts(self) -> tuple[int, ...]:
        """How many points each function has."""
        return tuple(space.count for space in self.spaces)

    @cached_property
    def bounds(self) -> Bounds:
        """Of the columns."""
        return Bounds(self.lower, self.upper)

    @cached_property
    def rows(self) -> Rows:
        """All rows, block after block."""
        if not self.blocks:
            return Rows.empty(self.n, self.point_counts)
        return stack([block.rows for block in self.blocks])

    @cached_property
    def starts(self) -> Index:
        """Where each block's rows start, and one past the last."""
        return np.concatenate([[0], np.cumsum([block.count for block in self.blocks], dtype=np.intp)]).astype(np.intp)

    @cached_property
    def group(self) -> Index:
        """Per row, its maximum, numbered over the whole form; -1 for rows always needed."""
        parts, shift = [], 0
        for block in self.blocks:
            parts.append(np.where(block.group >= 0, block.group + shift, -1))
            shift += int(block.group.max(initial=-1)) + 1
        return np.concatenate(parts).astype(np.intp) if parts else np.zeros(0, dtype=np.intp)

    @cached_property
    def equality(self) -> npt.NDArray[np.bool_]:
        """Per row, whether it lies in the zero cone."""
        return self._rows_in(ZERO)

    @cached_property
    def inequality(self) -> npt.NDArray[np.bool_]:
        """Per row, whether it lies in the non-negative cone."""
        return self._rows_in(NONNEGATIVE)

    @cached_property
    def conic(self) -> tuple[tuple[int, Block], ...]:
        """Return the blocks whose cones are not polyhedral, each with its first row."""
        starts = zip(self.starts[:-1].tolist(), self.blocks, strict=True)
        return tuple((start, block) for start, block in starts if not block.cone.is_polyhedral)

    def _rows_in(self, cone: Cone) -> npt.NDArray[np.bool_]:
        flags = np.array([block.cone is cone for block in self.blocks], dtype=bool)
        return np.repeat(flags, np.diff(self.starts))

    def with_objective(self, objective: Objective) -> EvaluationForm:
        """The same rows under another objective."""
        return self._with_known_rows(replace(self, objective=objective), "bounds")

    def with_bounds(self, lower: Vector, upper: Vector) -> EvaluationForm:
        """Return the form with other bounds of its columns."""
        return self._with_known_rows(replace(self, lower=lower, upper=upper))

    def _with_known_rows(self, changed: EvaluationForm, *more: str) -> EvaluationForm:
        """Give a form with the same rows what is known of them."""
        known = ("rows", "starts", "group", "equality", "inequality", "conic", *more)
        changed.__dict__.update({name: self.__dict__[name] for name in known if name in self.__dict__})
        return changed

    def with_block(self, block: Block) -> EvaluationForm:
        """One more block at the end, over the same columns and points; nothing is gathered from all blocks anew."""
        longer, start, cone = replace(self, blocks=(*self.blocks, block)), self.starts[-1:], block.cone
        longer.__dict__.update(
            bounds=self.bounds,
            rows=stack([self.rows, block.rows]),
            starts=np.concatenate([self.starts, start + block.count]),
            equality=np.concatenate([self.equality, np.full(block.count, cone is ZERO)]),
            inequality=np.concatenate([self.inequality, np.full(block.count, cone is NONNEGATIVE)]),
            conic=(*self.conic, *([] if cone.is_polyhedral else [(int(start[0]), block)])),
        )
        return longer

    def value(self, x: Vector, evaluations: tuple[Vector, ...], norms_squared: tuple[float, ...]) -> float:
        """The objective at a point, given each function's values at its points and its squared norm."""
        o = self.objective
        total = float(o.q @ x) + o.constant
        for p, values, ridge, norm in zip(o.p, evaluations, o.ridge, norms_squared, strict=True):
            total += float(p @ values) + 0.5 * ridge * norm
        for square in o.squares:
            r = square.rows.value(x, evaluations)
            total += 0.5 * float(r @ weighted(square.weight, r))
        return total
