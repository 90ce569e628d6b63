"""Apply numpy functions to expressions: return an atom, or raise an error that names the function to use instead."""

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
from milopt.declaration.programs.expression import Constraint, Expression, as_expression
from milopt.declaration.programs.joining import concatenate, hstack, join_expressions, stack, vstack
from milopt.errors import DeclarationError


def _dot(a: Any, b: Any) -> object:
    """Return numpy.dot(a, b): a * b if one of the factors is a scalar, otherwise a @ b."""
    return a @ b if np.ndim(a) and np.ndim(b) else a * b


def _where(condition: Any, a: Any, b: Any) -> Expression:
    """Return a where an array of truth values is true, and b elsewhere, like numpy.where with broadcasting."""
    if isinstance(condition, (Expression, Constraint)):
        raise DeclarationError(
            "numpy.where of expressions needs a condition of True and False that is known before a solve: write "
            "maximum, minimum or absolute, or a variable with binary=True and program.implies."
        )
    chosen = np.asarray(condition, dtype=bool)
    return as_expression(a) * chosen.astype(np.float64) + as_expression(b) * (~chosen).astype(np.float64)


def _diff(e: Expression, n: int = 1, axis: int = -1) -> Expression:
    """Return the n-th differences of neighbouring entries along an axis, like numpy.diff."""
    moved = e.rearrange(lambda entries: np.moveaxis(entries, axis, -1), "numpy.diff")
    for _ in range(n):
        moved = moved[..., 1:] - moved[..., :-1]
    return moved.rearrange(lambda entries: np.moveaxis(entries, -1, axis), "numpy.diff")


def _cumsum(e: Expression, axis: int | None = None) -> Expression:
    """Return cumulative sums along an axis, or of all entries row after row if `axis` is None, like numpy.cumsum."""
    if axis is None:
        return e.ravel() @ np.tri(e.size).T
    moved = e.rearrange(lambda entries: np.moveaxis(entries, axis, -1), "numpy.cumsum")
    total = moved @ np.tri(moved.shape[-1]).T
    return total.rearrange(lambda entries: np.moveaxis(entries, -1, axis), "numpy.cumsum")


UFUNC_REPLACEMENTS: Mapping[np.ufunc, Callable[..., object]] = {
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
"""Function of milopt, or operator of expressions, for each supported numpy ufunc."""

FUNCTION_REPLACEMENTS: Mapping[Callable[..., object], Callable[..., object]] = {
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
    np.where: _where,
    np.concatenate: concatenate,
    np.hstack: hstack,
    np.vstack: vstack,
    np.stack: stack,
    np.column_stack: lambda parts: join_expressions(np.column_stack, parts, "column_stack"),
    np.block: lambda parts: join_expressions(np.block, parts, "block"),
    np.shape: lambda e: e.shape,
    np.ndim: lambda e: len(e.shape),
    np.size: lambda e: e.size,
}
"""Function of milopt for each supported numpy function that is not a ufunc."""

REARRANGING_FUNCTIONS: frozenset[Callable[..., object]] = frozenset(
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
"""Functions of numpy that select and rearrange the entries of their first argument."""

ERROR_HINTS: Mapping[str, str] = {
    "sign": "a sign is neither convex nor concave",
    "clip": "write maximum and minimum",
    "outer": "write a[:, None] * e for the outer product with a vector of numbers a",
}
"""Advice in the error message for an unsupported numpy function, by its name."""
PRODUCT_FUNCTIONS = ("vdot", "inner", "tensordot", "einsum", "kron")
"""Unsupported numpy functions that are products."""
JOINING_FUNCTIONS = ("append", "dstack", "insert", "array")
"""Unsupported numpy functions that join arrays."""


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], keywords: Mapping[str, object]) -> object:
    """Apply a numpy ufunc to inputs that contain an expression.

    `method` is "__call__", or a method of the ufunc such as "reduce". Raise `DeclarationError` with advice if milopt
    has no function for the ufunc, its method or its keyword arguments.
    """
    replacement = UFUNC_REPLACEMENTS.get(ufunc)
    if method != "__call__":
        _raise_unsupported(f"{ufunc.__name__}.{method}")
    if replacement is None:
        _raise_unsupported(ufunc.__name__)
    if keywords:
        hint = "; select entries with e[mask] before the call" if "where" in keywords else ""
        raise DeclarationError(
            f"numpy.{ufunc.__name__} of an expression supports no keyword arguments ({', '.join(keywords)}){hint}."
        )
    if ufunc is np.power and not isinstance(inputs[0], Expression):
        raise DeclarationError("The power of numbers to an expression has no atom; write exp(np.log(numbers) * e).")
    return replacement(*inputs)


def apply_function(function: Callable[..., object], inputs: tuple[Any, ...], keywords: Mapping[str, object]) -> object:
    """Apply a numpy function that is not a ufunc to inputs that contain an expression.

    Raise `DeclarationError` with advice if milopt has no function for it, or does not support one of the arguments.
    """
    if function in REARRANGING_FUNCTIONS and isinstance(inputs[0], Expression):
        name = f"numpy.{function.__name__}"
        return inputs[0].rearrange(lambda entries: function(entries, *inputs[1:], **keywords), name)
    replacement = FUNCTION_REPLACEMENTS.get(function)
    if replacement is None:
        _raise_unsupported(function.__name__)
    try:
        signature(replacement).bind(*inputs, **keywords)
    except TypeError:
        arguments = [*("an argument" for _ in inputs[1:]), *keywords]
        raise DeclarationError(
            f"numpy.{function.__name__} of an expression does not support all of these arguments: "
            f"{', '.join(arguments)}."
        ) from None
    return replacement(*inputs, **keywords)


def as_array_for_scipy(expression: Expression, calling_module: str) -> npt.NDArray[np.object_]:
    """Return the expression as an array with one object for scipy.sparse, and raise an error for any other caller.

    An expression cannot be converted to an array of numbers. But for `matrix @ e` with a sparse matrix, scipy converts
    e to an array, and an error would abort the product; an array with one object makes scipy call
    `Expression.__rmatmul__`. `calling_module` is the name of the module that requested the conversion.
    """
    if calling_module.split(".")[:2] == ["scipy", "sparse"]:
        array = np.empty((), dtype=object)
        array[()] = expression
        return array
    raise DeclarationError(
        f"{expression.describe()} cannot be converted to a numpy array: write y @ e for y.dot(e), e + d for "
        "np.sum([e, d]), stack([e, d]) for np.array([e, d]), and keep several expressions in a list."
    )


def _raise_unsupported(name: str) -> NoReturn:
    """Raise an error for an unsupported numpy function, with advice on what to write instead."""
    hint = ERROR_HINTS.get(
        name, "the functions of expressions are the atoms of milopt, such as absolute, maximum and exp"
    )
    if name in PRODUCT_FUNCTIONS:
        hint = "write y @ e for the inner product with numbers, matrix @ e, and y * e entry by entry"
    if name in JOINING_FUNCTIONS:
        hint = "write concatenate([a, b]), hstack, vstack or stack to join expressions"
    raise DeclarationError(f"numpy.{name} does not support expressions: {hint}.")
