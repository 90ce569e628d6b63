"""Vector expressions, affine in their leaves:  e = sum_leaf M_leaf(p) leaf + constant.

A leaf is a variable, a function evaluated at points, a parameter, or an atom (`bag_max`, `norm`, `sum_squares`, ...).
An expression has a shape, as an array of numpy has; its entries are kept as one vector, row after row. A block of ten
thousand rows is one object. Comparing two expressions makes a constraint block.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.constants import matrix as as_matrix
from milopt.declaration.programs.constants import numbers as as_numbers
from milopt.declaration.programs.constants import sides as as_sides
from milopt.declaration.programs.linear_maps import product_from_left, product_from_right
from milopt.declaration.programs.shaped import Order, Shaped
from milopt.declaration.programs.sparse import picked, times
from milopt.declaration.programs.written import written
from milopt.errors import DeclarationError

if TYPE_CHECKING:
    from milopt.declaration.bags.bags import Bags
    from milopt.declaration.programs.row_layout import RowLayout

Shape: TypeAlias = tuple[int, ...]
"""() for a scalar, (n,) for a vector, (m, n) for a matrix."""
Term: TypeAlias = "tuple[Leaf, Coefficient]"
Operand: TypeAlias = "Expression | float | npt.ArrayLike"
Written: TypeAlias = "tuple[Expression | str, ...]"
"""A comparison as it was written: expressions and the words between them."""
IMPLIES = "implies"
"""The word between a condition and what it implies."""


class Expression(Shaped):
    """sum_leaf M_leaf(p) leaf + constant; immutable."""

    __hash__ = object.__hash__

    shape: Shape
    constant: Vector
    """One number per entry."""
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

    def mapped(self, matrix: sp.csr_array, shape: Shape) -> Expression:
        """Return matrix @ entries, at a shape."""
        terms = [(leaf, coefficient.left(matrix)) for leaf, coefficient in self.terms]
        return Expression(shape, times(matrix, self.constant), terms, None, self.constant_is_negated)

    def ravel(self, order: Order = "C") -> Expression:
        """Return the entries as a vector; a vector as it is."""
        return self if len(self.shape) == 1 else super().ravel(order)

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
        if sp.isspmatrix(other):
            raise DeclarationError(
                "`*` is entry by entry; for a sparse matrix write `matrix @ expression`, or convert it by csr_array."
            )
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

    def max(self, axis: int | None = None) -> Expression:
        """Return the largest entry, a scalar, or the largest entries along an axis; it is convex."""
        from milopt.declaration.atoms.maximum import largest

        return largest(self, axis)

    def min(self, axis: int | None = None) -> Expression:
        """Return the smallest entry, a scalar, or the smallest entries along an axis; it is concave."""
        from milopt.declaration.atoms.maximum import largest

        return -largest(-self, axis)

    def __abs__(self) -> Expression:
        from milopt.declaration.atoms.absolute import absolute

        return absolute(self)

    def __pow__(self, exponent: object) -> Expression:
        from milopt.declaration.atoms.powers import power

        return power(self, exponent)

    def __rpow__(self, base: object) -> NoReturn:
        raise DeclarationError(f"The power of {base!r} to an expression has no atom; write exp(np.log({base!r}) * e).")

    def __matmul__(self, other: Operand) -> Expression:
        if isinstance(other, Expression):
            return _expression_product(self, other)
        return _matrix_product(product_from_right, as_matrix(other), self)

    def __rmatmul__(self, other: npt.ArrayLike | sp.sparray) -> Expression:
        return _matrix_product(product_from_left, as_matrix(other), self)

    # -- constraints -------------------------------------------------------------------------------------------

    def __ge__(self, other: Operand) -> Constraint:
        right = as_side(other)
        return _compared(right, self - right, equality=False, compared=(self, ">=", right))

    def __le__(self, other: Operand) -> Constraint:
        right = as_side(other)
        return _compared(right, right - self, equality=False, compared=(self, "<=", right))

    def __gt__(self, other: Operand) -> Constraint:
        raise DeclarationError(
            "A strict inequality has no closed set of points: write >= or <= instead, and maximum(a, b) for max(a, b)."
        )

    __lt__ = __gt__

    def __eq__(self, other: object) -> Constraint:  # type: ignore[override]  # a block of equations, as in cvxpy
        right = as_side(other)  # type: ignore[arg-type]  # checked there
        return _compared(right, self - right, equality=True, compared=(self, "==", right))

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
            f"{self.describe()} is an array as a whole, without a loop over its entries: write e.sum() for their sum, "
            "e.max() for their maximum, and e[i] for an entry."
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
            total += times(coefficient.value(leaf_value), np.ravel(leaf_value(leaf)))
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
        size = prod(shape)
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
    """A block of rows: `expression >= 0`, or `expression == 0`, entry by entry.

    `layout` says which declared row each row belongs to, if they are not the same: an infinite side has no row, and a
    row with two sides has two.
    """

    def __init__(
        self,
        expression: Expression,
        equality: bool,
        compared: Written | None = None,
        layout: RowLayout | None = None,
        shape: Shape | None = None,
    ) -> None:
        own_shape = expression.shape if shape is None else shape
        self.shape = own_shape if layout is None else layout.shape
        """The declared shape, which slacks and multipliers have."""
        self.expression = expression if len(expression.shape) < 2 else expression.ravel()
        """A scalar or a vector, one entry per row."""
        self.equality = equality
        self.compared = compared
        """The comparison as it was written; only printed."""
        self.layout = layout
        self.name: str | None = None
        """The name of its block, if it belongs to a program."""

    def multipliers(self, z: Vector) -> Vector:
        """Return the multipliers of the declared rows from those of the rows."""
        return z.reshape(self.shape) if self.layout is None else self.layout.multipliers(z)

    def slacks(self, rows: Vector) -> Vector:
        """Return the slacks of the declared rows from the values of the rows."""
        return rows.reshape(self.shape) if self.layout is None else self.layout.slacks(rows)

    def __bool__(self) -> bool:
        raise DeclarationError(
            "A constraint has no truth value: write program.between(a, e, b) for a <= e <= b, and one subject_to for "
            "each constraint."
        )

    @property
    def as_written(self) -> Written:
        """The comparison as it was written, or as its rows are."""
        return self.compared or (self.expression, "==" if self.equality else ">=", as_expression(0.0))

    @property
    def is_conditional(self) -> bool:
        """Whether the rows hold under a condition only."""
        return any(isinstance(part, str) and part == IMPLIES for part in self.compared or ())

    def describe(self) -> str:
        """Return the comparison as text."""
        return " ".join(part if isinstance(part, str) else written(part) for part in self.as_written)

    def __repr__(self) -> str:
        size = self.expression.size if self.layout is None else self.layout.size
        return self.describe() + (f"  ({size} rows)" if size > 1 else "")


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
    return value if isinstance(value, Expression) else _constant(as_numbers(value))


def as_side(value: Operand) -> Expression:
    """One side of a comparison: an expression, or numbers, which may be infinite."""
    return value if isinstance(value, Expression) else _constant(as_sides(value))


def _compared(right: Expression, difference: Expression, equality: bool, compared: Written) -> Constraint:
    """The constraint `difference >= 0` or `difference == 0`, without rows whose number on the right is infinite."""
    if right.terms or np.isfinite(right.constant).all():
        return Constraint(difference, equality, compared)
    from milopt.declaration.programs.absent_rows import without_absent_rows

    return without_absent_rows(difference, equality, compared)


def _constant(numbers: Vector) -> Expression:
    return Expression(numbers.shape, numbers.flatten(), ())


def _row_sums(side: np.ufunc, matrix: sp.csr_array) -> Vector:
    """Row sums of the absolute positive (np.maximum) or negative (np.minimum) part."""
    part = sp.csr_array((abs(side(matrix.data, 0)), matrix.indices, matrix.indptr), shape=matrix.shape)
    return np.asarray(part @ np.ones(matrix.shape[1]))


def chosen_entries(expression: Expression, entries: npt.NDArray[np.integer[Any]]) -> Expression:
    """Return some entries as a vector."""
    return expression.mapped(picked(entries, expression.size), (entries.size,))


def broadcast(expression: Expression, shape: Shape) -> Expression:
    """Return an expression repeated to a shape, as numpy broadcasts."""
    if expression.shape == shape:
        return expression
    if expression.shape:
        return expression.broadcast_to(shape)
    return expression.mapped(picked(np.zeros(prod(shape), dtype=np.int32), 1), shape)


def common_shape(a: Shape, b: Shape) -> Shape | None:
    """Return the shape to which numpy broadcasts two shapes, None if there is none."""
    if a == b or not b:
        return a
    try:
        return np.broadcast_shapes(a, b) if a else b
    except ValueError:
        return None


def _common(a: Expression, b: Expression) -> tuple[Expression, Expression, Shape, Bags | None]:
    """Both operands at one shape."""
    shape = common_shape(a.shape, b.shape)
    if shape is None:
        raise DeclarationError(f"Shapes {a.shape} and {b.shape} do not match ({a.describe()} and {b.describe()}).")
    if not shape:
        return a, b, shape, None
    a, b = broadcast(a, shape), broadcast(b, shape)
    if a.bags is not None and b.bags is not None and a.bags is not b.bags:
        raise DeclarationError("The two sides are evaluated over the instances of different bags.")
    return a, b, shape, a.bags if a.bags is not None else b.bags


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
    if factor.ndim == 0:
        factors, negated = np.full(expression.size, factor), bool(factor < 0)
        terms = [(leaf, coefficient.scaled(factors, negated)) for leaf, coefficient in expression.terms]
        is_negated = expression.constant_is_negated != negated
        return Expression(expression.shape, expression.constant * factor, terms, expression.bags, is_negated)
    shape = common_shape(factor.shape, expression.shape)
    if shape is None:
        raise DeclarationError(f"Shapes {factor.shape} and {expression.shape} do not match ({expression.describe()}).")
    wide = broadcast(expression, shape)
    factors = (factor if factor.shape == shape else np.broadcast_to(factor, shape)).ravel()
    scaled = [(leaf, coefficient.scaled(factors)) for leaf, coefficient in wide.terms]
    return Expression(shape, wide.constant * factors, scaled, wide.bags, wide.constant_is_negated)


def _refuse_divisor(divisor: Expression) -> NoReturn:
    """Raise an error that says how to avoid a division by an expression."""
    raise DeclarationError(
        f"{divisor.describe()} is a divisor, and division by an expression is not supported: write exp(-e) for "
        "1 / exp(e), inv_pos(e) for 1 / e with e > 0, or multiply by a number, or by a parameter whose value is "
        "the reciprocal."
    )


def _product(a: Expression, b: Expression) -> Expression:
    """Entry by entry, when one of the two is made of parameters only."""
    if not a.is_parametric and not b.is_parametric:
        raise DeclarationError(
            f"The product of {a.describe()} and {b.describe()} is not affine; use quad_form or sum_squares."
        )
    scale, rest = (a, b) if a.is_parametric else (b, a)
    if not scale.terms:
        return _scale(rest, scale.constant.reshape(scale.shape))
    if not rest.terms:
        return _scale(scale, rest.constant.reshape(rest.shape))
    scale, rest, shape, bags = _common(scale, rest)
    terms = [(leaf, coefficient.scaled_by(scale)) for leaf, coefficient in rest.terms]
    product = Expression(shape, np.zeros(rest.size), terms, bags)
    return _sum(product, _scale(scale, rest.constant.reshape(shape))) if rest.constant.any() else product


def _matrix_product(
    product: Callable[[Any, Shape], tuple[sp.csr_array, Shape] | None],
    matrix: Vector | sp.csr_array,
    expression: Expression,
) -> Expression:
    """Return matrix @ expression or expression @ matrix, with a vector or a matrix of numbers."""
    if matrix.ndim not in (1, 2):
        raise DeclarationError("`@` takes a vector or a matrix of numbers; write `*` for a number.")
    found = product(matrix, expression.shape)
    if found is None:
        shapes = [matrix.shape, expression.shape]
        left, right = shapes if product is product_from_left else reversed(shapes)
        raise DeclarationError(f"Shapes {left} and {right} do not match in `@` ({expression.describe()}).")
    return expression.mapped(*found)


def _expression_product(a: Expression, b: Expression) -> Expression:
    """Return a @ b, when one of the two is made of parameters only."""
    if not a.shape or not b.shape or a.shape[-1] != b.shape[-2:][0]:
        raise DeclarationError(
            f"Shapes {a.shape} and {b.shape} do not match in `@` ({a.describe()} and {b.describe()})."
        )
    if a.ndim == 1 and b.ndim == 1:
        return (a * b).sum()
    left = a if b.ndim == 1 else a[..., None]
    right = b if a.ndim == 1 or b.ndim == 1 else b[..., None, :, :]
    return (left * right).sum(axis=-1 if b.ndim == 1 else -2)
