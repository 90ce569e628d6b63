"""Weak learning over the 1-norm ball by HiGHS, rows and columns generated: the optima of the whole program."""

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
from milopt.solvers.highs.l1_ball import HighsDescents, l1_ball_pricing_by_highs
from milopt.solvers.native.l1_ball.game import CLOSED
from milopt.solvers.native.l1_ball.l1_ball import NativeDescents
from milopt.solvers.native.l1_ball.similarities import similarities
from milopt.solving.clock import Clock


def sample(seed, m=8, most=5, dimension=3):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most + 1, m)
    bags = Bags(rng.normal(size=(sizes.sum(), dimension)), np.concatenate([[0], np.cumsum(sizes)]))
    return bags, np.where(np.arange(m) % 2, 1.0, -1.0), rng


def convex_step(bags, weights, Z, kernel, witnesses):
    """The first convex step, all of it at once."""
    program = Program("convex step")
    u = program.function("u", kernel, dictionary=Z)
    pull = np.maximum(weights, 0.0) @ kernel(bags.instances[witnesses], Z)
    program.minimize(np.maximum(-weights, 0.0) @ bag_max(u(bags)) - pull @ u.coefficients)
    program.subject_to(norm1(u.coefficients) <= 1)
    return solve(program, "clarabel").objective


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), linear=st.booleans())
def test_the_bounds_of_a_step_enclose_its_optimum_and_steps_never_rise(seed, linear):
    bags, y, rng = sample(seed)
    kernel, Z = Linear() if linear else RBF(0.3), rng.normal(size=(6, 3))
    s = similarities(kernel, Z, bags)
    descents = HighsDescents(s, Options())
    for _ in range(4):
        weights = y * rng.dirichlet(np.ones(len(bags)))
        z = int(np.argmax(weights @ s.largest))
        ended = descents.descend(weights, z)
        assert ended.end == CLOSED
        first = convex_step(bags, weights, Z, kernel, s.witness[:, z])
        scale = np.abs(s.largest).max()
        assert ended.trace[1] == pytest.approx(first, abs=1e-6 * scale)
        assert (np.diff(ended.trace) <= 1e-8 * scale).all()
        assert np.abs(ended.a).sum() == pytest.approx(1.0 if ended.a.any() else 0.0)
        assert ended.tops == pytest.approx(bags.max(kernel(bags.instances, Z) @ ended.a))
        assert ended.phi == pytest.approx(-weights @ ended.tops)


@pytest.mark.parametrize("unit", [1e-12, 1e18])
def test_similarities_of_any_size_are_priced_alike(unit):
    bags, y, rng = sample(4)
    weights = y * rng.dirichlet(np.ones(len(bags)))
    ended = []
    for factor in (1.0, np.sqrt(unit)):
        s = similarities(Linear(), factor * bags.instances[:6], Bags(factor * bags.instances, bags.offsets))
        ended.append(HighsDescents(s, Options()).descend(weights, int(np.argmax(weights @ s.largest))))
    assert [one.end for one in ended] == [CLOSED, CLOSED]
    assert ended[1].phi == pytest.approx(unit * ended[0].phi, rel=1e-6)


def test_rows_and_columns_that_are_of_no_use_go_and_the_optima_stay(monkeypatch):
    monkeypatch.setattr(l1_ball_highs_game, "IDLE", 0)
    monkeypatch.setattr(l1_ball_highs_game, "IDLE_SHARE", 0.0)
    bags, y, rng = sample(3, m=20, most=9)
    s = similarities(RBF(0.3), bags.instances, bags)
    highs, native = HighsDescents(s, Options()), NativeDescents(s)
    fewest = bags.instances.shape[0]
    for _ in range(12):
        weights = y * rng.dirichlet(np.full(len(bags), 0.5))
        z = int(np.argmax(weights @ s.largest))
        before = highs._game._atoms.size
        assert highs.descend(weights, z).trace[1] == pytest.approx(native.descend(weights, z).trace[1], abs=1e-8)
        fewest = min(fewest, highs._game._atoms.size - before)
    assert fewest < 0


def test_a_fit_by_highs_alone_reaches_what_native_reaches(golden_bags):
    bags, y = golden_bags
    gammas = [
        ShapeletBoost(nu=0.5, solver=solver, dictionary="all").fit(bags, y).result_ for solver in ("highs", "native")
    ]
    assert gammas[0].objective == pytest.approx(gammas[1].objective, abs=1e-6)
    assert gammas[0].solver == "highs"


def test_an_option_that_highs_does_not_know_is_told(golden_bags):
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
