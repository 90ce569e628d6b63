"""Kernels with features: the Gram matrix is that of the features, and approximations are close to their kernel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import PolynomialFeatures

import milopt
from milopt import RBF, Features, KernelProduct, KernelSum, Linear, Nystrom, Polynomial, RandomFourier, SetKernel
from milopt.declaration.kernels.feature_rows import FeatureRows
from milopt.declaration.kernels.gram_blocks import kernel_times
from milopt.declaration.kernels.kernel import Kernel
from milopt.errors import BagsError, ModelFileError, ParameterError
from milopt.model_registry.values import format_value, parse_value
from milopt.models import MISVM, SetKernelSVM

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(40, 3))
KERNELS: tuple[Kernel, ...] = (
    Linear(),
    Nystrom(RBF(0.3), 12),
    Nystrom(Polynomial(2), 8, landmarks="sample"),
    Nystrom(RBF("median"), 5, landmarks="uniform", seed=3),
    Nystrom(RBF(0.3), landmarks=POINTS[:4]),
    RandomFourier(RBF(0.3), 50),
    RandomFourier(count=20, seed=2),
    Features(PolynomialFeatures(2)),
    KernelSum((Linear(), Nystrom(RBF(0.3), 6))),
    KernelProduct((Linear(), Nystrom(RBF(0.3), 6))),
)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("sparse", [False, True])
def test_the_gram_matrix_is_that_of_the_features(kernel: Kernel, sparse: bool) -> None:
    points = sp.csr_array(POINTS) if sparse else POINTS
    fitted = kernel.fitted(points)
    assert fitted.has_features
    assert fitted.is_semidefinite
    assert fitted.fitted(points[:10]) == fitted
    phi = fitted.features(points)
    assert phi is not None
    gram = np.asarray((phi @ phi.T).toarray() if sp.issparse(phi) else phi @ phi.T)
    assert fitted(points, points) == pytest.approx(gram, abs=1e-12)
    assert fitted(points, points[:7]) == pytest.approx(gram[:, :7], abs=1e-12)
    assert fitted.diagonal(points) == pytest.approx(np.diagonal(gram), abs=1e-12)
    assert fitted.latex()
    some = fitted.features(points[5:8])
    assert np.allclose(np.asarray((some - phi[5:8]).toarray() if sp.issparse(phi) else some - phi[5:8]), 0, atol=1e-13)
    a = np.linspace(-1, 1, 40)
    assert kernel_times(fitted, points, points, a, memory=500) == pytest.approx(gram @ a, abs=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("memory", [1, 2**20])
def test_products_do_not_depend_on_the_blocks(kernel: Kernel, memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("milopt.declaration.bags.scaled_rows.MAX_BLOCK_VALUES", 40)
    fitted = kernel.fitted(POINTS)
    rows, phi = FeatureRows(fitted, POINTS, memory), np.asarray(fitted.features(POINTS))
    a, w = RNG.normal(size=40), RNG.normal(size=phi.shape[1])
    combinations = sp.csr_array(RNG.normal(size=(6, 40)) * (RNG.random((6, 40)) < 0.3))
    assert rows.count == phi.shape[1]
    assert rows.times(w) == pytest.approx(phi @ w)
    assert rows.transpose_times(a) == pytest.approx(phi.T @ a)
    assert rows.transpose_times(a * (np.arange(40) < 3)) == pytest.approx(phi[:3].T @ a[:3])
    assert np.asarray(rows.combine(combinations)) == pytest.approx(combinations @ phi)
    assert rows.largest_length == pytest.approx(np.linalg.norm(phi, axis=1).max())


def test_features_of_sparse_points_stay_sparse() -> None:
    points = sp.csr_array(POINTS)
    assert sp.issparse(KernelSum((Linear(), Linear())).features(points))
    assert sp.issparse(FeatureRows(Linear(), points).combine(sp.csr_array(np.eye(40)[:5])))
    bags = milopt.Bags(points, np.arange(0, 41, 4))
    assert sp.issparse(SetKernel(Linear()).features(bags))


def test_nystrom_with_all_points_is_exact_and_rank_limits_the_features() -> None:
    exact = Nystrom(RBF(0.3), landmarks=POINTS).fitted(POINTS)
    assert exact(POINTS, POINTS) == pytest.approx(RBF(0.3)(POINTS, POINTS), abs=1e-8)
    errors = []
    for rank in (2, 8, 30):
        kernel = Nystrom(RBF(0.3), rank).fitted(POINTS)
        assert kernel.features(POINTS).shape[1] <= rank
        errors.append(np.abs(kernel(POINTS, POINTS) - RBF(0.3)(POINTS, POINTS)).max())
    assert errors[0] > errors[1] > errors[2]


def test_random_features_approach_the_gaussian_kernel() -> None:
    gram = RBF(0.3)(POINTS, POINTS)
    few, many = (RandomFourier(RBF(0.3), count).fitted(POINTS)(POINTS, POINTS) - gram for count in (100, 10_000))
    assert np.abs(many).max() < 0.05 < np.abs(few).max()
    assert np.diagonal(few) == pytest.approx(np.zeros(40), abs=1e-12)


@pytest.mark.parametrize("normalise", ["mean", "sum", "feature"])
def test_set_kernels_inherit_features(normalise: str) -> None:
    bags = milopt.Bags(POINTS, [0, 3, 4, 20, 40])
    kernel = SetKernel(Nystrom(RBF(0.3), 6), normalise).fitted_to(bags)
    phi = kernel.features(bags)
    assert phi is not None
    assert kernel(bags, bags) == pytest.approx(np.asarray(phi) @ np.asarray(phi).T, abs=1e-12)
    assert not SetKernel(Linear(), power=2).has_features
    assert not SetKernel(RBF(0.3)).has_features


def test_products_with_many_features_have_none() -> None:
    wide = RNG.normal(size=(5, 40))
    kernel = KernelProduct((Linear(), Linear())).fitted(wide)
    assert not kernel.has_features
    assert kernel.features(wide) is None
    assert kernel(wide, wide) == pytest.approx((wide @ wide.T) ** 2)
    assert not KernelSum((Linear(), RBF(0.3))).has_features
    assert KernelSum((Linear(), RBF(0.3))).features(wide) is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Nystrom(rank=0), "rank of Nystrom"),
        (lambda: Nystrom(landmarks="best"), "landmarks of Nystrom"),
        (lambda: Nystrom(SetKernel()), "kernel of instances"),
        (lambda: Nystrom(RBF(0.1), landmarks=POINTS, basis=np.eye(3)), "one row per landmark"),
        (lambda: Nystrom(RBF(0.1)).features(POINTS), "call kernel.fitted"),
        (lambda: RandomFourier(Linear()), "approximates RBF kernels"),
        (lambda: RandomFourier(count=7), "must be even"),
        (lambda: RandomFourier(RBF(0.1)).features(POINTS), "call kernel.fitted"),
        (lambda: Features(PolynomialFeatures), "an object with a method transform"),
        (lambda: Features(RBFSampler()).features(POINTS), "call kernel.fitted"),
        (lambda: KernelSum((Linear(),)), "at least two kernels"),
        (lambda: KernelProduct((Linear(), SetKernel())), "kernels of instances"),
    ],
)
def test_wrong_kernels_are_rejected(make: object, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()  # type: ignore[operator]


def test_random_features_of_another_dimension_are_rejected() -> None:
    with pytest.raises(BagsError, match="3 features, not 2"):
        RandomFourier(RBF(0.1), 10).fitted(POINTS).features(POINTS[:, :2])


@pytest.mark.parametrize(
    "text",
    [
        "nystrom",
        "nystrom(kernel=rbf(s=0.1), rank=20, landmarks=sample, seed=4)",
        "randomfourier(kernel=rbf(s=4/median), count=50)",
        "kernelsum(parts=(linear, nystrom(rank=7)))",
        "kernelproduct(parts=(linear, rbf(s=0.5)))",
    ],
)
def test_kernels_are_read_from_text_and_written_to_it(text: str) -> None:
    value = parse_value(text)
    assert isinstance(value, Kernel)
    assert parse_value(format_value(value)) == value
    assert format_value(value) == text


def test_positional_arguments_are_read() -> None:
    assert parse_value("Nystrom(RBF(0.1), 300)") == Nystrom(RBF(0.1), 300)


def _data() -> tuple[milopt.Bags, np.ndarray]:
    rng = np.random.default_rng(1)
    y = np.where(np.arange(40) % 2, 1, -1)
    instances = rng.normal(size=(160, 3))
    instances[::4] += 1.5 * (y[:, None] > 0)
    return milopt.Bags(instances, np.arange(0, 161, 4)), y


@pytest.mark.parametrize(
    "kernel", [Linear(), Nystrom(rank=10), RandomFourier(count=16), KernelSum((Linear(), Nystrom(rank=5)))], ids=repr
)
@pytest.mark.parametrize("model", [MISVM, SetKernelSVM])
def test_models_with_features_are_saved_and_loaded(model: type, kernel: Kernel, tmp_path: Path) -> None:
    bags, y = _data()
    fitted = clone(model(kernel=kernel)).fit(bags, y)
    assert "features (" in fitted.result_.form
    assert "form        features (" in str(fitted.report())
    fitted.save(tmp_path / "model")
    loaded = milopt.load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(bags), fitted.decision_function(bags))
    assert loaded.result_.form == fitted.result_.form
    assert loaded.kernel == kernel


def test_bags_are_explained_by_functions_with_features() -> None:
    bags, y = _data()
    fitted = SetKernelSVM(kernel=Linear(), scale="none").fit(bags, y)
    explained = fitted.explain(bags[3])
    w, b = fitted.result_.functions["f"].weights, fitted.result_.values["b"]
    assert explained.score == pytest.approx(float(bags[3].mean(axis=0) @ w + b))
    without = np.array([np.delete(bags[3], j, axis=0).mean(axis=0) @ w + b for j in range(4)])
    assert explained.contributions == pytest.approx(explained.score - without)


def test_a_model_with_a_transformer_is_not_saved(tmp_path: Path) -> None:
    bags, y = _data()
    fitted = MISVM(kernel=Features(PolynomialFeatures(2))).fit(bags, y)
    assert fitted.score(bags, y) > 0.7
    with pytest.raises(ModelFileError, match="cannot be saved"):
        fitted.save(tmp_path / "model")


def test_a_fitted_transformer_gets_unscaled_instances() -> None:
    bags, _ = _data()
    assert not Features(RBFSampler()).requires_unscaled_input
    assert Features(RBFSampler().fit(bags.instances)).requires_unscaled_input
