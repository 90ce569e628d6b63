"""Expressions that are affine in their leaves:  e = sum_leaf M_leaf(p) leaf + constant,  with parameters p.

A leaf is a variable, a function evaluated at points, a parameter, or an atom (`bag_max`, `norm`, `sum_squares`, ...).
An expression has a shape like a numpy array, and its entries are stored as one vector, row after row. So a block of ten
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
from milopt.declaration.programs.constants import as_matrix, as_numbers, as_side_numbers
from milopt.declaration.programs.expression_text import format_expression
from milopt.declaration.programs.linear_maps import product_from_left, product_from_right
from milopt.declaration.programs.shape_mixin import Axis, Order, ShapeMixin
from milopt.declaration.programs.sparse import matvec, selection_matrix
from milopt.errors import DeclarationError

if TYPE_CHECKING:
    from milopt.declaration.bags.bags import Bags
    from milopt.declaration.programs.joined_text import JoinedText
    from milopt.declaration.programs.row_layout import RowLayout

Shape: TypeAlias = tuple[int, ...]
"""Shape of an expression: () for a scalar, (n,) for a vector, (m, n) for a matrix."""
Term: TypeAlias = "tuple[Leaf, Coefficient]"
"""Leaf with its coefficient."""
Operand: TypeAlias = "Expression | float | npt.ArrayLike"
"""Expression or numbers."""
WrittenComparison: TypeAlias = "tuple[Expression | str, ...]"
"""Comparison as the user wrote it: expressions, and the operators between them as strings."""
MAX_DESCRIPTION_LENGTH = 75
"""Length in characters above which expressions are shortened in messages and summaries."""
IMPLIES = "implies"
"""Operator between a condition and its constraint in a `WrittenComparison`."""


class Expression(ShapeMixin):
    """Immutable affine expression sum_leaf M_leaf(p) leaf + constant, with coefficients M_leaf and parameters p."""

    __hash__ = object.__hash__

    shape: Shape
    constant: Vector
    """Constant of each entry."""
    terms: tuple[Term, ...]
    """Leaves with their coefficients."""
    bags: Bags | None
    """Bags, if the expression has one entry per instance of these bags, for `bag_max` and similar atoms; else None."""
    joined: JoinedText | None = None
    """How the expression was joined from others, such as by `vstack`, if it was; only its text depends on it."""
    constant_is_negated: bool
    """Whether the constant was subtracted, so that the user wrote its negative; only printed formulas depend on it."""

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

    def apply_matrix(self, matrix: sp.csr_array, shape: Shape) -> Expression:
        """Return the expression of the given shape whose vector of entries is matrix @ entries."""
        terms = [(leaf, coefficient.premultiply(matrix)) for leaf, coefficient in self.terms]
        return Expression(shape, matvec(matrix, self.constant), terms, None, self.constant_is_negated)

    def ravel(self, order: Order = "C") -> Expression:
        """Return the entries as a vector, in the given order as in numpy; a vector is returned unchanged."""
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
                "`*` is entry by entry; for a sparse matrix write `matrix @ expression`, or convert it with csr_array."
            )
        return _scale(self, as_numbers(other))

    __rmul__ = __mul__

    def __truediv__(self, other: float | npt.ArrayLike) -> Expression:
        if isinstance(other, Expression):
            _raise_divisor_error(other)
        divisor = as_numbers(other)
        if not divisor.all():
            raise DeclarationError("Division of an expression by zero.")
        return _scale(self, 1.0 / divisor)

    def __rtruediv__(self, other: object) -> NoReturn:
        _raise_divisor_error(self)

    def __floordiv__(self, other: object) -> NoReturn:
        raise DeclarationError(
            f"Integer quotients and remainders of {self.describe()} are neither convex nor concave: declare a "
            "variable with integer=True for the quotient, and constraints that define it."
        )

    __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __floordiv__

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Expression:
        """Return the mean of all entries, or the means along an axis; the arguments are those of `sum`.

        Raise `DeclarationError` for one value per instance of bags, because a mean over all instances of all bags is
        hardly ever meant.
        """
        if self.bags is not None and axis is None:
            raise DeclarationError(
                f"e.mean() of e = {self.describe()} would be over the instances of all bags: write bag_mean(e) for one "
                f"mean per bag, or e.sum() / {self.size} for the mean over all instances."
            )
        return super().mean(axis, keepdims)

    def max(self, axis: int | None = None) -> Expression:
        """Return the largest entry, or the largest entries along an axis; the result is convex."""
        from milopt.declaration.atoms.maximum import largest_entry

        return largest_entry(self, axis)

    def min(self, axis: int | None = None) -> Expression:
        """Return the smallest entry, or the smallest entries along an axis; the result is concave."""
        from milopt.declaration.atoms.maximum import smallest_entry

        return smallest_entry(self, axis)

    def __abs__(self) -> Expression:
        from milopt.declaration.atoms.absolute import absolute

        return absolute(self)

    def __pow__(self, exponent: object) -> Expression:
        from milopt.declaration.atoms.powers import power

        return power(self, exponent)

    def __rpow__(self, base: object) -> NoReturn:
        raise DeclarationError(
            f"The power of {base!r} to an expression is not supported; write exp(np.log({base!r}) * e)."
        )

    def dot(self, other: Operand) -> Expression:
        """Return `self @ other`, or `self * other` if one of them is a scalar, as in numpy."""
        other_ndim = np.ndim(other)  # type: ignore[arg-type]  # expressions and sparse matrices have the attribute
        return self @ other if self.ndim and other_ndim else self * other

    def __matmul__(self, other: Operand) -> Expression:
        if isinstance(other, Expression):
            return _expression_product(self, other)
        return _matrix_product(product_from_right, as_matrix(other), self)

    def __rmatmul__(self, other: npt.ArrayLike | sp.sparray) -> Expression:
        return _matrix_product(product_from_left, as_matrix(other), self)

    # -- constraints -------------------------------------------------------------------------------------------

    def __ge__(self, other: Operand) -> Constraint:
        right = as_side(other)
        return _make_constraint(right, self - right, equality=False, compared=(self, ">=", right))

    def __le__(self, other: Operand) -> Constraint:
        right = as_side(other)
        return _make_constraint(right, right - self, equality=False, compared=(self, "<=", right))

    def __gt__(self, other: Operand) -> Constraint:
        raise DeclarationError(
            "Strict inequalities are not supported: write >= or <= instead, and maximum(a, b) for max(a, b)."
        )

    __lt__ = __gt__

    def __eq__(self, other: object) -> Constraint:  # type: ignore[override]  # a block of equations, as in cvxpy
        right = as_side(other)  # type: ignore[arg-type]  # checked there
        return _make_constraint(right, self - right, equality=True, compared=(self, "==", right))

    # -- numpy and built-in functions --------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> object:
        """Return the result of an operator such as `array + self`, or the atom that corresponds to a numpy ufunc."""
        reflected = _REFLECTED_OPERATORS.get(ufunc)
        # `array += self` passes the array as `out`; Python then assigns the result to the name.
        if keywords.get("out", (None,))[0] is inputs[0]:
            keywords.pop("out")
        if reflected is not None and method == "__call__" and inputs[1] is self and not keywords:
            return reflected(self, inputs[0])
        from milopt.declaration.atoms.numpy_functions import apply_ufunc

        return apply_ufunc(ufunc, method, inputs, keywords)

    def __array_function__(self, function: Callable[..., object], types: object, inputs: Any, keywords: Any) -> object:
        """Return the expression that corresponds to a numpy function, or raise an error that suggests an atom."""
        from milopt.declaration.atoms.numpy_functions import apply_function

        return apply_function(function, inputs, keywords)

    # This method is hidden from type checkers. With it, they would consider an expression an `ArrayLike`, and
    # `array @ self` an array.
    if not TYPE_CHECKING:

        def __array__(self, dtype: object = None, copy: bool | None = None) -> npt.NDArray[np.object_]:
            """Raise an error instead of returning an array of objects, unless scipy calls it for `matrix @ self`."""
            from milopt.declaration.atoms.numpy_functions import as_array_for_scipy

            return as_array_for_scipy(self, calling_module=str(sys._getframe(1).f_globals.get("__name__")))

    def __iter__(self) -> NoReturn:
        raise DeclarationError(
            f"{self.describe()} cannot be iterated over: write e.sum() for the sum of its entries, e.max() for their "
            "maximum, and e[i] for an entry."
        )

    def __float__(self) -> NoReturn:
        raise DeclarationError(
            f"{self.describe()} has no value before a solve; use the atoms of milopt for functions of expressions, "
            "such as exp and absolute."
        )

    # -- values ------------------------------------------------------------------------------------------------

    def evaluate(self, leaf_value: Callable[[Leaf], Vector]) -> Vector:
        """Return the value of each entry as a vector; `leaf_value(leaf)` is the value of a leaf."""
        total = self.constant.copy()
        for leaf, coefficient in self.terms:
            total += matvec(coefficient.value(leaf_value), np.ravel(leaf_value(leaf)))
        return total

    @cached_property
    def has_atoms(self) -> bool:
        """Whether the expression contains an atom."""
        return any(leaf.is_atom for leaf, _ in self.terms)

    @property
    def is_parametric(self) -> bool:
        """Whether the expression contains only parameters and constants."""
        return all(leaf.is_parameter for leaf, _ in self.terms)

    def parameter_value(self) -> Vector:
        """Return the current value of each entry of an expression in parameters only."""
        return self.evaluate(lambda leaf: leaf.current_value())

    def parameter_sign(self) -> Vector:
        """Return the sign of each entry of an expression in parameters only; NaN if the sign is not determined."""
        low, high = np.minimum(self.constant, 0), np.maximum(self.constant, 0)
        for leaf, coefficient in self.terms:
            matrix = coefficient.value()
            sign = leaf.declared_sign()
            plus, minus = _row_sums(np.maximum, matrix), _row_sums(np.minimum, matrix)
            high = high + (plus if sign >= 0 else minus) + (minus if sign == 0 else 0)
            low = low - (minus if sign >= 0 else plus) - (plus if sign == 0 else 0)
        return np.where((low < 0) & (high > 0), np.nan, np.sign(high + low))

    def describe(self) -> str:
        """Return the expression as short text, such as "2*x - norm(y)", for messages and summaries."""
        return format_expression(self, length=MAX_DESCRIPTION_LENGTH)

    def __repr__(self) -> str:
        return format_expression(self) + (f"  (shape {self.shape})" if self.shape else "")


_REFLECTED_OPERATORS: Mapping[np.ufunc, Callable[[Expression, Any], object]] = {
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
"""Method of an expression to call for each operator whose left operand is an array."""


class Leaf(Expression):
    """Expression that consists of a single leaf, from which all other expressions are built."""

    is_parameter = False
    """Whether the leaf is a parameter."""
    is_atom = False
    """Whether the leaf is an atom."""

    def __init__(self, shape: Shape, bags: Bags | None = None) -> None:
        size = prod(shape)
        super().__init__(shape, np.zeros(size), ((self, Coefficient.identity(size)),), bags)

    def current_value(self) -> Vector:
        """Return the current value of a parameter; other leaves raise `DeclarationError`."""
        raise DeclarationError(f"{self.describe()} has no value before a solve.")

    def declared_sign(self) -> int:
        """Return the declared sign of a parameter (+1 or -1); 0 if no sign is declared."""
        return 0


class Constraint:
    """Block of rows `expression >= 0` or `expression == 0`, entry by entry.

    `layout` relates the rows to the declared rows if they differ: an infinite side has no row, and a declared row with
    two sides has two rows.
    """

    def __init__(
        self,
        expression: Expression,
        equality: bool,
        compared: WrittenComparison | None = None,
        layout: RowLayout | None = None,
        shape: Shape | None = None,
    ) -> None:
        own_shape = expression.shape if shape is None else shape
        self.shape = own_shape if layout is None else layout.shape
        """Declared shape, which is also the shape of slacks and multipliers."""
        self.expression = expression if len(expression.shape) < 2 else expression.ravel()
        """Scalar or vector with one entry per row."""
        self.equality = equality
        self.compared = compared
        """Comparison as the user wrote it, for printing only."""
        self.layout = layout
        self.name: str | None = None
        """Name of the block; None if the constraint does not belong to a program."""

    def multipliers(self, z: Vector) -> Vector:
        """Return the multipliers of the declared rows, in the declared shape, from the multipliers z of the rows."""
        return z.reshape(self.shape) if self.layout is None else self.layout.multipliers(z)

    def slacks(self, rows: Vector) -> Vector:
        """Return the slacks of the declared rows, in the declared shape, from the values of the rows."""
        return rows.reshape(self.shape) if self.layout is None else self.layout.slacks(rows)

    def __bool__(self) -> bool:
        raise DeclarationError(
            "A constraint has no truth value: write program.between(a, e, b) for a <= e <= b, and call subject_to for "
            "each constraint."
        )

    @property
    def as_written(self) -> WrittenComparison:
        """Comparison as the user wrote it; if unknown, the comparison of the rows with 0."""
        return self.compared or (self.expression, "==" if self.equality else ">=", as_expression(0.0))

    @property
    def is_conditional(self) -> bool:
        """Whether the constraint was declared by `Program.implies`."""
        return any(isinstance(part, str) and part == IMPLIES for part in self.compared or ())

    def describe(self) -> str:
        """Return the comparison as text."""
        return " ".join(part if isinstance(part, str) else format_expression(part) for part in self.as_written)

    def __repr__(self) -> str:
        size = self.expression.size if self.layout is None else self.layout.size
        return self.describe() + (f"  ({size} rows)" if size > 1 else "")


def as_expression(value: Operand) -> Expression:
    """Return an expression unchanged, and numbers as a constant expression."""
    return value if isinstance(value, Expression) else _constant_expression(as_numbers(value))


def as_side(value: Operand) -> Expression:
    """Return one side of a comparison as an expression; numbers may be infinite."""
    return value if isinstance(value, Expression) else _constant_expression(as_side_numbers(value))


def _make_constraint(
    right: Expression, difference: Expression, equality: bool, compared: WrittenComparison
) -> Constraint:
    """Return the constraint `difference >= 0` or `== 0`, without rows in which `right`, the right side, is infinite."""
    if right.terms or np.isfinite(right.constant).all():
        return Constraint(difference, equality, compared)
    from milopt.declaration.programs.absent_rows import drop_absent_rows

    return drop_absent_rows(difference, equality, compared)


def _constant_expression(numbers: Vector) -> Expression:
    """Return numbers as a constant expression."""
    return Expression(numbers.shape, numbers.flatten(), ())


def _row_sums(side: np.ufunc, matrix: sp.csr_array) -> Vector:
    """Return row sums of the absolute value of the positive (np.maximum) or negative (np.minimum) part of a matrix."""
    part = sp.csr_array((abs(side(matrix.data, 0)), matrix.indices, matrix.indptr), shape=matrix.shape)
    return np.asarray(part @ np.ones(matrix.shape[1]))


def select_entries(expression: Expression, entries: npt.NDArray[np.integer[Any]]) -> Expression:
    """Return the entries with the given indices as a vector."""
    return expression.apply_matrix(selection_matrix(entries, expression.size), (entries.size,))


def broadcast(expression: Expression, shape: Shape) -> Expression:
    """Return an expression broadcast to a shape, as in numpy."""
    if expression.shape == shape:
        return expression
    if expression.shape:
        return expression.broadcast_to(shape)
    return expression.apply_matrix(selection_matrix(np.zeros(prod(shape), dtype=np.int32), 1), shape)


def common_shape(a: Shape, b: Shape) -> Shape | None:
    """Return the shape to which numpy broadcasts two shapes; None if they do not match."""
    if a == b or not b:
        return a
    try:
        return np.broadcast_shapes(a, b) if a else b
    except ValueError:
        return None


def _broadcast_operands(a: Expression, b: Expression) -> tuple[Expression, Expression, Shape, Bags | None]:
    """Return (a, b, shape, bags): the operands broadcast to their common shape, this shape, and the bags of the result.

    `DeclarationError` is raised if the shapes do not match, or if the operands belong to different bags.
    """
    shape = common_shape(a.shape, b.shape)
    if shape is None:
        texts = " and ".join(e.describe() if e.terms else "a constant" for e in (a, b))
        raise DeclarationError(f"Shapes {a.shape} and {b.shape} do not match ({texts}).")
    if not shape:
        return a, b, shape, None
    a, b = broadcast(a, shape), broadcast(b, shape)
    if a.bags is not None and b.bags is not None and a.bags is not b.bags:
        raise DeclarationError("The two operands are evaluated at the instances of different bags.")
    return a, b, shape, a.bags if a.bags is not None else b.bags


def _sum(a: Expression, b: Expression) -> Expression:
    """Return a + b."""
    a, b, shape, bags = _broadcast_operands(a, b)
    terms: dict[int, Term] = {id(leaf): (leaf, coefficient) for leaf, coefficient in a.terms}
    for leaf, coefficient in b.terms:
        known = terms.get(id(leaf))
        terms[id(leaf)] = (leaf, known[1].add(coefficient) if known else coefficient)
    is_negated = (a.constant_is_negated or not a.constant.any()) and (b.constant_is_negated or not b.constant.any())
    return Expression(shape, a.constant + b.constant, terms.values(), bags, is_negated)


def _scale(expression: Expression, factor: Vector) -> Expression:
    """Return the product of an expression and an array of numbers, entry by entry, with broadcasting."""
    if factor.ndim == 0:
        factors, negated = np.full(expression.size, factor), bool(factor < 0)
        terms = [(leaf, coefficient.scale_rows(factors, negated)) for leaf, coefficient in expression.terms]
        is_negated = expression.constant_is_negated != negated
        product = Expression(expression.shape, expression.constant * factor, terms, expression.bags, is_negated)
        if expression.joined is not None:
            product.joined = expression.joined.scale(float(factor))
        return product
    shape = common_shape(factor.shape, expression.shape)
    if shape is None:
        raise DeclarationError(f"Shapes {factor.shape} and {expression.shape} do not match ({expression.describe()}).")
    wide = broadcast(expression, shape)
    factors = (factor if factor.shape == shape else np.broadcast_to(factor, shape)).ravel()
    scaled = [(leaf, coefficient.scale_rows(factors)) for leaf, coefficient in wide.terms]
    return Expression(shape, wide.constant * factors, scaled, wide.bags, wide.constant_is_negated)


def _raise_divisor_error(divisor: Expression) -> NoReturn:
    """Raise `DeclarationError` with alternatives to the division by an expression."""
    raise DeclarationError(
        f"{divisor.describe()} is a divisor, and division by an expression is not supported: write exp(-e) for "
        "1 / exp(e), inv_pos(e) for 1 / e with e > 0, or multiply by a number, or by a parameter whose value is "
        "the reciprocal."
    )


def _product(a: Expression, b: Expression) -> Expression:
    """Return a * b entry by entry; raise `DeclarationError` unless a or b contains only parameters and constants."""
    if not a.is_parametric and not b.is_parametric:
        raise DeclarationError(
            f"The product of {a.describe()} and {b.describe()} is not affine; use quad_form or sum_squares."
        )
    scale, rest = (a, b) if a.is_parametric else (b, a)
    if not scale.terms:
        return _scale(rest, scale.constant.reshape(scale.shape))
    if not rest.terms:
        return _scale(scale, rest.constant.reshape(rest.shape))
    scale, rest, shape, bags = _broadcast_operands(scale, rest)
    terms = [(leaf, coefficient.scale_by_parameters(scale)) for leaf, coefficient in rest.terms]
    product = Expression(shape, np.zeros(rest.size), terms, bags)
    return _sum(product, _scale(scale, rest.constant.reshape(shape))) if rest.constant.any() else product


def _matrix_product(
    product: Callable[[Any, Shape], tuple[sp.csr_array, Shape] | None],
    matrix: Vector | sp.csr_array,
    expression: Expression,
) -> Expression:
    """Return the product of a constant vector or matrix and an expression.

    `product` is `product_from_left` for matrix @ expression, and `product_from_right` for expression @ matrix.
    """
    if matrix.ndim not in (1, 2):
        raise DeclarationError("`@` requires a vector or a matrix; write `*` for a number.")
    matrix_and_shape = product(matrix, expression.shape)
    if matrix_and_shape is None:
        shapes = [matrix.shape, expression.shape]
        left, right = shapes if product is product_from_left else reversed(shapes)
        raise DeclarationError(f"Shapes {left} and {right} do not match in `@` ({expression.describe()}).")
    return expression.apply_matrix(*matrix_and_shape)


def _expression_product(a: Expression, b: Expression) -> Expression:
    """Return a @ b; raise `DeclarationError` unless a or b contains only parameters and constants."""
    if not a.shape or not b.shape or a.shape[-1] != b.shape[-2:][0]:
        raise DeclarationError(
            f"Shapes {a.shape} and {b.shape} do not match in `@` ({a.describe()} and {b.describe()})."
        )
    if a.ndim == 1 and b.ndim == 1:
        return (a * b).sum()
    left = a if b.ndim == 1 else a[..., None]
    right = b if a.ndim == 1 or b.ndim == 1 else b[..., None, :, :]
    return (left * right).sum(axis=-1 if b.ndim == 1 else -2)
