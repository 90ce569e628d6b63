"""Kernel spaces: Gram matrices of some points equal those of the kernel, and are copied only if that saves work."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import RBF, Linear
from milopt.compilation.evaluation_form import FunctionSpace
from milopt.compilation.kernel_space import KernelSpace, Whitening
from milopt.declaration.kernels.gram import submatrix
from milopt.declaration.programs.program import Program

POINTS = np.random.default_rng(0).normal(size=(8, 3))
KERNEL = RBF(0.5)
GRAM = KERNEL(POINTS, POINTS)


def space() -> KernelSpace:
    return KernelSpace(FunctionSpace(Program("toy").function("f", KERNEL), (POINTS,)))


def test_a_request_for_most_points_returns_the_gram_matrix_of_all_points() -> None:
    here, some = space(), np.arange(7)
    alone = here.symmetric_gram(some)
    np.testing.assert_array_equal(alone.points, some)
    np.testing.assert_allclose(alone.gram, GRAM[:7, :7], atol=1e-15)
    every = here.symmetric_gram(np.arange(8))
    again = here.symmetric_gram(some)
    np.testing.assert_array_equal(again.points, np.arange(8))
    np.testing.assert_allclose(again.gram, GRAM, atol=1e-15)
    assert again.gram is every.gram


def test_a_request_for_a_few_points_returns_their_submatrix() -> None:
    here, few = space(), np.array([1, 4])
    here.ensure_rows(np.arange(8))
    gram = here.symmetric_gram(few)
    np.testing.assert_array_equal(gram.points, few)
    np.testing.assert_array_equal(gram.gram, GRAM[np.ix_(few, few)])


def test_submatrices_can_have_repeated_and_unordered_rows_and_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, columns = np.array([5, 0, 5, 2]), np.array([7, 7, 1])
    for piece in (1, 50, 2**20):
        monkeypatch.setattr("milopt.declaration.kernels.gram._CACHE_BLOCK_BYTES", piece)
        np.testing.assert_array_equal(submatrix(GRAM, rows, columns), GRAM[np.ix_(rows, columns)])
    assert submatrix(GRAM, rows[:0], columns).shape == (0, 3)


def test_coefficients_of_points_without_coordinates_do_not_change_the_function() -> None:
    points = np.vstack([POINTS, POINTS[:2] + 1e-9])
    here = KernelSpace(FunctionSpace(Program("toy").function("f", KERNEL), (points,)))
    whitening = Whitening(here)
    whitening.extend(np.arange(10))
    assert whitening.rank == 8
    coordinates, wanted = np.linspace(-1, 1, 8), np.arange(10.0)
    coefficients = whitening.coefficients(coordinates, wanted)
    without = np.setdiff1d(np.arange(10), whitening.basis_points)
    np.testing.assert_array_equal(coefficients[without], wanted[without])
    np.testing.assert_allclose(
        KERNEL(points, points) @ coefficients, whitening.coordinates(np.arange(10)) @ coordinates, atol=1e-12
    )


@pytest.mark.parametrize("distance", [1e-4, 1e-9, 1e-12])
def test_a_norm_below_the_rounding_of_kernel_values_is_not_zero(distance: float) -> None:
    for seed in range(20):
        x = np.random.default_rng(seed).normal(size=(1, 3))
        near = KernelSpace(FunctionSpace(Program("toy").function("f", KERNEL), (np.vstack([x, x + distance]),)))
        true = np.sqrt(-2 * np.expm1(-0.5 * 3 * distance**2))
        assert true * (1 - 1e-6) <= near.norm(np.array([1.0, -1.0])) <= 1.1 * true + 1e-7


def test_the_norm_of_a_linear_function_is_accurate_if_kernel_values_cancel() -> None:
    x = np.array([[1e6, 0.0], [1e6, 1e-4]])
    here = KernelSpace(FunctionSpace(Program("toy").function("f", Linear()), (x,)))
    assert here.norm(np.array([1.0, -1.0])) == pytest.approx(1e-4, rel=1e-6)


def _linear_space(points: np.ndarray) -> KernelSpace:
    return KernelSpace(FunctionSpace(Program("linear").function("f", Linear()), (points,)))


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-6])
def test_points_in_the_span_of_others_add_no_coordinates(spread: float) -> None:
    rng = np.random.default_rng(3)
    points = rng.normal(size=(40, 3))
    points[:5] = points[0] + spread * rng.normal(size=(5, 3))
    whitening = Whitening(_linear_space(points))
    for index in (np.arange(5), np.arange(5, 20), np.arange(20, 40)):
        whitening.extend(index)
    assert whitening.rank == 3
    rows = whitening.coordinates(np.arange(40))
    np.testing.assert_allclose(rows @ rows.T, points @ points.T, atol=1e-12)


def test_extending_a_copy_leaves_the_original_unchanged() -> None:
    points = np.random.default_rng(4).normal(size=(6, 3))
    whitening = Whitening(_linear_space(points))
    whitening.extend(np.arange(2))
    other = whitening.copy()
    other.extend(np.arange(6))
    assert (whitening.rank, other.rank) == (2, 3)
    assert (whitening.place >= 0).sum() == 2
