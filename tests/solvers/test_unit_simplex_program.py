"""Pricing of oracles over a simplex: compared with all vertices and with HiGHS; other programs are not recognised."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import Options, Program, get_solver
from milopt.declaration.kernels.similarity import signed_similarity
from milopt.declaration.programs.semi_infinite import Oracle
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.schemes.oracle_pricing import choose_oracle_pricing
from milopt.solvers.native.unit_simplex_program import recognise_unit_simplex_program
from milopt.solving.clock import Clock
from tests.models.shapelet_boost.cases import K, random_bags


def _single_pattern_problem(seed: int, **settings):
    bags, y = random_bags(seed, 14)
    problem = ShapeletBoost(ball="one-hot", kernel=K, dictionary="all", scale="none", **settings).program(bags, y)
    return problem, np.where(y == np.unique(y)[1], 1.0, -1.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_signed_pattern_is_found(seed: int) -> None:
    problem, y = _single_pattern_problem(seed, radius=2.5)
    d = np.random.default_rng(seed).dirichlet(np.ones(y.size))
    for oracle, sign in zip(problem.oracles, (1.0, -1.0), strict=True):
        assert oracle.maximum is not None
        edges = 2.5 * (sign * y * d) @ signed_similarity(K, problem.bags, oracle.maximum.u.dictionary)
        prices = {next(iter(oracle.prices)): d}
        results = {
            name: choose_oracle_pricing(problem, oracle, name, Options()).price(prices, 1, Clock(None))
            for name in ("auto", "highs")
        }
        best = results["auto"].columns[0]
        assert best.value == results["auto"].bound == pytest.approx(edges.max(), abs=1e-12)
        assert results["highs"].columns[0].value == pytest.approx(edges.max(), abs=1e-9)
        assert (y * d) @ best.column == pytest.approx(edges.max(), abs=1e-12)
        assert best.values["atom"][int(np.argmax(edges))] == 1.0


def test_auto_prices_single_patterns_natively() -> None:
    problem, _ = _single_pattern_problem(0)
    assert choose_oracle_pricing(problem, problem.oracles[0], "auto", Options()).solver == "native"
    assert get_solver("native").supports_oracle(problem.oracles[0], problem.bags)


def _simplex_oracle(upper=np.inf, total=1.0, extra_row=False, minimizes=False):
    """Return an oracle over a simplex, or one that differs slightly."""
    program = Program("choice")
    p = program.parameter("p", 3, sign=+1)
    x = program.variable("x", 4, lower=0, upper=upper)
    gain = p @ (np.arange(12.0).reshape(3, 4) @ x)
    (program.minimize if minimizes else program.maximize)(gain)
    program.subject_to(x.sum() == total, name="total")
    if extra_row:
        program.subject_to(x[0] + x[1] <= 0.5, name="extra_row")
    d = Program("master").variable("d", 3)
    return Oracle(program, {p: d}, column=lambda new: np.ones((3, 4)) @ x)


@pytest.mark.parametrize("other", [{"upper": 0.5}, {"total": 2.0}, {"extra_row": True}])
def test_programs_not_over_a_simplex_are_not_recognised(other) -> None:
    bags = random_bags(0, 3)[0]
    assert recognise_unit_simplex_program(_simplex_oracle(), bags) is not None
    assert recognise_unit_simplex_program(_simplex_oracle(**other), bags) is None


def test_a_minimised_objective_selects_the_smallest_entry() -> None:
    from milopt.solvers.native.unit_simplex_program import UnitSimplexPricing

    oracle = _simplex_oracle(minimizes=True)
    choice = recognise_unit_simplex_program(oracle, random_bags(0, 3)[0])
    assert choice is not None
    result = UnitSimplexPricing(choice).price({choice.prices: np.ones(3)}, 1, Clock(None))
    assert result.columns[0].value == 12.0
    np.testing.assert_array_equal(result.columns[0].values["x"], [1, 0, 0, 0])
