"""A program: named variables and functions, one objective, named constraint blocks, and how new bags are scored.

    minimize    0.5 ||f||^2 + C w'slack
    subject to  y * (bag_max(f(bags)) + b) >= 1 - slack

Nothing is scalarised here, and no kernel is evaluated: a program of a hundred thousand rows is a few dozen objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from milopt.declaration.atoms.atom import Atom, Selecting
from milopt.declaration.bags import Bags
from milopt.declaration.constants import points as as_points
from milopt.declaration.constants import real
from milopt.declaration.expression import Constraint, Expression, Leaf, Shape, as_expression
from milopt.declaration.gram import orthonormal_basis
from milopt.declaration.kernels import Kernel, as_kernel
from milopt.declaration.leaves import (
    Evaluation,
    Function,
    Parameter,
    Points,
    Variable,
)
from milopt.declaration.recollection import recalled
from milopt.errors import DeclarationError, UnknownNameError
from milopt.inspection.views import Views

if TYPE_CHECKING:
    from milopt.declaration.semi_infinite import Family

BagScore = Callable[[Bags], Expression]
InstanceScore = Callable[[Points], Expression]
Handles: TypeAlias = Mapping[int, tuple[str, object]]
"""Names by the ids of what was declared under them; the objects are kept alive, so that no other gets their ids."""


class Program(Views):
    """An optimisation model over bags; see the module, and `Views` for every format in which it can be looked at."""

    def __init__(self, name: str = "program") -> None:
        if not isinstance(name, str) or not name:
            raise DeclarationError(f"A program's name must be a non-empty string, not {name!r}.")
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
        self.start: npt.NDArray[np.intp] | npt.NDArray[np.float64] | None = None
        """Where the witnesses start unless a scheme is given a start of its own (see `schemes.start`)."""
        self.remarks: tuple[str, ...] = ()

    # -- declaring ---------------------------------------------------------------------------------------------

    def variable(
        self,
        name: str,
        shape: int | Shape = (),
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        integer: bool = False,
        binary: bool = False,
    ) -> Variable:
        """A block of variables: a scalar without a shape, `shape` of them with one; `binary` ones are 0 or 1."""
        self._claim(name)
        if binary:
            if lower is not None or upper is not None or integer:
                raise DeclarationError(f"Variable {name!r} is binary: it takes no bounds, and need not be integer.")
            lower, upper, integer = 0, 1, True
        self.variables[name] = _variable(name, shape, lower, upper, integer)
        return self.variables[name]

    def function(
        self,
        name: str,
        kernel: Kernel | Callable[..., object],
        dictionary: npt.ArrayLike | Points | None = None,
        *,
        orthonormal: bool = False,
    ) -> Function:
        """A function of the kernel's space; with a dictionary Z, f = sum_z a_z K(z, .) and `f.coefficients` is a.

        `orthonormal`: the coefficients are those of an orthonormal basis of the span of the K(z, .) instead, which is
        better conditioned; K_ZZ is computed at once.
        """
        self._claim(name)
        checked = as_kernel(kernel)
        if dictionary is None:
            self.functions[name] = Function(name, checked, None, None)
            return self.functions[name]
        atoms = as_points(dictionary, f"The dictionary of {name!r}")
        if atoms.shape[0] == 0:
            raise DeclarationError(f"The dictionary of {name!r} must have at least one row.")
        basis: npt.NDArray[np.float64] | None = None
        if orthonormal:
            basis = recalled((orthonormal_basis, checked), (atoms,), lambda: orthonormal_basis(checked(atoms, atoms)))
        coefficients = self.variable(f"{name}.coefficients", atoms.shape[0] if basis is None else basis.shape[1])
        self.functions[name] = Function(name, checked, atoms, coefficients, basis)
        return self.functions[name]

    def parameter(self, name: str, shape: int | Shape = (), *, sign: int = 0) -> Parameter:
        """Numbers that change between solves; `sign` (+1 or -1) fixes on which side a bag_max times them stands."""
        self._claim(name)
        if not isinstance(sign, (int, np.integer)) or sign not in (-1, 0, 1):
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
        """Add a block of rows and return it; its multipliers are `result.duals[constraint]` or `result.duals[name]`."""
        chosen = name if name is not None else self._free_name()
        self._claim(chosen)
        self.constraints[chosen] = _named(self._checked(constraint, chosen), chosen)
        return self.constraints[chosen]

    def family(self, name: str, row: Callable[[npt.NDArray[np.float64]], Constraint]) -> Family:
        """A row for every column of an infinite family, none of them here yet (see `semi_infinite`)."""
        from milopt.declaration.semi_infinite import Family

        self._claim(name)
        if not callable(row):
            raise DeclarationError(f"The family {name!r} takes a function from a column to a constraint, not {row!r}.")
        return Family(self, name, row)

    def replace(self, name: str, constraint: Constraint) -> None:
        """Put another constraint in a block's place."""
        self.block(name)
        self.constraints[name] = _named(self._checked(constraint, name), name)

    def score(self, bags: BagScore, instances: InstanceScore | None = None) -> None:
        """How new bags, and single instances, are scored with the solution."""
        if not callable(bags) or not (instances is None or callable(instances)):
            raise DeclarationError("score takes functions of bags and of instances, such as lambda new: f(new) + b.")
        self.bag_score = bags
        self.instance_score = instances

    def remark(self, sentence: str) -> None:
        """Something that a person should know about how this program came about; reports tell it."""
        if not isinstance(sentence, str):
            raise DeclarationError(f"A remark is a sentence, not {sentence!r}.")
        self.remarks = (*self.remarks, sentence)

    @property
    def scores_instances(self) -> bool:
        """Whether single instances have a score of their own."""
        return self.instance_score is not None

    # -- asking ------------------------------------------------------------------------------------------------

    def minimized(self) -> Expression:
        """The objective as a minimisation; the same object while the objective stays."""
        if self._minimized is None:
            self._minimized = -self.objective if self.maximizes else self.objective
        return self._minimized

    def block(self, name: str) -> Constraint:
        """The constraint block of that name."""
        if not isinstance(name, str) or name not in self.constraints:
            known = ", ".join(self.constraints) or "none"
            raise UnknownNameError(f"Program {self.name!r} has no constraint block {name!r}; it has {known}.")
        return self.constraints[name]

    def maxima(self) -> list[Selecting]:
        """Every maximum that occurs, once each, in order."""
        found: dict[int, Selecting] = {}
        for expression in (self.objective, *(c.expression for c in self.constraints.values())):
            for leaf in leaves(expression):
                if isinstance(leaf, Selecting):
                    found.setdefault(id(leaf), leaf)
        return list(found.values())

    def handles(self) -> Handles:
        """Return what is declared now, by id: parts of results are found by it."""
        parts = (self.variables, self.functions, self.constraints)
        return {id(one): (name, one) for named in parts for name, one in named.items()}

    def owned(self, expression: Expression, where: str) -> Expression:
        """Return an expression; raise an error if a leaf of it belongs to another program.

        `where` is for the message.
        """
        for leaf in leaves(expression):
            if isinstance(leaf, Variable):
                known = self.variables.get(leaf.name) is leaf
            elif isinstance(leaf, Parameter):
                known = self.parameters.get(leaf.name) is leaf
            elif isinstance(leaf, (Evaluation, Atom)) and leaf.function is not None:
                known = self.functions.get(leaf.function.name) is leaf.function
            else:
                known = True
            if not known:
                raise DeclarationError(f"{leaf.describe()} in {where} belongs to another program.")
        return expression

    # -- keeping order -----------------------------------------------------------------------------------------

    def _objective(self, objective: Expression | float, maximizes: bool) -> None:
        expression = as_expression(objective)
        if expression.shape:
            raise DeclarationError(f"The objective must be a scalar, not of shape {expression.shape}; sum it.")
        self.objective, self.maximizes = self.owned(expression, "the objective"), maximizes
        self._minimized = None

    def _claim(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise DeclarationError(f"A name must be a non-empty string, not {name!r}.")
        taken = (self.variables, self.functions, self.parameters, self.constraints)
        if any(name in names for names in taken):
            raise DeclarationError(f"The name {name!r} is taken in program {self.name!r}.")

    def _free_name(self) -> str:
        number = len(self.constraints)
        while f"rows{number}" in self.constraints:
            number += 1
        return f"rows{number}"

    def _checked(self, constraint: Constraint, name: str) -> Constraint:
        """Return a constraint in expressions of this program; raise an error if it is not one."""
        if not isinstance(constraint, Constraint):
            raise DeclarationError(
                f"Constraint {name!r} must be a comparison of expressions such as x >= 0, "
                f"not {type(constraint).__name__}."
            )
        expression = self.owned(constraint.expression, f"constraint {name!r}")
        if expression is constraint.expression:
            return constraint
        return Constraint(expression, constraint.equality, constraint.compared)


def leaves(expression: Expression) -> list[Leaf]:
    """Every leaf of an expression, those inside its atoms and parameter products too."""
    found: list[Leaf] = []
    for leaf, coefficient in expression.terms:
        found.append(leaf)
        if isinstance(leaf, Atom) and leaf.function is None:
            found.extend(leaves(leaf.argument))
        for product in coefficient.products:
            found.extend(leaves(product.scale))
    return found


def _variable(
    name: str, shape: int | Shape, lower: npt.ArrayLike | None, upper: npt.ArrayLike | None, integer: bool
) -> Variable:
    dimensions = _shape(shape, name)
    if not isinstance(integer, (bool, np.bool_)):
        raise DeclarationError(f"integer of variable {name!r} is True or False, not {integer!r}.")
    low, high = checked_bounds(name, dimensions, lower, upper)
    return Variable(name, dimensions, low, high, bool(integer))


def checked_bounds(
    name: str, shape: Shape, lower: npt.ArrayLike | None, upper: npt.ArrayLike | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the bounds of a variable, one number per entry; raise an error if they leave no number."""
    low = _bounds(lower, -np.inf, shape, f"lower bound of {name!r}")
    high = _bounds(upper, np.inf, shape, f"upper bound of {name!r}")
    if (low > high).any():
        entry = int(np.flatnonzero(low > high)[0])
        raise DeclarationError(f"Variable {name!r} has lower > upper at entry {entry}.")
    return low, high


def _named(constraint: Constraint, name: str) -> Constraint:
    """Return the constraint with the name of its block; a copy if it is a block already."""
    if constraint.name is not None:
        constraint = Constraint(constraint.expression, constraint.equality, constraint.compared)
    constraint.name = name
    return constraint


def _shape(shape: int | Shape, name: str) -> Shape:
    given: object = shape
    dimensions = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 0 for n in dimensions)
    if len(dimensions) > 1 or not whole:
        raise DeclarationError(f"{name!r} must be a scalar () or a vector (n,), not of shape {given!r}.")
    return tuple(int(n) for n in dimensions)


def _bounds(bound: npt.ArrayLike | None, missing: float, shape: Shape, what: str) -> npt.NDArray[np.float64]:
    size = shape[0] if shape else 1
    if bound is None:
        return np.full(size, missing)
    numbers = real(bound, f"The {what}")
    if numbers.ndim > 1 or numbers.size not in (1, size):
        raise DeclarationError(f"The {what} has shape {numbers.shape}; the variable has shape {shape}.")
    if np.isnan(numbers).any():
        raise DeclarationError(f"The {what} is NaN.")
    if (numbers == -missing).any():
        entry = int(np.flatnonzero(np.atleast_1d(numbers) == -missing)[0])
        raise DeclarationError(
            f"The {what} is {-missing:g} at entry {entry}, which leaves no number: give a finite number, or "
            f"{missing:g} for no bound."
        )
    return np.array(np.broadcast_to(numbers, (size,)))
