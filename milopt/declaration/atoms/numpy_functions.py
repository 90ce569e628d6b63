"""Functions of numpy that are applied to expressions: they give atoms, or errors that name the atom to use."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from milopt.declaration.atoms.absolute import absolute
from milopt.declaration.atoms.exp import exp
from milopt.declaration.atoms.inv_pos import inv_pos
from milopt.declaration.atoms.log import log
from milopt.declaration.atoms.log_sum_exp import log_sum_exp
from milopt.declaration.atoms.maximum import maximum, minimum
from milopt.declaration.atoms.norm import norm
from milopt.declaration.atoms.sqrt import sqrt
from milopt.declaration.atoms.sum_squares import square
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.joined import concatenate, hstack, joined, stack, vstack
from milopt.errors import DeclarationError


def _dot(a: Any, b: Any) -> object:
    """Return the product of numpy.dot: that of `@`, or of `*` if one of the factors is a number."""
    return a @ b if np.ndim(a) and np.ndim(b) else a * b


def _diff(e: Expression, n: int = 1, axis: int = -1) -> Expression:
    """Return the differences of neighbours along an axis, n times."""
    moved = e.rearranged(lambda entries: np.moveaxis(entries, axis, -1), "numpy.diff")
    for _ in range(n):
        moved = moved[..., 1:] - moved[..., :-1]
    return moved.rearranged(lambda entries: np.moveaxis(entries, -1, axis), "numpy.diff")


def _cumsum(e: Expression, axis: int | None = None) -> Expression:
    """Return the sums of the first entries, of all entries row after row or along an axis."""
    if axis is None:
        return e.ravel() @ np.tri(e.size).T
    moved = e.rearranged(lambda entries: np.moveaxis(entries, axis, -1), "numpy.cumsum")
    total = moved @ np.tri(moved.shape[-1]).T
    return total.rearranged(lambda entries: np.moveaxis(entries, -1, axis), "numpy.cumsum")


UFUNCS: Mapping[np.ufunc, Callable[..., object]] = {
    np.absolute: absolute,
    np.fabs: absolute,
    np.exp: exp,
    np.square: square,
    np.log: log,
    np.log1p: lambda e: log(1.0 + e),
    np.sqrt: sqrt,
    np.reciprocal: inv_pos,
    np.maximum: maximum,
    np.fmax: maximum,
    np.minimum: minimum,
    np.fmin: minimum,
    np.logaddexp: log_sum_exp,
    np.negative: operator.neg,
    np.positive: lambda e: e,
    np.power: operator.pow,
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.matmul: operator.matmul,
    np.greater_equal: operator.ge,
    np.less_equal: operator.le,
    np.equal: operator.eq,
    np.greater: operator.gt,
    np.less: operator.lt,
}
"""For each function of numpy, the function of milopt. Arithmetic is that of expressions."""

FUNCTIONS: Mapping[Callable[..., object], Callable[..., object]] = {
    np.sum: lambda e, axis=None, *, keepdims=False: e.sum(axis, keepdims),
    np.mean: lambda e, axis=None, *, keepdims=False: e.mean(axis, keepdims),
    np.trace: lambda e, offset=0: e.trace(offset),
    np.max: lambda e, axis=None: e.max(axis),
    np.min: lambda e, axis=None: e.min(axis),
    np.amax: lambda e, axis=None: e.max(axis),
    np.amin: lambda e, axis=None: e.min(axis),
    np.linalg.norm: norm,
    np.diff: _diff,
    np.cumsum: _cumsum,
    np.dot: _dot,
    np.concatenate: concatenate,
    np.hstack: hstack,
    np.vstack: vstack,
    np.stack: stack,
    np.column_stack: lambda parts: joined(np.column_stack, parts, "column_stack"),
    np.block: lambda parts: joined(np.block, parts, "block"),
    np.shape: lambda e: e.shape,
    np.ndim: lambda e: len(e.shape),
    np.size: lambda e: e.size,
}

REARRANGING: frozenset[Callable[..., object]] = frozenset(
    {
        np.atleast_1d,
        np.atleast_2d,
        np.broadcast_to,
        np.diag,
        np.diagonal,
        np.expand_dims,
        np.flip,
        np.fliplr,
        np.flipud,
        np.moveaxis,
        np.ravel,
        np.repeat,
        np.reshape,
        np.roll,
        np.rot90,
        np.squeeze,
        np.swapaxes,
        np.take,
        np.tile,
        np.transpose,
        np.tril,
        np.triu,
    }
)
"""Functions of numpy that choose and rearrange the entries of their first argument."""

HINTS: Mapping[str, str] = {
    "sign": "a sign is neither convex nor concave",
    "clip": "write maximum and minimum",
    "outer": "write a[:, None] * e for the outer product with a vector of numbers a",
}
PRODUCTS = ("vdot", "inner", "tensordot", "einsum", "kron")
JOINING = ("append", "dstack", "insert", "array")


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], keywords: Mapping[str, object]) -> object:
    """Return the function of milopt for a ufunc of numpy at these inputs, or raise an error that names the atom."""
    replacement = UFUNCS.get(ufunc)
    if method != "__call__":
        _refuse(f"{ufunc.__name__}.{method}")
    if replacement is None:
        _refuse(ufunc.__name__)
    if keywords:
        hint = "; select entries with e[mask] before the call" if "where" in keywords else ""
        raise DeclarationError(
            f"numpy.{ufunc.__name__} of an expression takes no keyword arguments ({', '.join(keywords)}){hint}."
        )
    if ufunc is np.power and not isinstance(inputs[0], Expression):
        raise DeclarationError("The power of numbers to an expression has no atom; write exp(np.log(numbers) * e).")
    return replacement(*inputs)


def apply_function(function: Callable[..., object], inputs: tuple[Any, ...], keywords: Mapping[str, object]) -> object:
    """Return the function of milopt for another function of numpy, or raise an error that names the atom."""
    if function in REARRANGING and isinstance(inputs[0], Expression):
        name = f"numpy.{function.__name__}"
        return inputs[0].rearranged(lambda entries: function(entries, *inputs[1:], **keywords), name)
    replacement = FUNCTIONS.get(function)
    if replacement is None:
        _refuse(function.__name__)
    try:
        signature(replacement).bind(*inputs, **keywords)
    except TypeError:
        given = [*("an argument" for _ in inputs[1:]), *keywords]
        raise DeclarationError(
            f"numpy.{function.__name__} of an expression does not take all of these: {', '.join(given)}."
        ) from None
    return replacement(*inputs, **keywords)


def as_array(expression: Expression, asked_by: str) -> npt.NDArray[np.object_]:
    """Raise an error: an array does not hold expressions. The module `asked_by` is the one that called numpy.

    Sparse matrices are the exception. `matrix @ e` converts e, and only if the result is an array of one object does
    scipy leave the product to `Expression.__rmatmul__`. An error would end the product.
    """
    if asked_by.split(".")[:2] == ["scipy", "sparse"]:
        array = np.empty((), dtype=object)
        array[()] = expression
        return array
    raise DeclarationError(
        f"{expression.describe()} does not become an array of numpy: write y @ e for y.dot(e), e + d for "
        "np.sum([e, d]), stack([e, d]) for np.array([e, d]), and keep several expressions in a list."
    )


def _refuse(name: str) -> NoReturn:
    hint = HINTS.get(name, "the functions of expressions are the atoms of milopt, such as absolute, maximum and exp")
    if name in PRODUCTS:
        hint = "write y @ e for the inner product with numbers, matrix @ e, and y * e entry by entry"
    if name in JOINING:
        hint = "write concatenate([a, b]), hstack, vstack or stack to join expressions"
    raise DeclarationError(f"numpy.{name} does not apply to an expression: {hint}.")
