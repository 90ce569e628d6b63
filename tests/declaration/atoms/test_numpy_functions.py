"""Functions of numpy and Python on expressions return an atom, or raise an error with advice."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

from milopt.declaration.atoms import Atom, quad_form
from milopt.declaration.programs.expression import Constraint, Expression
from milopt.errors import DeclarationError

from .cases import variable

x = variable(3)
y = np.array([1.0, -2.0, 3.0])
point = np.array([0.5, -1.5, 2.0])


def value(expression: object) -> np.ndarray:
    """Return the value of an expression at x = point."""
    assert isinstance(expression, Expression)

    def leaf_value(leaf: Expression) -> np.ndarray:
        if isinstance(leaf, Atom):
            return leaf.value(value(leaf.argument), leaf.segments)
        return point

    result = expression.evaluate(leaf_value)
    return result.reshape(expression.shape)


SUPPORTED: dict[str, Callable[[object], object]] = {
    "abs": abs,
    "np.abs": np.abs,
    "np.fabs": np.fabs,
    "np.exp": np.exp,
    "np.square": np.square,
    "** 2": lambda e: e**2,
    "** 1": lambda e: e**1,
    "** 0.5": lambda e: (4 + e) ** 0.5,
    "** -1": lambda e: (4 + e) ** -1.0,
    "np.log": lambda e: np.log(4 + e),
    "np.log1p": lambda e: np.log1p(e + 4),
    "np.sqrt": lambda e: np.sqrt(4 + e),
    "np.reciprocal": lambda e: np.reciprocal(4 + e),
    "np.max": np.max,
    "np.min": np.min,
    "e.max": lambda e: e.max(),
    "e.min": lambda e: e.min(),
    "max of columns": lambda e: np.max(e * np.array([[1.0], [-2.0]]), axis=0),
    "min of rows": lambda e: (e * np.array([[1.0], [-2.0]])).min(axis=1),
    "np.linalg.norm": np.linalg.norm,
    "np.linalg.norm, 1": lambda e: np.linalg.norm(e, 1),
    "np.linalg.norm, 2": lambda e: np.linalg.norm(e, 2),
    "np.linalg.norm, inf": lambda e: np.linalg.norm(e, np.inf),
    "np.linalg.norm, Frobenius": lambda e: np.linalg.norm(e * np.array([[1.0], [-2.0]])),
    "np.linalg.norm of columns": lambda e: np.linalg.norm(e * np.array([[1.0], [-2.0]]), axis=0),
    "np.linalg.norm, inf of rows": lambda e: np.linalg.norm(e * np.array([[1.0], [-2.0]]), np.inf, axis=1),
    "np.diff": np.diff,
    "np.diff, twice": lambda e: np.diff(e, 2),
    "np.diff, axis": lambda e: np.diff(e * np.array([[1.0], [-2.0]]), axis=0),
    "np.cumsum": np.cumsum,
    "np.cumsum, axis": lambda e: np.cumsum(e * np.array([[1.0], [-2.0]]), axis=0),
    "np.power": lambda e: np.power(e, 2),
    "np.maximum": lambda e: np.maximum(e, 0),
    "np.maximum, array first": lambda e: np.maximum(y, e),
    "np.minimum": lambda e: np.minimum(e, y),
    "np.logaddexp": lambda e: np.logaddexp(0.0, e),
    "np.negative": np.negative,
    "np.positive": np.positive,
    "np.multiply": lambda e: np.multiply(e, y),
    "np.divide": lambda e: np.divide(e, y),
    "np.sum": np.sum,
    "np.mean": np.mean,
    "np.dot": lambda e: np.dot(y, e),
    "e.dot": lambda e: e.dot(y),
    "e.dot, matrix": lambda e: e.dot(np.outer(y, y)),
    "e.dot, number": lambda e: e.dot(2.0),
    "matrix e.dot": lambda e: (e * np.array([[1.0], [-2.0]])).dot(y),
    "np.where": lambda e: np.where([True, False, True], e, 0.0),
    "np.where, number first": lambda e: np.where(y > 0, 7.0, 2.0 * e),
    "np.where, broadcast": lambda e: np.where([[True], [False]], e, y),
    "y * e": lambda e: y * e,
    "y + e": lambda e: y + e,
    "y - e": lambda e: y - e,
    "y @ e": lambda e: y @ e,
    "e @ y": lambda e: e @ y,
    "matrix @ e": lambda e: np.outer(y, y) @ e,
    "sparse vector @ e": lambda e: sp.coo_array(y) @ e,
    **{
        f"{form.__name__} @ e": lambda e, form=form: form(np.outer(y, y)) @ e
        for form in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array, sp.coo_matrix, sp.dia_array)
    },
    "sparse matrix.dot": lambda e: sp.csr_array(np.outer(y, y)).dot(e),
    "e @ sparse matrix": lambda e: e @ sp.csr_array(np.outer(y, y)),
    "np.float64 * e": lambda e: np.float64(2.0) * e,
    "np.float64 - e": lambda e: np.float64(2.0) - e,
    "0-d array * e": lambda e: np.array(2.0) * e,
}


@pytest.mark.parametrize("name", SUPPORTED)
def test_a_function_has_the_same_value_for_expressions_and_arrays(name: str) -> None:
    np.testing.assert_allclose(value(SUPPORTED[name](x)), SUPPORTED[name](point))


def test_the_length_of_an_expression_is_that_of_its_first_axis() -> None:
    assert len(x) == 3
    assert len(x * np.array([[1.0], [-2.0]])) == 2
    assert len(x[:0]) == 0
    assert x[:0]
    assert x[0]


def test_comparisons_with_an_array_on_the_left_are_constraints() -> None:
    for constraint, sign in ((y <= x, 1.0), (y >= x, -1.0), (y == x, 1.0)):
        assert isinstance(constraint, Constraint)
        np.testing.assert_allclose(sign * value(constraint.expression), point - y)


def test_in_place_addition_to_an_array_returns_an_expression() -> None:
    total: object = y.copy()
    total += x  # type: ignore[operator]
    np.testing.assert_allclose(value(total), y + point)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_the_weight_of_a_quadratic_form_may_be_sparse(form: Callable[[object], object]) -> None:
    matrix = np.outer(y, y) + np.diag([1.0, 0.0, 2.0])
    np.testing.assert_allclose(value(quad_form(x, form(matrix))), point @ matrix @ point)


UNSUPPORTED: list[tuple[Callable[[], object], str]] = [
    (lambda: x**3, "The power 3 of an expression has no atom; the exponents 2, 0.5, -1 and 1 have one"),
    (lambda: x**x, "has no atom"),
    (lambda: 2**x, r"The power of 2 to an expression is not supported; write exp\(np.log\(2\) \* e\)"),
    (lambda: y**x, r"write exp\(np.log\(numbers\) \* e\)"),
    (lambda: y / x, "x is a divisor"),
    (lambda: np.sin(x), "numpy.sin does not support expressions: .*absolute, maximum and exp"),
    (
        lambda: np.max(x, axis=1),
        r"max supports one axis of its argument, or None for all entries; 1 is not an axis of x",
    ),
    (lambda: np.linalg.norm(x, 3), r"norm does not support ord=3 for the shape \(3,\)"),
    (lambda: np.linalg.norm(x[:, None], 2), r"norm does not support ord=2 for the shape \(3, 1\)"),
    (lambda: np.sum(x, axis=1), r"1 is not an axis of x, of shape \(3,\)"),
    (lambda: np.sum(x, dtype=float), "numpy.sum of an expression does not support all of these arguments: dtype"),
    (lambda: np.clip(x, 0, 1), "write maximum and minimum"),
    (lambda: np.add.reduce(x), "numpy.add.reduce does not support"),
    (lambda: np.add(y, x, out=np.zeros(3)), r"numpy.add of an expression supports no keyword arguments \(out\)\."),
    (lambda: np.exp(x, where=[True, False, True]), r"no keyword arguments \(where\); select entries with e\[mask\]"),
    (lambda: np.add(y, x, where=[True, False, True]), r"numpy.add of an expression supports no keyword arguments"),
    (
        lambda: np.exp(x, dtype=float, casting="safe"),
        r"supports no keyword arguments \((dtype, casting|casting, dtype)\)",
    ),
    (lambda: sp.coo_matrix(np.eye(3)) * x, "a sparse matrix write `matrix @ expression`"),
    (lambda: x * sp.csr_matrix(np.eye(3)), r"`\*` is entry by entry; for a sparse matrix"),
    (lambda: np.vstack([x, y[:2]]), r"vstack cannot join expressions of shapes \(3,\), \(2,\)"),
    (lambda: np.append(x, x), "numpy.append does not support expressions: write concatenate"),
    (lambda: np.reshape(x, (2, 2)), r"numpy.reshape does not apply to x, of shape \(3,\): cannot reshape"),
    (lambda: np.where(x, x, 0.0), "numpy.where of expressions needs a condition of True and False"),
    (lambda: np.where(x >= 0, x, 0.0), "write maximum, minimum or absolute"),
    (lambda: np.where(x >= 0, 1.0, 0.0), "A constraint has no truth value"),
    (lambda: len(x[0]), r"x\[0\] is a scalar and has no length: write e.size"),
    (lambda: np.vdot(y, x), "numpy.vdot does not support expressions: write y @ e"),
    (lambda: np.einsum("i,i", y, x), "numpy.einsum does not support expressions: write y @ e"),
    (lambda: max(x), r"write e.sum\(\) for the sum of its entries, e.max\(\) for their maximum"),
    (lambda: sum(x), r"write e.sum\(\) for the sum of its entries"),
    (lambda: list(x), r"e\[i\] for an entry"),
    (lambda: max(x, 0), r"maximum\(a, b\) for max\(a, b\)"),
    (lambda: y > x, "Strict inequalities are not supported"),
    (lambda: float(x), "x has no value before a solve"),
    (lambda: math.exp(x), "such as exp and absolute"),
]


@pytest.mark.parametrize(("call", "message"), UNSUPPORTED, ids=[message for _, message in UNSUPPORTED])
def test_an_unsupported_function_raises_an_error_with_advice(call: Callable[[], object], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        call()


CONVERSIONS: dict[str, Callable[[], object]] = {
    "np.array([e])": lambda: np.array([x]),
    "np.array of a scalar and a number": lambda: np.array([x[0], 1.0]),
    "np.asarray(e)": lambda: np.asarray(x),
    "np.array([e], dtype=object)": lambda: np.array([x], dtype=object),
    "y.dot(e)": lambda: y.dot(x),
    "matrix.dot(e)": lambda: np.outer(y, y).dot(x),
    "np.sum([e, e])": lambda: np.sum([x, x]),
    "np.mean([e, e])": lambda: np.mean([x, x]),
    "np.add.reduce([e, e])": lambda: np.add.reduce([x, x]),
    "y * [e]": lambda: y * [x],
    "np.full": lambda: np.full(3, x),
    "np.float64(e)": lambda: np.float64(x[0]),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversion_to_an_array_raises_an_error(name: str) -> None:
    message = r"x(\[0\])? cannot be converted to a numpy array: write y @ e for y.dot\(e\)"
    with pytest.raises(DeclarationError, match=message):
        CONVERSIONS[name]()
