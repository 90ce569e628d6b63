"""Pieces from which programs are drawn: leaves, affine expressions, atoms and rows around a known point.

All numbers have at most three decimals, so that they are the same on every machine and short in a script. Every row is
drawn around the point `near` (and the zero function), at which it holds with room, unless the caller asks otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tests.fuzz.descriptions import (
    Affine,
    Array,
    Atom,
    BagSet,
    Description,
    Expression,
    Function,
    Kernel,
    Parameter,
    Row,
    Term,
    Variable,
)
from tests.fuzz.evaluate import Evaluator, Point, zero

SMALLEST_WEIGHT = -40
"""Exponent of two of the smallest eigenvalue that an ill-conditioned weight may have."""


@dataclass
class Composer:
    """Collects the parts of one description."""

    rng: np.random.Generator
    variables: list[Variable] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    bags: list[BagSet] = field(default_factory=list)
    parameters: list[Parameter] = field(default_factory=list)
    settings: list[dict[str, Array]] = field(default_factory=lambda: [{}])
    rows: list[Row] = field(default_factory=list)
    near: dict[str, Array] = field(default_factory=dict)
    dimension: int = 2
    _shifts: Array | None = None

    # -- choices ---------------------------------------------------------------------------------------------------

    def numbers(self, *shape: int) -> Array:
        return np.round(self.rng.normal(size=shape), 2) + 0.0

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, *options: str) -> str:
        return options[int(self.rng.integers(len(options)))]

    def count(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def room(self, *shape: int) -> Array:
        return np.round(self.rng.uniform(0.1, 1.5, size=shape), 2)

    # -- leaves ----------------------------------------------------------------------------------------------------

    def add_variable(self, size: int, bounded: float = 0.5) -> Variable:
        """A block whose entries are free, bounded on one side or on both, or fixed."""
        name = f"x{len(self.variables)}"
        near = self.numbers(size)
        kind = np.where(self.rng.random(size) < bounded, 3, self.rng.integers(0, 5, size))
        low, high = near - self.room(size), near + self.room(size)
        lower = np.where(np.isin(kind, (1, 3)), low, np.where(kind == 4, near, -np.inf))
        upper = np.where(np.isin(kind, (2, 3)), high, np.where(kind == 4, near, np.inf))
        scalar = size == 1 and self.chance(0.5)
        self.variables.append(Variable(name, _rounded(lower), _rounded(upper), scalar=scalar))
        self.near[name] = near
        return self.variables[-1]

    def add_bags(self, count: int, largest: int, duplicates: bool, mirrored: bool = False) -> int:
        """Bags of points of the grid, perhaps with duplicates; `mirrored` bags are {x, -x}."""
        sizes = np.full(count, 2) if mirrored else self.rng.integers(1, largest + 1, count)
        points = self.points(int(sizes.sum()))
        if mirrored:
            points[1::2] = 0.0 - points[::2]
        if duplicates and len(points) > 1:
            points[self.rng.integers(len(points))] = points[self.rng.integers(len(points))]
        self.bags.append(BagSet(points, tuple(int(k) for k in np.concatenate([[0], np.cumsum(sizes)]))))
        return len(self.bags) - 1

    def points(self, count: int) -> Array:
        """Points of an irregular grid with gaps of at least 0.4, distinct if the grid has so many."""
        side = 25 if self.dimension == 1 else 5
        cells = side**self.dimension
        if self._shifts is None or len(self._shifts) != cells:
            self._shifts = self.rng.uniform(-0.1, 0.1, size=(cells, self.dimension))
        chosen = self.rng.choice(cells, size=count, replace=count > cells)
        grid = np.stack(np.unravel_index(chosen, (side,) * self.dimension), axis=1) - side // 2
        return np.round(0.6 * grid + self._shifts[chosen], 2) + 0.0

    def add_function(self, dictionary: float, duplicates: bool) -> Function:
        """A function of a random kernel, over a dictionary with the given probability."""
        name = "fgh"[len(self.functions)]
        kernel = Kernel(*[("rbf", 1.0), ("rbf", 2.0), ("linear", 0.0), ("polynomial", 1.0)][self.count(0, 3)])
        atoms: Array | None = None
        if self.chance(dictionary):
            atoms = self.points(self.count(1, 4))
            if duplicates and len(atoms) > 1:
                atoms[0] = atoms[-1]
            if kernel.kind == "rbf" and self.chance(0.15):
                atoms = atoms + 3.0
        self.functions.append(Function(name, kernel, atoms))
        if atoms is not None:
            self.variables.append(
                Variable(f"{name}.coefficients", np.full(len(atoms), -np.inf), np.full(len(atoms), np.inf))
            )
            self.near[f"{name}.coefficients"] = np.zeros(len(atoms))
        return self.functions[-1]

    def add_parameter(self, size: int, sign: int = 0) -> Parameter:
        name = f"p{len(self.parameters)}"
        self.parameters.append(Parameter(name, size, sign))
        for setting in self.settings:
            setting[name] = np.abs(self.numbers(size)) + 0.1 if sign else self.numbers(size)
        return self.parameters[-1]

    # -- expressions -----------------------------------------------------------------------------------------------

    def affine(self, size: int, density: float = 0.8, constant: bool = True) -> Affine:
        """A random affine vector over some of the leaves, at least one."""
        leaves: list[str] = [one.name for one in self.variables if not one.name.endswith(".coefficients")]
        leaves += [one.name for one in self.functions]
        chosen = [name for name in leaves if self.chance(0.7)] or [leaves[self.count(0, len(leaves) - 1)]]
        terms = [self.term(name, size, density) for name in chosen]
        if self.parameters and self.chance(0.7):
            parameter = self.parameters[self.count(0, len(self.parameters) - 1)]
            terms.append(Term(parameter.name, self._matrix(size, parameter.size, density)))
        return Affine(self.numbers(size) if constant else np.zeros(size), tuple(terms))

    def term(self, name: str, size: int, density: float = 0.8) -> Term:
        """matrix @ leaf, in one of the ways in which it can be written."""
        function = next((one for one in self.functions if one.name == name), None)
        if function is None:
            variable = next(one for one in self.variables if one.name == name)
            times = ""
            alike = [one.name for one in self.parameters if one.size == variable.size]
            if alike and not variable.scalar and self.chance(0.3):
                times = alike[0]
            if self.chance(0.2) and not variable.scalar:
                between = self.count(1, 4)
                inner = self._matrix(between, variable.size, 0.8)
                return Term(name, self._matrix(size, between, density), inner=inner, times=times)
            if self.bags and self.chance(0.2) and not variable.scalar:
                over = self.count(0, len(self.bags) - 1)
                inner = self._matrix(len(self.bags[over].instances), variable.size, 0.8)
                matrix = self._matrix(size, len(self.bags[over].spans), density)
                return Term(
                    name, matrix, inner=inner, aggregate=self.pick("bag_sum", "bag_mean"), bags=over, times=times
                )
            return Term(name, self._matrix(size, variable.size, density), times=times)
        if self.bags and self.chance(0.7):
            over = self.count(0, len(self.bags) - 1)
            if self.chance(0.6):
                matrix = self._matrix(size, len(self.bags[over].spans), density)
                return Term(name, matrix, at=over, aggregate=self.pick("bag_sum", "bag_mean"), bags=over)
            return Term(name, self._matrix(size, len(self.bags[over].instances), density), at=over)
        points = self.points(self.count(1, 3))
        return Term(name, self._matrix(size, len(points), density), at=points)

    def over_bags(self, bags: int) -> Affine:
        """A random affine vector with one entry per instance."""
        count = len(self.bags[bags].instances)
        terms: list[Term] = []
        for function in self.functions:
            if self.chance(0.8) or not terms:
                sign = 1.0 if self.chance(0.7) else -1.0
                terms.append(Term(function.name, sign * np.eye(count), at=bags))
        for variable in self.variables:
            if variable.name.endswith(".coefficients") or not (self.chance(0.6) or not terms):
                continue
            if variable.size == self.dimension:
                terms.append(Term(variable.name, self.bags[bags].instances.copy()))
            else:
                terms.append(Term(variable.name, self._matrix(count, variable.size, 0.8)))
        for parameter in self.parameters:
            if self.chance(0.6):
                matrix = np.eye(count) if parameter.size == count else self._matrix(count, parameter.size, 0.8)
                terms.append(Term(parameter.name, matrix))
        return Affine(np.zeros(count), tuple(terms))

    def _matrix(self, rows: int, columns: int, density: float) -> Array:
        matrix = self.numbers(rows, columns) * (self.rng.random((rows, columns)) < density)
        return matrix + 0.0

    def atom(self, *kinds: str) -> Atom:
        """A convex scalar atom with a positive multiplier."""
        kind = self.pick(*kinds)
        multiplier = np.round(self.rng.uniform(0.2, 2.0, size=(1, 1)), 2)
        if kind.startswith("function"):
            return Atom(kind, multiplier, function=self.functions[self.count(0, len(self.functions) - 1)].name)
        argument = self.affine(self.count(1, 4))
        if kind != "quad_form":
            return Atom(kind, multiplier, argument)
        weight, root = self.weight(argument.size)
        return Atom(kind, multiplier, argument, weight, root)

    def weight(self, size: int) -> tuple[Array, Array]:
        """A semidefinite weight and its exact root: diagonal with zeros, or L D L' with integers and powers of two.

        One weight in three is ill-conditioned.
        """
        least = SMALLEST_WEIGHT if self.chance(0.33) else -2
        powers = self.rng.integers(least // 2, 1, size) * 2
        diagonal = np.ldexp(1.0, powers)
        if self.chance(0.3):
            diagonal = diagonal * (self.rng.random(size) < 0.7)
        if self.chance(0.5):
            return diagonal, np.diag(np.sqrt(diagonal))
        lower = np.tril(self.rng.integers(-1, 2, size=(size, size)), -1) + np.eye(size)
        return lower @ np.diag(diagonal) @ lower.T, np.diag(np.sqrt(diagonal)) @ lower.T

    def maxima(self, rows: int | None = None) -> Atom:
        """A bag_max over a bag set; `rows` None gives a sum with non-negative weights, of which some are zero."""
        over = self.count(0, len(self.bags) - 1)
        count = len(self.bags[over].spans)
        if rows is None:
            weights = np.abs(self.numbers(1, count)) * (self.rng.random((1, count)) < 0.8)
            return Atom("bag_max", weights, self.over_bags(over), bags=over)
        return Atom("bag_max", np.eye(count), self.over_bags(over), bags=over)

    # -- rows ------------------------------------------------------------------------------------------------------

    def value_near(self, expression: Expression) -> Array:
        """The value of an expression at the known point, with the first setting of the parameters."""
        point = Point(self.near, {one.name: zero(one) for one in self.functions})
        description = Description(0, "", tuple(self.variables), expression, bags=tuple(self.bags))
        return Evaluator(description, self.settings[0], point).expression(expression).entries

    def add_row(self, expression: Expression, sense: str, room: Array | float | None = None) -> Row:
        """Shift an expression so that the row holds at the known point with some room, and add it."""
        value = self.value_near(expression)
        slack = np.zeros(1) if sense == "==" else self.room(expression.size) if room is None else np.asarray(room)
        goal = {"<=": -slack, ">=": slack, "==": slack}[sense]
        affine = expression.affine
        shifted = np.round(affine.constant + goal - value, 4 if sense != "==" else 12)
        self.rows.append(Row(f"r{len(self.rows)}", Expression(Affine(shifted, affine.terms), expression.atoms), sense))
        return self.rows[-1]

    def add_linear_rows(self, blocks: int) -> None:
        """Blocks of affine rows, some of them equations."""
        for _ in range(blocks):
            sense = ("<=", ">=", "==")[int(self.rng.choice(3, p=[0.4, 0.4, 0.2]))]
            size = 1 if sense == "==" else self.count(1, 4)
            self.add_row(Expression(self.affine(size)), sense)

    def add_box(self, size: float) -> None:
        """|x - near| <= size for every variable, and function values of order `size` at most."""
        for one in self.variables:
            entry = Affine(np.zeros(one.size), (Term(one.name, np.eye(one.size)),))
            self.add_row(Expression(entry), "<=", np.full(one.size, size))
            self.add_row(Expression(entry), ">=", np.full(one.size, size))

    def add_contradiction(self) -> None:
        """Two or three rows that add up to 0 >= margin."""
        first = self.affine(1)
        margin = self.room(1)
        self.rows.append(Row(f"r{len(self.rows)}", Expression(first), ">="))
        if self.chance(0.5):
            second = self.affine(1)
            self.rows.append(Row(f"r{len(self.rows)}", Expression(second), ">="))
            both = Affine(first.constant + second.constant, (*first.terms, *second.terms))
        else:
            both = first
        self.rows.append(Row(f"r{len(self.rows)}", Expression(Affine(both.constant + margin, both.terms)), "<="))


def _rounded(values: object) -> Array:
    return np.asarray(np.round(np.asarray(values, dtype=np.float64), 2), dtype=np.float64)
