"""Expressions and constraints print as they were written."""

from __future__ import annotations

import numpy as np

from milopt import RBF, Program, entropy, maximum, norm
from milopt.declaration.programs.expression_text import format_expression


def test_constraints_print_as_they_were_written() -> None:
    program = Program("written")
    x, t, y = program.variable("x", 3), program.variable("t"), program.variable("y", 40)
    a, f = program.parameter("a"), program.function("f", RBF(1.0))
    for constraint, text in (
        (2 * x[0] - x[1] + 3 * t <= 7, "2*x[0] - x[1] + 3*t <= 7"),
        (x[0] <= 0, "x[0] <= 0"),
        (t <= 7, "t <= 7"),
        (x >= 1, "x >= 1  (3 rows)"),
        (x[1:] == 2, "x[1:3] == 2  (2 rows)"),
        (x[[0, 2]] <= 1, "x[[0, 2]] <= 1  (2 rows)"),
        (2 * x - t >= [1, 2, 3], "2*x - t >= [1, 2, 3]  (3 rows)"),
        (x * [1, 2, 3] >= 0, "[1, 2, 3]*x >= 0  (3 rows)"),
        (np.ones((2, 3)) @ x <= 1, "[2 x 3] @ x <= 1  (2 rows)"),
        (y.sum() <= 4, "sum(y) <= 4"),
        (np.arange(40.0) @ y <= 4, "y[1] + 2*y[2] + 3*y[3] + ... + 39*y[39] <= 4"),
        (norm(x) <= t, "norm(x) <= t"),
        (-entropy(x) <= 1, "-entropy(x) <= 1"),
        (maximum(x, 1).sum() <= 3, "sum(maximum(x)) <= 3"),
        (a * x <= 3, "a*x <= 3  (3 rows)"),
        (f(np.ones((5, 2))) + t >= 1, "f(5 points) + t >= 1  (5 rows)"),
    ):
        assert repr(constraint) == text


def test_expressions_print_as_they_were_written() -> None:
    program = Program("written")
    x = program.variable("x", 3)
    assert repr(2 * x + 1) == "2*x + 1  (shape (3,))"
    assert repr(1 - x[0]) == "-x[0] + 1"
    assert repr(0 * x) == "0  (shape (3,))"


def test_terms_with_parameters_show_their_constant_part_and_sign() -> None:
    program = Program("parameters")
    x, q, r = program.variable("x", 3), program.parameter("q", 3), program.parameter("r")
    texts = [format_expression(e) for e in (2 * x + q * x, -(q * x), x - r * x, (r + 1) * x)]
    assert texts == ["2*x + q*x", "-q*x", "x - r*x", "(r + 1)*x"]


def test_unnamed_block_avoids_the_names_of_variables() -> None:
    program = Program("names")
    x = program.variable("rows0")
    assert program.subject_to(x >= 0).name == "rows1"
