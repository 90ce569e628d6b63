"""The factors of a symmetric matrix: its inertia, its solutions, and what they leave of the matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt.solvers.native.closed_form.symmetric import Symmetric


def drawn(size: int, seed: int, rank: int, hollow: bool) -> np.ndarray:
    """Eigenvalues of both signs, `rank` of them not 0; `hollow`: a diagonal of zeros, which forces pivots of two."""
    rng = np.random.default_rng(seed)
    if hollow:
        half = rng.standard_normal((size, size))
        return np.asfortranarray(half + half.T - np.diag(2 * half.diagonal()))
    basis = np.linalg.qr(rng.standard_normal((size, size)))[0]
    values = np.where(np.arange(size) < rank, rng.choice([-1, 1], size) * rng.uniform(0.5, 2, size), 0.0)
    matrix = (basis * values) @ basis.T
    return np.asfortranarray((matrix + matrix.T) / 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 90), st.integers(0, 1000), st.booleans(), st.booleans(), st.booleans())
def test_signs_are_those_of_the_eigenvalues(
    size: int, seed: int, hollow: bool, singular: bool, disposable: bool
) -> None:
    matrix = drawn(size, seed, size - 1 if singular else size, hollow)
    values = np.linalg.eigvalsh(matrix)
    large = np.abs(values).max()
    if np.any((np.abs(values) > 1e-12 * large) & (np.abs(values) < 1e-6 * large)):
        return  # neither singular nor clearly not
    given_matrix = matrix.copy(order="F")
    found = Symmetric(given_matrix, disposable=disposable, definite=not disposable)
    zero = int((np.abs(values) <= 1e-12 * large).sum())
    negative = int((values < -1e-12 * large).sum())
    assert (found.inertia.positive, found.inertia.zero, found.inertia.negative) == (
        size - zero - negative,
        zero,
        negative,
    )
    if negative:
        assert found.inertia.smallest == pytest.approx(values[0], rel=1e-7)
    right = matrix @ np.ones(size)
    np.testing.assert_allclose(matrix @ found.solve(right), right, atol=1e-7 * large * size)
    if not disposable:
        np.testing.assert_array_equal(given_matrix, matrix)


def test_the_matrix_is_written_over_only_where_nobody_needs_it() -> None:
    matrix = drawn(30, 0, 30, hollow=True)
    place = matrix.copy(order="F")
    assert Symmetric(place, definite=False, smallest=False, disposable=True).ldl is place
    assert not np.array_equal(place, matrix)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(2, 40), st.integers(0, 1000))
def test_units_of_rows_change_neither_signs_nor_solutions(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, units = drawn(size, seed, size, False), 2.0 ** rng.integers(-20, 20, size)
    plain, scaled = Symmetric(matrix.copy(order="F")), Symmetric(np.asfortranarray(units[:, None] * matrix * units))
    for one in ("positive", "zero", "negative"):
        assert getattr(scaled.inertia, one) == getattr(plain.inertia, one)
    right = matrix @ rng.standard_normal(size)
    found = units * scaled.solve(units * right)
    np.testing.assert_allclose(matrix @ found, right, atol=1e-6 * np.abs(right).max())
