"""Operations on sparse matrices agree with those of scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from milopt.declaration.programs import sparse


def random_matrix(rows: int, columns: int, seed: int) -> sp.csr_array:
    return sp.csr_array(sp.random_array((rows, columns), density=0.4, rng=np.random.default_rng(seed), format="csr"))


shapes = st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(0, 99))


@given(shapes)
def test_matrix_from_parts_and_its_transpose_equal_those_of_scipy(shape: tuple[int, int, int]) -> None:
    matrix = random_matrix(*shape)
    made = sparse.from_parts(matrix.data, matrix.indices.astype(np.int64), matrix.indptr, matrix.shape)
    assert vars(made).keys() == vars(sp.csr_array((1, 1))).keys()
    assert made.indices.dtype == made.indptr.dtype == np.int32
    for ours, theirs in ((made, matrix), (sparse.transpose(made), matrix.T)):
        assert ours.shape == theirs.shape
        np.testing.assert_array_equal(ours.toarray(), theirs.toarray())
        np.testing.assert_array_equal((ours @ np.ones(ours.shape[1])), theirs @ np.ones(theirs.shape[1]))
    np.testing.assert_array_equal((made + made).toarray(), 2 * matrix.toarray())


def test_unknown_scipy_versions_use_the_constructor_of_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "_HAS_KNOWN_LAYOUT", False)
    matrix = random_matrix(3, 4, 0)
    np.testing.assert_array_equal(sparse.transpose(matrix).toarray(), matrix.toarray().T)


@given(shapes, st.integers(0, 99))
def test_sums_are_correct_for_overlapping_and_disjoint_rows(shape: tuple[int, int, int], seed: int) -> None:
    a, b = random_matrix(*shape), random_matrix(shape[0], shape[1], seed)
    np.testing.assert_allclose(sparse.add(a, b).toarray(), a.toarray() + b.toarray())
    wide = 2 * shape[1]
    left, right = sparse.widen(a, wide), sparse.shift_columns(b, shape[1], wide)
    for total in (sparse.add(left, right), sparse.add(right, left)):
        np.testing.assert_array_equal(total.toarray(), np.hstack([a.toarray(), b.toarray()]))


@given(shapes, st.integers(0, 99))
def test_sums_are_correct_if_one_summand_has_no_entries_in_each_row(shape: tuple[int, int, int], seed: int) -> None:
    both, first = random_matrix(*shape), np.random.default_rng(seed).random(shape[0]) < 0.5
    total = sparse.add(*(sp.csr_array(both.toarray() * rows[:, None]) for rows in (first, ~first)))
    np.testing.assert_array_equal(total.toarray(), both.toarray())
    assert total.nnz == both.nnz


@given(shapes, st.integers(0, 4))
def test_stacked_rows_equal_those_of_scipy(shape: tuple[int, int, int], more: int) -> None:
    parts = [random_matrix(shape[0], shape[1], seed) for seed in range(more + 1)]
    np.testing.assert_array_equal(sparse.stack_rows(parts).toarray(), np.vstack([part.toarray() for part in parts]))


@given(shapes, st.integers(0, 5), st.integers(0, 5))
def test_a_row_slice_equals_that_of_scipy(shape: tuple[int, int, int], start: int, count: int) -> None:
    matrix = random_matrix(*shape)
    first, last = min(start, shape[0]), min(start + count, shape[0])
    part = sparse.row_slice(matrix, first, last)
    assert part.shape == (last - first, shape[1])
    np.testing.assert_array_equal(part.toarray(), matrix.toarray()[first:last])


@given(shapes)
def test_matvec_is_correct_for_one_row_and_for_many(shape: tuple[int, int, int]) -> None:
    matrix, values = random_matrix(*shape), np.random.default_rng(1).normal(size=shape[1])
    np.testing.assert_allclose(sparse.matvec(matrix, values), matrix.toarray() @ values, atol=1e-14)


@given(shapes, st.lists(st.integers(0, 4), max_size=7))
def test_rows_are_taken_in_any_order_and_repeatedly(shape: tuple[int, int, int], indices: list[int]) -> None:
    matrix, rows = random_matrix(*shape), np.array([row % shape[0] for row in indices], dtype=np.intp)
    part = sparse.take_rows(matrix, rows)
    assert part.shape == (rows.size, shape[1])
    np.testing.assert_array_equal(part.toarray(), matrix.toarray()[rows])


@pytest.mark.parametrize("density", [0.0, 0.4])
def test_matrix_product_equals_that_of_scipy(density: float) -> None:
    a, b = (
        random_matrix(3, 4, 0),
        sp.csr_array(sp.random_array((4, 5), density=density, rng=np.random.default_rng(1))),
    )
    product = sparse.multiply(a, b)
    assert product.shape == (3, 5)
    np.testing.assert_allclose(product.toarray(), a.toarray() @ b.toarray())


@given(shapes, st.lists(st.integers(-1, 4), max_size=7))
def test_matrix_product_with_one_entry_per_row_equals_that_of_scipy(
    shape: tuple[int, int, int], indices: list[int]
) -> None:
    b, chosen = random_matrix(*shape), np.array(indices, dtype=np.intp)
    rows = chosen[chosen >= 0] % shape[0]
    indptr = np.concatenate([[0], np.cumsum(chosen >= 0)])
    a = sparse.from_parts(np.arange(1.0, rows.size + 1), rows, indptr, (chosen.size, shape[0]))
    product = sparse.multiply(a, b)
    assert product.shape == (chosen.size, shape[1])
    np.testing.assert_allclose(product.toarray(), a.toarray() @ b.toarray())
