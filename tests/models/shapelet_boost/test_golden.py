"""Known optima of the six golden bags, found by every supporting solver; (2, 2) is the best pattern at equal prices."""

from __future__ import annotations

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

from milopt import ConvexConcave, solve
from milopt.compilation.features import Feature
from milopt.compilation.status import PointStatus, Termination
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.schemes.column_generation import ColumnGeneration
from milopt.schemes.oracle_pricing import choose_oracle_pricing
from milopt.solvers.native.hilbert_ball import hilbert_ball
from milopt.solvers.native.l1_ball import l1_ball
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from tests.models.general_solvers import FIRST_ORDER, general_solvers
from tests.models.shapelet_boost.cases import PLAIN, K, solve_boosted, weak_learner

UNIFORM = np.full(6, 1 / 6)
SKEW = np.array([0.3, 0.1, 0.05, 0.25, 0.1, 0.2])
EDGES = {"one-hot": 0.350987, "l1": 0.350987, "hilbert": 0.48866}
MARGINS = {0.34: (0.233112, 9), 0.5: (0.233112, 8), 0.9: (0.287264, 3)}
HILBERT_MARGINS = {0.34: 0.452026, 0.5: 0.452026, 0.9: 0.468601}
SLOW = tuple(FIRST_ORDER)
LINEAR = general_solvers(but=SLOW)
CONIC = general_solvers(cones=("second-order",), but=SLOW)
INTEGER = general_solvers(Feature.INTEGER, but=SLOW)
STEPS = [("l1", name) for name in LINEAR] + [("hilbert", name) for name in CONIC]


@pytest.mark.parametrize("name", [*LINEAR, "native"])
def test_all_solvers_find_the_best_pattern_at_equal_prices(name: str, golden_bags) -> None:
    bags, y = golden_bags
    oracle, program = weak_learner("one-hot", bags, y, UNIFORM)
    result = solve(program, name)
    assert result.objective == pytest.approx(EDGES["one-hot"], abs=1e-5)
    chosen = K(bags.instances, np.array([[2.0, 2.0]]))[:, 0]
    np.testing.assert_allclose(result.value(oracle.column(bags)), bags.max(chosen), atol=1e-5)


def by_enumeration(bags, y, d, ball) -> float:
    """Compute the best edge over all choices of witnesses in positive bags with cvxpy."""
    gram = K(bags.instances, bags.instances)
    values, vectors = np.linalg.eigh(gram)
    features = gram if ball == "l1" else vectors * np.sqrt(np.maximum(values, 0))
    u, top = cp.Variable(features.shape[1]), cp.Variable(len(bags))
    inside = [range(bags.offsets[i], bags.offsets[i + 1]) for i in range(len(bags))]
    rows = [cp.norm(u, 1 if ball == "l1" else 2) <= 1]
    rows += [features[list(inside[i])] @ u <= top[i] for i in np.flatnonzero(y < 0)]
    negative = cp.sum(cp.multiply(d * (y < 0), top))
    positive = np.flatnonzero(y > 0)
    best = -np.inf
    for witnesses in product(*(inside[i] for i in positive)):
        pull = d[positive] @ features[list(witnesses)]
        best = max(best, cp.Problem(cp.Maximize(pull @ u - negative), rows).solve(solver=cp.CLARABEL))
    return best


@pytest.mark.parametrize(
    ("ball", "name"), [*(("l1", name) for name in (*INTEGER, "clarabel")), ("hilbert", "clarabel"), ("hilbert", "ecos")]
)
@pytest.mark.parametrize("d", [UNIFORM, SKEW], ids=["uniform", "skew"])
def test_the_global_edge_is_the_best_over_all_choices_of_witnesses(
    ball: str, name: str, d: np.ndarray, golden_bags
) -> None:
    bags, y = golden_bags
    exact = solve(weak_learner(ball, bags, y, d)[1], name, "exact")
    assert (exact.termination, exact.point) == (Termination.OPTIMAL, PointStatus.CERTIFIED)
    assert exact.objective == pytest.approx(by_enumeration(bags, y, d, ball), abs=1e-6)
    assert exact.bound == pytest.approx(exact.objective, abs=1e-6)
    if d is UNIFORM:
        assert exact.objective == pytest.approx(EDGES[ball], abs=1e-5)


@pytest.mark.parametrize(("ball", "name"), STEPS)
def test_steps_from_the_best_pattern_reach_the_global_edge(ball: str, name: str, golden_bags) -> None:
    bags, y = golden_bags
    start = K(bags.instances, np.array([[2.0, 2.0]]))[:, 0]
    result = solve(weak_learner(ball, bags, y, UNIFORM)[1], name, ConvexConcave(start=start))
    assert result.termination is Termination.STATIONARY
    assert result.objective == pytest.approx(EDGES[ball], abs=1e-5)
    assert (np.diff([step.objective for step in result.history]) >= -1e-7).all()
    if ball == "hilbert":
        assert result.functions["u"].norm_squared == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(("ball", "name"), [*STEPS, ("l1", "native"), ("hilbert", "native")])
def test_the_oracle_prices_the_global_edge(ball: str, name: str, golden_bags) -> None:
    bags, y = golden_bags
    problem = ShapeletBoost(ball=ball, **PLAIN).program(bags, y)
    (oracle,) = problem.oracles
    live = choose_oracle_pricing(problem, oracle, name, Options())
    [priced] = live.price(dict.fromkeys(oracle.prices, UNIFORM), 1, Clock(None)).columns
    live.close()
    assert priced.value == pytest.approx(EDGES[ball], abs=1e-5)
    assert (y * UNIFORM) @ priced.column == pytest.approx(priced.value, abs=1e-9)


@pytest.mark.thorough(unless={"nu": [0.34], "name": ["native", "highs", "clarabel", "master=highs,oracle=native"]})
@pytest.mark.parametrize("nu", MARGINS)
@pytest.mark.parametrize("name", [*LINEAR, "native", "master=highs,oracle=native"])
def test_all_solvers_find_the_margin_of_the_one_norm_ball(nu: float, name: str, golden_bags) -> None:
    result = solve_boosted(ShapeletBoost(nu=nu, **PLAIN), *golden_bags, name)
    value, rounds = MARGINS[nu]
    assert result.objective == pytest.approx(value, abs=1e-5)
    assert (result.termination, result.point) == (Termination.STATIONARY, PointStatus.CERTIFIED)
    # Another solver may end at another vertex of a master, and so need one round more or less.
    assert abs(len(result.history) - rounds) <= 2


@pytest.mark.parametrize("nu", MARGINS)
def test_an_exact_oracle_closes_the_gap_of_the_one_norm_ball(nu: float, golden_bags) -> None:
    result = solve_boosted(ShapeletBoost(nu=nu, oracle="exact", **PLAIN), *golden_bags)
    assert result.termination is Termination.OPTIMAL
    assert result.bound == pytest.approx(result.objective, rel=1e-6)
    assert result.objective == pytest.approx(MARGINS[nu][0], abs=1e-5)


@pytest.mark.parametrize("nu", HILBERT_MARGINS)
@pytest.mark.parametrize("name", ["native", "clarabel", "ecos", "master=highs,oracle=clarabel"])
def test_all_solvers_find_the_margin_of_the_hilbert_ball(nu: float, name: str, golden_bags) -> None:
    program = ShapeletBoost(nu=nu, ball="hilbert", **PLAIN).program(*golden_bags)
    result = solve(program, name, ColumnGeneration(tolerance=1e-4))
    assert result.objective == pytest.approx(HILBERT_MARGINS[nu], rel=2e-4)


@pytest.mark.parametrize(("ball", "solver"), [("l1", "highs"), ("hilbert", "clarabel")])
def test_auto_chooses_a_solver_that_supports_the_exact_oracle(ball: str, solver: str, golden_bags) -> None:
    bags, y = golden_bags
    problem = ShapeletBoost(ball=ball, oracle="exact", **PLAIN).program(bags, y)
    (oracle,) = problem.oracles
    exact = choose_oracle_pricing(problem, oracle, "auto", Options())
    assert exact.solver == solver
    (price,) = oracle.prices
    pricing = exact.price({price: UNIFORM}, 1, Clock(None))
    assert pricing.columns[0].value == pytest.approx(EDGES[ball], abs=1e-5)
    assert pricing.bound == pytest.approx(EDGES[ball], abs=1e-5)


def test_an_exact_oracle_closes_the_gap_of_the_hilbert_ball(golden_bags) -> None:
    program = ShapeletBoost(nu=0.9, ball="hilbert", oracle="exact", **PLAIN).program(*golden_bags)
    result = solve(program, "master=highs,oracle=clarabel")
    assert result.termination is Termination.OPTIMAL
    assert result.bound == pytest.approx(result.objective, rel=1e-6)
    loose = solve(program, "master=highs,oracle=clarabel", tolerance=1e-3)
    assert len(loose.history) < len(result.history)
    assert 1e-6 < loose.bound / loose.objective - 1 <= 1e-4
    assert result.objective == pytest.approx(HILBERT_MARGINS[0.9], abs=1e-5)
    assert loose.objective - 1e-6 <= HILBERT_MARGINS[0.9] <= loose.bound + 1e-6


@pytest.mark.parametrize(("ball", "other"), [("l1", "highs"), ("hilbert", "clarabel")])
def test_a_fit_reports_its_fallbacks_to_other_solvers(ball: str, other: str, golden_bags, monkeypatch) -> None:
    kind = {"l1": l1_ball.L1BallPricing, "hilbert": hilbert_ball.HilbertBallPricing}[ball]
    own, calls = kind.price, iter(range(1000))
    blocked = {"l1": "_descend", "hilbert": "run_convex_concave"}[ball]

    def price(self, *given):
        with pytest.MonkeyPatch.context() as patch:
            if next(calls) < 2:
                patch.setattr(kind, blocked, lambda *_: None)
            return own(self, *given)

    bags, y = golden_bags
    monkeypatch.setattr(kind, "price", price)
    model = ShapeletBoost(nu=0.9, ball=ball, **PLAIN).fit(bags, y)
    assert model.result_.solver == f"master=native,oracle=native+{other}"
    message = f"The oracle's own algorithm (native) failed at 2 prices; {other} solved its program."
    assert message in model.result_.message
    assert model.result_.attempts[0].message == model.result_.message
    assert message in str(model.report())
    assert other in model.report().as_dict()["versions"]
    calm = ShapeletBoost(nu=0.9, ball=ball, **PLAIN).fit(bags, y).result_
    assert (calm.solver, calm.message) == ("native", "")
