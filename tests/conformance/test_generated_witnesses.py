"""Random programs whose witnesses must be chosen, compared with cvxpy over every selection."""

from __future__ import annotations

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milopt
from milopt import Bags, Linear, Program, as_bags, bag_max, norm1
from milopt.arrays import Vector
from milopt.compilation.status import PointStatus, Termination


def _selections(bags: Bags) -> list[list[int]]:
    return [list(p) for p in product(*(range(a, b) for a, b in zip(bags.offsets[:-1], bags.offsets[1:], strict=True)))]


def _mi_svm(bags: Bags, y: Vector, linear_program: bool) -> Program:
    program = Program("mi-svm")
    b = program.variable("b", lower=-2, upper=2)
    slack = program.variable("slack", len(bags), lower=0)
    if linear_program:
        w = program.variable("w", 2, lower=-1.5, upper=1.5)
        scores = bags.instances @ w
        program.minimize(norm1(w) + slack.sum())
    else:
        f = program.function("f", Linear())
        scores = f(bags)
        program.minimize(0.5 * f.norm_squared() + slack.sum())
    program.subject_to(y * (bag_max(scores, bags) + b) >= 1 - slack, name="margin")
    return program


def _by_enumeration(bags: Bags, y: Vector, linear_program: bool) -> float:
    """Return the best objective over all selections of witnesses in the positive bags."""
    X, best = np.asarray(bags.instances), np.inf
    ends = np.split(np.arange(len(X)), bags.offsets[1:-1])
    w, b, s = cp.Variable(2), cp.Variable(), cp.Variable(len(bags), nonneg=True)
    loss = cp.norm1(w) if linear_program else 0.5 * cp.sum_squares(w)
    bounds = [b >= -2, b <= 2, *([w >= -1.5, w <= 1.5] if linear_program else [])]
    positive = np.flatnonzero(y > 0)
    seen = set()
    for chosen in _selections(bags):
        key = tuple(chosen[i] for i in positive)
        if key in seen:
            continue
        seen.add(key)
        rows = [X[chosen[i]] @ w + b >= 1 - s[i] for i in positive]
        rows += [-(X[ends[i]] @ w + b) >= 1 - s[i] for i in np.flatnonzero(y < 0)]
        best = min(best, cp.Problem(cp.Minimize(loss + cp.sum(s)), [*rows, *bounds]).solve(solver=cp.CLARABEL))
    return float(best)


@settings(max_examples=10, derandomize=True, deadline=None, database=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_exact_finds_the_best_selection(seed: int, linear_program: bool) -> None:
    rng = np.random.default_rng(seed)
    bags = as_bags([rng.normal(size=(rng.integers(1, 3), 2)) for _ in range(5)])
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    optimum = _by_enumeration(bags, y, linear_program)
    for solver in ("highs", "clarabel"):
        result = milopt.solve(_mi_svm(bags, y, linear_program), solver, scheme="exact")
        assert result.termination is Termination.OPTIMAL, str(result)
        assert result.point is PointStatus.CERTIFIED
        assert result.objective == pytest.approx(optimum, rel=1e-6, abs=1e-6)
        ccp = milopt.solve(_mi_svm(bags, y, linear_program), solver, scheme="ccp")
        assert ccp.termination is Termination.STATIONARY
        assert ccp.objective >= optimum - 1e-6 * (1 + abs(optimum))
        falls = np.diff([step.objective for step in ccp.history])
        assert (falls <= 1e-7 * (1 + abs(optimum))).all()
