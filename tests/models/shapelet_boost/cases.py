"""Small problems of boosted shapelets: random bags, the master over given columns, the oracle at given prices."""

from __future__ import annotations

import numpy as np

from milopt import RBF, Bags, Program, as_bags, solve
from milopt.declaration.programs.semi_infinite import Oracle, SemiInfinite
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.outcome.result import Result
from milopt.schemes.column_generation import ColumnGeneration

K = RBF(0.5)
TIGHT = ColumnGeneration(tolerance=1e-6)
PLAIN = {"kernel": K, "dictionary": "all", "bias": False, "two_sided": False, "scale": "none"}


def random_bags(seed: int, m: int = 12) -> tuple[Bags, np.ndarray]:
    """Make bags of one to four points in the plane; every other bag is positive and slightly shifted."""
    rng, y = np.random.default_rng(seed), np.where(np.arange(m) % 2, 1.0, -1.0)
    return as_bags([rng.normal(0.4 * sign, 1.0, size=(int(rng.integers(1, 5)), 2)) for sign in y]), y


def solve_boosted(model: ShapeletBoost, bags: Bags, y: np.ndarray, solver: str = "highs") -> Result:
    """Solve the program of the model to six digits."""
    return solve(model.program(bags, y), solver, TIGHT)


def master_over(columns: np.ndarray, y: np.ndarray, weight: np.ndarray, nu: float, bias: bool) -> Program:
    """Return the declared master with the rows of these columns; its bags do not matter."""
    points = as_bags([np.full((1, 1), float(i)) for i in range(y.size)])
    problem = ShapeletBoost(nu=nu, **PLAIN | {"bias": bias}).program(points, y, weight)
    assert isinstance(problem, SemiInfinite)
    for t, column in enumerate(columns.T):
        problem.master.subject_to(problem.family(column), name=f"edge[{t}]")
    return problem.master


def weak_learner(ball: str, bags: Bags, y: np.ndarray, d: np.ndarray, **others: object) -> tuple[Oracle, Program]:
    """Return the oracle of the model over a ball, and its program, at the prices d."""
    problem = ShapeletBoost(ball=ball, **PLAIN | others).program(bags, y)
    assert isinstance(problem, SemiInfinite)
    oracle = problem.oracles[0]
    (price,) = oracle.prices
    price.value = d
    return oracle, oracle.program
