"""Kernel values that are not cached: the same answers, and a message if a matrix would be too large."""

from __future__ import annotations

import numpy as np
import pytest

import milopt.compilation.kernel_space as kernel_space
import milopt.declaration.kernels.matrix_size as matrix_size
from milopt import RBF, BagClassifier, Nystrom, errors
from milopt.models import LSSVM, MISVM, SetKernelSVM, SoftKSC


def make_bags() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 2, 1, -1)
    bags = rng.uniform(size=(40, 6, 3))
    bags[y > 0, 0] += 1
    return bags, y


@pytest.mark.parametrize("solver", ["native", "clarabel", "highs"])
@pytest.mark.parametrize("model", [SetKernelSVM, MISVM, LSSVM])
def test_a_fit_without_cached_kernel_values_has_the_same_solution(
    monkeypatch: pytest.MonkeyPatch, model: type[BagClassifier], solver: str
) -> None:
    bags, y = make_bags()
    cached = model(kernel=RBF(0.5), solver=solver).fit(bags, y)
    monkeypatch.setattr(kernel_space, "MAX_CACHED_BYTES", 1000)
    monkeypatch.setattr(kernel_space, "BLOCK_BYTES", 10_000)
    blockwise = model(kernel=RBF(0.5), solver=solver).fit(bags, y)
    assert blockwise.result_.objective == pytest.approx(cached.result_.objective, rel=1e-8)
    assert blockwise.result_.certificate.worst < 1e-6
    np.testing.assert_allclose(blockwise.decision_function(bags), cached.decision_function(bags), atol=1e-5)


def test_no_matrix_of_all_points_is_cached_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    bags, y = make_bags()
    monkeypatch.setattr(kernel_space, "MAX_CACHED_BYTES", 1000)
    shapes = []
    evaluate = RBF.__call__

    def observe(kernel: RBF, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        shapes.append((left.shape[0], right.shape[0]))
        return evaluate(kernel, left, right)

    monkeypatch.setattr(RBF, "__call__", observe)
    monkeypatch.setattr(kernel_space, "BLOCK_BYTES", 8 * 240 * 30)
    SetKernelSVM(kernel=RBF(0.5), solver="native").fit(bags, y)
    assert max(min(shape) for shape in shapes if 240 in shape) <= 30


@pytest.mark.parametrize("solver", ["native", "clarabel", "auto"])
def test_too_large_matrices_are_refused_with_a_remedy(monkeypatch: pytest.MonkeyPatch, solver: str) -> None:
    bags, y = make_bags()
    monkeypatch.setattr(kernel_space, "MAX_CACHED_BYTES", 1000)
    monkeypatch.setattr(matrix_size, "MAX_MATRIX_BYTES", 10_000)
    with pytest.raises(errors.UnsupportedError, match=r"40 x 40 numbers .* Use a kernel with fewer features"):
        SetKernelSVM(kernel=RBF(0.5), solver=solver).fit(bags, y)


@pytest.mark.parametrize("normalise", ["mean", "sum", "feature"])
def test_native_solves_programs_with_one_row_per_bag_as_their_dual(normalise: str) -> None:
    bags, y = make_bags()
    native = SetKernelSVM(kernel=RBF(0.5), normalise=normalise, solver="native").fit(bags, y)
    dual = SetKernelSVM(kernel=RBF(0.5), normalise=normalise, solver="clarabel").fit(bags, y)
    assert "margin program" in str(native.result_.form)
    assert native.result_.objective == pytest.approx(dual.result_.objective, rel=1e-7)
    np.testing.assert_allclose(native.decision_function(bags), dual.decision_function(bags), atol=1e-4)


def test_rows_that_depend_on_each_other_have_coordinates() -> None:
    bags, y = make_bags()
    repeated, labels = np.concatenate([bags, bags]), np.concatenate([y, y])
    native = SetKernelSVM(kernel=RBF(0.5), solver="native").fit(repeated, labels)
    dual = SetKernelSVM(kernel=RBF(0.5), solver="clarabel").fit(repeated, labels)
    assert native.result_.objective == pytest.approx(dual.result_.objective, rel=1e-7)


def test_clustering_of_too_many_instances_is_refused_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    bags, y = make_bags()
    monkeypatch.setattr(matrix_size, "MAX_MATRIX_BYTES", 10_000)
    with pytest.raises(errors.UnsupportedError, match=r"the eigenproblem needs a matrix of 240 x 240 numbers"):
        SoftKSC(kernel=RBF(0.5)).fit(bags, y)
    SoftKSC(kernel=Nystrom(RBF(0.5), rank=10)).fit(bags, y)
