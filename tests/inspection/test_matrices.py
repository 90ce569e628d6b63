"""Programs with matrix variables: printed, written to files, exported, saved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import milopt
from milopt import Bags, Program, absolute, norm


def production() -> Program:
    program = Program("production")
    X = program.variable("X", (2, 3), lower=0, upper=[1, 2, 3], integer=[[True], [False]])
    program.maximize((np.arange(6.0).reshape(2, 3) * X).sum())
    program.subject_to(X.sum(axis=0) <= 1.5, name="columns")
    program.subject_to(X <= 1.2, name="all")
    return program


def test_terms_are_printed_as_declared() -> None:
    program = Program("written")
    X, Y, x = program.variable("X", (3, 4)), program.variable("Y", (4, 3)), program.variable("x", 3)
    rng = np.random.default_rng(0)
    for expression, text in (
        (X[0, 2], "X[0, 2]"),
        (2 * X[0, 1] - X[2, 3], "2*X[0, 1] - X[2, 3]"),
        (X[0] + 1, "X[0] + 1  (shape (4,))"),
        (X[:, 1], "X[:, 1]  (shape (3,))"),
        (X[1:3, ::2], "X[1:, ::2]  (shape (2, 2))"),
        (X[:2].T, "X[:2].T  (shape (4, 2))"),
        (X[[0, 2], [1, 3]], "X[[0, 2], [1, 3]]  (shape (2,))"),
        (X - Y.T, "X - Y.T  (shape (3, 4))"),
        (X.sum(), "sum(X)"),
        (2 * X.sum(axis=1) - x, "2*sum(X, axis=1) - x  (shape (3,))"),
        (rng.random((2, 3)) @ X, "[2 x 3] @ X  (shape (2, 4))"),
        (X @ rng.random((4, 2)), "X @ [4 x 2]  (shape (3, 2))"),
        (X @ rng.random(4), "X @ [4]  (shape (3,))"),
        (rng.random(3) @ X, "[3] @ X  (shape (4,))"),
        (absolute(X), "absolute(X)  (shape (3, 4))"),
        (norm(X, axis=0), "norm(X, axis=0)  (shape (4,))"),
        (X.sum(axis=0) >= 1, "sum(X, axis=0) >= 1  (4 rows)"),
        (X <= Y.T, "X <= Y.T  (12 rows)"),
    ):
        assert repr(expression) == text


def test_the_summary_states_shapes_and_how_many_entries_are_integer() -> None:
    assert "X     2 x 3  0 .. [1 to 3]  3 integer" in production().summary()


def test_files_name_the_entries_of_a_matrix() -> None:
    text = production().to_lp()
    assert "columns(0): - 1.0 X(0,0) - 1.0 X(1,0) >= -1.5" in text
    assert "general\n X(0,1) X(0,2)\nbinary\n X(0,0)\n" in text
    assert " X(1,2) columns(2) -1.0" in production().to_mps()


def test_latex_states_the_shape() -> None:
    program = production()
    program.subject_to(norm(program.variables["X"], axis=1) <= 9, name="rows")
    text = program.to_latex()
    assert r"X \in \mathbb{R}^{2 \times 3} && \text{entries numbered row after row}" in text
    assert r"\sqrt{\sum_{j \in G_{i}} \left(X_{j}\right)^2} \leq 9 && i = 1, \ldots, 2" in text
    assert r"X_{i} \in \mathbb{Z} && \text{3 of } i = 1, \ldots, 6" in text


@pytest.mark.parametrize("solver", ["highs", "cvxpy:HIGHS", "pyomo:highs"])
def test_other_ways_to_the_solver_give_the_same_matrix(solver: str) -> None:
    result = milopt.solve(production(), solver).require_certified()
    # The first row is integer. The second row is more valuable and gets 1.5 minus these integers per column.
    np.testing.assert_allclose(result.values["X"], [[0, 0, 0], [1, 1.2, 1.2]], atol=1e-8)
    assert result.objective == pytest.approx(13.8)


class TwoScoresModel(milopt.BagClassifier):
    """Model with two linear scores of the bag mean, fitted to y and -y; the score is half their difference."""

    def declare(self, bags: Bags, y, weight) -> Program:
        program = Program("scores")
        W = program.variable("W", (bags.dimension, 2))
        means = np.array([bag.mean(axis=0) for bag in bags])
        program.minimize(milopt.sum_squares(means @ W - y[:, None] * np.array([1.0, -1.0])) + milopt.sum_squares(W))
        program.score(lambda new: np.array([bag.mean(axis=0) for bag in new]) @ (W @ np.array([0.5, -0.5])))
        return program


def test_a_model_with_a_matrix_of_variables_is_saved(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(20) % 2, 1, -1)
    bags = [rng.normal(0.7 * sign, 1, (4, 3)) for sign in y]
    model = TwoScoresModel(solver="clarabel").fit(bags, y)
    assert model.result_.values["W"].shape == (3, 2)
    model.save(tmp_path / "scores.milopt")
    loaded = milopt.load_model(tmp_path / "scores.milopt", TwoScoresModel)
    np.testing.assert_array_equal(loaded.result_.values["W"], model.result_.values["W"])
    np.testing.assert_allclose(loaded.decision_function(bags), model.decision_function(bags))
