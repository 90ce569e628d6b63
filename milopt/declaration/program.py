"""A program: named variables and functions, one objective, named constraint blocks, and how new bags are scored.

    minimize    0.5 ||f||^2 + C w'slack
    subject to  y * (bag_max(f(bags)) + b) >= 1 - slack

Nothing is scalarised here, and no kernel is evaluated: a program of a hundred thousand rows is a few dozen objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.declaration.bags import Bags
from milopt.declaration.expression import Constraint, Expression, Leaf, Shape, as_expression
from milopt.declaration.kernels import Kernel, as_kernel
from milopt.declaration.leaves import BagMax, Function, InnerAtom, Parameter, Points, Variable
from milopt.errors import DeclarationError, UnknownNameError
from milopt.inspection.views import Views

BagScore = Callable[[Bags], Expression]
InstanceScore = Callable[[Points], Expression]


class Program(Views):
    """An optimisation model over bags; see the module, and `Views` for every format in which it can be looked at."""

    def __init__(self, name: str = "program") -> None:
        self.name = name
        self.variables: dict[str, Variable] = {}
        self.functions: dict[str, Function] = {}
        self.parameters: dict[str, Parameter] = {}
        self.constraints: dict[str, Constraint] = {}
        self.objective: Expression = as_expression(0.0)
        self.maximizes = False
        self._minimized: Expression | None = None
        self.bag_score: BagScore | None = None
        self.instance_score: InstanceScore | None = None

    # -- declaring ---------------------------------------------------------------------------------------------

    def variable(
        self,
        name: str,
        shape: int | Shape = (),
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        integer: bool = False,
    ) -> Variable:
        """A block of variables: a scalar without a shape, `shape` of them with one."""
        self._claim(name)
        dimensions = _shape(shape, name)
        low = _bounds(lower, -np.inf, dimensions, f"lower bound of {name!r}")
        high = _bounds(upper, np.inf, dimensions, f"upper bound of {name!r}")
        if (low > high).any():
            entry = int(np.flatnonzero(low > high)[0])
            raise DeclarationError(f"Variable {name!r} has lower > upper at entry {entry}.")
        self.variables[name] = Variable(name, dimensions, low, high, integer)
        return self.variables[name]

    def function(
        self, name: str, kernel: Kernel | Callable[..., object], dictionary: npt.ArrayLike | Points | None = None
    ) -> Function:
        """A function of the kernel's space; with a dictionary Z, f = sum_z a_z K(z, .) and `f.coefficients` is a."""
        self._claim(name)
        atoms: Points | None = None
        if dictionary is not None:
            atoms = sp.csr_array(dictionary) if sp.issparse(dictionary) else np.asarray(dictionary, dtype=float)
            if atoms.ndim != 2 or atoms.shape[0] == 0:
                raise DeclarationError(f"The dictionary of {name!r} must be a 2-D array with at least one row.")
        coefficients = None if atoms is None else self.variable(f"{name}.coefficients", atoms.shape[0])
        self.functions[name] = Function(name, as_kernel(kernel), atoms, coefficients)
        return self.functions[name]

    def parameter(self, name: str, shape: int | Shape = (), *, sign: int = 0) -> Parameter:
        """Numbers that change between solves; `sign` (+1 or -1) fixes on which side a bag_max times them stands."""
        self._claim(name)
        if sign not in (-1, 0, 1):
            raise DeclarationError(f"The sign of parameter {name!r} is -1, 0 or +1, not {sign!r}.")
        self.parameters[name] = Parameter(name, _shape(shape, name), sign)
        return self.parameters[name]

    def minimize(self, objective: Expression | float) -> None:
        """Declare the objective, to be made small."""
        self._objective(objective, maximizes=False)

    def maximize(self, objective: Expression | float) -> None:
        """Declare the objective, to be made large."""
        self._objective(objective, maximizes=True)

    def subject_to(self, constraint: Constraint, name: str | None = None) -> Constraint:
        """Add a block of rows; its name is the key of its multipliers in the result."""
        if not isinstance(constraint, Constraint):
            raise DeclarationError(
                f"subject_to takes a comparison of expressions such as x >= 0, not {type(constraint).__name__}."
            )
        chosen = name if name is not None else f"rows{len(self.constraints)}"
        self._claim(chosen)
        self._own(constraint.expression, f"constraint {chosen!r}")
        self.constraints[chosen] = constraint
        return constraint

    def replace(self, name: str, constraint: Constraint) -> None:
        """Put another constraint in a block's place."""
        self.block(name)
        self._own(constraint.expression, f"constraint {name!r}")
        self.constraints[name] = constraint

    def extend(
        self,
        name: str,
        count: int,
        rows: Mapping[str, npt.ArrayLike | sp.sparray],
        cost: npt.ArrayLike = 0.0,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
    ) -> Variable:
        """Add a variable block to the objective, with its cost, and to constraint blocks, each with its matrix."""
        blocks = {block: self.block(block) for block in rows}
        variable = self.variable(name, count, lower=lower, upper=upper)
        weights = np.broadcast_to(np.asarray(cost, dtype=float), (count,))
        self._objective(self.objective + weights @ variable, self.maximizes)
        for block, constraint in blocks.items():
            entered = constraint.expression + (rows[block] @ variable)
            self.constraints[block] = Constraint(entered, constraint.equality)
        return variable

    def score(self, bags: BagScore, instances: InstanceScore | None = None) -> None:
        """How new bags, and single instances, are scored with the solution."""
        self.bag_score = bags
        self.instance_score = instances

    # -- asking ------------------------------------------------------------------------------------------------

    def minimized(self) -> Expression:
        """The objective as a minimisation; the same object while the objective stays."""
        if self._minimized is None:
            self._minimized = -self.objective if self.maximizes else self.objective
        return self._minimized

    def block(self, name: str) -> Constraint:
        """The constraint block of that name."""
        if name not in self.constraints:
            known = ", ".join(self.constraints) or "none"
            raise UnknownNameError(f"Program {self.name!r} has no constraint block {name!r}; it has {known}.")
        return self.constraints[name]

    def bag_maxima(self) -> list[BagMax]:
        """Every bag_max that occurs, once each, in order."""
        found: dict[int, BagMax] = {}
        for expression in (self.objective, *(c.expression for c in self.constraints.values())):
            for leaf in leaves(expression):
                if isinstance(leaf, BagMax):
                    found.setdefault(id(leaf), leaf)
        return list(found.values())

    # -- keeping order -----------------------------------------------------------------------------------------

    def _objective(self, objective: Expression | float, maximizes: bool) -> None:
        expression = as_expression(objective)
        if expression.shape:
            raise DeclarationError(f"The objective must be a scalar, not of shape {expression.shape}; sum it.")
        self._own(expression, "the objective")
        self.objective, self.maximizes = expression, maximizes
        self._minimized = None

    def _claim(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise DeclarationError(f"A name must be a non-empty string, not {name!r}.")
        taken = (self.variables, self.functions, self.parameters, self.constraints)
        if any(name in names for names in taken):
            raise DeclarationError(f"The name {name!r} is taken in program {self.name!r}.")

    def _own(self, expression: Expression, where: str) -> None:
        for leaf in leaves(expression):
            stranger = (
                (isinstance(leaf, Variable) and self.variables.get(leaf.name) is not leaf)
                or (isinstance(leaf, Parameter) and self.parameters.get(leaf.name) is not leaf)
                or (
                    getattr(leaf, "function", None) is not None
                    and self.functions.get(leaf.function.name) is not leaf.function  # type: ignore[attr-defined]
                )
            )
            if stranger:
                raise DeclarationError(f"{leaf.describe()} in {where} belongs to another program.")


def leaves(expression: Expression) -> list[Leaf]:
    """Every leaf of an expression, those inside its atoms and parameter products too."""
    found: list[Leaf] = []
    for leaf, coefficient in expression.terms:
        found.append(leaf)
        if isinstance(leaf, (BagMax, InnerAtom)):
            found.extend(leaves(leaf.inner))
        for product in coefficient.products:
            found.extend(leaves(product.scale))
    return found


def _shape(shape: int | Shape, name: str) -> Shape:
    dimensions = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if len(dimensions) > 1 or (dimensions and dimensions[0] < 0):
        raise DeclarationError(f"{name!r} must be a scalar () or a vector (n,), not of shape {dimensions}.")
    return dimensions


def _bounds(bound: npt.ArrayLike | None, missing: float, shape: Shape, what: str) -> npt.NDArray[np.float64]:
    size = shape[0] if shape else 1
    if bound is None:
        return np.full(size, missing)
    numbers = np.asarray(bound, dtype=float)
    if numbers.ndim > 1 or numbers.size not in (1, size):
        raise DeclarationError(f"The {what} has shape {numbers.shape}; the variable has shape {shape}.")
    if np.isnan(numbers).any():
        raise DeclarationError(f"The {what} is NaN.")
    return np.array(np.broadcast_to(numbers, (size,)))
