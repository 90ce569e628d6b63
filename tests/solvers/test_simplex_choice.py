"""Oracles over a simplex, priced by a search: against every vertex and against HiGHS; other programs are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import Options, Program, get
from milopt.declaration.kernels.similarity import signed_similarity
from milopt.declaration.programs.semi_infinite import Oracle
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.schemes.oracle_pricing import oracle_pricing
from milopt.solvers.native.simplex_choice import simplex_choice
from milopt.solving.clock import Clock
from tests.models.shapelet_boost.cases import K, random_bags


def _oracles(seed: int, **settings):
    bags, y = random_bags(seed, 14)
    problem = ShapeletBoost(ball="one-hot", kernel=K, dictionary="all", scale="none", **settings).program(bags, y)
    return problem, np.where(y == np.unique(y)[1], 1.0, -1.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_search_finds_the_best_signed_pattern(seed: int) -> None:
    problem, y = _oracles(seed, radius=2.5)
    d = np.random.default_rng(seed).dirichlet(np.ones(y.size))
    for oracle, sign in zip(problem.oracles, (1.0, -1.0), strict=True):
        assert oracle.maximum is not None
        edges = 2.5 * (sign * y * d) @ signed_similarity(K, problem.bags, oracle.maximum.u.dictionary)
        prices = {next(iter(oracle.prices)): d}
        found = {
            name: oracle_pricing(problem, oracle, name, Options()).price(prices, 1, Clock(None))
            for name in ("auto", "highs")
        }
        best = found["auto"].columns[0]
        assert best.value == found["auto"].bound == pytest.approx(edges.max(), abs=1e-12)
        assert found["highs"].columns[0].value == pytest.approx(edges.max(), abs=1e-9)
        assert (y * d) @ best.column == pytest.approx(edges.max(), abs=1e-12)
        assert best.values["atom"][int(np.argmax(edges))] == 1.0


def test_auto_prices_single_patterns_without_a_program_of_its_own() -> None:
    problem, _ = _oracles(0)
    assert oracle_pricing(problem, problem.oracles[0], "auto", Options()).solver == "native"
    assert get("native").prices(problem.oracles[0], problem.bags)


def _over(upper=np.inf, total=1.0, more=False, minimizes=False):
    """A program over a simplex, or nearly so."""
    program = Program("choice")
    p = program.parameter("p", 3, sign=+1)
    x = program.variable("x", 4, lower=0, upper=upper)
    gain = p @ (np.arange(12.0).reshape(3, 4) @ x)
    (program.minimize if minimizes else program.maximize)(gain)
    program.subject_to(x.sum() == total, name="total")
    if more:
        program.subject_to(x[0] + x[1] <= 0.5, name="more")
    d = Program("master").variable("d", 3)
    return Oracle(program, {p: d}, column=lambda new: np.ones((3, 4)) @ x)


@pytest.mark.parametrize("other", [{"upper": 0.5}, {"total": 2.0}, {"more": True}])
def test_what_is_no_plain_simplex_is_left_to_others(other) -> None:
    bags = random_bags(0, 3)[0]
    assert simplex_choice(_over(), bags) is not None
    assert simplex_choice(_over(**other), bags) is None


def test_a_minimised_choice_is_the_smallest() -> None:
    from milopt.solvers.native.simplex_choice import ChoicePricing

    oracle = _over(minimizes=True)
    choice = simplex_choice(oracle, random_bags(0, 3)[0])
    assert choice is not None
    found = ChoicePricing(choice).price({choice.prices: np.ones(3)}, 1, Clock(None))
    assert found.columns[0].value == 12.0
    np.testing.assert_array_equal(found.columns[0].values["x"], [1, 0, 0, 0])
