"""Weak learning over the 1-norm ball by matrix games: optima compared with HiGHS and enumeration, and both bounds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from milopt import RBF, Bags, Linear, Program, bag_max, norm1, solve
from milopt.declaration.programs.semi_infinite import Oracle, SemiInfinite
from milopt.schemes.oracle_program import ProgramPricing
from milopt.solvers.native.l1_ball import l1_ball, native_matrix_game
from milopt.solvers.native.l1_ball import similarities as l1_ball_similarities
from milopt.solvers.native.l1_ball.descent import descend
from milopt.solvers.native.l1_ball.game import GAME_FAILED, GAP_CLOSED
from milopt.solvers.native.l1_ball.l1_ball import l1_ball_pricing
from milopt.solvers.native.l1_ball.native_matrix_game import empty_matrix_game
from milopt.solvers.native.l1_ball.similarities import compute_similarities
from milopt.solving import registry
from milopt.solving.clock import Clock
from milopt.solving.options import Options

K = RBF(0.5)
UNIFORM = np.full(6, 1 / 6)


def weak_learner(bags, y, Z, kernel=K, radius=1.0, sign=1.0):
    """Return the oracle of  max sum_i sign y_i p_i max_x u(x)  over the ball, and its prices."""
    program, master = Program("weak learning"), Program("master")
    u = program.function("u", kernel, dictionary=Z)
    p = program.parameter("d", len(bags), sign=+1)
    d = master.variable("d", len(bags), lower=0)
    program.maximize((sign * y * p) @ bag_max(u(bags)))
    program.subject_to(norm1(u.coefficients) <= radius, name="ball")
    similar = kernel(bags.instances, Z)

    def starts(prices):
        edges = (sign * y * prices[p]) @ bags.max(similar)
        return [similar[:, z] for z in np.argsort(-edges, kind="stable")]

    return Oracle(program, {p: d}, lambda new: sign * bag_max(u(new)), lambda x: sign * u(x), starts), p


def soft_margin(bags, y, nu):
    """Return the soft-margin problem over these weak learners, with every instance in the dictionary."""
    master = Program("soft margin")
    d = master.variable("d", len(bags), lower=0, upper=1 / (nu * len(bags)))
    gamma = master.variable("gamma")
    master.minimize(gamma)
    master.subject_to(d.sum() == 1)
    oracle, p = weak_learner(bags, y, np.unique(bags.instances, axis=0))
    oracle = Oracle(oracle.program, {p: d}, oracle.column, oracle.instances, oracle.starts)
    family = master.family("edge", lambda h: (y * h) @ d <= gamma)
    return SemiInfinite(master, family, oracle, bags, {d: np.full(len(bags), 1 / len(bags))})


def native_pricing(bags, y, Z, **settings_of_program):
    oracle, p = weak_learner(bags, y, Z, **settings_of_program)
    pricing = l1_ball_pricing(oracle, bags, Options())
    assert pricing is not None
    return pricing, oracle, p


def edge_at(bags, y, d, similar, a):
    return (y * d) @ bags.max(similar @ a)


def convex_step_by_highs(bags, y, d, Z, kernel, witnesses):
    """Return the optimum of the convex step at given witnesses of the bags with y > 0, by HiGHS."""
    program = Program("convex step")
    u = program.function("u", kernel, dictionary=Z)
    weights = np.where(y < 0, d, 0.0)
    linear_term = np.where(y > 0, d, 0.0) @ kernel(bags.instances[witnesses], Z)
    program.minimize(weights @ bag_max(u(bags)) - linear_term @ u.coefficients)
    program.subject_to(norm1(u.coefficients) <= 1)
    return solve(program, "highs").objective


@st.composite
def problems(draw):
    """Draw small (bags, labels, prices, dictionary) with ties, repeated instances, zero prices, or one class only."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=6))
    y = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=len(sizes), max_size=len(sizes))))
    grid = draw(st.booleans())
    X = rng.integers(-2, 3, (sum(sizes), 2)).astype(float) if grid else rng.normal(size=(sum(sizes), 2))
    d = rng.dirichlet(np.ones(len(sizes))) * (rng.random(len(sizes)) < 0.8)
    k = draw(st.integers(1, 3))
    return Bags(X, np.concatenate([[0], np.cumsum(sizes)])), y, d, rng.normal(size=(k, 2))


@given(problems(), st.sampled_from([K, Linear(), RBF(20.0)]))
@settings(max_examples=40, deadline=None)
def test_the_convex_step_agrees_with_highs(problem, kernel):
    bags, y, d, Z = problem
    s = compute_similarities(kernel, Z, bags)
    game = empty_matrix_game(len(bags), Z.shape[0], float(np.abs(s.K).max()))
    z = int(np.argmax((y * d) @ s.largest))
    descent = descend(game, s, y * d, z, 1, 3)
    # If all values of a game are tiny (1e-27 for distant points), the bounds need not meet relative to them.
    assert descent.end == GAP_CLOSED or descent.upper - descent.lower <= 1e-12
    optimum = convex_step_by_highs(bags, y, d, Z, kernel, s.witness[:, z])
    scale = max(1.0, float(np.abs(s.K).max()))
    assert descent.upper == pytest.approx(optimum, abs=1e-7 * scale)
    assert descent.lower == pytest.approx(optimum, abs=1e-7 * scale)


@given(problems(), st.sampled_from([1.0, 0.3, 40.0]), st.sampled_from([1.0, -1.0]))
@settings(max_examples=30, deadline=None)
def test_priced_columns_match_their_coefficients_and_values(problem, radius, sign):
    bags, y, d, Z = problem
    pricing, _, p = native_pricing(bags, y, Z, radius=radius, sign=sign)
    similar = K(bags.instances, Z)
    one_hot = radius * max(edge_at(bags, sign * y, d, similar, e) for e in np.eye(len(Z)))
    for priced in pricing.price({p: d}, 3, Clock(None)).columns:
        a = priced.values["u.coefficients"]
        assert priced.column == pytest.approx(sign * bags.max(similar @ a), abs=1e-12 * radius)
        assert priced.value == pytest.approx((y * d) @ priced.column, abs=1e-12 * radius)
        assert np.abs(a).sum() == pytest.approx(radius, abs=1e-12) or priced.value == pytest.approx(0, abs=1e-12)
        assert priced.certificate.holds(1e-9)
        assert priced.value >= -1e-12
    assert pricing.price({p: d}, 1, Clock(None)).columns[0].value >= one_hot - 1e-9 * radius
    assert pricing.fallbacks == 0


@given(problems())
@settings(max_examples=20, deadline=None)
def test_each_descent_ends_at_the_optimum_for_its_witnesses(problem):
    bags, y, d, Z = problem
    instances_of = [range(bags.offsets[i], bags.offsets[i + 1]) if (y * d)[i] > 0 else [0] for i in range(len(bags))]
    choices = list(product(*instances_of))
    assume(len(choices) <= 16)
    best = max(-convex_step_by_highs(bags, y, d, Z, K, np.array(choice)) for choice in choices)
    pricing, _, p = native_pricing(bags, y, Z)
    for priced in pricing.price({p: d}, 100, Clock(None)).columns:
        assert priced.value <= best + 1e-7
        values = K(bags.instances, Z) @ priced.values["u.coefficients"]
        # At a tie, such as between equal instances of the dictionary, any tied instance may be the witness.
        tied = [[i for i in choice if values[i] >= max(values[list(choice)]) - 1e-9] for choice in instances_of]
        optima = [-convex_step_by_highs(bags, y, d, Z, K, np.array(choice)) for choice in product(*tied)]
        assert min(abs(value - priced.value) for value in optima) <= 1e-6


@given(problems())
@settings(max_examples=40, deadline=None)
def test_the_steps_of_a_descent_never_increase_the_objective(problem):
    bags, y, d, Z = problem
    s = compute_similarities(K, Z, bags)
    game = empty_matrix_game(len(bags), Z.shape[0], 1.0)
    for z in range(len(Z)):
        trace = descend(game, s, y * d, z, 10, 3).trace
        assert trace[0] == pytest.approx(-(y * d) @ s.largest[:, z])
        assert np.diff(trace).max(initial=-np.inf) <= 1e-9


def test_a_reused_game_agrees_with_a_new_one():
    rng = np.random.default_rng(3)
    bags = Bags(rng.normal(size=(300, 4)), np.arange(0, 301, 6))
    y, Z = np.where(rng.random(50) < 0.5, 1.0, -1.0), rng.normal(size=(30, 4))
    s = compute_similarities(RBF(0.1), Z, bags)
    old = empty_matrix_game(50, 30, 1.0)
    for _ in range(30):
        d = rng.dirichlet(np.ones(50)) * (rng.random(50) < 0.6)
        z = int(np.argmax((y * d) @ s.largest))
        warm, cold = descend(old, s, y * d, z, 1, 3), descend(empty_matrix_game(50, 30, 1.0), s, y * d, z, 1, 3)
        assert warm.end == cold.end == GAP_CLOSED
        assert warm.upper == pytest.approx(cold.upper, abs=1e-10)
        assert warm.upper - warm.lower <= 1e-10


def test_a_full_game_drops_idle_selections(monkeypatch):
    rng = np.random.default_rng(5)
    bags = Bags(rng.normal(size=(600, 4)), np.arange(0, 601, 10))
    y, Z = np.where(rng.random(60) < 0.3, 1.0, -1.0), rng.normal(size=(40, 4))
    s, d = compute_similarities(RBF(0.1), Z, bags), np.full(60, 1 / 60)
    z = int(np.argmax((y * d) @ s.largest))
    large_game = empty_matrix_game(60, 40, 1.0)
    expected = descend(large_game, s, y * d, z, 10, 1000)
    monkeypatch.setattr(native_matrix_game, "MAX_SELECTIONS", 36)
    small_result = descend(empty_matrix_game(60, 40, 1.0), s, y * d, z, 10, 1000)
    assert large_game.tableau.size[0] > 37
    assert small_result.end == GAP_CLOSED
    assert small_result.trace[1] == pytest.approx(expected.trace[1], abs=1e-10)


def test_rows_that_are_not_cached_give_the_same_result(monkeypatch):
    monkeypatch.setattr(l1_ball_similarities, "MAX_ROW_CACHE_BYTES", 0)
    rng = np.random.default_rng(4)
    bags = Bags(rng.normal(size=(1200, 3)), np.arange(0, 1201, 4))
    y, Z = np.where(np.arange(300) % 2, 1.0, -1.0), rng.normal(size=(12, 3))
    small_cache = compute_similarities(K, Z, bags)
    monkeypatch.undo()
    large_cache = compute_similarities(K, Z, bags)
    assert small_cache.cached_rows.shape[0] < large_cache.cached_rows.shape[0]
    for _ in range(3):
        d = rng.dirichlet(np.ones(300))
        descents = [descend(empty_matrix_game(300, 12, 1.0), s, y * d, 0, 10, 3) for s in (small_cache, large_cache)]
        assert descents[0].phi == pytest.approx(descents[1].phi, abs=1e-12)


# -- the golden bags ---------------------------------------------------------------------------------------------------


def test_optimum_of_the_golden_bags_is_a_single_atom(golden_bags):
    bags, y = golden_bags
    pricing, _, p = native_pricing(bags, y, bags.instances)
    [best] = pricing.price({p: UNIFORM}, 1, Clock(None)).columns
    assert best.value == pytest.approx(0.350987, abs=1e-5)
    one_hot = K(bags.instances, np.array([[2.0, 2.0]]))
    assert (y / 6) @ bags.max(one_hot)[:, 0] == pytest.approx(best.value, abs=1e-9)


@pytest.mark.parametrize(("nu", "gamma"), [(0.34, 0.233112), (0.5, 0.233112), (0.9, 0.287264)])
def test_soft_margins_of_the_golden_bags(golden_bags, nu, gamma):
    result = solve(soft_margin(*golden_bags, nu), "master=highs,oracle=native")
    assert result.objective == pytest.approx(gamma, abs=1e-5)
    assert result.solver == "master=highs,oracle=native"


# -- supported and unsupported programs --------------------------------------------------------------------------------


def test_labels_of_one_class_give_a_valid_column(golden_bags):
    bags, _ = golden_bags
    same = np.ones(6)
    pricing, _, p = native_pricing(bags, same, bags.instances)
    result = pricing.price({p: UNIFORM}, 1, Clock(None))
    assert np.count_nonzero(result.columns[0].values["u.coefficients"]) == 1
    assert result.bound is None
    pricing, oracle, p = native_pricing(bags, -same, bags.instances)
    result = pricing.price({p: UNIFORM}, 1, Clock(None))
    other = ProgramPricing(oracle, bags, registry.get_solver("highs"), Options()).price({p: UNIFORM}, 1, Clock(None))
    assert result.columns[0].value == pytest.approx(other.columns[0].value, abs=1e-8)
    assert result.bound == pytest.approx(other.bound, abs=1e-8)


def test_a_minimised_objective_is_minus_the_edge(golden_bags):
    bags, y = golden_bags
    oracle, p = weak_learner(bags, y, bags.instances)
    edge = oracle.program.objective
    oracle.program.minimize(-edge)
    result = l1_ball_pricing(oracle, bags, Options()).price({p: UNIFORM}, 5, Clock(None))
    assert result.columns[0].value == pytest.approx(-0.350987, abs=1e-5)
    assert [column.value for column in result.columns] == sorted(column.value for column in result.columns)


def test_an_oracle_and_its_negation_share_their_similarities(golden_bags):
    bags, y = golden_bags
    Z = np.array(bags.instances)
    up, down = (l1_ball_pricing(weak_learner(bags, y, Z, sign=sign)[0], bags, Options()) for sign in (1.0, -1.0))
    other = l1_ball_pricing(weak_learner(bags, y, Z[:3])[0], bags, Options())
    assert up._similarities.K is down._similarities.K
    assert other._similarities.K.shape == (3, Z.shape[0])


def test_other_programs_are_not_recognised(golden_bags):
    bags, y = golden_bags
    Z = bags.instances

    def pricing_of(change):
        oracle, p = weak_learner(bags, y, Z)
        change(oracle.program, p, oracle.program.functions["u"])
        return l1_ball_pricing(oracle, bags, Options())

    assert pricing_of(lambda program, p, u: None) is not None
    assert pricing_of(lambda program, p, u: program.subject_to(u.coefficients >= 0)) is None
    assert pricing_of(lambda program, p, u: program.maximize((y * p) @ bag_max(u(bags)) + 1)) is None
    assert pricing_of(lambda program, p, u: program.maximize((y * p) @ bag_max(2 * u(bags)))) is None
    assert pricing_of(lambda program, p, u: program.maximize(y @ bag_max(u(bags)))) is None
    assert pricing_of(lambda program, p, u: program.maximize((y * p) @ bag_max(u(bags)) + u.coefficients.sum())) is None
    assert pricing_of(lambda program, p, u: program.maximize((y[:3] * p[:3]) @ bag_max(u(bags[:3])))) is None
    assert pricing_of(lambda program, p, u: program.replace("ball", norm1(2 * u.coefficients) <= 1)) is None
    assert pricing_of(lambda program, p, u: program.replace("ball", norm1(u.coefficients) <= 0)) is None
    assert pricing_of(lambda program, p, u: program.variable("b")) is None


def test_highs_prices_if_the_bounds_do_not_meet_and_fallbacks_are_counted(golden_bags, monkeypatch):
    bags, y = golden_bags
    pricing, _, p = native_pricing(bags, y, bags.instances)
    monkeypatch.setattr(l1_ball, "descend", lambda *given: descend(*given)._replace(end=GAME_FAILED))
    result = pricing.price({p: UNIFORM}, 1, Clock(None))
    assert result.columns[0].value == pytest.approx(0.350987, abs=1e-5)
    assert pricing.fallbacks == 1
    pricing.close()


@pytest.mark.parametrize("name", ["musk1", "elephant"])
def test_prices_on_real_data_agree_with_highs(name, data_set):
    instances, y = data_set(name)
    bags = Bags(np.vstack(instances), np.concatenate([[0], np.cumsum([len(bag) for bag in instances])]))
    rng = np.random.default_rng(0)
    Z = bags.instances[rng.choice(bags.instances.shape[0], 40, replace=False)]
    kernel = RBF("median").fitted(bags.instances)
    pricing, _, p = native_pricing(bags, y, Z, kernel=kernel)
    s = pricing._similarities
    for _ in range(3):
        d = rng.dirichlet(np.full(len(bags), 0.3))
        [priced] = pricing.price({p: d}, 1, Clock(None)).columns
        z = int(np.argmax((y * d) @ s.largest))
        first = descend(empty_matrix_game(len(bags), 40, 1.0), s, y * d, z, 1, 3)
        assert first.upper == pytest.approx(convex_step_by_highs(bags, y, d, Z, kernel, s.witness[:, z]), abs=1e-8)
        assert priced.value >= -first.upper - 1e-9
    assert pricing.fallbacks == 0
