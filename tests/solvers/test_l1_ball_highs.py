"""Weak learning over the 1-norm ball by HiGHS with generated rows and columns: optima of the full program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt import RBF, Bags, Linear, Options, Program, bag_max, norm1, solve
from milopt.declaration.programs.semi_infinite import Oracle
from milopt.errors import ParameterError
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.solvers.highs import l1_ball_game as l1_ball_highs_game
from milopt.solvers.highs.l1_ball import HighsDescentSolver, l1_ball_pricing_by_highs
from milopt.solvers.native.l1_ball.game import GAP_CLOSED
from milopt.solvers.native.l1_ball.l1_ball import NativeDescentSolver
from milopt.solvers.native.l1_ball.similarities import compute_similarities
from milopt.solving.clock import Clock


def random_problem(seed, m=8, max_size=5, dimension=3):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, max_size + 1, m)
    bags = Bags(rng.normal(size=(sizes.sum(), dimension)), np.concatenate([[0], np.cumsum(sizes)]))
    return bags, np.where(np.arange(m) % 2, 1.0, -1.0), rng


def convex_step(bags, weights, Z, kernel, witnesses):
    """Return the optimum of the first convex step, solved as one full program."""
    program = Program("convex step")
    u = program.function("u", kernel, dictionary=Z)
    linear_term = np.maximum(weights, 0.0) @ kernel(bags.instances[witnesses], Z)
    program.minimize(np.maximum(-weights, 0.0) @ bag_max(u(bags)) - linear_term @ u.coefficients)
    program.subject_to(norm1(u.coefficients) <= 1)
    return solve(program, "clarabel").objective


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), linear=st.booleans())
def test_steps_are_optimal_and_never_increase_the_objective(seed, linear):
    bags, y, rng = random_problem(seed)
    kernel, Z = Linear() if linear else RBF(0.3), rng.normal(size=(6, 3))
    s = compute_similarities(kernel, Z, bags)
    descents = HighsDescentSolver(s, Options())
    for _ in range(4):
        weights = y * rng.dirichlet(np.ones(len(bags)))
        z = int(np.argmax(weights @ s.largest))
        descent = descents.descend(weights, z)
        assert descent.end == GAP_CLOSED
        first = convex_step(bags, weights, Z, kernel, s.witness[:, z])
        scale = np.abs(s.largest).max()
        assert descent.trace[1] == pytest.approx(first, abs=1e-6 * scale)
        assert (np.diff(descent.trace) <= 1e-8 * scale).all()
        assert np.abs(descent.a).sum() == pytest.approx(1.0 if descent.a.any() else 0.0)
        assert descent.bag_maxima == pytest.approx(bags.max(kernel(bags.instances, Z) @ descent.a))
        assert descent.phi == pytest.approx(-weights @ descent.bag_maxima)


@pytest.mark.parametrize("unit", [1e-12, 1e18])
def test_pricing_is_independent_of_the_scale_of_similarities(unit):
    bags, y, rng = random_problem(4)
    weights = y * rng.dirichlet(np.ones(len(bags)))
    descents = []
    for factor in (1.0, np.sqrt(unit)):
        s = compute_similarities(Linear(), factor * bags.instances[:6], Bags(factor * bags.instances, bags.offsets))
        descents.append(HighsDescentSolver(s, Options()).descend(weights, int(np.argmax(weights @ s.largest))))
    assert [descent.end for descent in descents] == [GAP_CLOSED, GAP_CLOSED]
    assert descents[1].phi == pytest.approx(unit * descents[0].phi, rel=1e-6)


def test_removing_idle_rows_and_columns_does_not_change_the_optima(monkeypatch):
    monkeypatch.setattr(l1_ball_highs_game, "MAX_IDLE_GAMES", 0)
    monkeypatch.setattr(l1_ball_highs_game, "MIN_IDLE_FRACTION", 0.0)
    bags, y, rng = random_problem(3, m=20, max_size=9)
    s = compute_similarities(RBF(0.3), bags.instances, bags)
    highs, native = HighsDescentSolver(s, Options()), NativeDescentSolver(s)
    smallest_change = bags.instances.shape[0]
    for _ in range(12):
        weights = y * rng.dirichlet(np.full(len(bags), 0.5))
        z = int(np.argmax(weights @ s.largest))
        before = highs._game._atoms.size
        assert highs.descend(weights, z).trace[1] == pytest.approx(native.descend(weights, z).trace[1], abs=1e-8)
        smallest_change = min(smallest_change, highs._game._atoms.size - before)
    assert smallest_change < 0


def test_a_fit_by_highs_agrees_with_native(golden_bags):
    bags, y = golden_bags
    results = [
        ShapeletBoost(nu=0.5, solver=solver, dictionary="all").fit(bags, y).result_ for solver in ("highs", "native")
    ]
    assert results[0].objective == pytest.approx(results[1].objective, abs=1e-6)
    assert results[0].solver == "highs"


def test_an_unknown_highs_option_is_an_error(golden_bags):
    bags, y = golden_bags
    program, master = Program("weak learning"), Program("master")
    u, p = program.function("u", RBF(0.5), dictionary=bags.instances), program.parameter("d", len(bags), sign=+1)
    program.maximize((y * p) @ bag_max(u(bags)))
    program.subject_to(norm1(u.coefficients) <= 1, name="ball")
    oracle = Oracle(program, {p: master.variable("d", len(bags))}, lambda new: bag_max(u(new)))
    with pytest.raises(ParameterError, match="no_such_option"):
        l1_ball_pricing_by_highs(oracle, bags, Options(extra={"no_such_option": 1}))
    pricing = l1_ball_pricing_by_highs(oracle, bags, Options())
    assert pricing is not None
    assert pricing.price({p: np.full(len(bags), 1 / len(bags))}, 1, Clock(None)).columns[0].value > 0
