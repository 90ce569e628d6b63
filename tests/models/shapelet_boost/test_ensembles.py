"""Scores, contributions and saving of ensembles of shapelets."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt import Linear, as_bags, load_model, solve
from milopt.compilation.status import Termination
from milopt.declaration.kernels.similarity import signed_similarity, similarity
from milopt.errors import ParameterError
from milopt.models.shapelet_boost import ShapeletBoost, soft_margin_program
from milopt.outcome.ensemble_columns import readable_columns
from milopt.schemes.column_generation import ColumnGeneration
from tests.models.shapelet_boost.cases import PLAIN, TIGHT, K, random_bags, solve_boosted

BALLS = ("l1", "hilbert", "one-hot")


@given(st.integers(0, 50), st.sampled_from([K, Linear()]))
@settings(max_examples=3, deadline=None)
def test_the_one_norm_ball_lies_in_the_hilbert_ball_and_so_does_its_value(seed: int, kernel) -> None:
    """The balls have radius 1 / max_z sqrt(K(z, z)) and radius 1."""
    bags, y = random_bags(seed, 6)
    radius = 1 / float(np.sqrt(kernel.diagonal(bags.instances).max()))
    options = PLAIN | {"kernel": kernel, "nu": 0.4}
    inner = solve_boosted(ShapeletBoost(oracle="exact", radius=radius, **options), bags, y).objective
    outer = solve(ShapeletBoost(ball="hilbert", **options).program(bags, y), "native", TIGHT)
    # The weak learner of the larger ball is local and may miss a column, by at most the tolerance here.
    assert inner <= outer.objective + 1e-4


def test_positive_patterns_alone_give_every_bag_a_positive_score() -> None:
    """With a nonnegative kernel, no bias and no negative patterns, every score is positive."""
    bags, y = random_bags(0)
    M = similarity(K, bags, bags.instances)
    for nu in (0.1, 0.3, 0.5):
        best = solve(soft_margin_program(M, y, np.ones(12), nu, bias=False), "highs")
        assert best.objective < 0
        assert (M @ best.values["w"] > 0).all()


@given(st.integers(0, 50), st.sampled_from(BALLS), st.booleans(), st.booleans())
@settings(max_examples=20, deadline=None)
def test_contributions_add_up_to_the_score(seed: int, ball: str, bias: bool, two_sided: bool) -> None:
    bags, y = random_bags(seed)
    model = ShapeletBoost(nu=0.3, ball=ball, **PLAIN | {"bias": bias, "two_sided": two_sided})
    result = solve(model.program(bags, y), "native", ColumnGeneration(max_rounds=15))
    new, _ = random_bags(seed + 1)
    for some in (bags, new):
        total = np.full(len(some), result.ensemble.offset)
        for part in readable_columns(result):
            # Recompute sign w max_x sum_z a_z K(z, x) from the patterns.
            for w, a in zip(part.weights, part.coefficients.T, strict=True):
                values = K(some.instances, part.points) @ a
                best = np.array([values[first:last].max() for first, last in pairwise(some.offsets)])
                total += part.sign * w * best
        np.testing.assert_allclose(total, result.score(some), atol=1e-12)
    # Over the training bags these are the columns of the master.
    np.testing.assert_allclose(
        (y * result.values["d"]) @ result.ensemble.columns(result.program, bags), result.objective, atol=1e-6
    )


@given(st.integers(0, 50), st.sampled_from(["l1", "hilbert"]), st.booleans())
@settings(max_examples=20, deadline=None)
def test_the_score_of_a_bag_is_at_least_that_of_each_instance(seed: int, ball: str, bias: bool) -> None:
    """For maxima, g(B) >= max_x f(x), with equality for bags of one instance and ensembles of one column."""
    bags, y = random_bags(seed)
    for rounds in (1, 15):
        program = ShapeletBoost(nu=0.3, ball=ball, **PLAIN | {"bias": bias}).program(bags, y)
        result = solve(program, "native", ColumnGeneration(max_rounds=rounds))
        g, f = result.score(bags), bags.max(result.instance_scores(bags.instances))
        assert (g >= f - 1e-9).all()
        alone = (bags.sizes == 1) | (result.ensemble.count == 1)
        np.testing.assert_allclose(g[alone], f[alone], atol=1e-9)


@given(st.integers(0, 50), st.sampled_from(BALLS))
@settings(max_examples=10, deadline=None)
def test_an_instance_has_the_score_of_a_bag_of_one_and_each_sign_bounds_one_side(seed: int, ball: str) -> None:
    """f(x) = g({x}). Columns of sign + are not smaller for a bag that contains x, those of sign - are not larger."""
    bags, y = random_bags(seed)
    program = ShapeletBoost(nu=0.3, ball=ball, **PLAIN | {"two_sided": True}).program(bags, y)
    result = solve(program, "native", ColumnGeneration(max_rounds=15))
    alone = as_bags([row[None] for row in bags.instances])
    np.testing.assert_allclose(result.instance_scores(bags.instances), result.score(alone), atol=1e-12)
    rises = (result.ensemble.columns(program, bags)[bags.bag_of] - result.ensemble.columns(program, alone)).T
    signs = np.concatenate([np.zeros(0), *(np.full(part.places.size, part.sign) for part in readable_columns(result))])
    assert (signs[:, None] * rises >= -1e-9).all()


def test_with_both_signs_an_instance_may_have_a_larger_score_than_its_bag(golden_bags) -> None:
    bags, y = golden_bags
    result = solve(ShapeletBoost(nu=0.3, **PLAIN | {"two_sided": True}).program(bags, y), "native")
    assert (bags.max(result.instance_scores(bags.instances)) > result.score(bags) + 0.01).any()


@pytest.mark.parametrize("ball", BALLS)
def test_a_fitted_ensemble_is_pickled_and_saved(ball: str, golden_bags, tmp_path) -> None:
    bags, y = golden_bags
    model = ShapeletBoost(ball=ball, solver="native", kernel=K).fit(bags, y)
    model.save(tmp_path / "model")
    for other in (load_model(tmp_path / "model", ShapeletBoost), pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(other.decision_function(bags), model.decision_function(bags), atol=1e-12)
        assert str(other.report()) == str(model.report())


def test_windows_of_several_lengths_share_one_master() -> None:
    rng, y = np.random.default_rng(0), np.arange(24) % 2
    series = [rng.normal(0, 0.2, size=(40, 1)) for _ in y]
    for samples, label in zip(series, y, strict=True):
        samples[10 : 10 + 8, 0] += 2 * label * np.hanning(8)
    model = ShapeletBoost(window=(6, 0.3), solver="native", scale="none").fit(series[:16], y[:16])
    assert model.score(series[16:], y[16:]) == 1.0
    assert len(model.result_.program.oracles) == 4
    with pytest.raises(ParameterError, match="longer than bag 0, which has 5"):
        model.predict([samples[:5] for samples in series[:2]])


def test_smoothed_prices_reach_the_same_optimum(golden_bags) -> None:
    program = ShapeletBoost(nu=0.5, **PLAIN).program(*golden_bags)
    result = solve(program, "highs", ColumnGeneration(tolerance=1e-6, smoothing=0.5, idle=0))
    assert result.objective == pytest.approx(0.233112, abs=1e-5)


@pytest.mark.thorough(unless={"seed": [0], "solver": ["native", "highs"]})
@pytest.mark.parametrize("solver", ["native", "highs", "clarabel"])
@pytest.mark.parametrize("seed", range(3))
def test_after_column_generation_no_single_pattern_of_either_sign_is_violated(seed: int, solver: str) -> None:
    bags, y = random_bags(seed, m=16)
    problem = ShapeletBoost(nu=0.4, **PLAIN | {"bias": True, "two_sided": True}).program(bags, y)
    result = solve(problem, solver)
    assert result.termination is Termination.STATIONARY
    similar = signed_similarity(K, bags, bags.instances)
    edges = (y * result.values["d"]) @ similar
    assert np.abs(edges).max() <= result.objective * (1 + 2e-4)


def test_a_tiny_nu_gives_a_hard_margin() -> None:
    bags, y = random_bags(0)
    hard, harder = (solve_boosted(ShapeletBoost(nu=nu, **PLAIN), bags, y) for nu in (1 / 12, 1e-12))
    assert harder.termination is Termination.STATIONARY
    assert harder.objective == pytest.approx(hard.objective, rel=1e-3)
