"""Cached expansions of maxima: they are used only for the rows from which they were computed."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import RBF, Program, as_bags, bag_max, get_solver, sum_squares
from milopt.compilation.minorant import one_hot_minorant
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.expression import Constraint, Expression
from milopt.solving.step_session import StepSession


def bags_of(seed: int) -> Bags:
    rng = np.random.default_rng(seed)
    return as_bags([rng.normal(size=(3, 2)) for _ in range(5)])


def program_of(bags: Bags) -> tuple[Program, Expression, Expression]:
    """Return the program min 1/2 ||f||^2 + 1/2 ||xi||^2, with f(bags) and xi."""
    program = Program("kept")
    f, xi = program.function("f", RBF(0.5)), program.variable("xi", len(bags))
    program.minimize(0.5 * f.norm_squared() + 0.5 * sum_squares(xi))
    return program, f(bags), xi


def below(values: Expression, xi: Expression, factor: float) -> Constraint:
    return factor * bag_max(values) <= xi - 1


def test_a_replaced_block_is_lowered_with_its_new_coefficients() -> None:
    bags = bags_of(0)
    program, values, xi = program_of(bags)
    program.subject_to(below(values, xi, 1.0), name="rows")
    with StepSession(program, get_solver("clarabel")) as session:
        first = session.solve().objective
        session.replace_rows("rows", below(values, xi, 0.25))
        second = session.solve().objective
    fresh, values, xi = program_of(bags)
    fresh.subject_to(below(values, xi, 0.25), name="rows")
    with StepSession(fresh, get_solver("clarabel")) as session:
        assert session.solve().objective == pytest.approx(second, rel=1e-7)
    assert abs(first - second) > 1e-3


def test_new_witnesses_change_only_the_rows_on_the_other_side() -> None:
    """Each bag has one sign, so the rows of the convex side must be the same numbers before and after."""
    bags, signs = bags_of(1), np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    program, values, xi = program_of(bags)
    program.subject_to(signs * bag_max(values) >= 1 - xi, name="rows")
    (atom,) = program.maxima()
    first, last = bags.offsets[:-1], bags.offsets[1:] - 1
    with StepSession(program, get_solver("native"), witnesses={atom: one_hot_minorant(atom, first)}) as session:
        session.solve()
        session.set_witnesses({atom: one_hot_minorant(atom, last)})
        moved = session.solve().objective
        rows = session.form.rows.E[0].toarray()
    with StepSession(program, get_solver("native"), witnesses={atom: one_hot_minorant(atom, last)}) as session:
        np.testing.assert_array_equal(session.form.rows.E[0].toarray(), rows)
        assert session.solve().objective == pytest.approx(moved, rel=1e-9)
