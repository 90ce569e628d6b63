"""Evaluation form: a program whose functions f occur only through their values at points and their squared norms.

    min  1/2 sum_k r_k'W_k r_k + q'x + sum_f (1/2 c_f ||f||^2 + p_f'f(points_f)) + constant
    s.t. A x + sum_f E_f f(points_f) + g in K,   lower <= x <= upper

Each r_k is a vector of affine rows like those of the constraints, and K is a product of cones. The program is convex if
all W_k are positive semidefinite and all c_f >= 0.

Stand-ins (minorants or expressions, see `stand_ins`) have replaced convex atoms where only concave terms are allowed,
and values have replaced parameters. All epigraph rows of a `bag_max` on its convex side are in the form; they are
sparse (usually one function value per row). Certificates are computed from the evaluation form. Primal and dual forms
are compiled from as few of its rows as needed.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from milopt.arrays import Index, Points, Vector
from milopt.compilation.column_bounds import ColumnBounds
from milopt.compilation.quadratic import apply_weight
from milopt.compilation.rows import Rows, stack_affine_rows
from milopt.compilation.standard_form import ColumnBlock, check_cone
from milopt.cones import NONNEGATIVE, ZERO, Cone
from milopt.declaration.programs.leaves import Function
from milopt.declaration.programs.sparse import row_lengths
from milopt.errors import UnsupportedError

MAX_FACTORISED_SIZE = 500
"""Largest number of rows of a weight matrix that is factorised to check whether it is positive semidefinite."""


@dataclass(frozen=True)
class FunctionSpace:
    """Function without a dictionary, together with all points at which the program evaluates it."""

    function: Function
    points: tuple[Points, ...]

    @property
    def count(self) -> int:
        """Number of points."""
        return sum(p.shape[0] for p in self.points)


@dataclass(frozen=True)
class LoweredBlock:
    """Rows of one declared constraint block, or auxiliary rows, all in one kind of cone."""

    name: str
    cone: Cone
    rows: Rows
    _: KW_ONLY
    origin: str
    """Name of the declared block whose multipliers are computed from those of these rows; empty for auxiliary rows."""
    declared: Index
    """Per row, the entry of the declared block to which the row belongs; for auxiliary rows, the entry of the atom."""
    instance: Index
    """Per row of an epigraph, the entry of the atom's argument (the instance) in the row; -1 for other rows."""
    group: Index
    """Per row, the index of the maximum (within the block) to whose epigraph the row belongs; -1 for other rows.

    Rows of a maximum may be generated lazily; rows with -1 are always needed.
    """
    space: int | None = None
    """Index in `EvaluationForm.spaces` of a function f that is the last part of the cone, as in t >= ||f||.

    None if the cone contains only the rows.
    """
    share: Vector | None = None
    """Per row, the factor of its multiplier in the sum that is the declared entry's multiplier; None means 1."""
    sizes: Index | None = None
    """Number of rows of each cone of the block; None for the default of `cone_sizes`."""

    def __post_init__(self) -> None:
        check_cone(self.cone, self.name)
        if self.cone_sizes.size > 1 and self.space is not None:
            raise UnsupportedError(
                f"The rows {self.name!r} end in a function, so they must be one {self.cone.display_name}."
            )

    @property
    def cone_sizes(self) -> Index:
        """Number of rows of each cone of the block, determined as in `RowBlock.cone_sizes`."""
        return self.cone.factor_sizes(self.count, self.sizes, self.name)

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.rows.count

    def widen(self, columns: int, points: tuple[int, ...]) -> LoweredBlock:
        """Return the block for more columns and points; the new columns and points have the coefficient 0."""
        wide = self.rows.widen(columns, points)
        return self if wide is self.rows else replace(self, rows=wide)


@dataclass(frozen=True)
class SquaredTerm:
    """Term 1/2 r'W r of an objective with affine rows r; `weight` is the symmetric matrix W, or its diagonal."""

    rows: Rows
    weight: npt.NDArray[np.float64]
    term: str
    """Description of the declared term, for messages about convexity."""


@dataclass(frozen=True)
class Objective:
    """Objective 1/2 sum r'Wr + q'x + sum_f (1/2 ridge_f ||f||^2 + p_f'f(points_f)) + constant."""

    q: Vector
    p: tuple[Vector, ...]
    ridge: tuple[float, ...]
    squares: tuple[SquaredTerm, ...]
    constant: float

    def widen(self, columns: int, points: tuple[int, ...]) -> Objective:
        """Return the objective for more columns and points; the new columns and points have the coefficient 0."""
        q = np.concatenate([self.q, np.zeros(columns - self.q.size)])
        p = tuple(np.concatenate([mine, np.zeros(n - mine.size)]) for mine, n in zip(self.p, points, strict=True))
        squares = tuple(replace(s, rows=s.rows.widen(columns, points)) for s in self.squares)
        return Objective(q, p, self.ridge, squares, self.constant)

    @cached_property
    def separable_curvature(self) -> Vector:
        """Per column, a lower bound on the second derivative of the objective in that column.

        The bound is the sum over the rows of squares, with diagonal weights, that contain this column and no other. All
        bounds are 0 if a square is not known to be convex.
        """
        curvature = np.zeros(self.q.size)
        if not all(_is_known_semidefinite(square.weight) for square in self.squares):
            return curvature
        for square in self.squares:
            lengths = row_lengths(square.rows.A)
            others = sum((row_lengths(e) for e in square.rows.E), start=np.zeros(lengths.size))
            if square.weight.ndim == 1:
                single = np.flatnonzero((lengths == 1) & (others == 0))
                at = square.rows.A.indptr[single]
                np.add.at(curvature, square.rows.A.indices[at], square.weight[single] * square.rows.A.data[at] ** 2)
        return curvature


def _is_known_semidefinite(weight: npt.NDArray[np.float64]) -> bool:
    """Return True if a weight is known to be positive semidefinite; False for matrices too large for a cheap check."""
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
    """Evaluation form of a program (see the module docstring); immutable."""

    name: str
    columns: tuple[ColumnBlock, ...]
    lower: Vector
    upper: Vector
    integer: npt.NDArray[np.bool_]
    spaces: tuple[FunctionSpace, ...]
    blocks: tuple[LoweredBlock, ...]
    objective: Objective
    maximize: bool

    @property
    def n(self) -> int:
        """Number of columns."""
        return int(self.lower.size)

    @property
    def point_counts(self) -> tuple[int, ...]:
        """Number of points of each function."""
        return tuple(space.count for space in self.spaces)

    @cached_property
    def bounds(self) -> ColumnBounds:
        """Bounds of the columns."""
        return ColumnBounds(self.lower, self.upper)

    @cached_property
    def rows(self) -> Rows:
        """All rows, one block after the other."""
        if not self.blocks:
            return Rows.empty(self.n, self.point_counts)
        return stack_affine_rows([block.rows for block in self.blocks])

    @cached_property
    def block_starts(self) -> Index:
        """Index of the first row of each block, followed by the total number of rows."""
        return np.concatenate([[0], np.cumsum([block.count for block in self.blocks], dtype=np.intp)]).astype(np.intp)

    @cached_property
    def maximum_of_row(self) -> Index:
        """Per row, the index of its maximum as in `LoweredBlock.group`, counted over all blocks; -1 for other rows."""
        parts, shift = [], 0
        for block in self.blocks:
            parts.append(np.where(block.group >= 0, block.group + shift, -1))
            shift += int(block.group.max(initial=-1)) + 1
        return np.concatenate(parts).astype(np.intp) if parts else np.zeros(0, dtype=np.intp)

    @cached_property
    def is_equality(self) -> npt.NDArray[np.bool_]:
        """Per row, True if it is an equation (lies in the zero cone)."""
        return self._rows_in(ZERO)

    @cached_property
    def is_inequality(self) -> npt.NDArray[np.bool_]:
        """Per row, True if it is an inequality (lies in the non-negative cone)."""
        return self._rows_in(NONNEGATIVE)

    @cached_property
    def conic_blocks(self) -> tuple[tuple[int, LoweredBlock], ...]:
        """Blocks whose cones are not polyhedral, each with the index of its first row."""
        starts = zip(self.block_starts[:-1].tolist(), self.blocks, strict=True)
        return tuple((start, block) for start, block in starts if not block.cone.is_polyhedral)

    def _rows_in(self, cone: Cone) -> npt.NDArray[np.bool_]:
        """Return, per row, True if it lies in a cone of this kind."""
        flags = np.array([block.cone is cone for block in self.blocks], dtype=bool)
        return np.repeat(flags, np.diff(self.block_starts))

    def with_objective(self, objective: Objective) -> EvaluationForm:
        """Return the form with another objective."""
        return self._share_cached_rows(replace(self, objective=objective), "bounds")

    def with_bounds(self, lower: Vector, upper: Vector) -> EvaluationForm:
        """Return the form with other bounds of its columns."""
        return self._share_cached_rows(replace(self, lower=lower, upper=upper))

    def _share_cached_rows(self, changed: EvaluationForm, *more: str) -> EvaluationForm:
        """Copy the cached properties of the rows, and those in `more`, to `changed`, a form with the same rows."""
        known = ("rows", "block_starts", "maximum_of_row", "is_equality", "is_inequality", "conic_blocks", *more)
        changed.__dict__.update({name: self.__dict__[name] for name in known if name in self.__dict__})
        return changed

    def with_block(self, block: LoweredBlock) -> EvaluationForm:
        """Return the form with one more block of rows at the end, over the same columns and points.

        Cached properties, except `maximum_of_row`, are extended to the new rows instead of computed again.
        """
        longer, start, cone = replace(self, blocks=(*self.blocks, block)), self.block_starts[-1:], block.cone
        longer.__dict__.update(
            bounds=self.bounds,
            rows=stack_affine_rows([self.rows, block.rows]),
            block_starts=np.concatenate([self.block_starts, start + block.count]),
            is_equality=np.concatenate([self.is_equality, np.full(block.count, cone is ZERO)]),
            is_inequality=np.concatenate([self.is_inequality, np.full(block.count, cone is NONNEGATIVE)]),
            conic_blocks=(*self.conic_blocks, *([] if cone.is_polyhedral else [(int(start[0]), block)])),
        )
        return longer

    def value(self, x: Vector, function_values: tuple[Vector, ...], norms_squared: tuple[float, ...]) -> float:
        """Return the value of the minimised objective at x, given the functions' values at points and squared norms."""
        o = self.objective
        total = float(o.q @ x) + o.constant
        for p, values, ridge, norm in zip(o.p, function_values, o.ridge, norms_squared, strict=True):
            total += float(p @ values) + 0.5 * ridge * norm
        for square in o.squares:
            r = square.rows.value(x, function_values)
            total += 0.5 * float(r @ apply_weight(square.weight, r))
        return total
