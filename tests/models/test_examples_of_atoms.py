"""The two examples with nested atoms agree with other software, for every solver of exponential cones."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import milopt
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.programs.leaves import FunctionEvaluation
from milopt.declaration.programs.program import leaves

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SOLVERS = ("clarabel", "ecos", "cvxpy:SCS")


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def evaluation_points(program: milopt.Program) -> np.ndarray:
    """Return the instances as the model scaled them: the points at which f is evaluated."""
    (points,) = {
        id(leaf): leaf.points for leaf in leaves(program.objective) if isinstance(leaf, FunctionEvaluation)
    }.values()
    return np.asarray(points)


def solve_example(program: milopt.Program, solver: str) -> milopt.Result:
    result = milopt.solve(program, solver, scheme="ccp")
    assert (result.termination, result.point) == (Termination.STATIONARY, PointStatus.CERTIFIED), str(result)
    return result


def test_logistic_maxima_agree_with_cvxpy_at_the_same_witnesses() -> None:
    module = example("logistic_maxima")
    bags, y = module.load_musk()
    program = module.LogisticMaxima().program(bags, y)
    result = solve_example(program, "clarabel")
    K = program.functions["f"].kernel(evaluation_points(program), evaluation_points(program))
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    v, b = cp.Variable(len(K)), cp.Variable()
    (witness,) = result.witnesses.values()
    losses = []
    for i, sign in enumerate(y):
        instances = [int(witness[i])] if sign > 0 else range(bags.offsets[i], bags.offsets[i + 1])
        top = cp.max(cp.hstack([root[x] @ v + b for x in instances]))
        losses.append(cp.logistic(-sign * (root[witness[i]] @ v + b)) if sign > 0 else cp.logistic(top))
    expected = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(v) + cp.sum(cp.hstack(losses)))).solve(solver="CLARABEL")
    assert result.objective == pytest.approx(expected, abs=1e-6)
    for solver in SOLVERS[1:]:
        assert solve_example(program, solver).objective == pytest.approx(expected, abs=1e-6), solver


def test_noisy_or_agrees_with_l_bfgs() -> None:
    """At the tangents of the last step the program is convex and smooth, and the point is stationary."""
    module = example("noisy_or")
    rng, y = np.random.default_rng(0), np.where(np.arange(24) % 2, 1, -1)
    bags = milopt.as_bags([np.vstack([rng.normal(-1, 1, (3, 2)), rng.normal(sign, 0.7, (1, 2))]) for sign in y])
    program = module.NoisyOr().program(bags, y)
    result = solve_example(program, "clarabel")
    X = np.column_stack([evaluation_points(program), np.ones(len(bags.instances))])
    point = np.append(result.functions["f"](np.eye(2)), result.values["b"])
    start = X @ point

    def objective(v: np.ndarray, tangents: bool) -> tuple[float, np.ndarray]:
        e = X @ v
        value, slope = np.logaddexp(0.0, e), expit(e)
        if tangents:
            is_positive = np.repeat(y > 0, bags.sizes)
            tangent = np.logaddexp(0.0, start) + expit(start) * (e - start)
            value, slope = np.where(is_positive, tangent, value), np.where(is_positive, expit(start), slope)
        s = np.maximum(bags.sum(value), 1e-12)
        losses = np.where(y > 0, -np.log(-np.expm1(-s)), s)
        pull = np.where(y > 0, -1 / np.expm1(s), 1.0)
        return 0.5 * v[:2] @ v[:2] + losses.sum(), np.append(v[:2], 0.0) + X.T @ (slope * np.repeat(pull, bags.sizes))

    for tangents in (True, False):
        optimum = minimize(objective, point, (tangents,), jac=True, method="L-BFGS-B", options={"ftol": 1e-15})
        assert result.objective == pytest.approx(optimum.fun, abs=1e-6)
    away = minimize(objective, point + 0.5, (True,), jac=True, method="L-BFGS-B", options={"ftol": 1e-15})
    assert result.objective == pytest.approx(away.fun, abs=1e-6)
    for solver in SOLVERS[1:]:
        assert solve_example(program, solver).objective == pytest.approx(result.objective, abs=1e-6), solver
