"""Programs with matrices of variables, as textbooks write them, compared with cvxpy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import milopt
from milopt import Program
from milopt.compilation.lowering import Lowering
from milopt.schemes.separable import separable_optimum


def test_a_transportation_problem_is_solved() -> None:
    cost, supply, demand = (
        np.random.default_rng(7).uniform(1, 9, (3, 4)),
        np.array([33.7, 41.2, 24.1]),
        np.array([20.0, 25, 15, 30]),
    )
    program = Program("transportation")
    X = program.variable("X", shape=(3, 4), lower=0)
    program.minimize((cost * X).sum())
    shipped = program.subject_to(X @ np.ones(4) <= supply, name="supply")
    arrived = program.subject_to(X.sum(axis=0) == demand, name="demand")
    Y = cp.Variable((3, 4), nonneg=True)
    rows = [Y @ np.ones(4) <= supply, cp.sum(Y, axis=0) == demand]
    expected = cp.Problem(cp.Minimize(cp.sum(cp.multiply(cost, Y))), rows).solve(solver="CLARABEL")
    for solver in ("highs", "clarabel", "auto"):
        result = milopt.solve(program, solver).require_certified()
        assert result.objective == pytest.approx(expected, rel=1e-6)
        assert result.values["X"].shape == result.values[X].shape == result.reduced_costs["X"].shape == (3, 4)
        np.testing.assert_allclose(result.values[X], Y.value, atol=1e-5)
        assert result.value(shipped).shape == result.duals[shipped].shape == (3,)
        np.testing.assert_allclose(result.duals[shipped], rows[0].dual_value, atol=1e-5)
        np.testing.assert_allclose(result.duals[arrived], -rows[1].dual_value, atol=1e-5)
        np.testing.assert_allclose(result.value(shipped), supply - Y.value.sum(axis=1), atol=1e-4)
        # Stationarity, entry by entry: the cost is the sum of the multipliers.
        priced = result.duals[arrived] - result.duals[shipped][:, None] + result.reduced_costs["X"]
        np.testing.assert_allclose(priced, cost, atol=1e-6)


def test_assignment_is_integral() -> None:
    from scipy.optimize import linear_sum_assignment

    cost = np.random.default_rng(7).uniform(size=(8, 8))
    program = Program("assignment")
    X = program.variable("X", (8, 8), binary=True)
    program.minimize(np.trace(cost.T @ X))
    program.subject_to(X.sum(axis=0) == 1)
    program.subject_to(X.sum(axis=1) == 1)
    result = milopt.solve(program, "highs").require_certified()
    rows, columns = linear_sum_assignment(cost)
    expected = np.zeros((8, 8))
    expected[rows, columns] = 1
    np.testing.assert_allclose(result.values["X"], expected, atol=1e-9)
    assert result.objective == pytest.approx(cost[rows, columns].sum())


def test_least_squares_with_a_matrix_of_unknowns_is_solved() -> None:
    A, B = np.split(np.random.default_rng(7).normal(size=(7, 5)), [3], axis=1)
    program = Program("least squares")
    X = program.variable("X", (3, 2))
    program.minimize(milopt.sum_squares(A @ X - B))
    result = milopt.solve(program, "clarabel").require_certified()
    best = np.linalg.lstsq(A, B, rcond=None)[0]
    np.testing.assert_allclose(result.values["X"], best, atol=1e-6)
    assert result.value(A @ X - B).shape == (7, 2)
    nonneg = program.subject_to(X >= 0, name="nonneg")
    result = milopt.solve(program, "clarabel").require_certified()
    Y = cp.Variable((3, 2))
    rows = [Y >= 0]
    expected = cp.Problem(cp.Minimize(cp.sum_squares(A @ Y - B)), rows).solve(solver="CLARABEL")
    assert result.objective == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(result.duals[nonneg], rows[0].dual_value, atol=1e-5)


def test_slices_of_a_cube_solve_a_sudoku() -> None:
    given = np.array([[1, 0, 0, 0], [0, 0, 3, 0], [0, 4, 0, 0], [0, 0, 0, 2]])
    program = Program("sudoku")
    X = program.variable("X", (4, 4, 4), binary=True)
    program.subject_to(X.sum(axis=0) == 1)
    program.subject_to(X.sum(axis=1) == 1)
    program.subject_to(X.sum(axis=2) == 1)
    for i in (0, 2):
        for j in (0, 2):
            program.subject_to(X[i : i + 2, j : j + 2].sum(axis=(0, 1)) == 1)
    rows, columns = np.nonzero(given)
    program.subject_to(X[rows, columns, given[rows, columns] - 1] == 1)
    result = milopt.solve(program, "highs").require_certified()
    solved = result.values["X"].argmax(axis=2) + 1
    assert (solved[rows, columns] == given[rows, columns]).all()
    digits = [1, 2, 3, 4]
    for line in (*solved, *solved.T, *(solved[i : i + 2, j : j + 2].ravel() for i in (0, 2) for j in (0, 2))):
        assert sorted(line) == digits


def test_multinomial_regression_is_solved() -> None:
    points, labels = np.random.default_rng(7).normal(size=(40, 3)), np.arange(40) % 3
    one_hot = np.eye(3)[labels]
    program = Program("multinomial")
    W, b = program.variable("W", (3, 3)), program.variable("b", 3)
    scores = points @ W + b
    program.minimize(
        milopt.log_sum_exp(scores, axis=1).sum()
        - (one_hot * scores).sum()
        + 0.1 * milopt.sum_squares(W)
        + 0.1 * milopt.sum_squares(b)
    )
    V, a = cp.Variable((3, 3)), cp.Variable(3)
    theirs = points @ V + cp.reshape(a, (1, 3), order="C")
    loss = cp.sum(cp.log_sum_exp(theirs, axis=1)) - cp.sum(cp.multiply(one_hot, theirs))
    expected = cp.Problem(cp.Minimize(loss + 0.1 * cp.sum_squares(V) + 0.1 * cp.sum_squares(a))).solve(
        solver="CLARABEL"
    )
    result = milopt.solve(program, "clarabel").require_certified()
    assert result.objective == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(result.values["W"], V.value, atol=1e-4)


ATOMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "norm": (milopt.norm, lambda X: cp.norm(X, "fro")),
    "norm of rows": (lambda X: milopt.norm(X, axis=1).sum(), lambda X: cp.sum(cp.norm(X, 2, axis=1))),
    "norm of columns": (lambda X: milopt.norm(X, axis=0).sum(), lambda X: cp.sum(cp.norm(X, 2, axis=0))),
    "norm1": (milopt.norm1, lambda X: cp.sum(cp.abs(X))),
    "norm1 of rows": (lambda X: milopt.norm1(X, axis=1)[0], lambda X: cp.norm(X[0], 1)),
    "norm_inf": (milopt.norm_inf, lambda X: cp.max(cp.abs(X))),
    "norm_inf of columns": (
        lambda X: milopt.norm_inf(X, axis=0).sum(),
        lambda X: cp.sum(cp.max(cp.abs(X), axis=0)),
    ),
    "sum_squares of rows": (
        lambda X: milopt.norm_inf(milopt.sum_squares(X, axis=1)),
        lambda X: cp.max(cp.sum(cp.square(X), axis=1)),
    ),
    "sum_largest": (lambda X: milopt.sum_largest(X, 4), lambda X: cp.sum_largest(X, 4)),
    "largest of rows": (lambda X: milopt.sum_largest(X, 1, axis=1).sum(), lambda X: cp.sum(cp.max(X, axis=1))),
    "log_sum_exp": (milopt.log_sum_exp, cp.log_sum_exp),
    "log_sum_exp of columns": (
        lambda X: milopt.log_sum_exp(X, axis=0).sum(),
        lambda X: cp.sum(cp.log_sum_exp(X, axis=0)),
    ),
    "entropy of rows": (lambda X: -milopt.entropy(X, axis=1).sum(), lambda X: -cp.sum(cp.entr(X))),
    "absolute": (lambda X: milopt.absolute(X).sum(axis=1)[1], lambda X: cp.sum(cp.abs(X), axis=1)[1]),
    "square": (lambda X: milopt.square(X).sum(), lambda X: cp.sum(cp.square(X))),
    "exp": (lambda X: milopt.exp(X).sum(), lambda X: cp.sum(cp.exp(X))),
    "logistic": (lambda X: milopt.logistic(X - 1).sum(), lambda X: cp.sum(cp.logistic(X - 1))),
    "huber": (lambda X: milopt.huber(X).sum(), lambda X: 0.5 * cp.sum(cp.huber(X))),
    "positive_part": (lambda X: milopt.positive_part(X - 0.4).sum(), lambda X: cp.sum(cp.pos(X - 0.4))),
    "maximum with a row": (
        lambda X: milopt.maximum(X, [0.1, 0.2, 0.3]).sum(),
        lambda X: cp.sum(cp.maximum(X, np.tile([0.1, 0.2, 0.3], (2, 1)))),
    ),
    "nested": (
        lambda X: milopt.norm(milopt.exp(X), axis=1).sum(),
        lambda X: cp.sum(cp.norm(cp.exp(X), 2, axis=1)),
    ),
}


@pytest.mark.parametrize(("atom", "theirs"), ATOMS.values(), ids=ATOMS)
def test_atoms_of_matrices_agree_with_cvxpy(atom: Callable[[Any], Any], theirs: Callable[[Any], Any]) -> None:
    pull = np.array([[0.3, 0.1, 0.7], [0.2, 0.6, 0.05]])
    program = Program("atoms")
    X = program.variable("X", (2, 3), lower=0)
    program.minimize(atom(X) + 2 * milopt.sum_squares(X - pull))
    program.subject_to(X.sum(axis=0) == [0.5, 0.6, 0.7])
    Y = cp.Variable((2, 3), nonneg=True)
    objective = theirs(Y) + 2 * cp.sum_squares(Y - pull)
    expected = cp.Problem(cp.Minimize(objective), [cp.sum(Y, axis=0) == [0.5, 0.6, 0.7]]).solve(solver="CLARABEL")
    result = milopt.solve(program, "clarabel").require_certified()
    assert result.objective == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(result.values["X"], Y.value, atol=2e-3)


@pytest.mark.parametrize("entrywise", [milopt.absolute, milopt.square, milopt.exp, milopt.logistic, milopt.huber])
def test_atoms_that_act_entry_by_entry_keep_the_shape(entrywise: Callable[[Any], Any]) -> None:
    program = Program("atoms")
    X = program.variable("X", (2, 3), lower=1, upper=1)
    result = milopt.solve(program, "clarabel")
    assert entrywise(X).shape == result.value(entrywise(X)).shape == (2, 3)
    assert milopt.norm(X, axis=0).shape == result.value(milopt.norm(X, axis=0)).shape == (3,)


@pytest.mark.parametrize("rows", ["X >= Y.T", "atoms"])
def test_multipliers_have_the_shape_of_the_block(rows: str) -> None:
    program = Program("blocks")
    X, Y = program.variable("X", (2, 3)), program.variable("Y", (3, 2), lower=[[1], [2], [3]])
    program.minimize(X.sum())
    bound = X >= Y.T if rows == "X >= Y.T" else milopt.absolute(Y.T) <= X
    block = program.subject_to(bound, name="block")
    result = milopt.solve(program, "clarabel").require_certified()
    np.testing.assert_allclose(result.values["X"], [[1, 2, 3], [1, 2, 3]], atol=1e-6)
    np.testing.assert_allclose(result.duals[block], np.ones((2, 3)), atol=1e-6)
    np.testing.assert_allclose(result.reduced_costs["Y"], np.ones((3, 2)), atol=1e-6)
    assert result.value(block).shape == (2, 3)


def test_a_matrix_of_parameters_changes_between_solves() -> None:
    program = Program("parameters")
    P, X = program.parameter("P", (2, 3)), program.variable("X", (3, 2), lower=0)
    program.minimize(milopt.sum_squares(P @ X - 1) + 0.1 * milopt.sum_squares(X))
    P.value = np.zeros((2, 3))
    with milopt.Session(program, milopt.get_solver("clarabel")) as session:
        for seed in range(3):
            A = np.random.default_rng(seed).normal(size=(2, 3))
            session.set_parameter(P, A)
            outcome = session.solve()
            Y = cp.Variable((3, 2), nonneg=True)
            expected = cp.Problem(cp.Minimize(cp.sum_squares(A @ Y - 1) + 0.1 * cp.sum_squares(Y))).solve(
                solver="CLARABEL"
            )
            assert outcome.objective == pytest.approx(expected, rel=1e-6)


def test_a_rejected_value_leaves_a_matrix_of_parameters_as_it_was() -> None:
    program = Program("parameters")
    P, X = program.parameter("P", (2, 3)), program.variable("X", (2, 3))
    program.minimize(X.sum())
    program.subject_to(X >= P)
    P.value = np.arange(6.0).reshape(2, 3)
    with milopt.Session(program, milopt.get_solver("highs")) as session:
        with pytest.raises(milopt.MiloptError, match="NaN"):
            session.set_parameter(P, np.full((2, 3), np.nan))
        assert session.solve().objective == pytest.approx(15.0)
        assert P.value.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_only_integer_entries_have_their_bounds_rounded() -> None:
    program = Program("bounds")
    X = program.variable("X", (2, 2), upper=1.5, integer=[[True, False], [False, True]])
    program.maximize(X.sum())
    result = milopt.solve(program, "highs").require_certified()
    np.testing.assert_allclose(result.values["X"], [[1, 1.5], [1.5, 1]])


def test_a_separable_optimum_has_the_declared_shapes() -> None:
    program = Program("separable")
    X, t = program.variable("X", (2, 3), lower=np.arange(6.0).reshape(2, 3)), program.variable("t", lower=2)
    program.minimize(X.sum() + t)
    optimum = separable_optimum(program, 1e-6)
    assert optimum is not None
    assert optimum[0] == 17.0
    assert optimum[1]["X"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert optimum[1]["t"].shape == ()


def test_a_large_program_is_lowered_without_a_loop_over_entries() -> None:
    """There are 40 000 variables and 400 dense rows; a Python loop over entries would need far more calls."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    cost = np.random.default_rng(7).uniform(size=(200, 200))
    sys.setprofile(count)
    try:
        program = Program("large")
        X = program.variable("X", (200, 200), lower=0)
        program.minimize((cost * X).sum())
        program.subject_to(X.sum(axis=0) == 1)
        program.subject_to(X.sum(axis=1) == 1)
        program.subject_to(sp.eye_array(200) @ X <= 1)
        form = Lowering(program).form()
    finally:
        sys.setprofile(None)
    assert form.rows.count == 40400
    assert calls < 5000
