"""The weak learners of boosted shapelets as DC programs: maximise the edge over a 1-norm ball or a Hilbert ball."""

from __future__ import annotations

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

from milopt import RBF, ConvexConcave, Program, bag_max, norm1, solve
from milopt.errors import UnsupportedError
from milopt.outcome.status import PointStatus, Termination

K = RBF(0.5)
UNIFORM = np.full(6, 1 / 6)
SKEW = np.array([0.3, 0.1, 0.05, 0.25, 0.1, 0.2])


def weak_learning(bags, y, d, ball) -> Program:
    """max sum_i y_i d_i max_{x in B_i} u(x) over a ball of radius 1."""
    program = Program(f"weak learning, {ball} ball")
    u = program.function("u", K, dictionary=bags.instances if ball == "1-norm" else None)
    p = program.parameter("d", len(bags), sign=+1)
    program.maximize((y * p) @ bag_max(u(bags)))
    if ball == "1-norm":
        program.subject_to(norm1(u.coefficients) <= 1, name="ball")
    else:
        program.subject_to(u.norm() <= 1, name="ball")
    p.value = d
    return program


def by_enumeration(bags, y, d, ball):
    """The best edge over every choice of witnesses in positive bags, by cvxpy."""
    gram = K(bags.instances, bags.instances)
    values, vectors = np.linalg.eigh(gram)
    features = gram if ball == "1-norm" else vectors * np.sqrt(np.maximum(values, 0))
    u, top = cp.Variable(features.shape[1]), cp.Variable(len(bags))
    inside = [range(bags.offsets[i], bags.offsets[i + 1]) for i in range(len(bags))]
    rows = [cp.norm(u, 1 if ball == "1-norm" else 2) <= 1]
    rows += [features[list(inside[i])] @ u <= top[i] for i in np.flatnonzero(y < 0)]
    negative = cp.sum(cp.multiply(d * (y < 0), top))
    positive = np.flatnonzero(y > 0)
    best = -np.inf
    for witnesses in product(*(inside[i] for i in positive)):
        pull = d[positive] @ features[list(witnesses)]
        best = max(best, cp.Problem(cp.Maximize(pull @ u - negative), rows).solve(solver=cp.CLARABEL))
    return best


def one_hot(bags, y, d):
    """(the best single instance z, its edge) of u = K(z, .)."""
    edges = (y * d) @ bags.max(K(bags.instances, bags.instances))
    return int(np.argmax(edges)), float(edges.max())


def test_best_single_instance_at_uniform_weights(golden_bags):
    z, edge = one_hot(*golden_bags, UNIFORM)
    assert z == 1
    assert edge == pytest.approx(0.350987, abs=1e-5)


@pytest.mark.parametrize("name", ["highs", "clarabel", "ecos"])
def test_one_norm_ball_golden_optimum(name, golden_bags):
    result = solve(weak_learning(*golden_bags, UNIFORM, "1-norm"), name, "exact")
    assert (result.termination, result.point) == (Termination.OPTIMAL, PointStatus.CERTIFIED)
    assert result.objective == pytest.approx(0.350987, abs=1e-5)
    assert result.bound == pytest.approx(result.objective, abs=1e-6)


@pytest.mark.parametrize("name", ["clarabel", "ecos"])
def test_hilbert_ball_golden_optimum(name, golden_bags):
    result = solve(weak_learning(*golden_bags, UNIFORM, "Hilbert"), name, "exact")
    assert (result.termination, result.point) == (Termination.OPTIMAL, PointStatus.CERTIFIED)
    assert result.objective == pytest.approx(0.48866, abs=1e-5)
    assert result.functions["u"].norm_squared == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(("ball", "name"), [("1-norm", "highs"), ("1-norm", "clarabel"), ("Hilbert", "clarabel")])
@pytest.mark.parametrize("d", [UNIFORM, SKEW], ids=["uniform", "skew"])
def test_exact_is_enumeration_and_bounds_ccp_from_above(ball, name, d, golden_bags):
    program = weak_learning(*golden_bags, d, ball)
    exact, local = solve(program, name, "exact"), solve(program, name, "ccp")
    assert exact.objective == pytest.approx(by_enumeration(*golden_bags, d, ball), abs=1e-6)
    assert local.objective <= exact.bound + 1e-6


@pytest.mark.parametrize(("ball", "edge"), [("1-norm", 0.350987), ("Hilbert", 0.48866)])
@pytest.mark.parametrize("name", ["clarabel", "ecos"])
def test_ccp_from_the_best_single_instance_reaches_the_global_edge(name, ball, edge, golden_bags):
    bags, y = golden_bags
    z, first = one_hot(bags, y, UNIFORM)
    values = K(bags.instances, bags.instances[[z]])[:, 0]
    result = solve(weak_learning(bags, y, UNIFORM, ball), name, ConvexConcave(start=values))
    assert result.termination is Termination.STATIONARY
    assert result.objective == pytest.approx(edge, abs=1e-5)
    edges = [step.objective for step in result.history]
    assert edges[0] >= first - 1e-7
    assert (np.diff(edges) >= -1e-9).all()


def test_edge_is_that_of_the_recovered_function(golden_bags):
    bags, y = golden_bags
    result = solve(weak_learning(bags, y, SKEW, "Hilbert"), "clarabel")
    u = result.functions["u"](bags.instances)
    assert (y * SKEW) @ bags.max(u) == pytest.approx(result.objective, abs=1e-7)


def test_highs_refuses_the_hilbert_ball_and_names_who_takes_it(golden_bags):
    with pytest.raises(UnsupportedError, match=r"second-order cones.*clarabel"):
        solve(weak_learning(*golden_bags, UNIFORM, "Hilbert"), "highs")
