"""Lazy rows lead to the optimum of the whole program."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import Linear, Program, as_bags, bag_max


def _chebyshev_fit(seed: int, spread: float) -> Program:
    """Return min t  s.t.  |f(x) + b - y| <= t  at 300 points in 15 bags; f is linear, of rank 3, and not regularised.

    The first instances of the bags, with which lazy rows begin, differ from each other by `spread`.
    """
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(15, 20, 3))
    points[:, 0] = points[0, 0] + spread * rng.normal(size=(15, 3))
    bags = as_bags(list(points))
    y = bags.instances @ rng.normal(size=3) + 0.3 * rng.normal(size=300)
    program = Program("Chebyshev fit")
    f, b, t = program.function("f", Linear()), program.variable("b"), program.variable("t")
    program.minimize(t)
    program.subject_to(bag_max(f(bags) + b - y, bags) <= t, name="above")
    program.subject_to(bag_max(y - f(bags) - b, bags) <= t, name="below")
    return program


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos", "native"])
@pytest.mark.parametrize("spread", [1.0, 1e-2, 1e-5])
@pytest.mark.parametrize("seed", range(3))
def test_lazy_rows_over_an_unregularised_function_of_finite_rank(seed: int, spread: float, solver: str) -> None:
    whole = milopt.solve(_chebyshev_fit(seed, spread), "clarabel", lazy=False).require_certified()
    lazy = milopt.solve(_chebyshev_fit(seed, spread), solver, lazy=True).require_certified()
    assert lazy.objective == pytest.approx(whole.objective, rel=1e-6)
