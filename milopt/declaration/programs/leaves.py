"""The leaves of expressions: variables, parameters, functions of a kernel's space and their evaluations.

Atoms, which are leaves too, have a package of their own (`milopt.declaration.atoms`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Points, Vector
from milopt.declaration.bags.bag_rows import bag_rows
from milopt.declaration.bags.bags import Bags, as_bags, owner
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.declaration.kernels.kernel import Kernel
from milopt.declaration.programs.constants import points as as_points
from milopt.declaration.programs.constants import real
from milopt.declaration.programs.expression import Expression, Leaf, Shape
from milopt.declaration.programs.linear_maps import entry_name
from milopt.errors import DeclarationError, ParameterError


class Variable(Leaf):
    """A named block of decision variables, lower <= x <= upper, some of them perhaps integer."""

    def __init__(
        self, name: str, shape: Shape, lower: Vector, upper: Vector, integer: bool | npt.NDArray[np.bool_]
    ) -> None:
        super().__init__(shape)
        self.name = name
        self.lower = lower
        self.upper = upper
        self.integer_entries = np.full(self.size, integer) if isinstance(integer, bool) else integer
        """Per entry, whether it must be integer; all of these are vectors, row after row."""
        self.active: Variable | None = None
        """The binary variable of a semicontinuous one: 1 where it is between its bounds, 0 where it is 0."""

    @property
    def integer(self) -> bool:
        """Whether an entry must be integer."""
        return bool(self.integer_entries.any())

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
        """The current numbers at the declared shape, None before the first."""
        return None if self._value is None else self._value.reshape(self.shape)

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
        self._value = numbers.flatten()

    def restore(self, value: Vector | None) -> None:
        """Set a value that the parameter had before."""
        self._value = None if value is None else value.ravel()

    def current(self) -> Vector:
        """The current numbers as a vector, or an error that says to give them."""
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

    def with_coefficients(self, coefficients: Variable) -> Function:
        """Return the same function with another variable for its coefficients."""
        return Function(self.name, self.kernel, self.dictionary, coefficients, self.basis)

    def expanded(self, coefficients: Vector) -> Vector:
        """a over the dictionary, from what the variable holds."""
        return coefficients if self.basis is None else np.asarray(self.basis @ coefficients)

    def norm_squared(self) -> Expression:
        """Return ||f||^2 in the kernel's space."""
        from milopt.declaration.atoms.sum_squares import norm_squared

        return norm_squared(self)

    def norm(self) -> Expression:
        """Return ||f|| in the kernel's space."""
        from milopt.declaration.atoms.norm import function_norm

        return function_norm(self)


class Evaluation(Leaf):
    """(f(x_1), ..., f(x_n)) at the rows of `points`."""

    def __init__(self, function: Function, points: Points, bags: Bags | None) -> None:
        super().__init__((points.shape[0],), bags)
        self.function = function
        self.points = points

    def describe(self) -> str:
        """The function's name with its points."""
        return f"{self.function.name}({self.size} points)"


class FeatureWeight(ABC):
    """A weight a point that follows from what a function has there, so that one pass over the points makes both."""

    size: int

    @abstractmethod
    def of(self, rows: slice, features: Vector) -> Vector:
        """The weights of some points, from what the coefficients of the function are multiplied with there."""

    @abstractmethod
    def __array__(self, dtype: object = None, copy: bool | None = None) -> Vector:
        """All weights, by a pass of their own."""


def _first_wrong(signed: Vector) -> str:
    return entry_name(int(np.flatnonzero(signed < 0)[0]), signed.shape)
