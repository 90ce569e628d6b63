"""Columns and points of a program, and expressions as rows over them."""

from __future__ import annotations

from functools import reduce

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Points, Vector
from milopt.compilation.evaluation_form import Square
from milopt.compilation.minorant import StandIn
from milopt.compilation.rows import Rows, unit_rows
from milopt.compilation.standard_form import ColumnBlock
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.kernels.recollection import recalled
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Expression, Leaf
from milopt.declaration.programs.leaves import Evaluation, Function, Parameter, Variable
from milopt.declaration.programs.program import Program, leaves
from milopt.declaration.programs.semidefinite import symmetric_root
from milopt.declaration.programs.sparse import added, csr, placed, zeros

INTEGRALITY_TOLERANCE = 1e-9
"""Relative distance up to which a bound counts as the integer that it is near."""


class Linear:
    """Gives every variable its columns and every evaluated point of a function its place."""

    def __init__(self, program: Program) -> None:
        self.columns: list[ColumnBlock] = []
        self.lower: list[Vector] = []
        self.upper: list[Vector] = []
        self.integer: list[npt.NDArray[np.bool_]] = []
        self.width = 0
        self._start: dict[int, int] = {}
        self._points: dict[Function, list[Points]] = {}
        self.point_counts: tuple[int, ...] = ()
        """How many points each free function has."""
        self._inner: dict[Atom, Rows] = {}
        self._splits: dict[int, tuple[Expression, Rows, list[tuple[Atom, Coefficient]]]] = {}
        """Results of `split` by identity; each keeps its expression alive."""
        self._kernel_rows: dict[tuple[Function, int], npt.NDArray[np.float64]] = {}
        for variable in program.variables.values():
            self.add_variable(variable)
        for function in program.functions.values():
            if function.dictionary is None:
                self._points[function] = []
        self.point_counts = (0,) * len(self._points)
        self.register(program.objective)
        for constraint in program.constraints.values():
            self.register(constraint.expression)

    # -- layout --------------------------------------------------------------------------------------------------

    def add_variable(self, variable: Variable) -> None:
        """Columns for a declared variable."""
        self._start[id(variable)] = start = self.width
        lower, upper = _column_bounds(variable)
        shape = variable.shape if variable.ndim > 1 else ()
        columns = ColumnBlock(variable.name, start, start + variable.size, scalar=not variable.shape, shape=shape)
        self._append(columns, lower, upper, variable.integer_entries)

    def change_bounds(self, variable: Variable) -> None:
        """Give the columns of a declared variable the bounds that it has now."""
        start = self._start[id(variable)]
        at = next(k for k, block in enumerate(self.columns) if block.start == start and block.name == variable.name)
        self.lower[at], self.upper[at] = _column_bounds(variable)

    def add_columns(self, name: str, count: int, scalar: bool = False, lower: float = -np.inf) -> npt.NDArray[np.intp]:
        """Auxiliary columns, free unless bounded below; returns their indices."""
        start = self.width
        columns = ColumnBlock(name, start, start + count, scalar=scalar)
        self._append(columns, np.full(count, lower), np.full(count, np.inf), np.zeros(count, dtype=bool))
        return np.arange(start, start + count)

    def _append(self, columns: ColumnBlock, lower: Vector, upper: Vector, integer: npt.NDArray[np.bool_]) -> None:
        self.columns.append(columns)
        self.lower.append(lower)
        self.upper.append(upper)
        self.integer.append(integer)
        self.width = columns.stop

    def register(self, expression: Expression) -> None:
        """Give places to the points at which an expression evaluates functions."""
        for leaf in leaves(expression):
            if isinstance(leaf, Evaluation) and leaf.function in self._points:
                known = self._points[leaf.function]
                if not any(points is leaf.points for points in known):
                    known.append(leaf.points)
                    self.point_counts = tuple(sum(p.shape[0] for p in points) for points in self._points.values())

    def register_stand_in(self, stand_in: StandIn) -> None:
        """Give places to the points of an expression that stands for an atom."""
        if isinstance(stand_in, Expression):
            self.register(stand_in)

    def columns_of(self, variable: Leaf) -> npt.NDArray[np.intp]:
        """Where a variable's columns are."""
        start = self._start[id(variable)]
        return np.arange(start, start + variable.size)

    @property
    def free_functions(self) -> list[Function]:
        """Functions without a dictionary, in order."""
        return list(self._points)

    def points_of(self, function: Function) -> list[Points]:
        """All the points at which a function is evaluated."""
        return self._points[function]

    def place_of(self, function: Function) -> int | None:
        """A free function's place in the spaces; None with a dictionary."""
        return self.free_functions.index(function) if function in self._points else None

    # -- rows ----------------------------------------------------------------------------------------------------

    def split(self, expression: Expression) -> tuple[Rows, list[tuple[Atom, Coefficient]]]:
        """The affine part as rows, and the atoms with their coefficients; computed once unless a parameter is there."""
        known = self._splits.get(id(expression))
        if known is not None:
            return known[1].widened(self.width, self.point_counts), known[2]
        rows, atoms = self._split(expression)
        if not any(leaf.is_parameter or coefficient.products for leaf, coefficient in expression.terms):
            self._splits[id(expression)] = (expression, rows, atoms)
        return rows, atoms

    def _split(self, expression: Expression) -> tuple[Rows, list[tuple[Atom, Coefficient]]]:
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
                columns.append(placed(matrix, self._start[id(leaf)], self.width))
            elif isinstance(leaf, Parameter):
                g += matrix @ leaf.current()
            elif isinstance(leaf, Evaluation):
                place = self.place_of(leaf.function)
                if place is None:
                    start = self._start[id(leaf.function.coefficients)]
                    dense = matrix @ self._dictionary_kernel(leaf.function, leaf.points)
                    columns.append(placed(csr(dense), start, self.width))
                else:
                    start = self._point_start(leaf.function, leaf.points)
                    points[place].append(placed(matrix, start, counts[place]))
        E = tuple(_total(parts, g.size, n) for parts, n in zip(points, counts, strict=True))
        return Rows(_total(columns, g.size, self.width), E, g), atoms

    def is_fixed(self, atom: Atom) -> bool:
        """Return True if neither a parameter nor another atom stands inside an atom whose rows were lowered."""
        return atom in self._inner

    def inner(self, atom: Atom) -> Rows:
        """The rows of an affine argument, lowered once unless a parameter is in them."""
        if atom in self._inner:
            return self._inner[atom].widened(self.width, self.point_counts)
        rows, _ = self.split(atom.argument)
        if not any(isinstance(leaf, Parameter) for leaf in leaves(atom.argument)):
            self._inner[atom] = rows
        return rows

    def dictionary_square(self, function: Function, weight: float) -> Square:
        """weight/2 a'K_ZZ a."""
        rows, term = self._coefficient_rows(function), f"norm_squared({function.name})"
        if function.basis is not None:
            return Square(rows, np.full(rows.count, weight), term)
        return Square(rows, weight * self._dictionary_kernel(function, function.dictionary), term)

    def dictionary_rows(self, function: Function) -> Rows:
        """B a with B'B = K_ZZ, so that ||B a|| = ||f||."""
        if function.basis is not None:
            return self._coefficient_rows(function)
        kernel = self._dictionary_kernel(function, function.dictionary)
        root = symmetric_root(kernel, f"The kernel of {function.name!r} on its dictionary")
        return self._coefficient_rows(function).left(sp.csr_array(root))

    def _coefficient_rows(self, function: Function) -> Rows:
        return unit_rows(self.columns_of(function.coefficients), self.width, self.point_counts)

    def _dictionary_kernel(self, function: Function, points: Points | None) -> npt.NDArray[np.float64]:
        key = (function, id(points))
        if key not in self._kernel_rows:
            self._kernel_rows[key] = features(function, points)
        return self._kernel_rows[key]

    def _point_start(self, function: Function, points: Points) -> int:
        start = 0
        for known in self._points[function]:
            if known is points:
                return start
            start += known.shape[0]
        raise KeyError(function.name)


def _column_bounds(variable: Variable) -> tuple[Vector, Vector]:
    return whole_bounds(variable) if variable.integer else (variable.lower, variable.upper)


def whole_bounds(variable: Variable) -> tuple[Vector, Vector]:
    """Return the bounds of a variable, rounded inward at integer entries; as declared if no integer is between them.

    HiGHS has ended at wrong optima of small programs whose integers had fractional bounds.
    """
    lower = np.ceil(variable.lower - INTEGRALITY_TOLERANCE * (1.0 + np.abs(variable.lower)))
    upper = np.floor(variable.upper + INTEGRALITY_TOLERANCE * (1.0 + np.abs(variable.upper)))
    kept = (lower > upper) | ~variable.integer_entries
    return np.where(kept, variable.lower, lower), np.where(kept, variable.upper, upper)


def features(function: Function, points: Points | None) -> npt.NDArray[np.float64]:
    """What the coefficients of a function with a dictionary are multiplied with at points: K(points, Z), or that R."""
    values = np.asarray(function.kernel(points, function.dictionary))
    return values if function.basis is None else values @ function.basis


def known_features(function: Function, points: Points) -> npt.NDArray[np.float64]:
    """The same where other programs have the same function at the same points."""
    assert function.dictionary is not None
    what = (known_features, function.kernel, function.basis is None)
    return recalled(what, (points, function.dictionary), lambda: features(function, points))


def _total(parts: list[sp.csr_array], rows: int, width: int) -> sp.csr_array:
    """The sum of the parts; zero without any."""
    return reduce(added, parts) if parts else zeros(rows, width)
