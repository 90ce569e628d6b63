"""ODM: its derived dual, its limits (ridge regression, squared-hinge SVM, class means), one optimum in all forms."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import LinearSVC

from milopt import RBF, Linear, Representatives, as_bags, solve
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import BagsError, ParameterError
from milopt.models import MIORDM, MISVM, ODM
from milopt.solvers.native.box_qp.split import split_quadratic
from milopt.solvers.native.box_qp.sweeps import coordinate_descent

K = RBF(0.5)


def points(seed=0, count=12, shift=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(count) % 2, 1.0, -1.0)
    return rng.normal(size=(count, 3)) + shift * y[:, None] / 2, y


def odm(lam=16.0, theta=0.5, mu=0.5, **more) -> ODM:
    return ODM(lam=lam, theta=theta, mu=mu, scale="none", **{"kernel": K, "solver": "native"} | more)


def fit_singletons(x, y, **more):
    """Return the result over bags of one instance."""
    return odm(**more).fit(list(x[:, None]), y).result_


def dual_of_the_specification(x, y, lam, theta, mu, weight=None):
    """Return (A, b, c) of the QP over (alpha, beta) >= 0, from its formulas; theta and mu may differ by bag."""
    weight = np.ones(y.size) if weight is None else weight
    Q = np.outer(y, y) * K(x, x)
    theta, mu = np.broadcast_to(theta, y.shape), np.broadcast_to(mu, y.shape)
    c = weight.sum() * (1 - theta) ** 2 / (2 * lam * weight)
    A = np.block([[Q + np.diag(c), -Q], [-Q, Q + np.diag(c / mu)]])
    return A, np.concatenate([theta - 1, theta + 1]), c


CASES = {
    "one margin": ((0.5, 0.5), 0.5, 0.5, None),
    "margins by class": ((0.2, 0.6), (0.2, 0.6), (0.3, 0.9), None),
    "weighted": ((0.5, 0.5), 0.5, 0.5, np.array([1.0, 2, 1, 1, 3, 1])),
}


@pytest.mark.parametrize("case", CASES)
def test_the_derived_dual_is_the_box_qp_of_the_specification(case):
    x, y = points(count=6)
    _, theta, mu, weight = CASES[case]
    program = odm(theta=theta, mu=mu).program(list(x[:, None]), y, weight)
    form = program.to_standard_form("dual")
    each = [
        np.where(y > 0, *reversed(by_class)) if isinstance(by_class, tuple) else by_class for by_class in (theta, mu)
    ]
    A, b, _ = dual_of_the_specification(x, y, 16.0, *each, weight)
    np.testing.assert_allclose(form.P.sparse.toarray(), A, atol=1e-12)
    np.testing.assert_allclose(form.q, b, atol=1e-12)
    assert form.m == 0
    assert (form.lower == 0).all()
    assert (form.upper == np.inf).all()


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.integers(0, 10_000),
    st.sampled_from([0.1, 1.0, 16.0, 300.0]),
    st.sampled_from([0.0, 0.3, 0.8]),
    st.sampled_from([0.1, 0.6, 1.0]),
)
def test_primal_and_dual_optima_are_equal_and_slacks_are_multipliers(seed, lam, theta, mu):
    x, y = points(seed, count=8)
    A, b, c = dual_of_the_specification(x, y, lam, theta, mu)
    primal = fit_singletons(x, y, lam=lam, theta=theta, mu=mu, form="primal", solver="clarabel")
    dual = fit_singletons(x, y, lam=lam, theta=theta, mu=mu, form="dual")
    assert primal.objective == pytest.approx(dual.objective, rel=1e-6)
    alpha, beta = dual.duals["lower"], dual.duals["upper"]
    delta = np.concatenate([alpha, beta])
    assert -(0.5 * delta @ A @ delta + b @ delta) == pytest.approx(dual.objective, rel=1e-9)
    np.testing.assert_allclose(dual.values["xi"], c * alpha, atol=1e-9)
    np.testing.assert_allclose(dual.values["eps"], c / mu * beta, atol=1e-9)
    assert (delta >= 0).all()
    np.testing.assert_allclose(alpha * beta, 0, atol=1e-12)
    margins = y * dual.functions["f"](x)
    inside = (margins > 1 - theta + 1e-6) & (margins < 1 + theta - 1e-6)
    assert not alpha[inside].any()
    assert not beta[inside].any()


def test_coordinate_descent_nonnegative_least_squares_and_conic_solvers_find_one_point():
    x, y = points(1)
    A, b, _ = dual_of_the_specification(x, y, 300.0, 0.3, 0.5)
    R = cholesky(A)
    squares, _ = nnls(R, -solve_triangular(R.T, b, lower=True))
    form = odm(lam=300.0, theta=0.3).program(list(x[:, None]), y).to_standard_form("dual")
    descended = coordinate_descent(split_quadratic(form.P), form.q, form.lower, form.upper, np.zeros(form.n), 20_000)
    np.testing.assert_allclose(descended, squares, atol=1e-6)
    for name in ("native", "clarabel", "highs", "ecos"):
        result = fit_singletons(x, y, lam=300.0, theta=0.3, solver=name)
        np.testing.assert_allclose(np.concatenate([result.duals["lower"], result.duals["upper"]]), squares, atol=1e-4)


def test_one_sweep_of_coordinate_descent_is_not_the_solution():
    x, y = points(1)
    form = odm(lam=300.0, theta=0.3).program(list(x[:, None]), y).to_standard_form("dual")
    once = coordinate_descent(split_quadratic(form.P), form.q, form.lower, form.upper, np.zeros(form.n), 1)
    value = 0.5 * once @ form.P.times(once) + form.q @ once
    assert value > -fit_singletons(x, y, lam=300.0, theta=0.3).objective + 1e-2


@pytest.mark.parametrize("lam", [0.5, 16.0, 1000.0])
def test_odm_with_theta_zero_and_mu_one_is_kernel_ridge_regression(lam):
    x, y = points()
    new, _ = points(7)
    ridge = KernelRidge(alpha=len(y) / (2 * lam), kernel="rbf", gamma=0.5).fit(x, y)
    f = fit_singletons(x, y, lam=lam, theta=0.0, mu=1.0).functions["f"]
    np.testing.assert_allclose(f(new), ridge.predict(new), atol=1e-9)


def test_odm_tends_to_the_svm_with_squared_slacks_for_mu_to_zero():
    x, y = points(shift=1.5)
    lam, theta = 16.0, 0.3
    machine = LinearSVC(C=2 * lam / (len(y) * (1 - theta) ** 2) / 2, fit_intercept=False, tol=1e-10, max_iter=100_000)
    expected = (1 - theta) * machine.fit(x, y).decision_function(x)
    result = fit_singletons(x, y, lam=lam, theta=theta, mu=1e-7, kernel=Linear()).functions["f"](x)
    np.testing.assert_allclose(result, expected, atol=1e-4)


def test_odm_tends_to_the_difference_of_class_means_for_lambda_to_zero():
    x, y = points()
    lam, theta = 1e-6, 0.4
    f = fit_singletons(x, y, lam=lam, theta=theta).functions["f"]
    parzen = 2 * lam / (len(y) * (1 - theta)) * (K(x, x) @ y)
    np.testing.assert_allclose(f(x), parzen, rtol=1e-4, atol=1e-12)


def test_the_norm_grows_with_lambda():
    x, y = points()
    norms = [fit_singletons(x, y, lam=lam).functions["f"].norm_squared for lam in (0.1, 1.0, 10.0, 100.0, 1000.0)]
    assert (np.diff(norms) > 0).all()


def test_a_free_bias_balances_the_multipliers_and_a_regularised_one_is_the_kernel_plus_one():
    x, y = points(2, shift=0.5)
    y[:4] = -1.0
    free = fit_singletons(x, y, bias="free", solver="clarabel")
    assert y @ (free.duals["lower"] - free.duals["upper"]) == pytest.approx(0, abs=1e-7)
    regularised = fit_singletons(x, y, bias="regularised")
    raised = fit_singletons(x, y, kernel=lambda A, B: K(A, B) + 1.0)
    assert regularised.objective == pytest.approx(raised.objective, rel=1e-9)
    np.testing.assert_allclose(
        regularised.functions["f"](x) + regularised.values["b"], raised.functions["f"](x), atol=1e-7
    )
    assert free.objective < regularised.objective < fit_singletons(x, y).objective


def test_swapped_labels_swap_the_sign_and_the_order_of_bags_changes_nothing():
    x, y = points(3)
    new, _ = points(4)
    f = fit_singletons(x, y).functions["f"]
    np.testing.assert_allclose(fit_singletons(x, -y).functions["f"](new), -f(new), atol=1e-10)
    order = np.random.default_rng(0).permutation(len(y))
    np.testing.assert_allclose(fit_singletons(x[order], y[order]).functions["f"](new), f(new), atol=1e-10)


def test_a_larger_lambda_moves_the_margins_to_one():
    x, y = points(5, count=40)
    spread = []
    for lam in (1.0, 30.0, 1000.0):
        margins = y * fit_singletons(x, y, lam=lam, theta=0.1, mu=1.0).functions["f"](x)
        spread.append(margins.std() / margins.mean())
    assert spread[0] > spread[1] > spread[2]


@cache
def representatives(name, data_set):
    """Return bags of one instance, the final representatives of the paper's algorithm on a data set, and the labels."""
    arrays, y = data_set(name)
    bags = as_bags(arrays)
    program = MIORDM(lam=128.0, theta=0.7, mu=0.7, kernel=RBF(), scale="none").program(bags, y)
    chosen = solve(program, "native", Representatives(max_steps=5)).functions["f"]
    return bags.instances[bags.argmax(chosen(bags.instances))][:, None], y


ROUTES = [
    *[(name, form) for name in ("highs", "clarabel", "ecos", "cvxpy:OSQP") for form in ("dual", "primal")],
    ("native", "dual"),
]


@pytest.mark.thorough(unless={"data": ["musk1"]})
@pytest.mark.thorough(unless={"data": ["tiger"], "name": ["native", "clarabel"]})
@pytest.mark.parametrize(("name", "form"), ROUTES)
@pytest.mark.parametrize("data", ["musk1", "tiger", "sival_mcil360"])
def test_all_solvers_and_forms_find_one_optimum_on_representatives_of_real_bags(data, name, form, data_set):
    x, y = representatives(data, data_set)
    model = ODM(lam=128.0, theta=0.7, mu=0.7, kernel=RBF(), scale="none")
    expected = model.set_params(solver="native").fit(list(x), y).result_
    assert expected.certificate.worst <= 1e-10
    result = model.set_params(solver=name, form=form).fit(list(x), y).result_
    assert (result.termination, result.point) == (Termination.OPTIMAL, PointStatus.CERTIFIED)
    assert result.certificate.worst <= 1e-6
    assert result.objective == pytest.approx(expected.objective, rel=1e-6)


def test_native_is_exact_if_the_condition_number_is_large():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(500) < 0.5, 1.0, -1.0)
    x = rng.normal(size=(500, 8)) + 0.3 * (y > 0)[:, None]
    kernel = RBF(1 / 8)
    largest = np.linalg.eigvalsh(np.outer(y, y) * kernel(x, x))[-1]
    lam = 500 * 0.25 / (2 * 2 * largest / 6e5)
    result = fit_singletons(x, y, lam=lam, kernel=kernel)
    assert result.certificate.worst <= 1e-10


MISTAKES = [
    ({"theta": 1.0}, "theta must be at least 0 and less than 1, not 1.0."),
    ({"theta": 1 - 1e-12}, "theta must leave 1 - theta at 1e-06 or above, not at 1e-12."),
    ({"theta": (0.1, 1 - 1e-8)}, "theta[1] must leave 1 - theta[1] at 1e-06 or above, not at 1e-08."),
    ({"theta": -0.1}, "theta must be at least 0 and less than 1, not -0.1."),
    ({"theta": (0.1, 2.0)}, "theta[1] must be at least 0 and less than 1, not 2.0."),
    ({"theta": (0.1, 0.2, 0.3)}, "theta must be a number, or a pair (negative class, positive class), not"),
    ({"theta": np.array([0.1, 1.0])}, "theta[1] must be at least 0 and less than 1, not 1.0."),
    ({"theta": np.array([0.1])}, "theta must be a number, or a pair (negative class, positive class), not [0.1]."),
    ({"theta": "wide"}, "theta must be at least 0 and less than 1, not 'wide'."),
    ({"mu": 0.0}, "mu must be greater than 0 and at most 1, not 0.0."),
    ({"mu": 1.5}, "mu must be greater than 0 and at most 1, not 1.5."),
    ({"lam": 0.0}, "lam must be a positive number, not 0.0."),
    ({"lam": float("inf")}, "lam must be a positive number, not inf."),
    ({"bias": "some"}, 'bias must be one of "none", "regularised", "free", not \'some\'.'),
    ({"form": "both"}, 'form must be one of "dual", "primal", not \'both\'.'),
    ({"form": "coordinates"}, 'form must be one of "dual", "primal", not \'coordinates\'.'),
]


@pytest.mark.parametrize("model", [ODM, MIORDM])
@pytest.mark.parametrize(("given_", "message"), MISTAKES)
def test_a_parameter_out_of_range_raises_an_error_of_one_sentence(model, given_, message, golden_bags):
    with pytest.raises(ParameterError) as caught:
        model(**given_).fit(*golden_bags)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("model", [ODM, MIORDM, MISVM])
def test_a_single_class_raises_an_error(model, golden_bags):
    bags, _ = golden_bags
    with pytest.raises(BagsError, match="All 6 bags belong to one class"):
        model().fit(bags, np.ones(6))
