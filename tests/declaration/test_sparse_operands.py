"""Sparse arrays and matrices of every format can be used like dense ones, with the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import milopt
from milopt.compilation.compile_program import compile_program
from milopt.declaration.programs.program import Program
from milopt.errors import DeclarationError

A = np.array([[1.0, 0.0, -2.0, 3.0], [0.0, 0.0, 4.0, 0.0], [-1.0, 2.0, 0.0, 0.5]])
W = A.T @ A + np.eye(4)
v = np.array([1.0, 0.0, -2.0, 3.0])
FORMATS = ("csr", "csc", "coo", "dok", "lil", "dia", "bsr")

MATRICES: dict[str, Callable[[Program, Any, Any], object]] = {
    "matrix @ variable": lambda p, x, m: p.subject_to(m(A) @ x <= 1),
    "variable @ matrix": lambda p, x, m: p.subject_to(x @ m(A.T) <= 1),
    "transposed matrix @ variable": lambda p, x, m: p.subject_to(m(A.T).T @ x <= 1),
    "matrix @ atom": lambda p, x, m: p.subject_to(m(np.abs(A)) @ milopt.absolute(x) <= 1),
    "matrix @ parameter": lambda p, x, m: p.subject_to(x[:3] <= m(A) @ _parameter(p)),
    "parameter * (matrix @ variable)": lambda p, x, m: p.subject_to(_parameter(p) * (m(W) @ x) <= 1),
    "np.dot": lambda p, x, m: p.subject_to(np.dot(m(A), x) <= 1),
    "quad_form": lambda p, x, m: p.minimize(milopt.quad_form(x, m(W))),
}
VECTORS: dict[str, Callable[[Program, Any, Any], object]] = {
    "vector @ variable": lambda p, x, m: p.subject_to(m(v) @ x <= 1),
    "variable @ vector": lambda p, x, m: p.subject_to(x @ m(v) <= 1),
    "vector * variable": lambda p, x, m: p.subject_to(m(v) * x <= 1),
    "variable * vector": lambda p, x, m: p.subject_to(x * m(v) <= 1),
    "np.multiply": lambda p, x, m: p.subject_to(np.multiply(m(v), x) <= 1),
    "variable / vector": lambda p, x, m: p.subject_to(x / m(v + 5) <= 1),
    "sums": lambda p, x, m: p.subject_to(m(v) + x + m(v) - (x - m(v)) + x <= m(v)),
    "vector <= variable": lambda p, x, m: p.subject_to(m(v) <= x),
    "variable == vector": lambda p, x, m: p.subject_to(x == m(v)),
    "between": lambda p, x, m: p.between(m(v - 1), x, m(v)),
    "bounds": lambda p, x, m: p.variable("y", 4, lower=m(v), upper=m(v + 1)),
    "parameter.value": lambda p, x, m: p.subject_to(x <= _parameter(p, m(v))),
    "quad_form of a diagonal": lambda p, x, m: p.minimize(milopt.quad_form(x, m(np.abs(v)))),
    "maximum": lambda p, x, m: p.subject_to(milopt.maximum(x, m(v)) <= 5),
    "concatenate": lambda p, x, m: p.subject_to(milopt.concatenate([x, m(v)]) <= 5),
    "norm of a difference": lambda p, x, m: p.subject_to(milopt.norm(x - m(v)) <= 1),
}


def _parameter(program: Program, value: Any = v) -> Any:
    parameter = program.parameter("p", 4)
    parameter.value = value
    return parameter


def _form(declare: Callable[[Program, Any, Any], object], convert: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return the flat form of a declaration, with numbers converted by `convert`."""
    program = Program()
    declare(program, program.variable("x", 4), convert)
    form = compile_program(program).form
    return form.P.sparse.toarray(), form.q, form.F.toarray(), form.g, form.lower, form.upper


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("entry_point", MATRICES)
def test_a_sparse_matrix_gives_the_rows_of_a_dense_one(entry_point: str, kind: Any, format: str) -> None:
    declare = MATRICES[entry_point]
    for sparse, dense in zip(
        _form(declare, lambda numbers: kind(numbers).asformat(format)), _form(declare, np.asarray), strict=True
    ):
        np.testing.assert_array_equal(sparse, dense)


@pytest.mark.parametrize("entry_point", VECTORS)
def test_a_sparse_vector_gives_the_rows_of_a_dense_one(entry_point: str) -> None:
    declare = VECTORS[entry_point]
    for sparse, dense in zip(_form(declare, sp.coo_array), _form(declare, np.asarray), strict=True):
        np.testing.assert_array_equal(sparse, dense)


def test_multiplying_by_a_sparse_matrix_with_a_star_raises_an_error() -> None:
    """Check that `*` raises an error: it is a matrix product in scipy, and entry by entry in numpy."""
    x = Program().variable("x", 4)
    with pytest.raises(DeclarationError, match="write `matrix @ expression`"):
        sp.csr_matrix(A) * x


def test_a_sparse_matrix_with_an_infinite_entry_raises_an_error() -> None:
    x = Program().variable("x", 4)
    with pytest.raises(DeclarationError, match="NaN or infinite"):
        sp.csr_array(np.full((1, 4), np.inf)) @ x
