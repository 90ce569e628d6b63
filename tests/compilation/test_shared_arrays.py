"""Matrices that share arrays are not changed by scipy operations on one of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from milopt import RBF, Program, as_bags, bag_max, sum_squares
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.lowering import Lowering
from milopt.declaration.programs import sparse


def _sparse(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    return rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.6)


def _program(seed: int) -> Program:
    """Return a program with rows A (B x) over two variables and a function, and maxima with unordered columns."""
    rng = np.random.default_rng(seed)
    program = Program("products")
    x, y = program.variable("x", 6), program.variable("y", 6)
    f = program.function("f", RBF(1.0))
    bags = as_bags([rng.normal(size=(size, 2)) for size in (3, 2, 4)])
    A, B = _sparse(rng, 4, 9), _sparse(rng, 9, 6)
    program.minimize(f.norm_squared() + sum_squares(A @ (B @ y)))
    program.subject_to(A @ (B @ x) + A @ (B @ y) + A @ f(bags) >= 1, name="rows")
    maxima = bag_max(B @ y + f(bags), bags)
    program.subject_to(maxima[2] + bag_max(B @ x, bags)[2] <= x[0], name="last bag first")
    program.subject_to(maxima.sum() <= x[1], name="every bag")
    return program


def _matrices(form: EvaluationForm) -> list[sp.csr_array]:
    squares = [square.rows for square in form.objective.squares]
    return [matrix for rows in (form.rows, *(b.rows for b in form.blocks), *squares) for matrix in (rows.A, *rows.E)]


@pytest.mark.parametrize("seed", range(5))
def test_scipy_operations_on_a_form_do_not_change_the_program(seed: int) -> None:
    program = _program(seed)
    form = Lowering(program).form()
    before = [matrix.toarray() for matrix in _matrices(Lowering(_program(seed)).form())]
    for matrix in _matrices(form):
        assert matrix.has_canonical_format
        abs(matrix)
        matrix.sum_duplicates()
    for again in (form, Lowering(program).form()):
        for matrix, expected in zip(_matrices(again), before, strict=True):
            np.testing.assert_array_equal(matrix.toarray(), expected)


def test_an_unsorted_matrix_is_sorted_in_a_copy() -> None:
    data, indices = np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1], dtype=np.int32)
    unsorted = sparse.from_parts(data, indices, np.array([0, 2, 3]), (2, 3))
    sorted_matrix = sparse.as_csr(unsorted)
    assert sorted_matrix.has_canonical_format
    np.testing.assert_array_equal(sorted_matrix.toarray(), [[2, 0, 1], [0, 3, 0]])
    np.testing.assert_array_equal(data, [1, 2, 3])
    np.testing.assert_array_equal(indices, [2, 0, 1])
    assert sparse.as_csr(sorted_matrix) is sorted_matrix


def test_changing_a_sparse_matrix_after_the_declaration_has_no_effect() -> None:
    matrix = sp.csr_array(np.eye(2))
    program = Program("copied")
    x = program.variable("x", 2)
    program.subject_to(matrix @ x >= 1, name="rows")
    matrix.data[:] = 7.0
    np.testing.assert_array_equal(Lowering(program).form().rows.A.toarray(), np.eye(2))
