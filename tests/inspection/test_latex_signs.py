"""Signs in printed formulas: with values for its symbols, a printed row equals the declared row."""

from __future__ import annotations

import re

import numpy as np
import pytest

from milopt import Program, bag_max, quad_form, sum_squares
from milopt.declaration.programs.expression import Constraint
from milopt.inspection.latex import latex_lines
from milopt.inspection.latex_symbols import ArraySymbols
from milopt.models import MIORDM

Y = np.array([1.0, -1.0, 1.0, -1.0])
V = np.array([1.0, -2.0, 3.0, 0.5])

TOKEN = re.compile(
    r"\\frac\{(?P<numerator>\d+)\}\{(?P<denominator>\d+)\}|(?P<power>10\^\{-?\d+\})|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<open>\\left\()|(?P<close>\\right\))|\\sum_\{(?P<sum>\w)\}|(?P<sign>[+-])|(?P<dot>\\cdot)|(?P<symbol>[^ ]+)"
)


class Reader:
    """Evaluator of the text of one side of a row, given the arrays of its symbols and the indices of the row."""

    def __init__(self, text: str, arrays: dict[str, np.ndarray]) -> None:
        spaced = text.replace(r"\left(", r" \left( ").replace(r"\right)", r" \right) ").replace("-", " - ", 1)
        self.tokens = [(match.lastgroup, match) for match in TOKEN.finditer(re.sub(r"(?<!\{)-", " - ", spaced))]
        self.arrays = arrays
        self.at = 0

    def kind(self) -> str | None:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else None

    def expression(self, where: dict[str, int]) -> float:
        total = 0.0
        while self.kind() not in (None, "close"):
            sign = 1.0
            while self.kind() == "sign":
                sign *= -1.0 if self.tokens[self.at][1].group() == "-" else 1.0
                self.at += 1
            total += sign * self.product(where)
        return total

    def product(self, where: dict[str, int]) -> float:
        value = 1.0
        while self.kind() not in (None, "close", "sign"):
            kind, match = self.tokens[self.at]
            self.at += 1
            if kind == "sum":
                start, total = self.at, 0.0
                for k in range(4):
                    self.at = start
                    total += self.product(where | {match["sum"]: k})
                value *= total
            elif kind == "open":
                value *= self.expression(where)
                self.at += 1
            elif kind == "denominator":
                value *= int(match["numerator"]) / int(match["denominator"])
            elif kind == "power":
                value *= 10.0 ** int(match.group()[4:-1])
            elif kind == "number":
                value *= float(match.group())
            elif kind == "symbol":
                name, _, index = match.group().rpartition("_{")
                array = self.arrays[name] if name else self.arrays[match.group()]
                value *= float(array[tuple(where[letter] for letter in index[:-1])] if name else array)
        return value


def check_rows(program: Program) -> None:
    """Compare every printed constraint elementwise with the declared one at a random point."""
    rng = np.random.default_rng(0)
    point = {name: rng.normal(size=variable.size) for name, variable in program.variables.items()}
    symbols = ArraySymbols()
    lines = {line.name: line.body for line in latex_lines(program, symbols)}
    shown = {name: value if program.variables[name].shape else value[0] for name, value in point.items()}
    arrays = {
        **shown,
        **{name: np.asarray(getattr(a, "toarray", lambda a=a: a)()) for name, a in symbols.arrays_by_symbol().items()},
    }
    for name, constraint in program.constraints.items():
        declared = constraint.expression.evaluate(lambda leaf: point[leaf.name])
        left, relation, right = re.split(r" (\\geq|\\leq|=) ", lines[rf"\mathrm{{{name}}}"])
        for i, value in enumerate(declared):
            printed = Reader(left, arrays).expression({"i": i}) - Reader(right, arrays).expression({"i": i})
            if relation == "=":
                assert abs(printed) == pytest.approx(abs(value), rel=1e-5)
            else:
                assert printed * (1 if relation == r"\geq" else -1) == pytest.approx(value, rel=1e-5)


def print_row(constraint: Constraint, program: Program) -> str:
    program.subject_to(constraint, name="row")
    check_rows(program)
    return next(line.body for line in latex_lines(program) if line.name == r"\mathrm{row}")


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda x, z, b: Y * x <= 1.7, r"y_{i} x_{i} \leq 1.7"),
        (lambda x, z, b: Y * x >= 1.7, r"y_{i} x_{i} \geq 1.7"),
        (lambda x, z, b: 1.7 >= Y * x, r"y_{i} x_{i} \leq 1.7"),  # noqa: SIM300  # another order is another method
        (lambda x, z, b: -(Y * x) >= -1.7, r"-y_{i} x_{i} \geq -1.7"),
        (lambda x, z, b: -2 * (Y * x) >= -1.7, r"-2 y_{i} x_{i} \geq -1.7"),
        (lambda x, z, b: Y * x == 1.7, r"y_{i} x_{i} = 1.7"),
        (lambda x, z, b: x - Y * z >= 0, r"x_{i} - y_{i} z_{i} \geq 0"),
        (lambda x, z, b: 1 - x <= Y * z, r"1 - x_{i} \leq y_{i} z_{i}"),
        (lambda x, z, b: Y * (x + b) - Y * z >= 1, r"y_{i} \left(x_{i} + b - z_{i}\right) \geq 1"),
        (lambda x, z, b: Y * (x + b) <= 1 + z, r"y_{i} \left(x_{i} + b\right) \leq z_{i} + 1"),
        (lambda x, z, b: Y * x - Y * z <= V, r"y_{i} \left(x_{i} - z_{i}\right) \leq g^{\mathrm{row}}_{i}"),
        (lambda x, z, b: V * x <= 1.7, r"a^{\mathrm{row},x}_{i} x_{i} \leq 1.7"),
        (lambda x, z, b: V * x >= V, r"a^{\mathrm{row},x}_{i} x_{i} \geq g^{\mathrm{row}}_{i}"),
        (lambda x, z, b: np.outer(V, V) @ x <= 3, r"\sum_{j} A^{\mathrm{row},x}_{ij} x_{j} \leq 3"),
        (lambda x, z, b: x <= Y, r"x_{i} \leq y_{i}"),
        (lambda x, z, b: x >= Y, r"x_{i} \geq y_{i}"),
        (lambda x, z, b: Y - x >= 0, r"y_{i} - x_{i} \geq 0"),
        (lambda x, z, b: Y @ x <= 1.7, r"\sum_{i} y_{i} x_{i} \leq 1.7"),
        (lambda x, z, b: -(V @ x) >= b, r"-\sum_{i} a^{\mathrm{row},x}_{i} x_{i} \geq b"),
    ],
)
def test_a_row_is_printed_with_the_declared_signs(write, text) -> None:
    program = Program("rows")
    x, z, b = program.variable("x", 4), program.variable("z", 4), program.variable("b")
    assert print_row(write(x, z, b), program) == text


def test_one_symbol_is_one_vector_in_all_blocks() -> None:
    program = Program("blocks")
    x, z = program.variable("x", 4), program.variable("z", 4)
    other = np.array([1.0, 1.0, -1.0, 1.0])
    program.subject_to(Y * x >= 1, name="first")
    program.subject_to(-Y * z + other * x >= 1, name="second")
    program.subject_to(-other * z >= 1, name="third")
    check_rows(program)
    lines = {line.name: line for line in latex_lines(program)}
    assert lines[r"\mathrm{second}"].body == r"-y_{i} z_{i} + y'_{i} x_{i} \geq 1"
    assert lines[r"\mathrm{second}"].where == r"i = 1, \ldots, 4,\ y \in \{-1, 1\}^{4},\ y' \in \{-1, 1\}^{4}"
    assert lines[r"\mathrm{third}"].body == r"-y'_{i} z_{i} \geq 1"


def test_different_vectors_of_one_name_have_different_symbols() -> None:
    program = Program("objective")
    x = program.variable("x", 4)
    program.minimize(sum_squares(V * x) + sum_squares((V + 1) * x) + sum_squares(V * x - 1))
    symbols = ArraySymbols()
    body = latex_lines(program, symbols)[0].body
    assert r"\left(c^{x}_{i} x_{i}\right)^2 + \sum_{i} \left(c^{x,2}_{i} x_{i}\right)^2" in body
    assert body.count("c^{x}_{i}") == 2
    np.testing.assert_array_equal(symbols.arrays_by_symbol()["c^{x}"], V)
    np.testing.assert_array_equal(symbols.arrays_by_symbol()["c^{x,2}"], V + 1)


def test_matrices_of_two_squares_have_different_symbols() -> None:
    program = Program("squares")
    x = program.variable("x", 4)
    W = np.diag(V**2) + 0.1
    program.minimize(quad_form(x, W) + quad_form(x - 1, 2 * W))
    body = latex_lines(program)[0].body
    assert "W_{ij}" in body
    assert "W'_{ij}" in body


def test_both_sides_of_miordm_have_the_same_labels(golden_bags) -> None:
    bags, y = golden_bags
    _, lower, upper, *_ = latex_lines(MIORDM().program(bags, y))
    assert lower.body == r"y_{i} \max_{x \in B_{i}} f(x) \geq \frac{3}{10} - \xi_{i}"
    assert upper.body == r"y_{i} \max_{x \in B_{i}} f(x) \leq \varepsilon_{i} + 1.7"


def test_a_maximum_that_is_bounded_above_keeps_its_label(golden_bags) -> None:
    bags, y = golden_bags
    program = Program("bounded")
    f = program.function("f", MIORDM().kernel.fitted(bags.instances))
    program.minimize(f.norm_squared())
    program.subject_to(y * bag_max(f(bags)) <= 1.7, name="row")
    assert latex_lines(program)[1].body == r"y_{i} \max_{x \in B_{i}} f(x) \leq 1.7"


@pytest.mark.parametrize("seed", range(30))
def test_printed_random_rows_equal_declared_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = Program("random")
    x, z, b = program.variable("x", 4), program.variable("z", 4), program.variable("b")
    vectors = (Y, -Y, V, -V, rng.normal(size=4), rng.choice([-1.0, 1.0], 4), np.full(4, -2.5))

    def side():
        total = rng.choice([0.0, 1.0, -2.0]) * b
        for leaf in (x, z):
            kind = rng.integers(4)
            if kind == 0:
                total = total + rng.normal(size=(4, 4)) @ leaf
            elif kind < 3:
                term = vectors[rng.integers(len(vectors))] * leaf
                total = total - term if rng.random() < 0.5 else total + term
        constant = vectors[rng.integers(len(vectors))] if rng.random() < 0.5 else 1.0
        return (total + constant) * rng.choice([1.0, -1.0, 0.5])

    for k in range(4):
        left, right = side() + 0.25 * x, side() + 0.125 * z
        compared = (left <= right, left >= right, left == right)[k % 3]
        program.subject_to(compared, name=f"rows{k}")
    check_rows(program)
