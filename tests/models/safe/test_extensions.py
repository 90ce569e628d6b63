"""Losses, maxima, landmarks and several classes of SAFE, compared with equivalent models."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import RBF, Bags, Nystrom, Precomputed, Program, as_bags, bag_sum, load_data, quad_form, solve
from milopt.compilation import streamed_squares
from milopt.compilation.features import Feature
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.bags import scaled_rows
from milopt.declaration.kernels.dictionary import choose_dictionary
from milopt.declaration.kernels.feature_rows import FeatureRows
from milopt.models import SAFE, SetKernelSVM
from tests.models.general_solvers import general_solvers
from tests.models.safe.cases import K, safe, solve_safe


def test_hinge_loss_with_gamma_zero_is_the_svm_on_the_set_kernel_with_the_bias_times_the_size(golden_bags):
    bags, y = golden_bags
    ours = solve_safe(bags, y, "kpca", 0.0, 5.0, "auto", loss="hinge")
    program = Program("dual")
    a = program.variable("a", 6, lower=0, upper=5.0)
    gram = bags.sum(bags.sum(K(bags.instances, bags.instances)).T)
    program.maximize(a.sum() - 0.5 * quad_form(y * a, gram))
    program.subject_to((bags.sizes * y) @ a == 0)
    assert ours.objective == pytest.approx(solve(program, "clarabel").objective, rel=1e-6)


def test_the_hinge_over_equal_bags_is_the_set_kernel_svm():
    rng = np.random.default_rng(0)
    bags = Bags(rng.standard_normal((30, 2)), np.arange(11) * 3)
    y = np.where(np.arange(10) % 2 == 0, 1.0, -1.0)
    ours = SAFE(loss="hinge", aggregation="mean", gamma=0.0, rho=3.0, kernel=K, scale="none").fit(bags, y)
    svm = SetKernelSVM(C=3.0, kernel=K, scale="none").fit(bags, y)
    assert ours.result_.objective == pytest.approx(svm.result_.objective, rel=1e-6)
    np.testing.assert_allclose(ours.decision_function(bags), svm.decision_function(bags), atol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "huber"])
def test_robust_losses_with_positive_gamma_are_convex_below_the_second_eigenvalue(loss, golden_bags):
    bags, y = golden_bags
    program = safe(bags, y, "ksc", 0.9, 2.0, loss=loss)
    values = [
        solve(program, name).objective
        for name in general_solvers(Feature.QUADRATIC, but=("cvxpy:SCS", "cvxpy:OSQP"))
        if solve(program, name).point is PointStatus.CERTIFIED
    ]
    assert len(values) >= 3
    np.testing.assert_allclose(values, values[0], rtol=1e-6)


def test_robust_losses_with_positive_gamma_centre_the_scores(golden_bags):
    bags, y = golden_bags
    result = solve_safe(bags, y, "ksc", 0.9, 2.0, "auto", loss="huber")
    v = 1 / K(bags.instances, bags.instances).sum(axis=1)
    assert abs(v @ result.instance_scores(bags.instances)) < 1e-8


def test_huber_loss_is_the_square_loss_if_the_residuals_are_small(golden_bags):
    bags, y = golden_bags
    # The residuals of this fit are below 1, where Huber's function is quadratic.
    square, huber = (solve_safe(bags, y, "kpca", 0.0, 1.0, "auto", loss=loss) for loss in ("square", "huber"))
    assert np.abs(square.score(bags) - y).max() < 1
    assert huber.objective == pytest.approx(square.objective, rel=1e-6)


def test_huber_loss_is_less_sensitive_to_an_outlier_than_square_loss(golden_bags):
    bags, y = golden_bags
    far = y.copy()
    far[0] = 30.0
    square, huber = (solve_safe(bags, far, "kpca", 0.0, 1.0, "auto", loss=loss) for loss in ("square", "huber"))
    assert huber.score(bags)[0] < 0.2 * square.score(bags)[0]


@pytest.mark.parametrize("scheme", ["ccp", "representatives"])
def test_maxima_are_squared_at_their_witnesses(scheme, golden_bags):
    bags, y = golden_bags
    program = safe(bags, y, "kpca", 0.0, 2.0, aggregation="max")
    result = solve(program, "auto", scheme)
    assert result.termination in (Termination.STATIONARY, Termination.CYCLE)
    E = result.score(bags)
    np.testing.assert_array_equal(E, bags.max(result.instance_scores(bags.instances)))
    f = result.functions["f"]
    value = 0.5 * f.norm_squared + np.sum((E - y) ** 2)
    if scheme == "ccp":
        assert result.objective == pytest.approx(value, rel=1e-5)
        # With these representatives it is least squares on one instance per bag, in closed form.
        chosen = bags.argmax(result.instance_scores(bags.instances))
        alone = solve_safe(Bags(bags.instances[chosen], np.arange(7)), y, "kpca", 0.0, 2.0)
        assert alone.objective <= result.objective + 1e-6


def test_on_bags_of_one_instance_all_aggregations_are_equal():
    rng = np.random.default_rng(1)
    bags = Bags(rng.standard_normal((14, 2)), np.arange(15))
    y = np.where(np.arange(14) % 2 == 0, 1.0, -1.0)
    objectives = [solve_safe(bags, y, "ksc", 0.0, 2.0, "auto", aggregation=a).objective for a in ("sum", "mean", "max")]
    np.testing.assert_allclose(objectives, objectives[0], rtol=1e-5)


@pytest.mark.parametrize("landmarks", ["kmeans", "uniform", "sample"])
def test_with_all_instances_as_landmarks_the_fit_is_exact(landmarks, golden_bags):
    bags, y = golden_bags
    exact = SAFE(kernel=K, scale="none", gamma=0.5, rho=1.0).fit(bags, y)
    ours = SAFE(kernel=Nystrom(K, 12, landmarks), scale="none", gamma=0.5, rho=1.0).fit(bags, y)
    assert ours.result_.objective == pytest.approx(exact.result_.objective, rel=1e-8)
    np.testing.assert_allclose(ours.decision_function(bags), exact.decision_function(bags), atol=1e-7)


def test_few_landmarks_give_the_exact_fit_of_the_nystroem_kernel():
    rng = np.random.default_rng(0)
    bags = Bags(rng.standard_normal((60, 2)), np.arange(16) * 4)
    y = np.where(np.arange(15) % 2 == 0, 1.0, -1.0)
    model = SAFE(kernel=Nystrom(K, 10, "uniform"), scale="none").fit(bags, y)
    Z = choose_dictionary(bags.instances, "uniform", 10, K, 0)
    cross = K(bags.instances, Z)
    gram = cross @ np.linalg.solve(K(Z, Z), cross.T)
    numbered = Bags(np.arange(60.0)[:, None], bags.offsets)
    exact = SAFE(kernel=Precomputed((gram + gram.T) / 2)).fit(numbered, y)
    assert model.result_.objective == pytest.approx(exact.result_.objective, rel=1e-7)
    np.testing.assert_allclose(model.decision_function(bags), exact.decision_function(numbered), atol=1e-5)


@pytest.mark.parametrize(("landmarks", "seed"), [("kmeans", 0), ("sample", 3), ("uniform", 7)])
@pytest.mark.parametrize("core", ["ksc", "kpca"])
def test_landmarks_give_the_fit_of_a_function_over_these_landmarks(core, landmarks, seed):
    """The function sum_z a_z K(z, .) over landmarks z, with degrees K_XZ K_ZZ^+ K_ZX 1, has the same scores."""
    data = load_data("musk1")
    gamma = 0.3 if core == "ksc" else 0.005
    model = SAFE(core=core, gamma=gamma, kernel=Nystrom(RBF("median"), 25, landmarks, seed), scale="none")
    model.fit(data.bags, data.labels)
    bags = data.bags
    sign = np.where(data.labels == model.classes_[1], 1.0, -1.0)
    kernel = RBF("median").fitted(bags.instances)
    Z = choose_dictionary(bags.instances, landmarks, 25, kernel, seed)
    X = kernel(bags.instances, Z)
    v = 1 / (X @ np.linalg.pinv(kernel(Z, Z), rcond=1e-10) @ X.sum(axis=0)) if core == "ksc" else np.ones(X.shape[0])
    program = Program("landmarks")
    f, b = program.function("f", kernel, dictionary=Z), program.variable("b")
    e = f(bags) + b
    loss = quad_form(bag_sum(e, bags) - sign, np.ones(sign.size))
    program.minimize(0.5 * f.norm_squared() - 0.5 * gamma * quad_form(e, v) + 5.0 * loss)
    program.score(lambda new: bag_sum(f(new) + b, new))
    result = solve(program, "native")
    assert model.result_.objective == pytest.approx(result.objective, rel=1e-8)
    np.testing.assert_allclose(model.decision_function(bags), result.score(bags), atol=1e-6)


@pytest.mark.parametrize("core", ["ksc", "kpca"])
def test_features_that_are_not_stored_give_the_same_fit(core, monkeypatch):
    data = load_data("musk1")
    kernel = Nystrom(RBF("median").fitted(data.bags.instances), landmarks=data.bags.instances[::20])
    model = SAFE(core=core, gamma=0.01, kernel=kernel, scale="none")
    whole = model.fit(data.bags, data.labels).result_
    monkeypatch.setattr(FeatureRows.__init__, "__defaults__", (0,))
    monkeypatch.setattr(scaled_rows, "MAX_BLOCK_VALUES", 1000)
    blocks = model.fit(data.bags, data.labels).result_
    assert blocks.point is PointStatus.CERTIFIED
    assert blocks.objective == pytest.approx(whole.objective, rel=1e-10)
    np.testing.assert_allclose(blocks.functions["f"].weights, whole.functions["f"].weights, atol=1e-8)


def test_blocks_support_weights_of_both_signs_and_points_in_any_order(monkeypatch):
    rng = np.random.default_rng(0)
    bags = Bags(rng.standard_normal((40, 2)), np.arange(11) * 4)
    weight, target = rng.standard_normal(40), rng.standard_normal(40)

    def declared():
        program = Program("mixed")
        f = program.function("f", K, dictionary=bags.instances[:6])
        b = program.variable("b")
        e = f(bags.instances)
        program.minimize(
            10 * f.norm_squared() + 0.1 * quad_form(2 * e + b - target, weight) + quad_form(bag_sum(e) - b, np.ones(10))
        )
        return program

    whole = solve(declared(), "native")
    monkeypatch.setattr(streamed_squares, "MAX_STORED_ENTRIES", 0)
    monkeypatch.setattr(streamed_squares, "MAX_BLOCK_ENTRIES", 50)
    blocks = solve(declared(), "native")
    assert blocks.objective == pytest.approx(whole.objective, rel=1e-9)
    assert float(blocks.values["b"]) == pytest.approx(float(whole.values["b"]), rel=1e-9)


def test_several_classes_share_one_factorisation(monkeypatch):
    from milopt.solvers.native.closed_form import kernel_closed_form

    rng = np.random.default_rng(0)
    lists = [rng.standard_normal((3, 2)) + 3 * np.array([k == 1, k == 2]) for k in range(3) for _ in range(8)]
    labels = np.repeat(["a", "b", "c"], 8)
    factorised = []
    first = kernel_closed_form.choose_system
    monkeypatch.setattr(kernel_closed_form, "choose_system", lambda p: factorised.append(1) or first(p))
    model = SAFE(aggregation="sum").fit(lists, labels)
    assert len(factorised) == 1
    assert model.score(lists, labels) == 1.0
    for k, label in enumerate("abc"):
        alone = SAFE(aggregation="sum").fit(lists, labels == label)
        np.testing.assert_allclose(
            model.decision_function(lists)[:, k], alone.decision_function(as_bags(lists)), atol=1e-10
        )
