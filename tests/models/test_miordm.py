"""MIORDM as a program: the paper's alternation cycles on twelve points, the convex-concave procedure never rises."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import RBF, Bags, ConvexConcave, Program, Representatives, bag_max, solve, sum_squares
from milopt.outcome.status import PointStatus, Termination

K = RBF(0.5)
LAMBDA, THETA, MU = 16.0, 0.5, 0.5
CYCLE = ((1, 3, 4, 8, 9, 10), (1, 2, 4, 7, 9, 11))


def miordm(bags, y) -> Program:
    """min 1/2 ||f||^2 + c0 (||xi||^2 + mu ||eps||^2)  s.t.  1 - theta - xi <= y max f <= 1 + theta + eps."""
    program = Program("MIORDM")
    f = program.function("f", K)
    xi, eps = program.variable("xi", len(bags)), program.variable("eps", len(bags))
    c0 = LAMBDA / (len(bags) * (1 - THETA) ** 2)
    program.minimize(0.5 * f.norm_squared() + c0 * (sum_squares(xi) + MU * sum_squares(eps)))
    program.subject_to(y * bag_max(f(bags)) >= 1 - THETA - xi, name="lower")
    program.subject_to(y * bag_max(f(bags)) <= 1 + THETA + eps, name="upper")
    program.score(lambda new: bag_max(f(new)), instances=lambda x: f(x))
    return program


def true_objective(result, bags, y):
    """Jtrue at the result's function, from the definition."""
    t = y * bags.max(result.functions["f"](bags.instances))
    c0 = LAMBDA / (len(bags) * (1 - THETA) ** 2)
    loss = np.maximum(1 - THETA - t, 0) ** 2 + MU * np.maximum(t - 1 - THETA, 0) ** 2
    return 0.5 * result.functions["f"].norm_squared + c0 * loss.sum()


def means(bags) -> Bags:
    return Bags(bags.mean(bags.instances), np.arange(len(bags) + 1))


def reselected(bags, y, start, name):
    """Which representatives one solve with `start` leads to."""
    result = solve(miordm(bags, y), name, Representatives(start=start, max_steps=1))
    return tuple(bags.argmax(result.functions["f"](bags.instances)).tolist())


@pytest.mark.parametrize("name", ["native", "highs", "clarabel", "ecos"])
def test_golden_inner_solve_on_bag_means(name, golden_bags):
    bags, y = golden_bags
    result = solve(miordm(means(bags), y), name, Representatives(max_steps=1))
    assert result.certificate.worst <= 1e-6
    assert result.objective == pytest.approx(5.770615, abs=1e-5)
    alpha = [0.803559, 10.848897, 10.484436, 0.256361, 0.419725, 0.269484]
    np.testing.assert_allclose(result.duals["lower"], alpha, atol=1e-4)
    np.testing.assert_allclose(result.duals["upper"], np.zeros(6), atol=1e-6)


def test_derived_dual_of_the_inner_problem_is_the_box_qp_of_odm(golden_bags):
    bags, y = golden_bags
    x = means(bags)
    program = Program("ODM")
    f = program.function("f", K)
    xi, eps = program.variable("xi", 6), program.variable("eps", 6)
    c0 = LAMBDA / (6 * (1 - THETA) ** 2)
    program.minimize(0.5 * f.norm_squared() + c0 * (sum_squares(xi) + MU * sum_squares(eps)))
    program.subject_to(y * f(x.instances) >= 1 - THETA - xi, name="lower")
    program.subject_to(y * f(x.instances) <= 1 + THETA + eps, name="upper")
    form = program.to_standard_form("dual")
    Q, c = np.outer(y, y) * K(x.instances, x.instances), 1 / (2 * c0)
    A = np.block([[Q + c * np.eye(6), -Q], [-Q, Q + c / MU * np.eye(6)]])
    np.testing.assert_allclose(form.P.sparse.toarray(), A, atol=1e-12)
    np.testing.assert_allclose(form.q, np.repeat([THETA - 1, THETA + 1], 6), atol=1e-12)
    assert form.m == 0
    assert (form.lower == 0).all()
    assert (form.upper == np.inf).all()
    assert solve(program, "native").objective == pytest.approx(5.770615, abs=1e-5)


@pytest.mark.parametrize("name", ["native", "highs", "clarabel"])
def test_alternation_from_bag_means_enters_the_golden_cycle_of_period_two(name, golden_bags):
    bags, y = golden_bags
    assert reselected(bags, y, bags.mean(bags.instances), name) == CYCLE[0]
    assert reselected(bags, y, np.array(CYCLE[0]), name) == CYCLE[1]
    assert reselected(bags, y, np.array(CYCLE[1]), name) == CYCLE[0]
    result = solve(miordm(bags, y), name, Representatives(start=bags.mean(bags.instances)))
    assert result.termination is Termination.CYCLE
    assert result.point is not PointStatus.CERTIFIED
    assert len(result.history) <= 4


@pytest.mark.parametrize("start", CYCLE)
def test_alternation_keeps_the_best_iterate_of_the_cycle(start, golden_bags):
    bags, y = golden_bags
    result = solve(miordm(bags, y), "highs", Representatives(start=np.array(start)))
    assert result.termination is Termination.CYCLE
    assert result.objective == pytest.approx(true_objective(result, bags, y), rel=1e-6)
    assert result.objective == pytest.approx(min(step.objective for step in result.history))


@pytest.mark.parametrize("name", ["highs", "clarabel", "ecos"])
def test_convex_concave_procedure_never_rises_and_ends_below_the_alternation(name, golden_bags):
    bags, y = golden_bags
    result = solve(miordm(bags, y), name, ConvexConcave(start=bags.mean(bags.instances)))
    assert (result.termination, result.point) == (Termination.STATIONARY, PointStatus.CERTIFIED)
    objectives = np.array([step.objective for step in result.history])
    assert (np.diff(objectives) <= 1e-9 * objectives[:-1] + 1e-8).all()
    assert result.objective == pytest.approx(true_objective(result, bags, y), rel=1e-6)
    alternation = solve(miordm(bags, y), name, Representatives(start=bags.mean(bags.instances)))
    assert result.objective < alternation.objective


def test_bags_of_one_are_settled_in_one_step(golden_bags):
    bags, y = golden_bags
    one = solve(miordm(means(bags), y), "native", Representatives())
    assert one.termination is Termination.STATIONARY
    assert one.objective == pytest.approx(5.770615, abs=1e-5)
