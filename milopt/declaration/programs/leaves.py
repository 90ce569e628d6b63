"""Leaves of expressions: variables, parameters, and functions in a kernel's space with their evaluations at points.

Atoms are leaves too; see `milopt.declaration.atoms`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Points, Vector
from milopt.declaration.bags.bag_rows import bag_rows
from milopt.declaration.bags.bags import Bags, as_bags, find_owner
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.declaration.kernels.kernel import Kernel
from milopt.declaration.programs.constants import as_points, as_real_array
from milopt.declaration.programs.expression import Expression, Leaf, Shape
from milopt.declaration.programs.linear_maps import entry_name
from milopt.errors import DeclarationError, ParameterError


class Variable(Leaf):
    """Named block of decision variables, lower <= x <= upper; some entries may be integer."""

    def __init__(
        self, name: str, shape: Shape, lower: Vector, upper: Vector, integer: bool | npt.NDArray[np.bool_]
    ) -> None:
        super().__init__(shape)
        self.name = name
        self.lower = lower
        self.upper = upper
        self.integer_entries = np.full(self.size, integer) if isinstance(integer, bool) else integer
        """Mask of the entries that must be integer; like the bounds, a vector over all entries, row after row."""
        self.active: Variable | None = None
        """Binary variable of a semicontinuous x: 1 if x is between its bounds, 0 if x is 0; None if x is not one."""

    @property
    def integer(self) -> bool:
        """Whether any entry must be integer."""
        return bool(self.integer_entries.any())

    def describe(self) -> str:
        """Return the name."""
        return self.name


class Parameter(Leaf):
    """Named block of numbers that may change between solves; its sign is fixed (+1 or -1) or unknown (0)."""

    is_parameter = True

    def __init__(self, name: str, shape: Shape, sign: int) -> None:
        super().__init__(shape)
        self.name = name
        self.sign = sign
        self._value: Vector | None = None

    @property
    def value(self) -> Vector | None:
        """Current numbers with the declared shape; None before the first assignment."""
        return None if self._value is None else self._value.reshape(self.shape)

    @value.setter
    def value(self, value: npt.ArrayLike) -> None:
        try:
            numbers = as_real_array(value, f"The value of parameter {self.name!r}")
        except DeclarationError as error:
            raise ParameterError(str(error)) from None
        if numbers.shape != self.shape:
            raise ParameterError(f"Parameter {self.name!r} has shape {self.shape}, not {numbers.shape}.")
        if not np.isfinite(numbers).all():
            raise ParameterError(f"Parameter {self.name!r} got a NaN or infinite value.")
        if self.sign and (numbers * self.sign < 0).any():
            side = "non-negative" if self.sign > 0 else "non-positive"
            raise ParameterError(
                f"Parameter {self.name!r} is declared {side}, but entry {_first_negative_entry(numbers * self.sign)} "
                "is not."
            )
        self._value = numbers.flatten()

    def restore(self, value: Vector | None) -> None:
        """Set a value that the parameter had before, without checks; None removes the value."""
        self._value = None if value is None else value.ravel()

    def current_value(self) -> Vector:
        """Return the current numbers as a vector; raise `ParameterError` if none have been assigned."""
        if self._value is None:
            raise ParameterError(
                f"Parameter {self.name!r} has no value yet; set {self.name}.value or session.set_parameter."
            )
        return self._value

    def declared_sign(self) -> int:
        """Return the declared sign, +1 or -1; 0 if the sign is unknown."""
        return self.sign

    def describe(self) -> str:
        """Return the name."""
        return self.name


class Function:
    """Function f in a kernel's space, or f = sum_z a_z K(z, .) over a dictionary Z.

    With a dictionary, the coefficients `a` are a variable.

    `f(points)` evaluates the function at bags, at an array of points, or at the array `bags.instances`. The kernel is
    not evaluated before a solver needs it.
    """

    def __init__(self, name: str, kernel: Kernel, dictionary: Points | None, coefficients: Variable | None) -> None:
        self.name = name
        self.kernel = kernel
        self.dictionary = dictionary
        self._coefficients = coefficients

    def __call__(self, points: Bags | npt.ArrayLike | sp.csr_array) -> FunctionEvaluation:
        """Return the values of f at points.

        Parameters
        ----------
        points : Bags or array-like of shape (n_points, n_features)
            Bags (f is evaluated at all instances, or at the bags themselves for a kernel of bags), or points as rows.

        Returns
        -------
        FunctionEvaluation
            Expression with one entry per point.
        """
        if isinstance(self.kernel, BagKernel):
            return FunctionEvaluation(self, bag_rows(as_bags(points)), None)
        if isinstance(points, Bags):
            return FunctionEvaluation(self, as_bags(points).instances, points)
        bags = find_owner(points)
        if bags is not None:
            return FunctionEvaluation(self, bags.instances, bags)
        return FunctionEvaluation(self, as_points(points, f"The array of points in {self.name}(...)"), None)

    @property
    def operand_remedy(self) -> str:
        """How to write an expression with this function, for the error if the function itself is used as one."""
        name = self.name
        over = f", and norm1({name}.coefficients) for a 1-norm" if self._coefficients is not None else ""
        hint = "" if over else f"; a 1-norm needs coefficients: declare function({name!r}, kernel, dictionary=Z)"
        return f"write {name}(bags) for its values, {name}.norm() for its norm{over}{hint}"

    @property
    def coefficients(self) -> Variable:
        """Variable of the coefficients over the dictionary; without a dictionary, an error is raised."""
        if self._coefficients is None:
            raise DeclarationError(
                f"{self.name} has no dictionary; declare function({self.name!r}, kernel, dictionary=Z)."
            )
        return self._coefficients

    def with_coefficients(self, coefficients: Variable) -> Function:
        """Return the same function with another variable for its coefficients."""
        return Function(self.name, self.kernel, self.dictionary, coefficients)

    def norm_squared(self) -> Expression:
        """Return ||f||^2 in the kernel's space."""
        from milopt.declaration.atoms.sum_squares import norm_squared

        return norm_squared(self)

    def norm(self) -> Expression:
        """Return ||f|| in the kernel's space."""
        from milopt.declaration.atoms.norm import function_norm

        return function_norm(self)


class FunctionEvaluation(Leaf):
    """Values (f(x_1), ..., f(x_n)) of a function at the rows of `points`."""

    def __init__(self, function: Function, points: Points, bags: Bags | None) -> None:
        super().__init__((points.shape[0],), bags)
        self.function = function
        self.points = points

    def describe(self) -> str:
        """Return the name of the function with the number of points."""
        return f"{self.function.name}({self.size} points)"


def _first_negative_entry(signed: Vector) -> str:
    """Return the index of the first negative entry, for messages."""
    return entry_name(int(np.flatnonzero(signed < 0)[0]), signed.shape)
