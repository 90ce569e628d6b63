"""Expressions have the same shapes and entries as numpy arrays in the same code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import milopt
from milopt import Program
from milopt.declaration.programs.expression import Expression
from milopt.errors import DeclarationError

Pair = tuple[Any, Any]
"""An expression and its value."""


def pair(shape: tuple[int, ...], seed: int = 0) -> Pair:
    """Return a variable of the given shape, and random numbers as its value."""
    x = Program("numpy").variable("x", shape)
    return x, np.random.default_rng(seed).integers(-9, 10, shape).astype(float)


def value(expression: Expression, at: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the value of an expression in one variable."""
    return expression.evaluate(lambda leaf: at).reshape(expression.shape)


RNG = np.random.default_rng(1)
A, B, C, c, r = (RNG.integers(-3, 4, shape).astype(float) for shape in ((2, 3), (4, 2), (3, 4), 4, 3))
SAME_CODE: dict[str, Callable[[Any], Any]] = {
    "A @ X": lambda X: A @ X,
    "X @ B": lambda X: X @ B,
    "A @ X @ B": lambda X: A @ X @ B,
    "X @ c": lambda X: X @ c,
    "r @ X": lambda X: r @ X,
    "r @ X @ c": lambda X: r @ X @ c,
    "list @ X": lambda X: [1.0, 2.0, 3.0] @ X,
    "np.matmul": lambda X: np.matmul(A, X),
    "np.dot": lambda X: np.dot(A, X),
    "np.dot with a number": lambda X: np.dot(3.0, X),
    "X.T": lambda X: X.T,
    "X.transpose(1, 0)": lambda X: X.transpose(1, 0),
    "X.T @ X.T[0]'s numbers": lambda X: X.T @ r,
    "X.sum()": lambda X: X.sum(),
    "X.sum(axis=0)": lambda X: X.sum(axis=0),
    "X.sum(axis=1)": lambda X: X.sum(axis=1),
    "X.sum(axis=-1, keepdims=True)": lambda X: X.sum(axis=-1, keepdims=True),
    "X.sum(axis=(0, 1))": lambda X: X.sum(axis=(0, 1)),
    "X.mean(axis=1)": lambda X: X.mean(axis=1),
    "X - column means": lambda X: X - X.mean(axis=0),
    "X / row": lambda X: X / np.array([1.0, 2.0, 4.0, 5.0]),
    "X[0]": lambda X: X[0],
    "X[:, 1]": lambda X: X[:, 1],
    "X[1:3, ::2]": lambda X: X[1:3, ::2],
    "X[0, 2]": lambda X: X[0, 2],
    "X[-1, -1]": lambda X: X[-1, -1],
    "X[[0, 2]]": lambda X: X[[0, 2]],
    "X[[0, 2], [1, 3]]": lambda X: X[[0, 2], [1, 3]],
    "X[np.ix_]": lambda X: X[np.ix_([0, 2], [1, 3])],
    "X[mask]": lambda X: X[C > 0],
    "X[row mask]": lambda X: X[np.array([True, False, True])],
    "X[..., None]": lambda X: X[..., None],
    "X[0:0]": lambda X: X[0:0],
    "X.reshape(4, 3)": lambda X: X.reshape(4, 3),
    "X.reshape((2, -1))": lambda X: X.reshape((2, -1)),
    "X.reshape(4, 3, order='F')": lambda X: X.reshape(4, 3, order="F"),
    "X.ravel()": lambda X: X.ravel(),
    "X.ravel('F')": lambda X: X.ravel("F"),
    "X.flatten()": lambda X: X.flatten(),
    "X + row": lambda X: X + c,
    "X + column": lambda X: r[:, None] + X,
    "X * C": lambda X: X * C,
    "C * X - 2": lambda X: C * X - 2,
    "row of X + column of X": lambda X: X[0] + X[:, :1],
    "X + X.T block": lambda X: X[:, :3] + X[:, :3].T,
    "number - X": lambda X: 3 - X,
    "-X": lambda X: -X,
    "np.sum": lambda X: np.sum(X, axis=1),
    "np.mean": lambda X: np.mean(X, axis=0),
    "np.trace": lambda X: np.trace(X),
    "X.trace(1)": lambda X: X.trace(1),
    "np.diag of a matrix": lambda X: np.diag(X),
    "np.diag of a vector": lambda X: np.diag(X[0], 1),
    "np.diagonal": lambda X: np.diagonal(X, 1),
    "np.tril": lambda X: np.tril(X, -1),
    "np.triu": lambda X: np.triu(X),
    "np.transpose": lambda X: np.transpose(X),
    "np.reshape": lambda X: np.reshape(X, (6, 2)),
    "np.ravel": lambda X: np.ravel(X),
    "np.squeeze": lambda X: np.squeeze(X[:1]),
    "np.expand_dims": lambda X: np.expand_dims(X, 1),
    "np.flip": lambda X: np.flip(X, axis=1),
    "np.roll": lambda X: np.roll(X, 1, axis=0),
    "np.repeat": lambda X: np.repeat(X, 2, axis=1),
    "np.tile": lambda X: np.tile(X, (2, 1)),
    "np.swapaxes": lambda X: np.swapaxes(X, 0, 1),
    "np.broadcast_to": lambda X: np.broadcast_to(X, (2, 3, 4)),
    "np.vstack": lambda X: np.vstack([X, c, 2 * X[1]]),
    "np.hstack": lambda X: np.hstack([X, r[:, None], X[:, ::-1]]),
    "np.hstack of numbers": lambda X: np.hstack([X[0], 1.0, X[0, 1]]),
    "np.concatenate": lambda X: np.concatenate([X, C], axis=1),
    "np.stack": lambda X: np.stack([X, C, X], axis=-1),
    "np.column_stack": lambda X: np.column_stack([X, r, X[:, 0]]),
    "np.block": lambda X: np.block([[X, C], [C, 2 * X]]),
    "np.shape": lambda X: np.zeros(np.shape(X)) + X,
    "np.ndim and np.size": lambda X: X * np.ndim(X) + np.size(X),
}


@pytest.mark.parametrize("code", SAME_CODE.values(), ids=SAME_CODE)
def test_code_gives_the_same_entries_as_numpy(code: Callable[[Any], Any]) -> None:
    X, at = pair((3, 4))
    expected = code(at)
    expression = code(X)
    assert isinstance(expression, Expression)
    assert expression.shape == np.shape(expected)
    np.testing.assert_allclose(value(expression, at), expected, atol=1e-12)


WRONG: dict[str, Callable[[Any], Any]] = {
    "A @ X.T": lambda X: A @ X.T,
    "X @ r": lambda X: X @ r,
    "c @ X": lambda X: c @ X,
    "number @ X": lambda X: 2.0 @ X,
    "scalar @ vector": lambda X: X[0, 0] @ c,
    "X + r": lambda X: X + r,
    "X * r": lambda X: X * r,
    "X + X.T": lambda X: X + X.T,
    "X[3]": lambda X: X[3],
    "X[0, 1, 2]": lambda X: X[0, 1, 2],
    "X['a']": lambda X: X["a"],
    "X[short mask]": lambda X: X[np.array([True, False])],
    "X.reshape(5, 2)": lambda X: X.reshape(5, 2),
    "X.transpose(0, 0)": lambda X: X.transpose(0, 0),
    "X.sum(axis=2)": lambda X: X.sum(axis=2),
    "X.sum(axis='a')": lambda X: X.sum(axis="a"),
    "X[0].trace()": lambda X: X[0].trace(),
    "np.vstack": lambda X: np.vstack([X, r]),
    "np.hstack": lambda X: np.hstack([X, c]),
    "np.stack": lambda X: np.stack([X, X[0]]),
    "np.concatenate": lambda X: np.concatenate([X, X.T]),
    "np.broadcast_to": lambda X: np.broadcast_to(X, (4, 4)),
    "X[0, 0][0]": lambda X: X[0, 0][0],
}


@pytest.mark.parametrize("code", WRONG.values(), ids=WRONG)
def test_code_that_fails_in_numpy_raises_a_declaration_error(code: Callable[[Any], Any]) -> None:
    X, at = pair((3, 4))
    with pytest.raises((ValueError, IndexError, TypeError, np.exceptions.AxisError)):
        code(at)
    with pytest.raises(DeclarationError, match=r"\.$"):
        code(X)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.lil_matrix])
def test_sparse_matrices_give_the_same_entries_as_dense_ones(kind: Callable[[Any], Any]) -> None:
    X, at = pair((3, 4))
    pairs = [
        (kind(A) @ X, A @ at),
        (X @ kind(B), at @ B),
        (kind(A) @ X[:, 0], A @ at[:, 0]),
        (X[0] @ kind(B), at[0] @ B),
        (X + kind(C), at + C),
        (kind(C) - X, C - at),
        ((kind(C) <= X).expression.reshape(3, 4), at - C),
        ((kind(C) == X).expression.reshape(3, 4), at - C),
    ]
    if kind in (sp.csr_array, sp.csc_array, sp.coo_array):
        pairs += [(X * kind(C), at * C), (kind(C) * X, at * C)]
    for expression, expected in pairs:
        assert expression.shape == expected.shape
        np.testing.assert_allclose(value(expression, at), expected, atol=1e-12)


@pytest.mark.parametrize("join", [milopt.hstack, milopt.vstack, milopt.stack, milopt.concatenate])
def test_joining_functions_give_the_same_entries_as_numpy(join: Callable[..., Expression]) -> None:
    X, at = pair((3, 4))
    expected = getattr(np, join.__name__)([at, C, 2 * at])
    joined = join([X, C, 2 * X])
    assert joined.shape == expected.shape
    np.testing.assert_allclose(value(joined, at), expected)


def shapes(most: int = 3) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(0, 3), max_size=most).map(tuple)


def indices(length: int) -> st.SearchStrategy[Any]:
    ends = st.none() | st.integers(-4, 4)
    return (
        st.integers(-length - 1, length)
        | st.builds(slice, ends, ends, st.sampled_from([None, 1, 2, -1]))
        | st.lists(st.integers(-length, length - 1), max_size=3)
        if length
        else st.just(slice(None))
    )


@st.composite
def steps(draw: st.DrawFn) -> Callable[[Any], Any]:
    """Draw a function that numpy applies to arrays."""
    axis = draw(st.sampled_from([None, 0, 1, -1, 2]))
    shape, seed = draw(shapes()), draw(st.integers(0, 99))
    array = np.random.default_rng(seed).integers(-3, 4, shape).astype(float)
    kind = draw(st.integers(0, 17))
    if kind == 0:
        return lambda e: e.sum(axis=axis)
    if kind == 1:
        return lambda e: e.sum(axis=axis, keepdims=True)
    if kind == 2:
        return lambda e: e.T
    if kind == 3:
        return lambda e: e + array
    if kind == 4:
        return lambda e: array * e
    if kind == 5:
        return lambda e: array - e
    if kind == 6:
        return lambda e: e + e.T
    if kind == 7:
        index = tuple(draw(indices(length)) for length in shape[:2])
        return lambda e: e[index]
    if kind == 8:
        return lambda e: e.reshape(shape)
    if kind == 9:
        return lambda e: e.ravel()
    if kind == 10:
        return lambda e: np.diag(e)
    if kind == 11:
        return lambda e: np.vstack([e, array])
    if kind == 12:
        return lambda e: np.stack([e, e], axis=0 if axis is None else axis)
    if kind == 13:
        # Here milopt treats a scalar as a vector with one entry, and numpy does not.
        return lambda e: np.concatenate([e[None], 2 * e[None]], axis=0 if axis is None else axis)
    small = array if array.ndim < 3 else array.sum(axis=0)
    return [lambda e: e @ small, lambda e: small @ e, lambda e: e[..., None], lambda e: np.hstack([e, array])][
        kind - 14
    ]


@settings(max_examples=400, deadline=None)
@given(shapes(), st.lists(steps(), min_size=1, max_size=6), st.integers(0, 99))
def test_random_code_gives_the_same_entries_as_numpy(
    shape: tuple[int, ...], code: list[Callable[[Any], Any]], seed: int
) -> None:
    e, at = pair(shape, seed)
    x = at
    for step in code:
        try:
            expected = step(at)
        except (ValueError, IndexError, TypeError, np.exceptions.AxisError):
            with pytest.raises(DeclarationError):
                step(e)
            continue
        e, at = step(e), np.asarray(expected)
        assert e.shape == at.shape
        np.testing.assert_allclose(value(e, x), at, rtol=1e-9, atol=1e-9)
        if at.size > 2000:
            break


@pytest.mark.parametrize(
    ("left", "right"),
    [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4))],
)
def test_matrices_of_parameters_multiply_from_both_sides(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=left), rng.normal(size=right)
    for parametric, other, at_parameter, at_other, is_left in ((left, right, a, b, True), (right, left, b, a, False)):
        program = Program("products")
        P, X = program.parameter("P", parametric), program.variable("X", other)
        P.value = at_parameter
        product = P @ X if is_left else X @ P
        shifted = P @ (X + 1) if is_left else (X + 1) @ P
        for expression, expected in ((product, a @ b), (shifted, a @ (b + 1) if is_left else (a + 1) @ b)):
            assert expression.shape == np.shape(expected)
            values = {X: at_other, P: at_parameter}
            value = expression.evaluate(values.__getitem__)
            np.testing.assert_allclose(value.reshape(expression.shape), expected)


def test_joined_products_with_parameters_have_the_right_entries() -> None:
    program = Program("joined")
    p, x = program.parameter("p", 2), program.variable("x", 2)
    p.value = [3.0, 5.0]
    at = {p: np.array([3.0, 5.0]), x: np.array([7.0, 11.0])}
    stacked = milopt.vstack([x, p * x, 1 + p * x, 2 * p])
    assert stacked.shape == (4, 2)
    expected = [[7, 11], [21, 55], [22, 56], [6, 10]]
    np.testing.assert_allclose(stacked.evaluate(at.__getitem__).reshape(4, 2), expected)


def test_a_product_of_two_variables_raises_an_error() -> None:
    program = Program("products")
    X, Y = program.variable("X", (2, 3)), program.variable("Y", (3, 2))
    with pytest.raises(DeclarationError, match="The product of X and Y is not affine"):
        X @ Y
    with pytest.raises(DeclarationError, match=r"Shapes \(2, 3\) and \(2, 3\) do not match in `@` \(X and X\)"):
        X @ X


def test_bounds_and_integrality_are_broadcast() -> None:
    program = Program("bounds")
    X = program.variable("X", (2, 3), lower=[[0], [1]], upper=[3, 4, np.inf], integer=[True, False, False])
    assert X.lower.tolist() == [0, 0, 0, 1, 1, 1]
    assert X.upper.tolist() == [3, 4, np.inf, 3, 4, np.inf]
    assert X.integer_entries.tolist() == [True, False, False, True, False, False]
    Y = program.variable("Y", (2, 2), upper=9, binary=[[True, False], [False, True]])
    assert Y.lower.tolist() == [0, -np.inf, -np.inf, 0]
    assert Y.upper.tolist() == [1, 9, 9, 1]
    assert Y.integer_entries.tolist() == [True, False, False, True]
    with pytest.raises(
        DeclarationError, match=r"lower bound of 'Z' has shape \(3, 2\); the variable has shape \(2, 3\)"
    ):
        program.variable("Z", (2, 3), lower=np.zeros((3, 2)))
    with pytest.raises(DeclarationError, match=r"'Z' has lower > upper at entry 1, 2"):
        program.variable("Z", (2, 3), lower=0, upper=[[1, 1, 1], [1, 1, -1]])
    with pytest.raises(DeclarationError, match="integer of variable 'Z' is True or False, or an array"):
        program.variable("Z", (2, 3), integer=[1, 0, 0])


def test_a_parameter_has_the_declared_shape() -> None:
    P = Program("parameter").parameter("P", (2, 3), sign=1)
    P.value = sp.csr_array(np.ones((2, 3)))
    assert P.value is not None
    assert P.value.shape == (2, 3)
    with pytest.raises(milopt.MiloptError, match=r"Parameter 'P' has shape \(2, 3\), not \(3, 2\)"):
        P.value = np.ones((3, 2))
    with pytest.raises(milopt.MiloptError, match=r"entry 1, 0 is not"):
        P.value = [[1, 1, 1], [-1, 1, 1]]
