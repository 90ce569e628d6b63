"""Draw the parts of random programs: leaves, affine expressions, atoms and rows around a known point.

All numbers have at most three decimals, so that they are equal on every machine and short in a script. Unless the
caller asks otherwise, every row holds strictly at `interior_point` with all functions zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tests.fuzz.descriptions import (
    Affine,
    Array,
    AtomSpec,
    BagSet,
    ExpressionSpec,
    FunctionSpec,
    KernelSpec,
    ParameterSpec,
    ProgramDescription,
    RowSpec,
    TermSpec,
    VariableSpec,
)
from tests.fuzz.evaluate import DescriptionEvaluator, Point, zero

MIN_WEIGHT_EXPONENT = -40
"""Exponent of two of the smallest eigenvalue of an ill-conditioned weight."""


@dataclass
class Composer:
    """Random generator that collects the parts of one program description."""

    rng: np.random.Generator
    variables: list[VariableSpec] = field(default_factory=list)
    functions: list[FunctionSpec] = field(default_factory=list)
    bags: list[BagSet] = field(default_factory=list)
    parameters: list[ParameterSpec] = field(default_factory=list)
    settings: list[dict[str, Array]] = field(default_factory=lambda: [{}])
    rows: list[RowSpec] = field(default_factory=list)
    interior_point: dict[str, Array] = field(default_factory=dict)
    dimension: int = 2
    _shifts: Array | None = None

    # -- choices ---------------------------------------------------------------------------------------------------

    def numbers(self, *shape: int) -> Array:
        """Return random numbers of order 1 with two decimals."""
        return np.round(self.rng.normal(size=shape), 2) + 0.0

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return bool(self.rng.random() < probability)

    def pick(self, *options: str) -> str:
        """Return one of the options at random."""
        return options[int(self.rng.integers(len(options)))]

    def count(self, low: int, high: int) -> int:
        """Return a random integer from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def slack(self, *shape: int) -> Array:
        """Return random slacks of rows, between 0.1 and 1.5."""
        return np.round(self.rng.uniform(0.1, 1.5, size=shape), 2)

    # -- leaves ----------------------------------------------------------------------------------------------------

    def add_variable(self, size: int, bounded: float = 0.5) -> VariableSpec:
        """Add a variable whose entries are free, bounded on one or both sides, or fixed; `bounded` is a probability."""
        name = f"x{len(self.variables)}"
        centre = self.numbers(size)
        kind = np.where(self.rng.random(size) < bounded, 3, self.rng.integers(0, 5, size))
        low, high = centre - self.slack(size), centre + self.slack(size)
        lower = np.where(np.isin(kind, (1, 3)), low, np.where(kind == 4, centre, -np.inf))
        upper = np.where(np.isin(kind, (2, 3)), high, np.where(kind == 4, centre, np.inf))
        scalar = size == 1 and self.chance(0.5)
        self.variables.append(VariableSpec(name, _rounded(lower), _rounded(upper), scalar=scalar))
        self.interior_point[name] = centre
        return self.variables[-1]

    def add_bags(self, count: int, largest: int, duplicates: bool, mirrored: bool = False) -> int:
        """Add a set of bags of grid points, possibly with duplicates, and return its number.

        `mirrored` bags are pairs {x, -x}.
        """
        sizes = np.full(count, 2) if mirrored else self.rng.integers(1, largest + 1, count)
        points = self.points(int(sizes.sum()))
        if mirrored:
            points[1::2] = 0.0 - points[::2]
        if duplicates and len(points) > 1:
            points[self.rng.integers(len(points))] = points[self.rng.integers(len(points))]
        self.bags.append(BagSet(points, tuple(int(k) for k in np.concatenate([[0], np.cumsum(sizes)]))))
        return len(self.bags) - 1

    def points(self, count: int) -> Array:
        """Return points of an irregular grid with gaps of at least 0.4, distinct if the grid has enough points."""
        side = 25 if self.dimension == 1 else 5
        cells = side**self.dimension
        if self._shifts is None or len(self._shifts) != cells:
            self._shifts = self.rng.uniform(-0.1, 0.1, size=(cells, self.dimension))
        chosen = self.rng.choice(cells, size=count, replace=count > cells)
        grid = np.stack(np.unravel_index(chosen, (side,) * self.dimension), axis=1) - side // 2
        return np.round(0.6 * grid + self._shifts[chosen], 2) + 0.0

    def add_function(self, dictionary: float, duplicates: bool) -> FunctionSpec:
        """Add a function with a random kernel; `dictionary` is the probability that it has a dictionary."""
        name = "fgh"[len(self.functions)]
        kernel = KernelSpec(*[("rbf", 1.0), ("rbf", 2.0), ("linear", 0.0), ("polynomial", 1.0)][self.count(0, 3)])
        atoms: Array | None = None
        if self.chance(dictionary):
            atoms = self.points(self.count(1, 4))
            if duplicates and len(atoms) > 1:
                atoms[0] = atoms[-1]
            if kernel.kind == "rbf" and self.chance(0.15):
                atoms = atoms + 3.0
        self.functions.append(FunctionSpec(name, kernel, atoms))
        if atoms is not None:
            self.variables.append(
                VariableSpec(f"{name}.coefficients", np.full(len(atoms), -np.inf), np.full(len(atoms), np.inf))
            )
            self.interior_point[f"{name}.coefficients"] = np.zeros(len(atoms))
        return self.functions[-1]

    def add_parameter(self, size: int, sign: int = 0) -> ParameterSpec:
        """Add a parameter with random values for every solve."""
        name = f"p{len(self.parameters)}"
        self.parameters.append(ParameterSpec(name, size, sign))
        for setting in self.settings:
            setting[name] = np.abs(self.numbers(size)) + 0.1 if sign else self.numbers(size)
        return self.parameters[-1]

    # -- expressions -----------------------------------------------------------------------------------------------

    def affine(self, size: int, density: float = 0.8, constant: bool = True) -> Affine:
        """Return a random affine vector of at least one leaf."""
        leaves: list[str] = [
            variable.name for variable in self.variables if not variable.name.endswith(".coefficients")
        ]
        leaves += [function.name for function in self.functions]
        chosen = [name for name in leaves if self.chance(0.7)] or [leaves[self.count(0, len(leaves) - 1)]]
        terms = [self.term(name, size, density) for name in chosen]
        if self.parameters and self.chance(0.7):
            parameter = self.parameters[self.count(0, len(self.parameters) - 1)]
            terms.append(TermSpec(parameter.name, self._matrix(size, parameter.size, density)))
        return Affine(self.numbers(size) if constant else np.zeros(size), tuple(terms))

    def term(self, name: str, size: int, density: float = 0.8) -> TermSpec:
        """Return a random term with this leaf, in one of the forms that a term can have."""
        function = next((function for function in self.functions if function.name == name), None)
        if function is None:
            variable = next(variable for variable in self.variables if variable.name == name)
            times = ""
            factors = [parameter.name for parameter in self.parameters if parameter.size == variable.size]
            if factors and not variable.scalar and self.chance(0.3):
                times = factors[0]
            if self.chance(0.2) and not variable.scalar:
                between = self.count(1, 4)
                inner = self._matrix(between, variable.size, 0.8)
                return TermSpec(name, self._matrix(size, between, density), inner=inner, times=times)
            if self.bags and self.chance(0.2) and not variable.scalar:
                over = self.count(0, len(self.bags) - 1)
                inner = self._matrix(len(self.bags[over].instances), variable.size, 0.8)
                matrix = self._matrix(size, len(self.bags[over].spans), density)
                return TermSpec(
                    name, matrix, inner=inner, aggregate=self.pick("bag_sum", "bag_mean"), bags=over, times=times
                )
            return TermSpec(name, self._matrix(size, variable.size, density), times=times)
        if self.bags and self.chance(0.7):
            over = self.count(0, len(self.bags) - 1)
            if self.chance(0.6):
                matrix = self._matrix(size, len(self.bags[over].spans), density)
                return TermSpec(name, matrix, at=over, aggregate=self.pick("bag_sum", "bag_mean"), bags=over)
            return TermSpec(name, self._matrix(size, len(self.bags[over].instances), density), at=over)
        points = self.points(self.count(1, 3))
        return TermSpec(name, self._matrix(size, len(points), density), at=points)

    def over_bags(self, bags: int) -> Affine:
        """Return a random affine vector with one entry per instance of a set of bags."""
        count = len(self.bags[bags].instances)
        terms: list[TermSpec] = []
        for function in self.functions:
            if self.chance(0.8) or not terms:
                sign = 1.0 if self.chance(0.7) else -1.0
                terms.append(TermSpec(function.name, sign * np.eye(count), at=bags))
        for variable in self.variables:
            if variable.name.endswith(".coefficients") or not (self.chance(0.6) or not terms):
                continue
            if variable.size == self.dimension:
                terms.append(TermSpec(variable.name, self.bags[bags].instances.copy()))
            else:
                terms.append(TermSpec(variable.name, self._matrix(count, variable.size, 0.8)))
        for parameter in self.parameters:
            if self.chance(0.6):
                matrix = np.eye(count) if parameter.size == count else self._matrix(count, parameter.size, 0.8)
                terms.append(TermSpec(parameter.name, matrix))
        return Affine(np.zeros(count), tuple(terms))

    def _matrix(self, rows: int, columns: int, density: float) -> Array:
        """Return a random matrix with about this fraction of nonzero entries."""
        matrix = self.numbers(rows, columns) * (self.rng.random((rows, columns)) < density)
        return matrix + 0.0

    def atom(self, *kinds: str) -> AtomSpec:
        """Return a random convex scalar atom of one of these kinds, with a positive multiplier."""
        kind = self.pick(*kinds)
        multiplier = np.round(self.rng.uniform(0.2, 2.0, size=(1, 1)), 2)
        if kind.startswith("function"):
            return AtomSpec(kind, multiplier, function=self.functions[self.count(0, len(self.functions) - 1)].name)
        argument = self.affine(self.count(1, 4))
        if kind != "quad_form":
            return AtomSpec(kind, multiplier, argument)
        weight, root = self.weight(argument.size)
        return AtomSpec(kind, multiplier, argument, weight, root)

    def weight(self, size: int) -> tuple[Array, Array]:
        """Return a positive semidefinite weight and its exact root.

        The weight is a diagonal, possibly with zeros, or L D L' with integers in L and powers of two in D. One weight
        in three is ill-conditioned.
        """
        least = MIN_WEIGHT_EXPONENT if self.chance(0.33) else -2
        powers = self.rng.integers(least // 2, 1, size) * 2
        diagonal = np.ldexp(1.0, powers)
        if self.chance(0.3):
            diagonal = diagonal * (self.rng.random(size) < 0.7)
        if self.chance(0.5):
            return diagonal, np.diag(np.sqrt(diagonal))
        lower = np.tril(self.rng.integers(-1, 2, size=(size, size)), -1) + np.eye(size)
        return lower @ np.diag(diagonal) @ lower.T, np.diag(np.sqrt(diagonal)) @ lower.T

    def maxima(self, rows: int | None = None) -> AtomSpec:
        """Return a bag_max over a set of bags: one row per bag, or a sum with nonnegative weights if `rows` is None."""
        over = self.count(0, len(self.bags) - 1)
        count = len(self.bags[over].spans)
        if rows is None:
            weights = np.abs(self.numbers(1, count)) * (self.rng.random((1, count)) < 0.8)
            return AtomSpec("bag_max", weights, self.over_bags(over), bags=over)
        return AtomSpec("bag_max", np.eye(count), self.over_bags(over), bags=over)

    # -- rows ------------------------------------------------------------------------------------------------------

    def value_at_interior_point(self, expression: ExpressionSpec) -> Array:
        """Return the value of an expression at the interior point, with the first values of the parameters."""
        point = Point(self.interior_point, {function.name: zero(function) for function in self.functions})
        description = ProgramDescription(0, "", tuple(self.variables), expression, bags=tuple(self.bags))
        return DescriptionEvaluator(description, self.settings[0], point).expression(expression).entries

    def add_row(self, expression: ExpressionSpec, sense: str, slack: Array | float | None = None) -> RowSpec:
        """Shift an expression so that the row holds with some slack at the interior point, and add the row."""
        value = self.value_at_interior_point(expression)
        distance = np.zeros(1) if sense == "==" else self.slack(expression.size) if slack is None else np.asarray(slack)
        target = {"<=": -distance, ">=": distance, "==": distance}[sense]
        affine = expression.affine
        shifted = np.round(affine.constant + target - value, 4 if sense != "==" else 12)
        self.rows.append(
            RowSpec(f"r{len(self.rows)}", ExpressionSpec(Affine(shifted, affine.terms), expression.atoms), sense)
        )
        return self.rows[-1]

    def add_linear_rows(self, blocks: int) -> None:
        """Add blocks of affine rows, some of them equations."""
        for _ in range(blocks):
            sense = ("<=", ">=", "==")[int(self.rng.choice(3, p=[0.4, 0.4, 0.2]))]
            size = 1 if sense == "==" else self.count(1, 4)
            self.add_row(ExpressionSpec(self.affine(size)), sense)

    def add_box(self, size: float) -> None:
        """Add the rows |x - interior_point| <= size for every variable, including coefficients over dictionaries."""
        for variable in self.variables:
            entry = Affine(np.zeros(variable.size), (TermSpec(variable.name, np.eye(variable.size)),))
            self.add_row(ExpressionSpec(entry), "<=", np.full(variable.size, size))
            self.add_row(ExpressionSpec(entry), ">=", np.full(variable.size, size))

    def add_contradiction(self) -> None:
        """Add two or three rows that add up to 0 >= margin > 0, which makes the program infeasible."""
        first = self.affine(1)
        margin = self.slack(1)
        self.rows.append(RowSpec(f"r{len(self.rows)}", ExpressionSpec(first), ">="))
        if self.chance(0.5):
            second = self.affine(1)
            self.rows.append(RowSpec(f"r{len(self.rows)}", ExpressionSpec(second), ">="))
            both = Affine(first.constant + second.constant, (*first.terms, *second.terms))
        else:
            both = first
        self.rows.append(
            RowSpec(f"r{len(self.rows)}", ExpressionSpec(Affine(both.constant + margin, both.terms)), "<=")
        )


def _rounded(values: object) -> Array:
    """Return values with two decimals."""
    return np.asarray(np.round(np.asarray(values, dtype=np.float64), 2), dtype=np.float64)
