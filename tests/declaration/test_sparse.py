"""Sparse matrices made of their parts are what scipy's own constructor makes of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from milopt.declaration.programs import sparse


def random(rows: int, columns: int, seed: int) -> sp.csr_array:
    return sp.csr_array(sp.random_array((rows, columns), density=0.4, rng=np.random.default_rng(seed), format="csr"))


shapes = st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(0, 99))


@given(shapes)
def test_parts_make_the_matrix_and_its_transpose(shape: tuple[int, int, int]) -> None:
    matrix = random(*shape)
    made = sparse.from_parts(matrix.data, matrix.indices.astype(np.int64), matrix.indptr, matrix.shape)
    assert vars(made).keys() == vars(sp.csr_array((1, 1))).keys()
    assert made.indices.dtype == made.indptr.dtype == np.int32
    for ours, theirs in ((made, matrix), (sparse.transposed(made), matrix.T)):
        assert ours.shape == theirs.shape
        np.testing.assert_array_equal(ours.toarray(), theirs.toarray())
        np.testing.assert_array_equal((ours @ np.ones(ours.shape[1])), theirs @ np.ones(theirs.shape[1]))
    np.testing.assert_array_equal((made + made).toarray(), 2 * matrix.toarray())


def test_another_scipy_is_served_by_its_own_constructor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "_KNOWN", False)
    matrix = random(3, 4, 0)
    np.testing.assert_array_equal(sparse.transposed(matrix).toarray(), matrix.toarray().T)


@given(shapes, st.integers(0, 99))
def test_sums_are_sums_whether_or_not_the_rows_overlap(shape: tuple[int, int, int], seed: int) -> None:
    a, b = random(*shape), random(shape[0], shape[1], seed)
    np.testing.assert_allclose(sparse.added(a, b).toarray(), a.toarray() + b.toarray())
    wide = 2 * shape[1]
    left, right = sparse.widened(a, wide), sparse.placed(b, shape[1], wide)
    for total in (sparse.added(left, right), sparse.added(right, left)):
        np.testing.assert_array_equal(total.toarray(), np.hstack([a.toarray(), b.toarray()]))


@given(shapes, st.integers(0, 99))
def test_rows_of_which_one_summand_has_none_are_the_others(shape: tuple[int, int, int], seed: int) -> None:
    both, first = random(*shape), np.random.default_rng(seed).random(shape[0]) < 0.5
    total = sparse.added(*(sp.csr_array(both.toarray() * rows[:, None]) for rows in (first, ~first)))
    np.testing.assert_array_equal(total.toarray(), both.toarray())
    assert total.nnz == both.nnz


@given(shapes, st.integers(0, 4))
def test_stacked_rows_stand_one_under_the_other(shape: tuple[int, int, int], more: int) -> None:
    parts = [random(shape[0], shape[1], seed) for seed in range(more + 1)]
    np.testing.assert_array_equal(sparse.stacked(parts).toarray(), np.vstack([part.toarray() for part in parts]))


@given(shapes, st.integers(0, 5), st.integers(0, 5))
def test_rows_in_between_are_a_slice(shape: tuple[int, int, int], start: int, count: int) -> None:
    matrix = random(*shape)
    first, last = min(start, shape[0]), min(start + count, shape[0])
    part = sparse.between(matrix, first, last)
    assert part.shape == (last - first, shape[1])
    np.testing.assert_array_equal(part.toarray(), matrix.toarray()[first:last])


@given(shapes)
def test_a_product_is_the_product_of_one_row_or_of_many(shape: tuple[int, int, int]) -> None:
    matrix, values = random(*shape), np.random.default_rng(1).normal(size=shape[1])
    np.testing.assert_allclose(sparse.times(matrix, values), matrix.toarray() @ values, atol=1e-14)


@given(shapes, st.lists(st.integers(0, 4), max_size=7))
def test_rows_are_taken_in_any_order_and_as_often_as_asked(shape: tuple[int, int, int], asked: list[int]) -> None:
    matrix, rows = random(*shape), np.array([row % shape[0] for row in asked], dtype=np.intp)
    part = sparse.taken(matrix, rows)
    assert part.shape == (rows.size, shape[1])
    np.testing.assert_array_equal(part.toarray(), matrix.toarray()[rows])


@pytest.mark.parametrize("density", [0.0, 0.4])
def test_a_product_of_two_is_scipys_whether_or_not_the_second_is_empty(density: float) -> None:
    a, b = random(3, 4, 0), sp.csr_array(sp.random_array((4, 5), density=density, rng=np.random.default_rng(1)))
    found = sparse.product(a, b)
    assert found.shape == (3, 5)
    np.testing.assert_allclose(found.toarray(), a.toarray() @ b.toarray())


@given(shapes, st.lists(st.integers(-1, 4), max_size=7))
def test_a_product_with_rows_of_one_entry_is_scipys(shape: tuple[int, int, int], asked: list[int]) -> None:
    b, chosen = random(*shape), np.array(asked, dtype=np.intp)
    rows = chosen[chosen >= 0] % shape[0]
    indptr = np.concatenate([[0], np.cumsum(chosen >= 0)])
    a = sparse.from_parts(np.arange(1.0, rows.size + 1), rows, indptr, (chosen.size, shape[0]))
    found = sparse.product(a, b)
    assert found.shape == (chosen.size, shape[1])
    np.testing.assert_allclose(found.toarray(), a.toarray() @ b.toarray())
