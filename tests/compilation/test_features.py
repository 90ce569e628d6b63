"""Programs over kernels with features have the same optimum as over the Gram matrix of the same kernel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import milopt
from milopt import Linear, Program, bag_max, bag_mean, bag_sum, quad_form
from milopt.compilation.evaluation_form import FunctionSpace
from milopt.compilation.kernel_space import KernelSpace
from milopt.declaration.kernels.kernel import CallableKernel, Kernel
from milopt.outcome.result import Result
from milopt.solving import registry

SOLVERS = ("highs", "clarabel", "ecos", "native", "cvxpy:OSQP")
FORMS = ("auto", "primal", "dual")


def gram_only(kernel: Kernel) -> CallableKernel:
    """Return a kernel with the same values and without features."""
    return CallableKernel(lambda A, B: np.asarray(kernel(A, B)))


def max_margin(kernel: Kernel, bags: milopt.Bags, y: np.ndarray) -> Program:
    """Return a convex program with a maximum per bag of the negative class and the mean of every other bag."""
    program = Program("margin")
    f, slack = program.function("f", kernel), program.variable("slack", len(bags), lower=0)
    program.minimize(0.5 * f.norm_squared() + 2.0 * slack.sum())
    negative = np.flatnonzero(y < 0)
    program.subject_to(-bag_max(f(bags))[negative] >= 1 - slack[negative], name="negative")
    positive = np.flatnonzero(y > 0)
    program.subject_to(bag_mean(f(bags))[positive] >= 1 - slack[positive], name="positive")
    return program


def free_bias(kernel: Kernel, bags: milopt.Bags, y: np.ndarray) -> Program:
    """Return an SVM on bag means with a free bias."""
    program = Program("set kernel")
    f, b = program.function("f", kernel), program.variable("b")
    slack = program.variable("slack", len(bags), lower=0)
    program.minimize(0.5 * f.norm_squared() + 3.0 * slack.sum())
    program.subject_to(y * (bag_mean(f(bags)) + b) >= 1 - slack, name="margin")
    return program


def least_squares(kernel: Kernel, bags: milopt.Bags, y: np.ndarray) -> Program:
    """Return a least-squares program over bag sums with a linear term and a free bias."""
    program = Program("least squares")
    f, b = program.function("f", kernel), program.variable("b")
    program.minimize(
        0.5 * f.norm_squared() + 0.1 * f(bags).sum() + 2.0 * quad_form(bag_sum(f(bags)) + b - y, np.ones(len(bags)))
    )
    return program


def ball(kernel: Kernel, bags: milopt.Bags, y: np.ndarray) -> Program:
    """Return a program that is linear in f over a ball."""
    program = Program("ball")
    f = program.function("f", kernel)
    program.maximize(y @ bag_mean(f(bags)) - 0.5 * bag_max(f(bags))[: len(bags) // 2].sum())
    program.subject_to(f.norm() <= 1.5, name="ball")
    return program


PROGRAMS: tuple[Callable[[Kernel, milopt.Bags, np.ndarray], Program], ...] = (
    max_margin,
    free_bias,
    least_squares,
    ball,
)


def random_bags(seed: int, count: int, features: int, sparse: bool = False) -> tuple[milopt.Bags, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, size=count)
    instances = rng.normal(size=(int(sizes.sum()), features)) * (rng.random((int(sizes.sum()), features)) < 0.7)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    y = np.where(np.arange(count) % 2, 1.0, -1.0)
    return milopt.Bags(sp.csr_array(instances) if sparse else instances, offsets), y


def solve_both(
    declare: Callable[[Kernel, milopt.Bags, np.ndarray], Program],
    kernel: Kernel,
    bags: milopt.Bags,
    y: np.ndarray,
    solver: str,
    form: str,
) -> tuple[Result, Result] | None:
    """Return the results with features and with the Gram matrix; None if the solver does not support the program."""
    program, other = declare(kernel, bags, y), declare(gram_only(kernel), bags, y)
    try:
        with_features = milopt.solve(program, solver, form=form)
    except milopt.errors.UnsupportedError:
        return None
    return with_features, milopt.solve(other, "clarabel")


def assert_same(result: Result, expected: Result, bags: milopt.Bags) -> None:
    """Check objectives, certificates, multipliers and values of two results of the same program."""
    assert result.point == expected.point == "certified", (result.raw_status, result.certificate, expected.certificate)
    assert result.objective == pytest.approx(expected.objective, rel=1e-6, abs=1e-6)
    assert result.bound == pytest.approx(expected.bound, rel=1e-5, abs=1e-5)
    f, g = result.functions["f"], expected.functions["f"]
    assert f.norm_squared == pytest.approx(g.norm_squared, rel=1e-3, abs=1e-3)
    assert f(bags.instances) == pytest.approx(g(bags.instances), abs=2e-3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("declare", PROGRAMS)
def test_features_and_gram_matrix_have_the_same_optimum(
    declare: Callable[[Kernel, milopt.Bags, np.ndarray], Program], solver: str, form: str
) -> None:
    if not registry.get_solver(solver).availability().installed:
        pytest.skip(f"{solver} is not installed")
    for seed, (count, features) in enumerate([(14, 2), (12, 5), (6, 9)]):
        bags, y = random_bags(seed, count, features)
        pair = solve_both(declare, Linear(), bags, y, solver, form)
        if pair is not None:
            assert_same(*pair, bags)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(4, 16),
    features=st.integers(1, 8),
    sparse=st.booleans(),
    declare=st.sampled_from(PROGRAMS),
    form=st.sampled_from(("auto", "primal")),
)
def test_random_programs_have_the_same_optimum(
    seed: int,
    count: int,
    features: int,
    sparse: bool,
    declare: Callable[[Kernel, milopt.Bags, np.ndarray], Program],
    form: str,
) -> None:
    bags, y = random_bags(seed, count, features, sparse)
    pair = solve_both(declare, Linear(), bags, y, "clarabel", form)
    assert pair is not None
    assert_same(*pair, bags)


@pytest.mark.parametrize(
    ("solver", "declare"),
    [
        *(("clarabel", declare) for declare in PROGRAMS),
        ("highs", max_margin),
        ("highs", free_bias),
        ("native", least_squares),
        ("libsvm", free_bias),
    ],
)
def test_no_kernel_values_are_computed_where_features_exist(
    declare: Callable[[Kernel, milopt.Bags, np.ndarray], Program], solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a kernel matrix was computed")

    monkeypatch.setattr(Linear, "_gram", refuse)
    bags, y = random_bags(5, 20, 3)
    result = milopt.solve(declare(Linear(), bags, y), solver)
    assert result.point == "certified"
    assert result.functions["f"](bags.instances).shape == (bags.instances.shape[0],)


def test_the_form_is_features_if_they_are_few_and_is_reported() -> None:
    few, y = random_bags(0, 20, 3)
    many, _ = random_bags(0, 20, 30)
    assert milopt.solve(free_bias(Linear(), few, y), "clarabel").form.startswith("features (3 features, 20 rows")
    assert milopt.solve(free_bias(Linear(), many, y), "clarabel").form.startswith("dual (30 features")
    assert milopt.solve(free_bias(Linear(), many, y), "clarabel", form="primal").form.startswith("touched points")
    assert milopt.solve(free_bias(Linear(), few, y), "clarabel", form="dual").form == "dual (requested)"
    assert milopt.solve(free_bias(Linear(), few, y), "highs").form.startswith("dual (the solver")
    assert milopt.solve(free_bias(gram_only(Linear()), few, y), "clarabel").form == "dual (the kernel has no features)"


def test_a_function_is_the_vector_of_its_feature_weights() -> None:
    points = np.random.default_rng(0).normal(size=(9, 3))
    a, w = np.linspace(-1, 1, 9), np.array([1.0, -2.0, 0.5])
    space = KernelSpace(FunctionSpace(Program("p").function("f", Linear()), (points,)))
    assert space.size == 3
    assert space.from_points(a) == pytest.approx(points.T @ a)
    assert space.values(w) == pytest.approx(points @ w)
    assert space.length(w) == pytest.approx(np.linalg.norm(w))
    assert space.norm(a) == pytest.approx(np.linalg.norm(points.T @ a))
    assert space.from_points(space.to_points(w)) == pytest.approx(w)


@pytest.mark.parametrize("solver", ["clarabel", "ecos", "auto"])
def test_functions_that_are_evaluated_nowhere_need_no_features(solver: str) -> None:
    program = Program("norm alone")
    x = program.variable("x", lower=1.0)
    f = program.function("f", Linear())
    program.minimize(x)
    program.subject_to(f.norm() <= 2 * x)
    result = milopt.solve(program, solver)
    assert result.point == "certified"
    assert result.objective == pytest.approx(1.0)


def test_exact_schemes_solve_steps_whose_function_has_no_points_left() -> None:
    program = Program("ball")
    bags = milopt.Bags(np.array([[2.0], [-2.0], [3.0], [-3.0]]), [0, 2, 4])
    f = program.function("f", Linear())
    program.minimize(0.01 * bag_sum(f(bags)).sum() - bag_max(f(bags)).sum())
    program.subject_to(f.norm() <= 2)
    result = milopt.solve(program, "scip", scheme="exact")
    assert result.point == "certified"
    assert result.objective == pytest.approx(-10.0)
