"""Factors of a symmetric matrix: inertia, solutions, and whether the matrix is overwritten."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt.solvers.native.closed_form.symmetric import SymmetricFactors


def random_symmetric(size: int, seed: int, rank: int, zero_diagonal: bool) -> np.ndarray:
    """Return a symmetric matrix with `rank` nonzero eigenvalues of both signs.

    With `zero_diagonal`, the diagonal is 0, which forces 2 x 2 pivots.
    """
    rng = np.random.default_rng(seed)
    if zero_diagonal:
        half = rng.standard_normal((size, size))
        return np.asfortranarray(half + half.T - np.diag(2 * half.diagonal()))
    basis = np.linalg.qr(rng.standard_normal((size, size)))[0]
    values = np.where(np.arange(size) < rank, rng.choice([-1, 1], size) * rng.uniform(0.5, 2, size), 0.0)
    matrix = (basis * values) @ basis.T
    return np.asfortranarray((matrix + matrix.T) / 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 90), st.integers(0, 1000), st.booleans(), st.booleans(), st.booleans())
def test_inertia_agrees_with_the_eigenvalues(
    size: int, seed: int, zero_diagonal: bool, singular: bool, overwrite: bool
) -> None:
    matrix = random_symmetric(size, seed, size - 1 if singular else size, zero_diagonal)
    values = np.linalg.eigvalsh(matrix)
    large = np.abs(values).max()
    if np.any((np.abs(values) > 1e-12 * large) & (np.abs(values) < 1e-6 * large)):
        return  # nearly singular
    given_matrix = matrix.copy(order="F")
    factors = SymmetricFactors(given_matrix, overwrite=overwrite, try_cholesky=not overwrite)
    zero = int((np.abs(values) <= 1e-12 * large).sum())
    negative = int((values < -1e-12 * large).sum())
    assert (factors.inertia.positive, factors.inertia.zero, factors.inertia.negative) == (
        size - zero - negative,
        zero,
        negative,
    )
    if negative:
        assert factors.inertia.smallest == pytest.approx(values[0], rel=1e-7)
    right = matrix @ np.ones(size)
    np.testing.assert_allclose(matrix @ factors.solve(right), right, atol=1e-7 * large * size)
    if not overwrite:
        np.testing.assert_array_equal(given_matrix, matrix)


def test_the_matrix_is_overwritten_only_if_allowed() -> None:
    matrix = random_symmetric(30, 0, 30, zero_diagonal=True)
    overwritten = matrix.copy(order="F")
    assert SymmetricFactors(overwritten, try_cholesky=False, with_smallest=False, overwrite=True).ldl is overwritten
    assert not np.array_equal(overwritten, matrix)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(2, 40), st.integers(0, 1000))
def test_units_of_rows_change_neither_inertia_nor_solutions(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, units = random_symmetric(size, seed, size, False), 2.0 ** rng.integers(-20, 20, size)
    plain, scaled = (
        SymmetricFactors(matrix.copy(order="F")),
        SymmetricFactors(np.asfortranarray(units[:, None] * matrix * units)),
    )
    for sign in ("positive", "zero", "negative"):
        assert getattr(scaled.inertia, sign) == getattr(plain.inertia, sign)
    right = matrix @ rng.standard_normal(size)
    solution = units * scaled.solve(units * right)
    np.testing.assert_allclose(matrix @ solution, right, atol=1e-6 * np.abs(right).max())
