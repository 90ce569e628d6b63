"""The master of boosted shapelets over given columns, and its primal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from milopt import Program, as_bags, solve
from milopt.compilation.status import Termination
from milopt.errors import ParameterError
from milopt.models.shapelet_boost import ShapeletBoost, optimal_bias, soft_margin_program
from milopt.outcome.result import Result
from milopt.schemes import generation
from tests.models.shapelet_boost.cases import PLAIN, TIGHT, K, master_over, random_bags, solve_boosted


@dataclass(frozen=True)
class Master:
    """Columns, labels, weights and settings of a master."""

    H: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    nu: float
    bias: bool

    def solve(self, solver: str = "highs") -> Result:
        """Solve the declared master: prices d, and the multipliers w, rho and b."""
        return solve(master_over(self.H, self.y, self.weight, self.nu, self.bias), solver).require_certified()

    def primal(self) -> Program:
        return soft_margin_program(self.H, self.y, self.weight, self.nu, self.bias)

    @property
    def value(self) -> float:
        return self.solve().objective


@st.composite
def masters(draw, may_have_bias: bool = True) -> Master:
    """Draw random columns, balanced labels, equal or different weights, soft and hard margins."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, count = 2 * draw(st.integers(2, 6)), draw(st.integers(1, 8))
    y = np.where(np.arange(m) % 2, 1.0, -1.0)
    weight = rng.uniform(0.9, 1.1, size=m) if draw(st.booleans()) else np.ones(m)
    H = rng.normal(size=(m, count)) + 0.5 * y[:, None]
    return Master(H, y, weight, draw(st.sampled_from([0.01, 0.2, 0.5, 0.8])), may_have_bias and draw(st.booleans()))


def mixture(master: Master, result: Result) -> tuple[np.ndarray, float, float]:
    """Return (w, rho, b), the multipliers of the rows of the master."""
    w = np.array([float(result.duals[f"edge[{t}]"].item()) for t in range(master.H.shape[1])])
    b = -float(result.duals["balance"].item()) if master.bias else 0.0
    return w, float(result.duals["simplex"].item()), b


@given(masters(), st.sampled_from(["highs", "native", "clarabel"]))
@settings(max_examples=40, deadline=None)
def test_primal_and_dual_have_the_same_optimum_and_the_multipliers_are_a_mixture(master: Master, solver: str) -> None:
    result = master.solve(solver)
    primal = solve(master.primal(), solver).require_certified()
    assert primal.objective == pytest.approx(result.objective, abs=1e-7 if solver != "clarabel" else 1e-6)
    w, rho, b = mixture(master, result)
    assert (w >= -1e-7).all()
    assert w.sum() == pytest.approx(1, abs=1e-6)
    # The multipliers of each program are a solution of the other.
    xi = np.maximum(0, rho - master.y * (master.H @ w + b))
    cap = master.weight / (master.nu * master.weight.sum())
    assert rho - cap @ xi == pytest.approx(result.objective, abs=2e-6)
    d = primal.duals["margin"]
    assert d.sum() == pytest.approx(1, abs=1e-6)
    assert (d <= cap + 1e-6).all()
    assert ((master.y * d) @ master.H).max() == pytest.approx(primal.objective, abs=2e-6)


@given(masters())
@settings(max_examples=40, deadline=None)
def test_complementary_slackness_holds_in_all_three_forms(master: Master) -> None:
    result = master.solve()
    w, rho, b = mixture(master, result)
    d, gamma = result.values["d"], result.objective
    margins, cap = master.y * (master.H @ w + b), master.weight / (master.nu * master.weight.sum())
    xi = np.maximum(0, rho - margins)
    np.testing.assert_allclose(w * (gamma - (master.y * d) @ master.H), 0, atol=1e-8)
    np.testing.assert_allclose(d * (rho - xi - margins), 0, atol=1e-8)
    np.testing.assert_allclose(xi * (cap - d), 0, atol=1e-8)
    # A basic solution has at most as many columns of positive weight as there are rows of bags.
    assert (w > 1e-9).sum() <= master.y.size


@given(masters())
@settings(max_examples=40, deadline=None)
def test_at_most_nu_of_the_weight_lies_within_the_margin_and_at_least_nu_has_a_price(master: Master) -> None:
    result = master.solve()
    w, rho, b = mixture(master, result)
    allowed = master.nu * master.weight.sum()
    within = master.y * (master.H @ w + b) < rho - 1e-8
    assert master.weight[within].sum() <= allowed + 1e-8
    assert master.weight[result.values["d"] > 1e-10].sum() >= allowed - 1e-8


@given(masters())
@settings(max_examples=20, deadline=None)
def test_the_value_never_decreases_as_columns_are_added(master: Master) -> None:
    values = [
        Master(master.H[:, :t], master.y, master.weight, master.nu, master.bias).value
        for t in range(1, master.H.shape[1] + 1)
    ]
    assert (np.diff(values) >= -1e-9).all()
    nothing = np.zeros((master.y.size, 1))
    assert Master(np.hstack([master.H, nothing]), master.y, master.weight, master.nu, master.bias).value >= -1e-9


@given(st.integers(0, 50), st.booleans())
@settings(max_examples=4, deadline=None)
def test_with_an_exact_oracle_the_value_increases_to_its_bound_and_is_not_negative(seed: int, bias: bool) -> None:
    bags, y = random_bags(seed, 6)
    result = solve_boosted(ShapeletBoost(nu=0.5, oracle="exact", **PLAIN | {"bias": bias}), bags, y)
    values = [step.objective for step in result.history]
    assert (np.diff(values) >= -1e-9).all()
    assert result.objective >= -1e-9
    assert result.bound == pytest.approx(result.objective, rel=2e-6, abs=1e-9)


@given(masters(), st.sampled_from([1e-3, 2.0, 50.0]))
@settings(max_examples=20, deadline=None)
def test_scaled_columns_scale_the_value_and_keep_the_solution(master: Master, c: float) -> None:
    once = master.solve()
    scaled = Master(c * master.H, master.y, master.weight, master.nu, master.bias)
    assert scaled.value == pytest.approx(c * once.objective, abs=1e-8 * max(1, c))
    d = once.values["d"]
    assert ((master.y * d) @ scaled.H).max() == pytest.approx(c * once.objective, abs=1e-8 * max(1, c))


@given(masters())
@settings(max_examples=20, deadline=None)
def test_a_bag_of_weight_two_counts_as_two_bags(master: Master) -> None:
    twice = Master(np.vstack([master.H] * 2), np.tile(master.y, 2), np.tile(master.weight, 2), master.nu, master.bias)
    assert twice.value == pytest.approx(master.value, abs=1e-8)
    first = np.arange(master.y.size) < 2
    double = Master(master.H, master.y, np.where(first, 2.0, 1.0), master.nu, master.bias)
    repeated = Master(
        np.vstack([master.H, master.H[first]]),
        np.concatenate([master.y, master.y[first]]),
        np.ones(master.y.size + 2),
        master.nu,
        master.bias,
    )
    assert double.value == pytest.approx(repeated.value, abs=1e-8)


@given(masters(), st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None)
def test_the_order_of_bags_does_not_matter(master: Master, random) -> None:
    order = random.sample(range(master.y.size), master.y.size)
    other = Master(master.H[order], master.y[order], master.weight[order], master.nu, master.bias)
    assert other.value == pytest.approx(master.value, abs=1e-8)


@given(masters(may_have_bias=False))
@settings(max_examples=20, deadline=None)
def test_for_nu_one_the_value_is_the_best_mean_edge(master: Master) -> None:
    result = Master(master.H, master.y, master.weight, 1.0, False).solve()
    shares = master.weight / master.weight.sum()
    assert result.objective == pytest.approx(((shares * master.y) @ master.H).max(), abs=1e-9)
    np.testing.assert_allclose(result.values["d"], shares, atol=1e-9)


@given(st.integers(0, 50))
@settings(max_examples=5, deadline=None)
def test_for_nu_one_the_ensemble_is_the_best_shapelet_at_equal_prices(seed: int) -> None:
    bags, y = random_bags(seed, 8)
    problem = ShapeletBoost(nu=1.0, oracle="exact", **PLAIN).program(bags, y)
    first = solve(problem.oracles[0].program, "highs", "exact")
    assert solve(problem, "highs", TIGHT).objective == pytest.approx(first.objective, rel=2e-6)


def one_norm_svm(master: Master, C: float) -> Program:
    """Solve min 1'v + C'xi  s.t.  y_i ((H v)_i + b) >= 1 - xi_i,  v, xi >= 0."""
    program = Program("1-norm SVM")
    v = program.variable("v", master.H.shape[1], lower=0)
    xi = program.variable("xi", master.y.size, lower=0)
    score = master.H @ v + (program.variable("b") if master.bias else 0.0)
    program.minimize(v.sum() + (C * master.weight) @ xi)
    program.subject_to(master.y * score >= 1 - xi, name="margin")
    return program


@given(masters())
@settings(max_examples=40, deadline=None)
def test_the_master_is_a_one_norm_svm_of_value_one_over_gamma(master: Master) -> None:
    result = master.solve()
    gamma = result.objective
    assume(gamma > 1e-3)
    C = 1 / (gamma * master.nu * master.weight.sum())
    svm = solve(one_norm_svm(master, C), "highs").require_certified()
    assert svm.objective == pytest.approx(1 / gamma, rel=1e-7)
    w, rho, b = mixture(master, result)
    xi = np.maximum(0, 1 - master.y * (master.H @ w + b) / rho)
    assert rho > 0
    assert w.sum() / rho + C * master.weight @ xi == pytest.approx(1 / gamma, rel=1e-6)


def test_nu_outside_its_range_raises_an_error_in_the_primal() -> None:
    with pytest.raises(ParameterError, match="nu must be greater than 0"):
        soft_margin_program(np.ones((2, 1)), np.array([1.0, -1.0]), np.ones(2), 0.0, bias=False)


def test_the_primal_has_the_value_of_the_fitted_master(golden_bags) -> None:
    """Use the columns of a fit, with a bias and both signs."""
    bags, y = golden_bags
    weight = np.array([1.0, 2.0, 1.0, 1.0, 2.0, 1.0])
    problem = ShapeletBoost(nu=0.6, kernel=K, scale="none").program(bags, y, weight)
    result = solve(problem, "highs", TIGHT)
    H = result.ensemble.columns(problem, as_bags(list(bags)))
    assert solve(soft_margin_program(H, y, weight, 0.6, bias=True), "highs").objective == pytest.approx(
        result.objective, abs=1e-8
    )
    assert result.ensemble.weights.sum() == pytest.approx(1, abs=1e-8)


@given(st.integers(0, 50), st.sampled_from([1.0, -1.0]), st.sampled_from([5.0, 30.0, 1e7]))
@settings(max_examples=20, deadline=None)
@pytest.mark.filterwarnings("ignore::milopt.errors.MiloptWarning")
def test_with_class_weights_and_a_lowered_nu_the_bias_is_optimal(seed, heavy, ratio) -> None:
    """The margin is nu / 2 p times as large, and the bias favours the heavier class in proportion to its weight."""
    bags, y = random_bags(seed, 8)
    weight = np.where(y == heavy, ratio, 1.0)
    most = 2 / (1 + ratio)
    model = ShapeletBoost(nu=0.5, class_weight={heavy: ratio}, **PLAIN | {"bias": True})
    result = solve_boosted(model, bags, y, "native")
    counted = solve(ShapeletBoost(nu=0.5, **PLAIN | {"bias": True}).program(bags, y, weight), "native", TIGHT)
    g, charge = result.score(bags), weight / (most * weight.sum())
    rho = max(y * g, key=lambda level: level - charge @ np.maximum(0, level - y * g))
    xi = np.maximum(0, rho - y * g)
    assert rho - charge @ xi == pytest.approx(result.objective, abs=1e-6 * max(1.0, rho))
    assert result.objective == pytest.approx(counted.objective, rel=2e-6)
    assert (heavy * (g - counted.score(bags)) > 0).all()
    assert weight[xi > 1e-8 * max(1.0, rho)].sum() <= 0.5 * weight.sum()
    if ratio > 1e6:
        assert (heavy * g > 0).all()


@given(st.integers(0, 100), st.integers(2, 6), st.integers(2, 6))
@settings(max_examples=25, deadline=None)
def test_the_bias_is_the_middle_of_the_optimal_interval(seed: int, positive: int, negative: int) -> None:
    rng, m = np.random.default_rng(seed), positive + negative
    y, scores = np.repeat([1.0, -1.0], [positive, negative]), rng.normal(size=m)
    # nu m / 2 is an integer k: every level between the k-th and the next score of a class is optimal.
    k = int(rng.integers(1, min(positive, negative) + 1))
    charge = np.full(m, 1 / (2 * k))
    up, down = np.sort(scores[y > 0]), np.sort(-scores[y < 0])
    p, q = up[k - 1 : k + 1].mean(), down[k - 1 : k + 1].mean()
    b = optimal_bias(scores, y, charge, 0.0)
    assert b == pytest.approx((q - p) / 2)

    def margin(bias: float) -> float:
        """Return the maximum over rho, which is attained at one of the margins."""
        each = y * (scores + bias)
        return max(rho - charge @ np.maximum(0, rho - each) for rho in each)

    best = max(margin(bias) for bias in [b, *(np.add.outer(scores, scores) / -2).ravel()])
    assert margin(b) == pytest.approx(best)


@pytest.mark.parametrize("solver", ["auto", "native", "highs", "clarabel"])
@pytest.mark.parametrize("sides", [{"bias": True, "two_sided": True}, {"bias": False, "two_sided": False}])
def test_a_bag_with_both_labels_gives_margin_zero_without_stalling(solver: str, sides: dict[str, bool]) -> None:
    """gamma* = 0 with all weight on the two copies: their edges are rounding errors, not violations."""
    bags, y = random_bags(0, 20)
    parts = [bags.instances[low:high] for low, high in pairwise(bags.offsets)]
    twice = as_bags([parts[0], parts[0], *parts[2:]])
    result = solve(ShapeletBoost(nu=0.1, kernel=K, **sides).program(twice, y), solver)
    assert result.termination is Termination.STATIONARY
    assert result.objective == pytest.approx(0.0, abs=1e-9)
    assert len(result.history) < 30


def test_a_zero_column_does_not_violate_a_master_whose_objective_is_zero_up_to_rounding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Lower gamma* = 0 by 3e-18, as the rounding of some processors does: the row 0 <= gamma still holds."""
    solve_master = generation.GenerationRun._solve_master
    violated: list[bool] = []

    def solve_and_lower_gamma(run: generation.GenerationRun) -> object:
        end = solve_master(run)
        master = run.last_master
        if master is not None and master.point is not None and abs(master.objective) < 1e-12:
            x = master.point.x.copy()
            (gamma,) = (column.start for column in master.form.columns if column.name == "gamma")
            x[gamma] = -3e-18
            run.last_master = replace(master, point=replace(master.point, x=x))
            zero = replace(run.rows[0].priced, column=np.zeros(20), value=0.0)
            violated.append(run._is_violated(run.problem.family(zero.column), zero))
        return end

    monkeypatch.setattr(generation.GenerationRun, "_solve_master", solve_and_lower_gamma)
    bags, y = random_bags(0, 20)
    parts = [bags.instances[low:high] for low, high in pairwise(bags.offsets)]
    twice = as_bags([parts[0], parts[0], *parts[2:]])
    solve(ShapeletBoost(nu=0.1, kernel=K, bias=False, two_sided=False).program(twice, y), "native")
    assert violated
    assert not any(violated)
