"""The leaves of expressions: variables, parameters, functions of a kernel's space and their evaluations, atoms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.declaration.bag_kernel import BagKernel
from milopt.declaration.bag_rows import bag_rows
from milopt.declaration.bags import Bags, as_bags, owner
from milopt.declaration.constants import points as as_points
from milopt.declaration.constants import real
from milopt.declaration.expression import Expression, Leaf, Shape
from milopt.declaration.kernels import Kernel
from milopt.declaration.sparse import Vector
from milopt.errors import DeclarationError, ParameterError, UnsupportedError

Points: TypeAlias = npt.NDArray[np.float64] | sp.csr_array


class Variable(Leaf):
    """A named block of decision variables, lower <= x <= upper, perhaps integer."""

    def __init__(self, name: str, shape: Shape, lower: Vector, upper: Vector, integer: bool) -> None:
        super().__init__(shape)
        self.name = name
        self.lower = lower
        self.upper = upper
        self.integer = integer

    def describe(self) -> str:
        """Its name."""
        return self.name


class Parameter(Leaf):
    """A named block of numbers that may change between solves; its sign is fixed (+1, -1) or unknown (0)."""

    is_parameter = True

    def __init__(self, name: str, shape: Shape, sign: int) -> None:
        super().__init__(shape)
        self.name = name
        self.sign = sign
        self._value: Vector | None = None

    @property
    def value(self) -> Vector | None:
        """The current numbers, None before the first."""
        return self._value

    @value.setter
    def value(self, value: npt.ArrayLike) -> None:
        try:
            numbers = real(value, f"The value of parameter {self.name!r}")
        except DeclarationError as error:
            raise ParameterError(str(error)) from None
        if numbers.shape != self.shape:
            raise ParameterError(f"Parameter {self.name!r} has shape {self.shape}, not {numbers.shape}.")
        if not np.isfinite(numbers).all():
            raise ParameterError(f"Parameter {self.name!r} got a NaN or infinite value.")
        if self.sign and (numbers * self.sign < 0).any():
            side = "non-negative" if self.sign > 0 else "non-positive"
            raise ParameterError(
                f"Parameter {self.name!r} was declared {side}; entry {_first_wrong(numbers * self.sign)} is not."
            )
        self._value = np.atleast_1d(numbers).copy()

    def restore(self, value: Vector | None) -> None:
        """Set a value that the parameter had before."""
        self._value = value

    def current(self) -> Vector:
        """The current numbers, or an error that says to give them."""
        if self._value is None:
            raise ParameterError(
                f"Parameter {self.name!r} has no value yet; set {self.name}.value or session.set_parameter."
            )
        return self._value

    def declared_sign(self) -> int:
        """+1, -1, or 0 when unknown."""
        return self.sign

    def describe(self) -> str:
        """Its name."""
        return self.name


class Function:
    """f in a kernel's space; or, with a dictionary Z, f = sum_z a_z K(z, .) with coefficients `a` as a variable.

    With a `basis` R the variable is c instead, and a = R c: with R'K_ZZ R = I, ||f|| = ||c||.

    `f(points)` evaluates it at bags, at an array of points, or at a matrix that shares rows with either; nothing is
    computed until a solver needs the kernel.
    """

    def __init__(
        self,
        name: str,
        kernel: Kernel,
        dictionary: Points | None,
        coefficients: Variable | None,
        basis: npt.NDArray[np.float64] | None = None,
    ) -> None:
        self.name = name
        self.kernel = kernel
        self.dictionary = dictionary
        self.basis = basis
        self._coefficients = coefficients

    def __call__(self, points: Bags | npt.ArrayLike | sp.csr_array) -> Evaluation:
        """f at bags (all their instances, or the bags themselves for a kernel of bags) or at the rows of an array."""
        if isinstance(self.kernel, BagKernel):
            return Evaluation(self, bag_rows(as_bags(points)), None)
        if isinstance(points, Bags):
            return Evaluation(self, points.instances, points)
        whose = owner(points)
        if whose is not None:
            return Evaluation(self, whose.instances, whose)
        return Evaluation(self, as_points(points, f"The array of points in {self.name}(...)"), None)

    @property
    def coefficients(self) -> Variable:
        """The coefficients over the dictionary."""
        if self._coefficients is None:
            raise DeclarationError(
                f"{self.name} has no dictionary; declare function({self.name!r}, kernel, dictionary=Z)."
            )
        return self._coefficients

    def expanded(self, coefficients: Vector) -> Vector:
        """a over the dictionary, from what the variable holds."""
        return coefficients if self.basis is None else np.asarray(self.basis @ coefficients)

    def norm_squared(self) -> FunctionNormSquared:
        """||f||^2 in the kernel's space."""
        return FunctionNormSquared(self)

    def norm(self) -> FunctionNorm:
        """||f|| in the kernel's space."""
        return FunctionNorm(self)


class Evaluation(Leaf):
    """(f(x_1), ..., f(x_n)) at the rows of `points`."""

    def __init__(self, function: Function, points: Points, bags: Bags | None) -> None:
        super().__init__((points.shape[0],), bags)
        self.function = function
        self.points = points

    def describe(self) -> str:
        """The function's name with its points."""
        return f"{self.function.name}({self.size} points)"


class Atom(Leaf, ABC):
    """A convex function of expressions; `word` is what it is called in messages."""

    word = "atom"

    def describe(self) -> str:
        """What it is, of what."""
        return f"{self.word}({self.argument()})"

    @abstractmethod
    def argument(self) -> str:
        """What it is of."""


def unknown_atom(leaf: Leaf, task: str) -> UnsupportedError:
    """Return the error for an atom for which a task is not defined."""
    return UnsupportedError(
        f"milopt cannot {task} {leaf.describe()}: the atom {type(leaf).__name__!r} is unknown to it."
    )


class BagMax(Atom):
    """(max_{x in B_i} e_x)_i: the one atom that is ours; on its other side it needs a witness a bag."""

    word = "bag_max"

    def __init__(self, inner: Expression, bags: Bags) -> None:
        super().__init__((len(bags),))
        self.inner = inner
        self.over = bags

    def argument(self) -> str:
        """The inner expression."""
        return self.inner.describe()


class InnerAtom(Atom):
    """A scalar convex function of one expression."""

    def __init__(self, inner: Expression) -> None:
        super().__init__(())
        self.inner = inner

    def argument(self) -> str:
        """The inner expression."""
        return self.inner.describe()


class Norm(InnerAtom):
    """||e||_2."""

    word = "norm"


class Norm1(InnerAtom):
    """||e||_1."""

    word = "norm1"


class FeatureWeight(ABC):
    """A weight a point that follows from what a function has there, so that one pass over the points makes both."""

    size: int

    @abstractmethod
    def of(self, rows: slice, features: Vector) -> Vector:
        """The weights of some points, from what the coefficients of the function are multiplied with there."""

    @abstractmethod
    def __array__(self, dtype: object = None, copy: bool | None = None) -> Vector:
        """All weights, by a pass of their own."""


class QuadForm(InnerAtom):
    """e'We, with W a symmetric matrix or, as a vector, a diagonal one; any sign."""

    word = "quad_form"

    def __init__(self, inner: Expression, weight: Vector | FeatureWeight) -> None:
        super().__init__(inner)
        self.given = weight

    @cached_property
    def weight(self) -> Vector:
        """W, or its diagonal."""
        return np.asarray(self.given, dtype=np.float64)

    @property
    def is_diagonal(self) -> bool:
        """Whether W is given by its diagonal."""
        return isinstance(self.given, FeatureWeight) or self.given.ndim == 1


class SumSquares(QuadForm):
    """||e||^2, which is e'We with W the identity."""

    word = "sum_squares"

    def __init__(self, inner: Expression) -> None:
        super().__init__(inner, np.ones(inner.size))


class FunctionAtom(Atom):
    """A scalar convex function of one function of a kernel's space."""

    def __init__(self, function: Function) -> None:
        super().__init__(())
        self.function = function

    def argument(self) -> str:
        """The function."""
        return self.function.name


class FunctionNorm(FunctionAtom):
    """||f||."""

    word = "norm"


class FunctionNormSquared(FunctionAtom):
    """||f||^2."""

    word = "norm_squared"


def _first_wrong(signed: Vector) -> int:
    return int(np.flatnonzero(np.atleast_1d(signed) < 0)[0])
