"""A program: named variables and functions, one objective, named constraint blocks, and how new bags are scored.

    minimize    0.5 ||f||^2 + C w'slack
    subject to  y * (bag_max(f(bags)) + b) >= 1 - slack

Nothing is scalarised here, and no kernel is evaluated: a program of a hundred thousand rows is a few dozen objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from milopt.arrays import Points
from milopt.declaration.atoms.atom import Atom, Selecting
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.gram import orthonormal_basis
from milopt.declaration.kernels.kernel import Kernel, as_kernel
from milopt.declaration.kernels.recollection import recalled
from milopt.declaration.programs.constant_rows import with_true_constants
from milopt.declaration.programs.constants import points as as_points
from milopt.declaration.programs.expression import Constraint, Expression, Leaf, Operand, Shape, as_expression
from milopt.declaration.programs.leaves import Evaluation, Function, Parameter, Variable
from milopt.declaration.programs.new_variable import as_shape, new_variable
from milopt.declaration.programs.problem import Problem
from milopt.declaration.programs.views import Views
from milopt.errors import DeclarationError, UnknownNameError

if TYPE_CHECKING:
    from milopt.declaration.programs.semi_infinite import Family
    from milopt.outcome.result import Result

BagScore = Callable[[Bags], Expression]
InstanceScore = Callable[[Points], Expression]
Handles: TypeAlias = Mapping[int, tuple[str, object]]
"""Names by the ids of what was declared under them; the objects are kept alive, so that no other gets their ids."""


class Program(Views, Problem):
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
        self.labels: dict[str, tuple[str, ...]] = {}
        """Names of the entries of variable and constraint blocks, for programs that were read from a file."""

    # -- declaring ---------------------------------------------------------------------------------------------

    def variable(
        self,
        name: str,
        shape: int | Shape = (),
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        integer: npt.ArrayLike = False,
        binary: npt.ArrayLike = False,
        semicontinuous: bool = False,
    ) -> Variable:
        """Declare a block of variables.

        Parameters
        ----------
        name : str
            The name, by which a result has the values.
        shape : int or tuple of int, default=()
            The shape: () for a scalar, n or (n,) for a vector, (m, n) for a matrix.
        lower, upper : array-like, optional
            Bounds, which are broadcast to the shape; -inf and inf stand for none.
        integer, binary : bool or array of bool, default=False
            Which entries must be integer, or 0 or 1; arrays are broadcast to the shape.
        semicontinuous : bool, default=False
            Whether each variable may also be 0, outside its bounds: x = 0 or lower <= x <= upper, both of them finite.
            `x.active` is the binary variable that is 1 where x is between its bounds, and the rows are the block
            "x.range".

        Returns
        -------
        Variable
            The variables, as an expression.
        """
        self._claim(name)
        if semicontinuous:
            return self._semicontinuous(name, shape, lower, upper, integer, binary)
        self.variables[name] = new_variable(name, shape, lower, upper, integer, binary)
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
        """Numbers that change between solves, of any shape.

        `sign` (+1 or -1) fixes on which side a bag_max times them stands.
        """
        self._claim(name)
        if not isinstance(sign, (int, np.integer)) or sign not in (-1, 0, 1):
            raise DeclarationError(f"The sign of parameter {name!r} is -1, 0 or +1, not {sign!r}.")
        self.parameters[name] = Parameter(name, as_shape(shape, name), sign)
        return self.parameters[name]

    def minimize(self, objective: Expression | float) -> None:
        """Declare the objective, to be made small."""
        self._objective(objective, maximizes=False)

    def maximize(self, objective: Expression | float) -> None:
        """Declare the objective, to be made large."""
        self._objective(objective, maximizes=True)

    @overload
    def subject_to(self, constraint: Constraint, name: str | None = None) -> Constraint: ...

    @overload
    def subject_to(self, constraint: Sequence[Constraint], name: None = None) -> list[Constraint]: ...

    def subject_to(
        self, constraint: Constraint | Sequence[Constraint], name: str | None = None
    ) -> Constraint | list[Constraint]:
        """Add a block of rows and return it; its multipliers are `result.duals[constraint]` or `result.duals[name]`.

        Of a list of constraints, each is a block without a name of its own, and the list is returned.
        """
        if isinstance(constraint, (list, tuple)):
            if name is not None:
                raise DeclarationError(f"The name {name!r} is for one constraint, not for {len(constraint)} of them.")
            return [self.subject_to(one) for one in constraint]
        chosen, own = self._new_block(constraint, name)
        self.constraints[chosen] = named_block(with_true_constants(own, chosen), chosen)
        return self.constraints[chosen]

    def keep(self, constraint: Constraint, name: str | None = None) -> Constraint:
        """Add a block of rows as `subject_to` does, even if a row without variables does not hold.

        A program that is read from a file, or is part of another one, is then infeasible instead of an error.
        """
        chosen, own = self._new_block(constraint, name)
        self.constraints[chosen] = named_block(own, chosen)
        return self.constraints[chosen]

    def between(self, lower: Operand, expression: Operand, upper: Operand, name: str | None = None) -> Constraint:
        """Add the rows lower <= expression <= upper as one block and return it.

        Its multipliers are positive for the lower side and negative for the upper side, as reduced costs are. Infinite
        sides are absent.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program()
        >>> x = program.variable("x", 2)
        >>> program.between(1, x.sum(), 3, name="total")
        1 <= sum(x) <= 3
        """
        from milopt.declaration.programs.interval import interval

        return self.subject_to(interval(lower, expression, upper), name)

    def implies(self, condition: Expression, constraint: Constraint, name: str | None = None) -> Constraint:
        """Add rows that must hold where a condition is 1, and return them.

        The rows are e >= m (1 - condition), with m the smallest value that e has within the bounds of its variables:
        the tighter the bounds, the better.

        Parameters
        ----------
        condition : Expression
            A binary variable b, entries of it, or 1 - b. One condition per row, or one for all.
        constraint : Constraint
            The rows, such as x <= 3. Their variables have finite bounds.
        name : str, optional
            The name of the block.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program()
        >>> x, b = program.variable("x", lower=0, upper=10), program.variable("b", binary=True)
        >>> program.implies(b, x <= 3, name="small")
        b implies x <= 3
        """
        from milopt.declaration.programs.implication import implied

        chosen, own = self._new_block(constraint, name)
        return self.subject_to(implied(condition, own), chosen)

    def family(self, name: str, row: Callable[[npt.NDArray[np.float64]], Constraint]) -> Family:
        """A row for every column of an infinite family, none of them here yet (see `semi_infinite`)."""
        from milopt.declaration.programs.semi_infinite import Family

        self._claim(name)
        if not callable(row):
            raise DeclarationError(f"The family {name!r} takes a function from a column to a constraint, not {row!r}.")
        return Family(self, name, row)

    def replace(self, name: str, constraint: Constraint) -> None:
        """Put another constraint in a block's place."""
        self.block(name)
        self.constraints[name] = named_block(with_true_constants(self._checked(constraint, name), name), name)

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

    # -- asking ------------------------------------------------------------------------------------------------

    @property
    def core(self) -> Program:
        """The program itself."""
        return self

    @property
    def parts(self) -> dict[str, Program]:
        """One part, the program itself."""
        return {"program": self}

    @property
    def scores_bags(self) -> bool:
        """Whether bags have a score."""
        return self.bag_score is not None

    @property
    def scores_instances(self) -> bool:
        """Whether single instances have a score of their own."""
        return self.instance_score is not None

    def bag_scores(self, result: Result, bags: Bags) -> npt.NDArray[np.float64]:
        """Return the declared score of each bag at the point of a result."""
        if self.bag_score is None:
            raise DeclarationError(f"Program {self.name!r} declares no score; call program.score(...).")
        return result.value(self.bag_score(bags))

    def instance_scores(self, result: Result, points: Points) -> npt.NDArray[np.float64]:
        """Return the declared score of each instance at the point of a result."""
        if self.instance_score is None:
            raise DeclarationError(f"Program {self.name!r} declares no instance score.")
        return result.value(self.instance_score(points))

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

    def _semicontinuous(
        self,
        name: str,
        shape: int | Shape,
        lower: npt.ArrayLike | None,
        upper: npt.ArrayLike | None,
        integer: npt.ArrayLike,
        binary: npt.ArrayLike,
    ) -> Variable:
        """Declare x with lower b <= x <= upper b and b binary."""
        bounded = new_variable(name, shape, lower, upper, integer)
        low, high = (ends.reshape(bounded.shape) for ends in (bounded.lower, bounded.upper))
        if np.any(binary) or not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise DeclarationError(
                f"Variable {name!r} is semicontinuous: give finite bounds lower and upper, between which it lies if it "
                "is not 0, and not binary=True."
            )
        self._claim(f"{name}.active")
        self._claim(f"{name}.range")
        x = new_variable(name, shape, np.minimum(low, 0.0), np.maximum(high, 0.0), integer)
        self.variables[name] = x
        x.active = self.variable(f"{name}.active", shape, binary=True)
        self.between(low * x.active, x, high * x.active, name=f"{name}.range")
        return x

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

    def _new_block(self, constraint: object, name: str | None) -> tuple[str, Constraint]:
        """Return the name of a block that may be added, and its constraint in expressions of this program."""
        chosen = name if name is not None else self._free_name()
        self._claim(chosen)
        return chosen, self._checked(constraint, chosen)

    def _checked(self, constraint: object, name: str) -> Constraint:
        """Return a constraint in expressions of this program; raise an error if it is not one."""
        if not isinstance(constraint, Constraint):
            raise DeclarationError(
                f"Constraint {name!r} must be a comparison of expressions such as x >= 0, "
                f"not {type(constraint).__name__}."
            )
        expression = self.owned(constraint.expression, f"constraint {name!r}")
        if expression is constraint.expression:
            return constraint
        return Constraint(expression, constraint.equality, constraint.compared, constraint.layout, constraint.shape)


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


def named_block(constraint: Constraint, name: str) -> Constraint:
    """Return the constraint with the name of its block; a copy if it is a block already."""
    if constraint.name is not None:
        constraint = Constraint(
            constraint.expression, constraint.equality, constraint.compared, constraint.layout, constraint.shape
        )
    constraint.name = name
    return constraint
