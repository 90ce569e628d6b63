"""Random programs, compared with cvxpy models that are written from the same numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import milopt
from milopt import RBF, Bags, Linear, Program, as_bags, bag_max, bag_mean, bag_sum, norm, norm1, quad_form, sum_squares
from milopt.arrays import Vector
from milopt.compilation.features import Feature
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.programs.expression import Expression
from milopt.solving import registry
from milopt.solving.options import Options

SEEDS = st.integers(0, 2**32 - 1)
STOPPED = (Termination.STALLED, Termination.LIMIT)

GENERATED: list[int] = []


def _programs(count: int) -> settings:
    """Return the parameters of `count` random programs, the same in every run."""
    GENERATED.append(count)
    return settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


@dataclass
class Twin:
    """A program declared in milopt, and the same program written for cvxpy."""

    program: Program
    rows: list[Any] = field(default_factory=list)
    objective: Any = 0.0

    def judge(self) -> float:
        """Return the optimum of the minimisation according to cvxpy; inf if infeasible, -inf if unbounded."""
        problem = cp.Problem(cp.Minimize(self.objective), self.rows)
        value = problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
        assert problem.status in ("optimal", "infeasible", "unbounded", "optimal_inaccurate"), problem.status
        return float(value)


def _columns(twin: Twin, rng: np.random.Generator, size: int) -> tuple[Expression, Any]:
    """Add a block of variables, each free, one-sided, two-sided or fixed."""
    middle = rng.normal(size=size)
    kind = rng.integers(0, 5, size)
    lower = np.where(np.isin(kind, (1, 3)), middle - rng.uniform(0.2, 2, size), -np.inf)
    upper = np.where(np.isin(kind, (2, 3)), middle + rng.uniform(0.2, 2, size), np.inf)
    lower, upper = np.where(kind == 4, middle, lower), np.where(kind == 4, middle, upper)
    x = twin.program.variable("x", size, lower=lower, upper=upper)
    v = cp.Variable(size)
    low, high = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
    if low.size:
        twin.rows.append(v[low] >= lower[low])
    if high.size:
        twin.rows.append(v[high] <= upper[high])
    return x, v


def _linear_rows(twin: Twin, rng: np.random.Generator, x: Expression, v: Any, near: Vector) -> None:
    """Add blocks of >=, <= and == rows, most of which hold near one point."""
    n = near.size
    for k in range(rng.integers(1, 4)):
        A = rng.normal(size=(rng.integers(1, 6), n)) * (rng.random((1, n)) < 0.7)
        at = A @ near
        if k == 0:
            b = at - rng.uniform(0, 1, len(A))
            twin.program.subject_to(A @ x >= b, name=f"above{k}")
            twin.rows.append(A @ v >= b)
        elif k == 1:
            b = at + rng.uniform(0, 1, len(A))
            twin.program.subject_to(A @ x <= b, name=f"below{k}")
            twin.rows.append(A @ v <= b)
        else:
            A, at = A[:1], at[:1]
            twin.program.subject_to(A @ x == at, name=f"equal{k}")
            twin.rows.append(A @ v == at)


def _box(twin: Twin, x: Expression, v: Any, size: float) -> None:
    twin.program.subject_to(x <= size, name="high")
    twin.program.subject_to(-size <= x, name="low")
    twin.rows += [v <= size, v >= -size]


def _flat(seed: int, kind: str) -> Twin:
    """Return an LP, QP or SOCP over one block of columns, bounded or not, feasible or not."""
    rng = np.random.default_rng(seed)
    twin = Twin(Program(kind))
    n = int(rng.integers(1, 8))
    x, v = _columns(twin, rng, n)
    near = np.clip(rng.normal(size=n), twin.program.variables["x"].lower, twin.program.variables["x"].upper)
    _linear_rows(twin, rng, x, v, near)
    c = rng.normal(size=n)
    objective, mirror = c @ x + 0.5, c @ v + 0.5
    if kind == "qp":
        root, target = rng.normal(size=(rng.integers(1, n + 1), n)), rng.normal(size=n)
        pick = rng.integers(0, 3)
        if pick == 0:
            objective, mirror = objective + sum_squares(x - target), mirror + cp.sum_squares(v - target)
        elif pick == 1:
            objective = objective + 0.5 * quad_form(x, root.T @ root)
            mirror = mirror + 0.5 * cp.sum_squares(root @ v)
        else:
            objective = objective + 2 * sum_squares(root @ x - 1)
            mirror = mirror + 2 * cp.sum_squares(root @ v - 1)
    if kind == "socp":
        target, A = rng.normal(size=n), rng.normal(size=(3, n))
        objective = objective + norm(A @ x - 1) + 0.5 * norm1(x - target)
        mirror = mirror + cp.norm(A @ v - 1) + 0.5 * cp.norm1(v - target)
        twin.program.subject_to(norm(x - near) <= 2, name="ball")
        twin.rows.append(cp.norm(v - near) <= 2)
        if rng.random() < 0.5:
            twin.program.subject_to(sum_squares(A @ (x - near)) <= 3 + (x[0] - near[0]), name="quadratic")
            twin.rows.append(cp.sum_squares(A @ (v - near)) <= 3 + v[0] - near[0])
    if kind != "socp" and rng.random() < 0.7:
        _box(twin, x, v, 5.0)
    twin.program.minimize(objective)
    twin.objective = mirror
    return twin


def _compare(twin: Twin, solver: str, optimum: float, options: Options | None = None) -> None:
    """Check that the result is certified and agrees with cvxpy within 1e-6, or states that it is not certified."""
    result = milopt.solve(twin.program, solver, options=options)
    if result.termination in STOPPED:
        assert result.point is not PointStatus.CERTIFIED
        pytest.fail(f"{solver} stopped on a small, well-scaled program: {result}")
    if np.isinf(optimum):
        ends = Termination.INFEASIBLE if optimum > 0 else Termination.UNBOUNDED
        assert result.termination is ends, f"{result} where the judge says {ends}"
        assert result.point is PointStatus.NONE
        return
    assert result.termination is Termination.OPTIMAL, f"{result} where the judge says {optimum}"
    assert result.point is PointStatus.CERTIFIED
    assert result.certificate is not None
    assert result.certificate.worst <= 1e-6
    assert result.objective == pytest.approx(optimum, rel=1e-6, abs=2e-6)


def _supporting_solvers(*needs: Feature | str) -> list[str]:
    return [
        s.name
        for s in registry.installed_solvers()
        if s.name not in ("native", "libsvm") and {Feature.LINEAR, *needs} <= s.features | s.cones
    ]


@_programs(100)
@given(SEEDS)
def test_solvers_agree_on_linear_programs(seed: int) -> None:
    optimum = _flat(seed, "lp").judge()
    for solver in (*_supporting_solvers(), "native"):
        _compare(_flat(seed, "lp"), solver, optimum)


@_programs(80)
@given(SEEDS)
def test_solvers_agree_on_quadratic_programs(seed: int) -> None:
    optimum = _flat(seed, "qp").judge()
    for solver in _supporting_solvers(Feature.QUADRATIC):
        _compare(_flat(seed, "qp"), solver, optimum)


@_programs(60)
@given(SEEDS)
def test_solvers_agree_on_conic_programs(seed: int) -> None:
    optimum = _flat(seed, "socp").judge()
    for solver in _supporting_solvers("second-order"):
        _compare(_flat(seed, "socp"), solver, optimum)


# -- functions over bags -----------------------------------------------------------------------------------------


def _factor(points: Vector, rbf: bool) -> Vector:
    """Return coordinates L with L L' = K of the points."""
    if not rbf:
        return points
    gram = np.exp(-0.5 * ((points[:, None] - points[None]) ** 2).sum(axis=2))
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


def _random_bags(rng: np.random.Generator) -> Bags:
    return as_bags([rng.normal(size=(rng.integers(1, 4), 2)) for _ in range(rng.integers(2, 6))])


def _over_bags(seed: int, kind: str) -> Twin:
    """Return a program of a function with losses through bag_sum, bag_mean, or bag_max on its convex side."""
    rng = np.random.default_rng(seed)
    bags, rbf = _random_bags(rng), bool(rng.integers(0, 2))
    m, J, ends = len(bags), bags.membership.toarray(), np.split(np.arange(int(bags.offsets[-1])), bags.offsets[1:-1])
    L = _factor(np.asarray(bags.instances), rbf)
    y = rng.normal(size=m)
    twin = Twin(Program(kind))
    f, b = twin.program.function("f", RBF(0.5) if rbf else Linear()), twin.program.variable("b")
    slack = twin.program.variable("slack", m, lower=0)
    w, bias, s = cp.Variable(L.shape[1]), cp.Variable(), cp.Variable(m, nonneg=True)
    values = L @ w
    maxima = cp.hstack([cp.max(values[list(part)]) for part in ends])
    objective: Expression = slack.sum() + 0.1 * sum_squares(b)
    mirror = cp.sum(s) + 0.1 * cp.square(bias)
    pick = rng.integers(0, 4)
    if pick == 0:
        twin.program.subject_to(y * (bag_mean(f(bags)) + b) >= 1 - slack, name="margin")
        twin.rows.append(cp.multiply(y, (J / J.sum(axis=0)).T @ values + bias) >= 1 - s)
    elif pick == 1:
        twin.program.subject_to(bag_max(f(bags)) + b <= y + slack, name="margin")
        twin.rows.append(maxima + bias <= y + s)
        objective, mirror = objective - 0.3 * bag_sum(f(bags)).sum(), mirror - 0.3 * cp.sum(J.T @ values)
    elif pick == 2:
        objective = objective + (np.abs(y) * bag_max(f(bags) + b)).sum() + sum_squares(bag_sum(f(bags)) - y)
        mirror = mirror + np.abs(y) @ (maxima + bias) + cp.sum_squares(J.T @ values - y)
    else:
        twin.program.subject_to(bag_max(f(bags) + b) + bag_max(-1 * f(bags), bags) <= 1 + slack, name="spread")
        spread = cp.hstack([cp.max(values[list(part)]) + cp.max(-values[list(part)]) for part in ends])
        twin.rows.append(spread + bias <= 1 + s)
        objective, mirror = objective + y @ bag_mean(f(bags)), mirror + y @ ((J / J.sum(axis=0)).T @ values)
    if kind == "ball":
        twin.program.subject_to(f.norm() <= 1.3, name="ball")
        twin.rows.append(cp.norm(w) <= 1.3)
    else:
        objective, mirror = objective + 0.5 * f.norm_squared(), mirror + 0.5 * cp.sum_squares(w)
    twin.program.minimize(objective)
    twin.objective = mirror
    return twin


@_programs(60)
@given(SEEDS, st.sampled_from(["auto", "primal"]), st.sampled_from([None, True]))
def test_solvers_agree_on_regularised_functions(seed: int, form: str, lazy: bool | None) -> None:
    optimum = _over_bags(seed, "ridge").judge()
    for solver in _supporting_solvers(Feature.QUADRATIC):
        _compare(_over_bags(seed, "ridge"), solver, optimum, Options(form=form, lazy=lazy))


@_programs(30)
@given(SEEDS, st.sampled_from([None, True]))
def test_solvers_agree_on_functions_in_a_ball(seed: int, lazy: bool | None) -> None:
    optimum = _over_bags(seed, "ball").judge()
    for solver in _supporting_solvers("second-order", Feature.QUADRATIC):
        _compare(_over_bags(seed, "ball"), solver, optimum, Options(lazy=lazy))


def test_at_least_three_hundred_programs_are_generated() -> None:
    assert sum(GENERATED) >= 300
