"""Expressions and constraints print as they were written."""

from __future__ import annotations

import numpy as np

from milopt import (
    RBF,
    Program,
    absolute,
    as_bags,
    bag_log_sum_exp,
    bag_max,
    bag_mean,
    bag_sum,
    bag_sum_largest,
    concatenate,
    entropy,
    exp,
    group_norms,
    hstack,
    huber,
    log,
    log_sum_exp,
    maximum,
    minimum,
    norm,
    positive_part,
    quad_form,
    quad_over_lin,
    relative_entropy,
    sum_largest,
    vstack,
)
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
        (maximum(x, 1).sum() <= 3, "sum(maximum(x, 1)) <= 3"),
        (a * x <= 3, "a*x <= 3  (3 rows)"),
        (f(np.ones((5, 2))) + t >= 1, "f(5 points) + t >= 1  (5 rows)"),
    ):
        assert repr(constraint) == text


def test_expressions_print_as_they_were_written() -> None:
    program = Program("written")
    x = program.variable("x", 3)
    assert repr(2 * x + 1) == "2*x + 1  (shape (3,))"
    assert repr(1 - x[0]) == "1 - x[0]"
    assert repr(x - [1, 2, 3]) == "x - [1, 2, 3]  (shape (3,))"
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


BAGS = as_bags([[[1.0, 2.0], [2.0, 1.0]], [[3.0, 1.0]]])


def test_atoms_print_their_arguments_as_they_were_written() -> None:
    program = Program("atoms")
    x, t, X = program.variable("x", 3), program.variable("t"), program.variable("X", (3, 4))
    f, z = program.function("f", RBF(1.0)), program.variable("z", 3)
    for expression, text in (
        (norm(2 * x - 1), "norm(2*x - 1)"),
        (log(x + 1), "log(x + 1)"),
        (-3 * log(2 * t), "-3*log(2*t)"),
        (maximum(t, 2 * t - 1), "maximum(t, 2*t - 1)"),
        (minimum(x, 1), "minimum(x, 1)"),
        (-minimum(x, 2 - x), "-minimum(x, 2 - x)"),
        (positive_part(1 - x), "maximum(1 - x, 0)"),
        ((2 * x - 1).min(), "min(2*x - 1)"),
        (X.min(axis=0), "min(X, axis=0)"),
        (norm(2 * X - 1, axis=1), "norm(2*X - 1, axis=1)"),
        (norm(X.T), "norm(X.T)"),
        (exp(X @ np.arange(4.0)), "exp(X @ [4])"),
        (sum_largest(2 * X, 2, axis=0), "sum_largest(2*X, 2, axis=0)"),
        (huber(x - 1, 2), "huber(x - 1, M=2)"),
        (quad_form(x - 1, np.eye(3)), "quad_form(x - 1, [3 x 3])"),
        (quad_over_lin(2 * x - 1, t + 1), "quad_over_lin(2*x - 1, t + 1)"),
        (relative_entropy(x + 1, 2 * x), "relative_entropy(x + 1, 2*x)"),
        (log_sum_exp(x, t), "log_sum_exp(x, t)"),
        (group_norms(2 * x, [2, 1]), "group_norms(2*x, [2, 1])"),
        (exp(maximum(x, log_sum_exp(x, 1))), "exp(maximum(x, log_sum_exp(x, 1)))"),
        (f.norm(), "norm(f)"),
        (bag_max(2 * f(BAGS) - t) + t, "bag_max(2*f(3 points) - t) + t"),
        (bag_max(z, BAGS), "bag_max(z, 2 bags)"),
        (bag_sum_largest(f(BAGS), k=1), "bag_sum_largest(f(3 points), k=1)"),
        (bag_log_sum_exp(f(BAGS), T=2.0), "bag_log_sum_exp(f(3 points), T=2)"),
        (bag_sum(f(BAGS)), "bag_sum(f(3 points))"),
        (t - 2 * bag_mean(f(BAGS)), "t - 2*bag_mean(f(3 points))"),
    ):
        assert format_expression(expression) == text


def test_matrices_and_joined_expressions_print_as_they_were_written() -> None:
    program = Program("matrices")
    A, B, x, y = program.variable("A", (2, 2)), program.variable("B", (2, 2)), program.variable("x", 2), np.eye(2)
    long = program.variable("long", 40)
    for expression, text in (
        (vstack([A, A]), "vstack([A, A])"),
        (-2 * vstack([A, 2 * B - 1]), "-2*vstack([A, 2*B - 1])"),
        (norm(hstack([A, B])), "norm(hstack([A, B]))"),
        (concatenate([A, B], axis=1), "concatenate([A, B], axis=1)"),
        (hstack([long[k] for k in range(40)]), "hstack([long[0], long[1], long[2], ..., long[39]])"),
        (A * [[1, 2], [3, 4]] - [[4, 3], [2, 1]], "[[1, 2], [3, 4]]*A - [[4, 3], [2, 1]]"),
        (long[1:] - long[:-1], "long[1:40] - long[0:39]"),
        (long[::2], "long[::2]"),
        (long.reshape(8, 5), "long.reshape(8, 5)"),
        (x[[1, 0]] * [1, 3], "[1, 3]*x[[1, 0]]"),
        (A @ y, "A"),
    ):
        shown = format_expression(expression, length=55)
        assert shown == text


def test_products_with_parameters_print_as_they_were_written() -> None:
    program = Program("products")
    x, X, s = program.variable("x", 3), program.variable("X", (3, 4)), program.variable("s")
    p, q, P, Q = (program.parameter(n, shape) for n, shape in zip("pqPQ", ((), 3, (2, 3), (4, 2)), strict=True))
    for expression, text in (
        (2 * (p * x), "2*p*x"),
        (p * x[1:], "p*x[1:3]"),
        (p * log(x), "p*log(x)"),
        (q * s, "q*s"),
        (q @ x, "q @ x"),
        (p * x.sum(), "p*sum(x)"),
        (P @ x, "P @ x"),
        (P @ X, "P @ X"),
        (X @ Q, "X @ Q"),
        (P @ (2 * x - 1), "P @ (2*x) - sum(P, axis=1)"),
        (np.arange(6.0).reshape(2, 3) @ (q * x), "[2 x 3] @ (q*x)"),
        ((p + 1) * norm(2 * x), "(p + 1)*norm(2*x)"),
    ):
        assert format_expression(expression) == text


def test_long_expressions_are_shortened_and_keep_their_brackets_balanced() -> None:
    program = Program("long")
    x = program.variable("x", 40)
    terms = [absolute(x[k] - k) for k in range(40)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    assert repr(total).startswith("absolute(x[0]) + absolute(x[1] - 1) + ")
    assert repr(total).endswith(" + ... + absolute(x[39] - 39)")
    assert norm(total).describe() == "norm(absolute(x[0]) + absolute(x[1] - 1) + ... + absolute(x[39] - 39))"
    nested = terms[0]
    for _ in range(30):
        nested = exp(maximum(nested, total[None][0]))
    assert len(repr(nested)) < 160
    assert repr(nested).count("(") == repr(nested).count(")")


def test_the_headline_of_a_summary_shows_the_objective_as_written() -> None:
    program = Program("headline")
    x = program.variable("x", 2, lower=0)
    program.minimize(3 * x[0] - x[1])
    assert "minimise 3*x[0] - x[1]\n" in program.summary()
