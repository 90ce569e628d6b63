"""Lowering of affine expressions to affine rows (`Rows`) over columns and over values of functions at points."""

from __future__ import annotations

from functools import reduce

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Points, Vector
from milopt.compilation.evaluation_form import SquaredTerm
from milopt.compilation.minorant import StandIn
from milopt.compilation.rows import Rows, unit_rows
from milopt.compilation.standard_form import ColumnBlock
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.kernels.gram_cache import get_or_compute
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Expression, Leaf
from milopt.declaration.programs.leaves import Function, FunctionEvaluation, Parameter, Variable
from milopt.declaration.programs.program import Program, leaves
from milopt.declaration.programs.semidefinite import symmetric_root
from milopt.declaration.programs.sparse import add, as_csr, shift_columns, zeros

INTEGRALITY_TOLERANCE = 1e-9
"""Largest distance, relative to 1 + |bound|, at which the bound of an integer variable counts as an integer."""


class AffineLowering:
    """Lowering of affine expressions to rows over columns and function values.

    Each entry of a variable has one column. Each point at which a function without a dictionary (called a free
    function) is evaluated has a place: its index among all points of that function. A function with a dictionary is
    linear in its coefficients, which have columns.
    """

    def __init__(self, program: Program) -> None:
        self.columns: list[ColumnBlock] = []
        self.lower: list[Vector] = []
        self.upper: list[Vector] = []
        self.integer: list[npt.NDArray[np.bool_]] = []
        self.width = 0
        """Number of columns."""
        self._start: dict[int, int] = {}
        self._points: dict[Function, list[Points]] = {}
        self.point_counts: tuple[int, ...] = ()
        """Number of points of each free function."""
        self._inner: dict[Atom, Rows] = {}
        self._splits: dict[int, tuple[Expression, Rows, list[tuple[Atom, Coefficient]]]] = {}
        """Cached results of `separate_atoms` by the id of the expression.

        The values contain the expression, so that no other object gets its id.
        """
        self._kernel_rows: dict[tuple[Function, int], npt.NDArray[np.float64]] = {}
        for variable in program.variables.values():
            self.add_variable(variable)
        for function in program.functions.values():
            if function.dictionary is None:
                self._points[function] = []
        self.point_counts = (0,) * len(self._points)
        self.register_points(program.objective)
        for constraint in program.constraints.values():
            self.register_points(constraint.expression)

    # -- columns and places of points ----------------------------------------------------------------------------

    def add_variable(self, variable: Variable) -> None:
        """Add columns for a declared variable."""
        self._start[id(variable)] = start = self.width
        lower, upper = _column_bounds(variable)
        shape = variable.shape if variable.ndim > 1 else ()
        columns = ColumnBlock(variable.name, start, start + variable.size, scalar=not variable.shape, shape=shape)
        self._append_block(columns, lower, upper, variable.integer_entries)

    def change_bounds(self, variable: Variable) -> None:
        """Set the bounds of the columns of a declared variable to the present bounds of the variable."""
        start = self._start[id(variable)]
        at = next(k for k, block in enumerate(self.columns) if block.start == start and block.name == variable.name)
        self.lower[at], self.upper[at] = _column_bounds(variable)

    def add_columns(self, name: str, count: int, scalar: bool = False, lower: float = -np.inf) -> npt.NDArray[np.intp]:
        """Add `count` auxiliary columns with this lower bound and no upper bound, and return their indices."""
        start = self.width
        columns = ColumnBlock(name, start, start + count, scalar=scalar)
        self._append_block(columns, np.full(count, lower), np.full(count, np.inf), np.zeros(count, dtype=bool))
        return np.arange(start, start + count)

    def _append_block(self, columns: ColumnBlock, lower: Vector, upper: Vector, integer: npt.NDArray[np.bool_]) -> None:
        """Append a block of columns with these bounds; `integer` marks the integer columns."""
        self.columns.append(columns)
        self.lower.append(lower)
        self.upper.append(upper)
        self.integer.append(integer)
        self.width = columns.stop

    def register_points(self, expression: Expression) -> None:
        """Assign places to the points at which an expression evaluates free functions.

        Points that already have places keep them; arrays of points are compared by identity.
        """
        for leaf in leaves(expression):
            if isinstance(leaf, FunctionEvaluation) and leaf.function in self._points:
                known = self._points[leaf.function]
                if not any(points is leaf.points for points in known):
                    known.append(leaf.points)
                    self.point_counts = tuple(sum(p.shape[0] for p in points) for points in self._points.values())

    def register_stand_in_points(self, stand_in: StandIn) -> None:
        """Assign places to the points of an atom's stand-in, if it is an expression; a minorant has no new points."""
        if isinstance(stand_in, Expression):
            self.register_points(stand_in)

    def columns_of(self, variable: Leaf) -> npt.NDArray[np.intp]:
        """Return the column indices of a variable."""
        start = self._start[id(variable)]
        return np.arange(start, start + variable.size)

    @property
    def free_functions(self) -> list[Function]:
        """Free functions (functions without a dictionary), in the order of their declaration."""
        return list(self._points)

    def evaluation_points(self, function: Function) -> list[Points]:
        """Return all points at which a free function is evaluated, as the arrays that the declaration contains."""
        return self._points[function]

    def free_function_index(self, function: Function) -> int | None:
        """Return the index of a function in `free_functions`; None if the function has a dictionary."""
        return self.free_functions.index(function) if function in self._points else None

    # -- rows ----------------------------------------------------------------------------------------------------

    def separate_atoms(self, expression: Expression) -> tuple[Rows, list[tuple[Atom, Coefficient]]]:
        """Return (rows, atoms): the affine part of an expression, and its atoms with their coefficients.

        The result is cached unless the expression contains a parameter.
        """
        known = self._splits.get(id(expression))
        if known is not None:
            return known[1].widen(self.width, self.point_counts), known[2]
        rows, atoms = self._separate_atoms(expression)
        if not any(leaf.is_parameter or coefficient.products for leaf, coefficient in expression.terms):
            self._splits[id(expression)] = (expression, rows, atoms)
        return rows, atoms

    def _separate_atoms(self, expression: Expression) -> tuple[Rows, list[tuple[Atom, Coefficient]]]:
        """Return (rows, atoms) as `separate_atoms` does, without the cache."""
        counts, g = self.point_counts, expression.constant.copy()
        columns: list[sp.csr_array] = []
        points: list[list[sp.csr_array]] = [[] for _ in counts]
        atoms: list[tuple[Atom, Coefficient]] = []
        for leaf, coefficient in expression.terms:
            if isinstance(leaf, Atom):
                atoms.append((leaf, coefficient))
                continue
            matrix = coefficient.value()
            if isinstance(leaf, Variable):
                columns.append(shift_columns(matrix, self._start[id(leaf)], self.width))
            elif isinstance(leaf, Parameter):
                g += matrix @ leaf.current_value()
            elif isinstance(leaf, FunctionEvaluation):
                place = self.free_function_index(leaf.function)
                if place is None:
                    start = self._start[id(leaf.function.coefficients)]
                    dense = matrix @ self._cached_features(leaf.function, leaf.points)
                    columns.append(shift_columns(as_csr(dense), start, self.width))
                else:
                    start = self._first_point_index(leaf.function, leaf.points)
                    points[place].append(shift_columns(matrix, start, counts[place]))
        E = tuple(_sum_matrices(parts, g.size, n) for parts, n in zip(points, counts, strict=True))
        return Rows(_sum_matrices(columns, g.size, self.width), E, g), atoms

    def has_cached_argument(self, atom: Atom) -> bool:
        """Return True if `affine_argument` has cached the argument of the atom, which then contains no parameter."""
        return atom in self._inner

    def affine_argument(self, atom: Atom) -> Rows:
        """Return the rows of the affine argument of an atom, cached unless they contain a parameter."""
        if atom in self._inner:
            return self._inner[atom].widen(self.width, self.point_counts)
        rows, _ = self.separate_atoms(atom.argument)
        if not any(isinstance(leaf, Parameter) for leaf in leaves(atom.argument)):
            self._inner[atom] = rows
        return rows

    def dictionary_square(self, function: Function, weight: float) -> SquaredTerm:
        """Return the term weight/2 ||f||^2 of a function with dictionary Z and coefficients a.

        The term is weight/2 a'K(Z, Z)a.
        """
        rows, term = self._coefficient_rows(function), f"norm_squared({function.name})"
        return SquaredTerm(rows, weight * self._cached_features(function, function.dictionary), term)

    def dictionary_rows(self, function: Function) -> Rows:
        """Return affine rows B a with ||B a|| = ||f|| for a function f with dictionary Z and coefficients a.

        B'B is K(Z, Z).
        """
        kernel = self._cached_features(function, function.dictionary)
        root = symmetric_root(kernel, f"The kernel of {function.name!r} on its dictionary")
        return self._coefficient_rows(function).left_multiply(sp.csr_array(root))

    def _coefficient_rows(self, function: Function) -> Rows:
        """Return one row per coefficient of a function with a dictionary; the row is equal to the coefficient."""
        return unit_rows(self.columns_of(function.coefficients), self.width, self.point_counts)

    def _cached_features(self, function: Function, points: Points | None) -> npt.NDArray[np.float64]:
        """Return `dictionary_features` of a function at points, cached by the id of the array `points`."""
        key = (function, id(points))
        if key not in self._kernel_rows:
            self._kernel_rows[key] = dictionary_features(function, points)
        return self._kernel_rows[key]

    def _first_point_index(self, function: Function, points: Points) -> int:
        """Return the index, among the points of a function, of the first point of `points`, a registered array."""
        start = 0
        for known in self._points[function]:
            if known is points:
                return start
            start += known.shape[0]
        raise KeyError(function.name)


def _column_bounds(variable: Variable) -> tuple[Vector, Vector]:
    """Return (lower, upper) of a variable's columns; the bounds of integer entries are rounded inward."""
    return round_bounds_inward(variable) if variable.integer else (variable.lower, variable.upper)


def round_bounds_inward(variable: Variable) -> tuple[Vector, Vector]:
    """Return (lower, upper) of a variable; at integer entries, lower is rounded up and upper down.

    If no integer lies between the bounds of an entry, they are not rounded. HiGHS has returned wrong optima of small
    programs whose integer variables had fractional bounds.
    """
    lower = np.ceil(variable.lower - INTEGRALITY_TOLERANCE * (1.0 + np.abs(variable.lower)))
    upper = np.floor(variable.upper + INTEGRALITY_TOLERANCE * (1.0 + np.abs(variable.upper)))
    kept = (lower > upper) | ~variable.integer_entries
    return np.where(kept, variable.lower, lower), np.where(kept, variable.upper, upper)


def dictionary_features(function: Function, points: Points | None) -> npt.NDArray[np.float64]:
    """Return the matrix that maps the coefficients of a function with a dictionary Z to its values at points.

    The matrix is K(points, Z).
    """
    return np.asarray(function.kernel(points, function.dictionary))


def cached_dictionary_features(function: Function, points: Points) -> npt.NDArray[np.float64]:
    """Return `dictionary_features`, cached also for other programs with the same kernel, dictionary and points."""
    assert function.dictionary is not None
    key = (cached_dictionary_features, function.kernel)
    return get_or_compute(key, (points, function.dictionary), lambda: dictionary_features(function, points))


def _sum_matrices(parts: list[sp.csr_array], rows: int, width: int) -> sp.csr_array:
    """Return the sum of the matrices, each with `rows` rows and `width` columns; a zero matrix if there are none."""
    return reduce(add, parts) if parts else zeros(rows, width)
