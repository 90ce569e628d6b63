"""Vector expressions, affine in their leaves:  e = sum_leaf M_leaf(p) leaf + constant.

A leaf is a variable, a function evaluated at points, a parameter, or an atom (`bag_max`, `norm`, `sum_squares`, ...).
An expression has shape () or (n,); a block of ten thousand rows is one object. Comparing two expressions makes a
constraint block.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.declaration.coefficient import Coefficient
from milopt.declaration.constants import matrix as as_matrix
from milopt.declaration.constants import numbers as as_numbers
from milopt.declaration.sparse import Vector, csr, picked, row_vector, times
from milopt.declaration.written import written
from milopt.errors import DeclarationError

if TYPE_CHECKING:
    from milopt.declaration.bags import Bags

Shape: TypeAlias = tuple[int, ...]
"""() or (n,)."""
Term: TypeAlias = "tuple[Leaf, Coefficient]"
Operand: TypeAlias = "Expression | float | npt.ArrayLike"


class Expression:
    """sum_leaf M_leaf(p) leaf + constant; immutable."""

    __hash__ = object.__hash__

    shape: Shape
    constant: Vector
    terms: tuple[Term, ...]
    bags: Bags | None
    """Whose instances the entries are, for `bag_max` and its siblings; None when they are not instances."""
    constant_is_negated: bool
    """Whether the constant was subtracted, so that its negative is what the user wrote; only printed formulas depend
    on it."""

    def __init__(
        self,
        shape: Shape,
        constant: Vector,
        terms: Iterable[Term],
        bags: Bags | None = None,
        constant_is_negated: bool = False,
    ) -> None:
        self.shape = shape
        self.constant = constant
        self.terms = tuple(terms)
        self.bags = bags
        self.constant_is_negated = constant_is_negated

    @property
    def size(self) -> int:
        """The number of entries."""
        return self.shape[0] if self.shape else 1

    # -- algebra -----------------------------------------------------------------------------------------------

    def __add__(self, other: Operand) -> Expression:
        return _sum(self, as_expression(other))

    def __radd__(self, other: Operand) -> Expression:
        return _sum(as_expression(other), self)

    def __sub__(self, other: Operand) -> Expression:
        return _sum(self, -as_expression(other))

    def __rsub__(self, other: Operand) -> Expression:
        return _sum(as_expression(other), -self)

    def __neg__(self) -> Expression:
        return _scale(self, np.asarray(-1.0))

    def __mul__(self, other: Operand) -> Expression:
        if isinstance(other, Expression):
            return _product(self, other)
        if sp.issparse(other):
            raise DeclarationError("`*` is entry by entry; for a sparse matrix write `matrix @ expression`.")
        return _scale(self, as_numbers(other))

    __rmul__ = __mul__

    def __truediv__(self, other: float | npt.ArrayLike) -> Expression:
        if isinstance(other, Expression):
            _refuse_divisor(other)
        divisor = as_numbers(other)
        if not divisor.all():
            raise DeclarationError("Division of an expression by zero.")
        return _scale(self, 1.0 / divisor)

    def __rtruediv__(self, other: object) -> NoReturn:
        _refuse_divisor(self)

    def __floordiv__(self, other: object) -> NoReturn:
        raise DeclarationError(
            f"Whole quotients and remainders of {self.describe()} are neither convex nor concave: declare a variable "
            "with integer=True for the quotient, and rows that bind it."
        )

    __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __floordiv__

    def __abs__(self) -> Expression:
        from milopt.declaration.atoms.absolute import absolute

        return absolute(self)

    def __pow__(self, exponent: object) -> Expression:
        from milopt.declaration.atoms.sum_squares import square

        if not isinstance(exponent, (int, float, np.number)) or exponent != 2:
            raise DeclarationError(
                f"The power {exponent!r} of an expression has no atom; write e ** 2, absolute(e) or exp(e)."
            )
        return square(self)

    def __rpow__(self, base: object) -> NoReturn:
        raise DeclarationError(f"The power of {base!r} to an expression has no atom; write exp(np.log({base!r}) * e).")

    def __matmul__(self, other: Operand) -> Expression:
        if isinstance(other, Expression):
            return (self * other).sum()
        return _matrix_times(as_matrix(other).T, self)

    def __rmatmul__(self, other: npt.ArrayLike | sp.sparray) -> Expression:
        return _matrix_times(as_matrix(other), self)

    def sum(self) -> Expression:
        """The sum of the entries, a scalar."""
        return _linear(self, row_vector(np.ones(self.size)), ())

    def mean(self) -> Expression:
        """The mean of the entries, a scalar."""
        return self.sum() / self.size

    def __getitem__(self, index: int | slice | npt.ArrayLike) -> Expression:
        if not self.shape:
            raise DeclarationError("A scalar expression has no entries to index.")
        try:
            chosen = np.arange(self.size)[index]  # type: ignore[index]  # numpy checks the index itself
        except (IndexError, TypeError, ValueError):
            raise DeclarationError(
                f"{index!r} is no index of {self.describe()}, which has {self.size} entries."
            ) from None
        if chosen.ndim > 1:
            raise DeclarationError(f"{self.describe()} is a vector: index it with one number, slice, list or mask.")
        entries = np.atleast_1d(chosen)
        return _linear(self, picked(entries, self.size), (entries.size,) if chosen.ndim else ())

    # -- constraints -------------------------------------------------------------------------------------------

    def __ge__(self, other: Operand) -> Constraint:
        right = as_expression(other)
        return Constraint(self - right, equality=False, compared=(self, ">=", right))

    def __le__(self, other: Operand) -> Constraint:
        right = as_expression(other)
        return Constraint(right - self, equality=False, compared=(self, "<=", right))

    def __gt__(self, other: Operand) -> Constraint:
        raise DeclarationError(
            "A strict inequality has no closed set of points: write >= or <= instead, and maximum(a, b) for max(a, b)."
        )

    __lt__ = __gt__

    def __eq__(self, other: object) -> Constraint:  # type: ignore[override]  # a block of equations, as in cvxpy
        right = as_expression(other)  # type: ignore[arg-type]  # checked there
        return Constraint(self - right, equality=True, compared=(self, "==", right))

    # -- numpy and built-in functions --------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> object:
        """Return `array + self` and the like, or the atom that a function of numpy stands for."""
        reflected = _REFLECTED.get(ufunc)
        # `array += self` gives the array as `out`; Python then assigns the result to the name.
        if keywords.get("out", (None,))[0] is inputs[0]:
            keywords.pop("out")
        if reflected is not None and method == "__call__" and inputs[1] is self and not keywords:
            return reflected(self, inputs[0])
        from milopt.declaration.atoms.numpy_functions import apply_ufunc

        return apply_ufunc(ufunc, method, inputs, keywords)

    def __array_function__(self, function: Callable[..., object], types: object, inputs: Any, keywords: Any) -> object:
        """Return the expression that a function of numpy stands for, or raise an error that names the atom."""
        from milopt.declaration.atoms.numpy_functions import apply_function

        return apply_function(function, inputs, keywords)

    # Not for type checkers: an expression with this method would be an `ArrayLike`, and `array @ self` an array.
    if not TYPE_CHECKING:

        def __array__(self, dtype: object = None, copy: bool | None = None) -> npt.NDArray[np.object_]:
            """Raise an error instead of becoming an array of objects, except if scipy asks, for `matrix @ self`."""
            from milopt.declaration.atoms.numpy_functions import as_array

            return as_array(self, asked_by=str(sys._getframe(1).f_globals.get("__name__")))

    def __iter__(self) -> NoReturn:
        raise DeclarationError(
            f"{self.describe()} is a vector as a whole, without a loop over its entries: write e.sum() for their sum, "
            "sum_largest(e, 1) for their maximum, and e[i] for an entry."
        )

    def __float__(self) -> NoReturn:
        raise DeclarationError(
            f"{self.describe()} has no value before a solve; the functions of expressions are the atoms of milopt, "
            "such as exp and absolute."
        )

    # -- values ------------------------------------------------------------------------------------------------

    def evaluated(self, leaf_value: Callable[[Leaf], Vector]) -> Vector:
        """The entries, given what every leaf is worth."""
        total = self.constant.copy()
        for leaf, coefficient in self.terms:
            total += times(coefficient.value(leaf_value), np.atleast_1d(leaf_value(leaf)))
        return total

    @cached_property
    def has_atoms(self) -> bool:
        """Return True if an atom stands in the expression."""
        return any(leaf.is_atom for leaf, _ in self.terms)

    @property
    def is_parametric(self) -> bool:
        """Whether only parameters and constants occur."""
        return all(leaf.is_parameter for leaf, _ in self.terms)

    def parameter_value(self) -> Vector:
        """The value of an expression in parameters only."""
        return self.evaluated(lambda leaf: leaf.current())

    def parameter_sign(self) -> Vector:
        """The sign of each entry of an expression in parameters only; nan where it is not fixed."""
        low, high = np.minimum(self.constant, 0), np.maximum(self.constant, 0)
        for leaf, coefficient in self.terms:
            matrix = coefficient.value()
            sign = leaf.declared_sign()
            plus, minus = _row_sums(np.maximum, matrix), _row_sums(np.minimum, matrix)
            high = high + (plus if sign >= 0 else minus) + (minus if sign == 0 else 0)
            low = low - (minus if sign >= 0 else plus) - (plus if sign == 0 else 0)
        return np.where((low < 0) & (high > 0), np.nan, np.sign(high + low))

    def describe(self) -> str:
        """Return the names of the leaves with the signs that the user wrote, for messages and summaries."""
        return describe_terms(self.terms)

    def __repr__(self) -> str:
        return written(self) + (f"  (shape {self.shape})" if self.shape else "")


_REFLECTED: Mapping[np.ufunc, Callable[[Expression, Any], object]] = {
    np.add: Expression.__radd__,
    np.subtract: Expression.__rsub__,
    np.multiply: Expression.__rmul__,
    np.divide: Expression.__rtruediv__,
    np.floor_divide: Expression.__rfloordiv__,
    np.remainder: Expression.__rmod__,
    np.matmul: Expression.__rmatmul__,
    np.greater_equal: Expression.__le__,
    np.less_equal: Expression.__ge__,
    np.equal: Expression.__eq__,
    np.greater: Expression.__lt__,
    np.less: Expression.__gt__,
}
"""Operators with numbers on the left, as methods of the expression on the right."""


class Leaf(Expression):
    """An expression that is one leaf: everything else is built from these."""

    is_parameter = False
    is_atom = False

    def __init__(self, shape: Shape, bags: Bags | None = None) -> None:
        size = shape[0] if shape else 1
        super().__init__(shape, np.zeros(size), ((self, Coefficient.identity(size)),), bags)

    def describe_negated(self) -> str:
        """Return the name of minus the leaf."""
        return f"-{self.describe()}"

    def current(self) -> Vector:
        """The current value of a parameter."""
        raise DeclarationError(f"{self.describe()} has no value before a solve.")

    def declared_sign(self) -> int:
        """The declared sign of a parameter, 0 when none."""
        return 0


class Constraint:
    """A block of rows: `expression >= 0`, or `expression == 0`, entry by entry."""

    def __init__(
        self, expression: Expression, equality: bool, compared: tuple[Expression, str, Expression] | None = None
    ) -> None:
        self.expression = expression
        self.equality = equality
        self.compared = compared
        """The comparison as it was written; only printed."""
        self.name: str | None = None
        """The name of its block, if it belongs to a program."""

    def __bool__(self) -> bool:
        raise DeclarationError("A constraint has no truth value; write `0 <= x` and `x <= 1` as two constraints.")

    def __repr__(self) -> str:
        if self.compared is not None:
            left, sense, right = self.compared
        else:
            left, sense, right = self.expression, "==" if self.equality else ">=", as_expression(0.0)
        size = self.expression.size
        return f"{written(left)} {sense} {written(right)}" + (f"  ({size} rows)" if size > 1 else "")


def describe_terms(terms: Iterable[Term]) -> str:
    """Return the names of leaves with the signs that the user wrote, such as "x - norm(y)"."""
    text = ""
    for leaf, coefficient in terms:
        name = leaf.describe_negated() if coefficient.is_negated else leaf.describe()
        if text:
            name = f" - {name[1:]}" if name.startswith("-") else f" + {name}"
        text += name
    return text or "a constant"


def as_expression(value: Operand) -> Expression:
    """An expression, or numbers as a constant one."""
    if isinstance(value, Expression):
        return value
    numbers = as_numbers(value)
    if numbers.ndim > 1:
        raise DeclarationError(f"Expressions are scalars or vectors; got an array of shape {numbers.shape}.")
    return Expression(numbers.shape, np.atleast_1d(numbers).copy(), ())


def _row_sums(side: np.ufunc, matrix: sp.csr_array) -> Vector:
    """Row sums of the absolute positive (np.maximum) or negative (np.minimum) part."""
    part = sp.csr_array((abs(side(matrix.data, 0)), matrix.indices, matrix.indptr), shape=matrix.shape)
    return np.asarray(part @ np.ones(matrix.shape[1]))


def _linear(expression: Expression, matrix: sp.csr_array, shape: Shape, bags: Bags | None = None) -> Expression:
    """matrix @ expression."""
    terms = [(leaf, coefficient.left(matrix)) for leaf, coefficient in expression.terms]
    return Expression(shape, times(matrix, expression.constant), terms, bags, expression.constant_is_negated)


def broadcast(expression: Expression, size: int) -> Expression:
    """Return a scalar repeated to a vector; a vector as it is."""
    if expression.shape:
        return expression
    return _linear(expression, picked(np.zeros(size, dtype=np.int32), 1), (size,), None)


def _common(a: Expression, b: Expression) -> tuple[Expression, Expression, Shape, Bags | None]:
    """Both operands at one shape; only scalars stretch."""
    if a.shape and b.shape and a.shape != b.shape:
        raise DeclarationError(f"Shapes {a.shape} and {b.shape} do not match ({a.describe()} and {b.describe()}).")
    shape = a.shape or b.shape
    if shape:
        a_bags, b_bags = a.bags, b.bags
        a, b = broadcast(a, shape[0]), broadcast(b, shape[0])
        if a_bags is not None and b_bags is not None and a_bags is not b_bags:
            raise DeclarationError("The two sides are evaluated over the instances of different bags.")
        return a, b, shape, a_bags if a_bags is not None else b_bags
    return a, b, shape, None


def _sum(a: Expression, b: Expression) -> Expression:
    a, b, shape, bags = _common(a, b)
    terms: dict[int, Term] = {id(leaf): (leaf, coefficient) for leaf, coefficient in a.terms}
    for leaf, coefficient in b.terms:
        known = terms.get(id(leaf))
        terms[id(leaf)] = (leaf, known[1].plus(coefficient) if known else coefficient)
    is_negated = (a.constant_is_negated or not a.constant.any()) and (b.constant_is_negated or not b.constant.any())
    return Expression(shape, a.constant + b.constant, terms.values(), bags, is_negated)


def _scale(expression: Expression, factor: Vector) -> Expression:
    """Entry by entry, by numbers."""
    if factor.ndim > 1:
        raise DeclarationError(
            f"`*` is entry by entry; for the matrix of shape {factor.shape} write `matrix @ expression`."
        )
    if factor.ndim == 0:
        factors, negated = np.full(expression.size, factor), bool(factor < 0)
        terms = [(leaf, coefficient.scaled(factors, negated)) for leaf, coefficient in expression.terms]
        is_negated = expression.constant_is_negated != negated
        return Expression(expression.shape, expression.constant * factor, terms, expression.bags, is_negated)
    if expression.shape and expression.shape != factor.shape:
        raise DeclarationError(f"Shapes {factor.shape} and {expression.shape} do not match ({expression.describe()}).")
    wide = broadcast(expression, factor.size)
    scaled = [(leaf, coefficient.scaled(factor)) for leaf, coefficient in wide.terms]
    return Expression((factor.size,), wide.constant * factor, scaled, expression.bags, wide.constant_is_negated)


def _refuse_divisor(divisor: Expression) -> NoReturn:
    """Raise an error that says how to avoid a division by an expression."""
    raise DeclarationError(
        f"{divisor.describe()} is a divisor, and division by an expression is not supported: write exp(-e) for "
        "1 / exp(e), or multiply by a number, or by a parameter whose value is the reciprocal."
    )


def _product(a: Expression, b: Expression) -> Expression:
    """Entry by entry, when one of the two is made of parameters only."""
    if not a.is_parametric and not b.is_parametric:
        raise DeclarationError(
            f"The product of {a.describe()} and {b.describe()} is not affine; use quad_form or sum_squares."
        )
    scale, rest = (a, b) if a.is_parametric else (b, a)
    if not scale.terms:
        return _scale(rest, scale.constant if scale.shape else scale.constant[0])
    if not rest.terms:
        return _scale(scale, rest.constant if rest.shape else rest.constant[0])
    scale, rest, shape, bags = _common(scale, rest)
    terms = [(leaf, coefficient.scaled_by(scale)) for leaf, coefficient in rest.terms]
    moved = _scale(scale, rest.constant) if shape else _scale(scale, rest.constant[0])
    return _sum(Expression(shape, np.zeros(rest.size), terms, bags), moved)


def _matrix_times(matrix: Vector | sp.csr_array | sp.csc_array, expression: Expression) -> Expression:
    """matrix @ expression, or vector @ expression."""
    if matrix.ndim not in (1, 2):
        raise DeclarationError("`@` takes a vector or a matrix of numbers; write `*` for a number.")
    if not expression.shape or matrix.shape[-1] != expression.size:
        raise DeclarationError(
            f"Shapes {matrix.shape} and {expression.shape} do not match in `@` ({expression.describe()})."
        )
    if matrix.ndim == 1:
        return _linear(expression, row_vector(matrix if isinstance(matrix, np.ndarray) else matrix.toarray()), ())
    rows = csr(matrix)
    return _linear(expression, rows, (rows.shape[0],))
