"""Boosted shapelets: the identities that hold whatever the solver, and the golden optima."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt import RBF, Bags, Program, as_bags, solve
from milopt.declaration.similarity import similarity
from milopt.errors import ConvexityError, MiloptError, MiloptWarning, ParameterError
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.outcome.result import Result
from milopt.outcome.status import PointStatus, Termination
from milopt.schemes.column_generation import ColumnGeneration

K = RBF(0.5)
TIGHT = ColumnGeneration(tolerance=1e-6)
PLAIN = {"kernel": K, "dictionary": "all", "bias": False, "two_sided": False, "scale": "none"}
GOLDEN = {0.34: (0.233112, 9), 0.5: (0.233112, 8), 0.9: (0.287264, 3)}


def random_bags(seed: int, m: int = 12) -> tuple[Bags, np.ndarray]:
    rng, y = np.random.default_rng(seed), np.where(np.arange(m) % 2, 1.0, -1.0)
    return as_bags([rng.normal(0.4 * sign, 1.0, size=(int(rng.integers(1, 5)), 2)) for sign in y]), y


def solved(model: ShapeletBoost, bags: Bags, y: np.ndarray, solver: str = "highs") -> Result:
    return solve(model.program(bags, y), solver, TIGHT)


@pytest.mark.parametrize("nu", GOLDEN)
@pytest.mark.parametrize("solver", ["highs", "native", "master=highs,oracle=native", "clarabel"])
def test_golden_optima_of_the_l1_ball(golden_bags, nu: float, solver: str) -> None:
    result = solved(ShapeletBoost(nu=nu, **PLAIN), *golden_bags, solver)
    value, rounds = GOLDEN[nu]
    assert result.objective == pytest.approx(value, abs=1e-5)
    assert (result.termination, result.point) == (Termination.STATIONARY, PointStatus.CERTIFIED)
    # Another solver may end at another vertex of a master, and so need a round more or less.
    assert abs(len(result.history) - rounds) <= 2


@pytest.mark.parametrize("nu", GOLDEN)
def test_an_exact_oracle_closes_the_gap(golden_bags, nu: float) -> None:
    result = solved(ShapeletBoost(nu=nu, oracle="exact", **PLAIN), *golden_bags)
    assert result.termination is Termination.OPTIMAL
    assert result.bound is not None
    assert abs(result.bound - result.objective) <= 1e-6 * result.objective
    assert result.objective == pytest.approx(GOLDEN[nu][0], abs=1e-5)


@pytest.mark.parametrize(("nu", "value"), [(0.34, 0.452026), (0.5, 0.452026), (0.9, 0.468601)])
def test_golden_optima_of_the_hilbert_ball(golden_bags, nu: float, value: float) -> None:
    program = ShapeletBoost(nu=nu, ball="hilbert", **PLAIN).program(*golden_bags)
    for solver in ("native", "master=highs,oracle=clarabel"):
        result = solve(program, solver, ColumnGeneration(tolerance=1e-4))
        assert result.objective == pytest.approx(value, rel=2e-4)


def primal_master(H: np.ndarray, y: np.ndarray, nu: float, bias: bool) -> Program:
    """max rho - 1'xi / (nu m)  s.t.  y (H w + b) >= rho - xi,  1'w = 1."""
    m, count = H.shape
    program = Program("primal")
    w, xi = program.variable("w", count, lower=0), program.variable("xi", m, lower=0)
    rho, b = program.variable("rho"), program.variable("b")
    program.maximize(rho - xi.sum() / (nu * m))
    program.subject_to(y * (H @ w + b) >= rho - xi, name="margin")
    program.subject_to(w.sum() == 1, name="weights")
    if not bias:
        program.subject_to(b == 0, name="no bias")
    return program


@given(st.integers(0, 50), st.sampled_from([0.2, 0.4, 0.6]), st.booleans(), st.booleans())
@settings(max_examples=12, deadline=None)
def test_master_identities(seed: int, nu: float, bias: bool, two_sided: bool) -> None:
    bags, y = random_bags(seed)
    options = PLAIN | {"bias": bias, "two_sided": two_sided}
    result = solved(ShapeletBoost(nu=nu, **options), bags, y)
    problem, ensemble = result.program, result.ensemble
    H, w, d = ensemble.columns(problem, bags), ensemble.weights, result.values["d"]
    gamma, g = result.objective, result.score(bags)
    # Weights are a distribution, and the score is the ensemble's.
    assert w.sum() == pytest.approx(1, abs=1e-7)
    np.testing.assert_allclose(g, H @ w + ensemble.offset, atol=1e-9)
    # Primal = dual over the columns that were found.
    assert solve(primal_master(H, y, nu, bias), "highs").objective == pytest.approx(gamma, abs=1e-7)
    # Complementary slackness, and the meaning of nu.
    assert w @ (gamma - (y * d) @ H) == pytest.approx(0, abs=1e-7)
    rho = (
        -float(result.duals["simplex"])
        if gamma * float(result.duals["simplex"]) < 0
        else float(result.duals["simplex"])
    )
    assert (y * g < rho - 1e-7).sum() <= nu * len(bags) + 1e-9
    assert (d > 1e-9).sum() >= nu * len(bags) - 1e-9
    # The value never falls as columns join.
    values = [step.objective for step in result.history]
    assert all(b >= a - 1e-9 for a, b in pairwise(values))
    # A bag scores at least as much as its best instance would alone.
    inner = bags.max(result.instance_scores(bags.instances))
    if not two_sided:
        assert (g >= inner - 1e-9).all()


@given(st.integers(0, 50))
@settings(max_examples=8, deadline=None)
def test_the_l1_ball_lies_in_the_hilbert_ball(seed: int) -> None:
    bags, y = random_bags(seed, 8)
    inner = solved(ShapeletBoost(nu=0.4, oracle="exact", **PLAIN), bags, y).objective
    outer = solve(ShapeletBoost(nu=0.4, ball="hilbert", **PLAIN).program(bags, y), "native", TIGHT).objective
    assert inner <= outer + 1e-4


@given(st.integers(0, 50), st.sampled_from([2.0, 5.0]))
@settings(max_examples=6, deadline=None)
def test_scaling_and_duplication(seed: int, factor: float) -> None:
    bags, y = random_bags(seed, 8)
    once = solved(ShapeletBoost(nu=0.5, oracle="exact", **PLAIN), bags, y).objective
    wide = solved(ShapeletBoost(nu=0.5, oracle="exact", radius=factor, **PLAIN), bags, y).objective
    assert wide == pytest.approx(factor * once, abs=1e-6 * factor)
    twice = as_bags([*bags, *bags])
    again = solved(ShapeletBoost(nu=0.5, oracle="exact", **PLAIN), twice, np.concatenate([y, y])).objective
    assert again == pytest.approx(once, abs=1e-6)


def test_one_hot_atoms_are_searched_exhaustively(golden_bags) -> None:
    bags, y = golden_bags
    problem = ShapeletBoost(ball="one-hot", **PLAIN).program(bags, y)
    first = solve(problem.oracles[0].program, "highs")
    M = similarity(K, bags, bags.instances)
    assert first.objective == pytest.approx(((y / 6) @ M).max())
    assert first.objective == pytest.approx(0.350987, abs=1e-6)
    result = solve(problem, "highs", TIGHT)
    assert result.termination is Termination.OPTIMAL


def test_positive_one_hot_atoms_alone_say_yes_to_every_bag() -> None:
    """With a non-negative kernel, no bias and no negative atoms every score is positive."""
    bags, y = random_bags(0)
    M = similarity(K, bags, bags.instances)
    weights = solve(primal_master(M, y, 0.3, bias=False), "highs").values["w"]
    assert (M @ weights > 0).all()


def test_nu_of_one_weighs_all_bags_alike() -> None:
    bags, y = random_bags(3)
    result = solved(ShapeletBoost(nu=1.0, oracle="exact", **PLAIN), bags, y)
    np.testing.assert_allclose(result.values["d"], 1 / len(bags), atol=1e-9)


def test_windows_of_several_lengths_share_one_master() -> None:
    rng, y = np.random.default_rng(0), np.arange(24) % 2
    series = [rng.normal(0, 0.2, size=(40, 1)) for _ in y]
    for one, label in zip(series, y, strict=True):
        one[10 : 10 + 8, 0] += 2 * label * np.hanning(8)
    model = ShapeletBoost(window=(6, 0.3), solver="native", scale="none").fit(series[:16], y[:16])
    assert model.score(series[16:], y[16:]) == 1.0
    assert len(model.result_.program.oracles) == 4
    with pytest.raises(ParameterError, match="longer than bag 0, which has 5"):
        model.predict([one[:5] for one in series[:2]])


def test_a_fitted_ensemble_travels(golden_bags, tmp_path) -> None:
    import pickle

    from milopt import load_model

    bags, y = golden_bags
    for ball in ("l1", "hilbert", "one-hot"):
        model = ShapeletBoost(ball=ball, solver="native", kernel=K).fit(bags, y)
        model.save(tmp_path / "model")
        for other in (load_model(tmp_path / "model", ShapeletBoost), pickle.loads(pickle.dumps(model))):
            np.testing.assert_allclose(other.decision_function(bags), model.decision_function(bags), atol=1e-12)
            assert str(other.report()) == str(model.report())


def test_limits_keep_the_best_ensemble(golden_bags) -> None:
    program = ShapeletBoost(**PLAIN).program(*golden_bags)
    result = solve(program, "highs", ColumnGeneration(max_rounds=2))
    assert result.termination is Termination.LIMIT
    assert result.ensemble is not None
    assert result.ensemble.count > 0
    assert len(result.history) == 2


def test_smoothed_prices_reach_the_same_optimum(golden_bags) -> None:
    program = ShapeletBoost(nu=0.5, **PLAIN).program(*golden_bags)
    result = solve(program, "highs", ColumnGeneration(tolerance=1e-6, smoothing=0.5, idle=0))
    assert result.objective == pytest.approx(GOLDEN[0.5][0], abs=1e-5)


def test_identical_bags_in_both_classes_are_told() -> None:
    bag = np.array([[0.0, 0.0], [1.0, 1.0]])
    with pytest.warns(UserWarning, match="Degenerate"):
        model = ShapeletBoost(kernel=K).fit([bag] * 4, [0, 1, 0, 1])
    np.testing.assert_array_equal(model.decision_function([bag]), 0)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"nu": 0.0}, "nu must lie above 0"),
        ({"nu": 1.5}, "nu must lie above 0"),
        ({"ball": "l2"}, "ball must be one of"),
        ({"radius": -1.0}, "radius must be a positive number"),
        ({"dictionary": "some"}, "dictionary must be one of"),
        ({"atoms": 0}, "atoms must be a whole number"),
        ({"window": 9}, "longer than bag"),
        ({"oracle": "fast"}, "oracle must be one of"),
        ({"solver": "master=highs,orakel=native"}, "oracle"),
        ({"scheme": "ccp"}, "semi-infinite"),
        ({"ball": "hilbert", "solver": "highs"}, "highs"),
    ],
)
def test_bad_input_gets_one_sentence(golden_bags, wrong: dict[str, object], said: str) -> None:
    with pytest.raises(MiloptError, match=said):
        ShapeletBoost(**wrong).fit(*golden_bags)


def test_an_unbalanced_sample_limits_nu_with_a_bias() -> None:
    bags, _ = random_bags(0, 10)
    with pytest.warns(MiloptWarning, match=r"0\.4 is taken instead of 0\.5"):
        model = ShapeletBoost(nu=0.5, solver="highs").fit(bags, [1, 1] + [0] * 8)
    assert model.result_.point is PointStatus.CERTIFIED


def test_an_indefinite_kernel_has_no_hilbert_ball(golden_bags) -> None:
    def indefinite(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.asarray(-np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2)))

    from milopt.declaration.kernels import CallableKernel

    with pytest.raises(ConvexityError, match="smallest eigenvalue"):
        ShapeletBoost(ball="hilbert", dictionary="all", kernel=CallableKernel(indefinite), solver="native").fit(
            *golden_bags
        )
