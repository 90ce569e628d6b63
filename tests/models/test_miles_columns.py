"""MILES with generated columns: the optimum of the whole linear program, its bound, blocks, and what `auto` chooses."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milopt
from milopt import RBF, Linear, Options, Precomputed, as_bags, load_model, solve
from milopt.compilation.status import Termination
from milopt.errors import ParameterError
from milopt.models import miles
from milopt.models.miles import MILES, best_bias, similarity
from milopt.schemes.oracle_pricing import choose_oracle_pricing
from milopt.solvers.native import dictionary_choice
from milopt.solving.clock import Clock
from tests.models.test_miles import random_bags

K = RBF(0.5)


def primal_objective(model, bags, y, lam, cost):
    """Return the objective of the whole program at the fitted weights and bias."""
    result = model.result_
    members = result.ensemble.members[0]
    weights = members.values["a.coefficients"] @ members.weights if members.count else np.zeros(1)
    violations = np.maximum(0, 1 - y * model.decision_function(bags))
    return lam * np.abs(weights).sum() + cost @ violations


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    m=st.integers(4, 14),
    lam=st.sampled_from([0.01, 0.1, 0.5, 2.0, 50.0]),
    mu=st.sampled_from([0.2, 0.5, 0.9]),
    kernel=st.sampled_from([K, Linear(), RBF("median")]),
    columns_per_pricing=st.sampled_from([1, 3, 30]),
)
def test_generated_columns_reach_the_optimum_of_the_whole_program(seed, m, lam, mu, kernel, columns_per_pricing):
    with mock.patch.object(dictionary_choice, "MAX_COLUMNS_PER_PRICING", columns_per_pricing):
        compare_with_the_whole_program(seed, m, lam, mu, kernel)


def compare_with_the_whole_program(seed, m, lam, mu, kernel):
    bags, y = random_bags(seed, m)
    weight = np.random.default_rng(seed).uniform(0.3, 2.0, size=m)
    given_settings = {"lam": lam, "mu": mu, "kernel": kernel, "scale": "none"}
    whole = MILES(**given_settings, columns="whole").fit(bags, y, weight)
    model = MILES(**given_settings, columns="generated").fit(bags, y, weight)
    expected, result = whole.result_.objective, model.result_
    assert result.scheme == "column-generation"
    assert result.termination is Termination.OPTIMAL
    assert result.certificate.worst <= 1e-6
    assert result.objective == pytest.approx(expected, rel=1e-6, abs=1e-8)
    # The bound is proved by a pricing of all columns, and the fitted weights attain it in the declared primal program.
    assert result.bound == pytest.approx(expected, rel=1e-6, abs=1e-8)
    cost = np.where(y > 0, mu, 1 - mu) * weight
    assert primal_objective(model, bags, y, lam, cost) == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("solver", ["native", "highs", "clarabel", "master=highs,oracle=native"])
def test_solvers_agree_also_if_they_solve_the_program_of_the_oracle(solver):
    bags, y = random_bags(4, 12)
    expected = MILES(lam=0.2, kernel=K, scale="none", columns="whole").fit(bags, y).result_.objective
    result = MILES(lam=0.2, kernel=K, scale="none", columns="generated", solver=solver).fit(bags, y).result_
    assert result.termination is Termination.OPTIMAL
    assert result.objective == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_a_pricing_finds_the_best_vertices_and_their_bound(seed):
    bags, y = random_bags(seed, 10)
    problem = MILES(lam=0.2, kernel=K, scale="none", columns="generated").program(bags, y)
    oracle = problem.oracles[0]
    d = np.random.default_rng(seed).uniform(0, 0.5, size=10)
    radius = 2 * 0.5 * 5 / 0.2
    edges = (y * d) @ similarity(K, problem.bags, problem.bags.instances)
    value = radius * np.abs(edges) - radius * 0.2 - d.sum()
    for solver in ("auto", "highs"):
        answer = choose_oracle_pricing(problem, oracle, solver, Options()).price(
            {next(iter(oracle.prices)): d}, 1, Clock(None)
        )
        best = answer.columns[0]
        assert best.value == pytest.approx(value.max(), rel=1e-9)
        assert answer.bound == pytest.approx(value.max(), rel=1e-7)
        assert (y * d) @ best.column == pytest.approx(radius * np.abs(edges).max(), rel=1e-9)


def test_the_objectives_of_the_masters_decrease_to_the_bound_in_the_declared_sense(monkeypatch):
    monkeypatch.setattr(dictionary_choice, "MAX_COLUMNS_PER_PRICING", 1)
    bags, y = random_bags(7, 16)
    result = MILES(lam=0.1, kernel=K, scale="none", columns="generated").fit(bags, y).result_
    objectives = np.array([step.objective for step in result.history])
    bounds = np.array([step.bound for step in result.history[1:]])
    assert result.history[0].bound is None, "the first prices need not be feasible with the value of their best column"
    assert objectives.size > 3
    assert (np.diff(objectives) <= 1e-9).all()
    assert (np.diff(bounds) >= 0).all()
    assert (bounds <= result.objective + 1e-9).all()
    assert result.bound <= result.objective + 1e-9


def test_blocks_that_are_not_kept_give_the_same_answer(monkeypatch):
    bags, y = random_bags(5, 12)
    model = MILES(lam=0.1, kernel=K, scale="none", columns="generated")
    expected = model.fit(bags, y).result_
    monkeypatch.setattr(dictionary_choice, "SIMILARITY_BLOCK_BYTES", 8 * 3 * 12)  # three columns of twelve bags
    monkeypatch.setattr(dictionary_choice, "MAX_KEPT_BYTES", 8 * 3 * 12 * 2)
    shapes = []
    original = dictionary_choice.DictionaryChoicePricing._kernel_values

    def record(self, part):
        values = original(self, part)
        shapes.append((values.shape[1], sum(block.nbytes for block in self._kept.values())))
        return values

    monkeypatch.setattr(dictionary_choice.DictionaryChoicePricing, "_kernel_values", record)
    result = model.fit(bags, y).result_
    assert result.objective == pytest.approx(expected.objective, rel=1e-9)
    assert max(width for width, _ in shapes) == 3
    assert max(kept for _, kept in shapes) == 8 * 3 * 12 * 2
    blocks = -(-sum(len(bag) for bag in bags) // 3)
    assert len(shapes) > blocks, "blocks beyond the limit are computed in every pricing"


def test_fits_to_the_same_bags_compute_similarities_once(monkeypatch):
    bags, y = random_bags(12, 14)
    computed = []
    original = dictionary_choice.DictionaryChoicePricing._kernel_values

    def record(self, part):
        computed.append(part)
        return original(self, part)

    monkeypatch.setattr(dictionary_choice.DictionaryChoicePricing, "_kernel_values", record)
    path = milopt.path(MILES(kernel=K, columns="generated"), bags, y, lam=[0.05, 0.2, 1.0])
    assert len(computed) == 1
    alone = MILES(kernel=K, columns="generated", lam=0.2).fit(bags, y)
    assert len(computed) == 2
    assert path[1].result_.objective == pytest.approx(alone.result_.objective, rel=1e-9)


def test_a_pricing_that_is_interrupted_by_the_clock_proves_no_bound(monkeypatch):
    bags, y = random_bags(6, 10)
    problem = MILES(lam=0.1, kernel=K, scale="none", columns="generated").program(bags, y)
    oracle = problem.oracles[0]
    pricing = dictionary_choice.DictionaryChoicePricing(
        dictionary_choice.recognise_dictionary_choice(oracle, problem.bags)
    )
    monkeypatch.setattr(dictionary_choice, "SIMILARITY_BLOCK_BYTES", 8 * 10)

    class Over:
        def is_over(self):
            return True

    prices = {next(iter(oracle.prices)): np.full(10, 0.1)}
    answer = pricing.price(prices, 1, Over())
    assert answer.bound is None
    assert answer.columns


@pytest.mark.parametrize("dictionary", ["kmeans", "sample", "uniform"])
def test_a_dictionary_of_landmarks_gives_the_same_optimum_both_ways(dictionary):
    bags, y = random_bags(8, 20)
    fits = [
        MILES(lam=0.1, kernel=K, scale="none", dictionary=dictionary, atoms=7, columns=columns).fit(bags, y)
        for columns in ("whole", "generated")
    ]
    assert fits[0].result_.values["u"].size == 7
    assert fits[1].result_.objective == pytest.approx(fits[0].result_.objective, rel=1e-6)
    np.testing.assert_allclose(fits[1].decision_function(bags), fits[0].decision_function(bags), atol=0.2)


def test_centroids_do_not_exist_for_a_precomputed_kernel():
    bags, y = random_bags(1)
    stacked = as_bags(bags)
    gram = K(stacked.instances, stacked.instances)
    rows = as_bags(np.split(np.arange(len(gram))[:, None], stacked.offsets[1:-1]))
    with pytest.raises(ParameterError, match="Centroids do not exist"):
        MILES(kernel=Precomputed(gram), dictionary="kmeans", atoms=3).fit(rows, y)


def test_a_large_lam_selects_nothing_and_is_certified():
    bags, y = random_bags(2, 11)
    result = MILES(lam=1e3, kernel=K, scale="none", columns="generated").program(bags, y)
    solved = solve(result)
    assert solved.termination is Termination.OPTIMAL
    assert solved.objective == pytest.approx(2 * 0.5 * min((y > 0).sum(), (y < 0).sum()))
    assert solved.ensemble.count == 0


def test_auto_generates_columns_of_large_matrices_and_the_report_states_why(monkeypatch):
    bags, y = random_bags(3, 10)
    entries = 10 * sum(len(bag) for bag in bags)
    model = MILES(lam=0.2, kernel=K)
    assert "in the linear program, because there are" in model.fit(bags, y).report().as_dict()["message"]
    monkeypatch.setattr(miles, "MAX_WHOLE_PROGRAM_ENTRIES", entries - 1)
    report = model.fit(bags, y).report().as_dict()
    assert report["scheme"] == "column-generation"
    assert f"Columns are generated, because there are {entries} similarities of 10 bags" in report["message"]
    monkeypatch.setattr(miles, "MAX_WHOLE_PROGRAM_ENTRIES", entries)
    assert model.fit(bags, y).report().as_dict()["scheme"] == "direct"
    asked = MILES(lam=0.2, kernel=K, columns="generated").fit(bags, y).report().as_dict()["message"]
    assert 'as requested (columns="generated")' in asked


def test_wrong_ways_raise_an_error_of_one_sentence():
    with pytest.raises(ParameterError, match="columns"):
        MILES(columns="some").fit(*random_bags(0))
    with pytest.raises(ParameterError, match="dictionary"):
        MILES(dictionary="grid").fit(*random_bags(0))


def test_a_fit_with_generated_columns_scores_instances_explains_and_is_saved(tmp_path):
    bags, y = random_bags(9, 14)
    model = MILES(lam=0.1, kernel=K, columns="generated", options=Options(tolerance=1e-7)).fit(bags, y)
    alone = [bag[:1] for bag in bags]
    np.testing.assert_allclose(np.concatenate(model.instance_scores(alone)), model.decision_function(alone), atol=1e-10)
    explanation = model.explain(bags[1])
    assert explanation.score == pytest.approx(model.decision_function(bags[1:2])[0])
    model.save(tmp_path / "miles.milopt")
    loaded = load_model(tmp_path / "miles.milopt")
    np.testing.assert_array_equal(loaded.decision_function(bags), model.decision_function(bags))


def test_scores_are_those_of_the_similarities_to_the_selected_instances():
    bags, y = random_bags(10, 12)
    model = MILES(lam=0.1, kernel=K, scale="none", columns="generated").fit(bags, y)
    ensemble = model.result_.ensemble
    weights = ensemble.members[0].values["a.coefficients"] @ ensemble.members[0].weights
    new, _ = random_bags(11, 5)
    stacked = as_bags(bags)
    expected = similarity(K, as_bags(new), stacked.instances) @ weights + ensemble.offset
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-10)


@given(seed=st.integers(0, 10**6), m=st.integers(2, 9))
def test_the_bias_minimises_the_weighted_hinge(seed, m):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) % 2, 1.0, -1.0)
    scores, cost = rng.normal(size=m).round(1), rng.integers(1, 4, size=m).astype(float)

    def loss(b):
        return cost @ np.maximum(0, 1 - y * (scores + b))

    # The loss is linear between its break points.
    best = min(loss(b) for b in y - scores)
    assert loss(best_bias(scores, y, cost)) == pytest.approx(best, abs=1e-9)
