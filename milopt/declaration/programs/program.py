"""Program: named variables and functions, an objective, named constraint blocks, and the score of new bags.

    minimize    0.5 ||f||^2 + C w'slack
    subject to  y * (bag_max(f(bags)) + b) >= 1 - slack

Declaring a program does not expand it into scalars and does not evaluate a kernel: a program with a hundred thousand
rows consists of a few dozen objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from milopt.arrays import Points
from milopt.declaration.atoms.atom import Atom, SelectionAtom
from milopt.declaration.bags.bag_rows import bag_rows
from milopt.declaration.bags.bags import Bags, as_bags
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.declaration.kernels.kernel import Kernel, as_kernel
from milopt.declaration.programs.constant_rows import check_constant_rows
from milopt.declaration.programs.constants import as_points
from milopt.declaration.programs.expression import Constraint, Expression, Leaf, Operand, Shape, as_expression
from milopt.declaration.programs.leaves import Function, FunctionEvaluation, Parameter, Variable
from milopt.declaration.programs.named_constant import NamedConstant
from milopt.declaration.programs.new_variable import as_shape, new_variable
from milopt.declaration.programs.problem import Problem
from milopt.declaration.programs.views import ProgramViews
from milopt.errors import DeclarationError, UnknownNameError

if TYPE_CHECKING:
    from milopt.declaration.programs.semi_infinite import RowFamily
    from milopt.outcome.result import Result

BagScore = Callable[[Bags], Expression]
"""Function from bags to the expression of their scores."""
InstanceScore = Callable[[Points], Expression]
"""Function from instances to the expression of their scores."""
NamesById: TypeAlias = Mapping[int, tuple[str, object]]
"""Names of declared objects by the id of the object.

The objects are stored too, so that they are not garbage-collected and their ids are not reused.
"""


class Program(ProgramViews, Problem):
    """Optimisation program over bags.

    Declare variables and functions, an objective and constraints, then call `milopt.solve`. The program can be exported
    to other formats by `to_latex`, `to_lp`, `to_mps`, `to_cbf`, `to_cvxpy` and `to_pyomo`.

    Parameters
    ----------
    name : str, default="program"
        Name of the program in summaries and messages.

    Attributes
    ----------
    variables : dict of str to Variable
        Variables by name.
    functions : dict of str to Function
        Functions by name.
    parameters : dict of str to Parameter
        Parameters by name.
    constraints : dict of str to Constraint
        Constraint blocks by name.
    objective : Expression
        The objective.
    maximizes : bool
        Whether the objective is maximised.
    core : Program
        The program itself. For a semi-infinite program, the master.
    parts : dict of str to Program
        The program itself, as "program". For a semi-infinite program, the master and the programs of its oracles.
    scores_bags, scores_instances : bool
        Whether the program declares a score of bags, and one of single instances.

    Raises
    ------
    DeclarationError
        If `name` is not a non-empty string.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("example")
    >>> x = program.variable("x", 2, lower=0)
    >>> program.minimize(x @ [1.0, 2.0])
    >>> program.subject_to(x.sum() >= 1, name="total")
    sum(x) >= 1
    >>> program
    Program('example': 1 variable block, 1 constraint block)
    >>> result = milopt.solve(program, "highs")
    >>> round(result.objective, 6)
    1.0
    """

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
        """Start of a scheme that chooses one instance per bag (see `schemes.start`); None starts from bag means."""
        self.labels: dict[str, tuple[str, ...]] = {}
        """Names of the entries of variable and constraint blocks, for programs that were read from a file."""
        self.named_constants: dict[str, NamedConstant] = {}
        """Constants that `to_latex` prints by a symbol and its definition, by symbol."""

    # -- declarations ------------------------------------------------------------------------------------------

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
            Name, by which a result gives the values.
        shape : int or tuple of int, default=()
            Shape: () for a scalar, n or (n,) for a vector, (m, n) for a matrix.
        lower, upper : array-like, optional
            Bounds, which are broadcast to the shape; -inf and inf mean no bound.
        integer, binary : bool or array of bool, default=False
            Entries that must be integer, or 0 or 1; arrays are broadcast to the shape.
        semicontinuous : bool, default=False
            Whether each variable may also be 0, outside its bounds: x = 0 or lower <= x <= upper. Both bounds must be
            finite. `x.active` is the binary variable that is 1 if x is between its bounds, and the rows are the block
            "x.range".

        Returns
        -------
        Variable
            The variables, as an expression.

        Raises
        ------
        DeclarationError
            If the name is used already, or shape, bounds or integrality are invalid, such as a lower bound above the
            upper one.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program()
        >>> x = program.variable("x", 3, lower=0, upper=[1.0, 2.0, 3.0])
        >>> x.shape, x.upper.tolist()
        ((3,), [1.0, 2.0, 3.0])
        """
        self._check_new_name(name)
        if semicontinuous:
            return self._declare_semicontinuous(name, shape, lower, upper, integer, binary)
        self.variables[name] = new_variable(name, shape, lower, upper, integer, binary)
        return self.variables[name]

    def function(
        self,
        name: str,
        kernel: Kernel | Callable[..., object],
        dictionary: npt.ArrayLike | Points | Bags | None = None,
    ) -> Function:
        """Declare a function in the space of a kernel.

        Parameters
        ----------
        name : str
            Name of the function.
        kernel : Kernel or callable
            Kernel, or a function of two arrays that returns the Gram matrix.
        dictionary : array-like of shape (n_atoms, n_features) or Bags, optional
            Points Z with f = sum_z a_z K(z, .), or bags for a kernel of bags; `f.coefficients` is the variable a.
            Without it, f is any function of the space.

        Returns
        -------
        Function
            The function; `f(bags)` is an expression with one value per instance.

        Raises
        ------
        DeclarationError
            If the name is used already, the dictionary is empty, or `kernel` is neither a kernel nor a function.
        BagsError
            If the dictionary contains values that are not finite numbers.

        Examples
        --------
        >>> import milopt
        >>> bags = milopt.as_bags([[[0.0], [1.0]], [[2.0]]])
        >>> program = milopt.Program()
        >>> f = program.function("f", milopt.RBF(s=1.0))
        >>> f(bags).shape, milopt.bag_max(f(bags)).shape
        ((3,), (2,))
        """
        self._check_new_name(name)
        own_kernel = as_kernel(kernel)
        if dictionary is None:
            self.functions[name] = Function(name, own_kernel, None, None)
            return self.functions[name]
        if isinstance(own_kernel, BagKernel):
            atoms = bag_rows(as_bags(dictionary))
        else:
            atoms = as_points(dictionary, f"The dictionary of {name!r}")
        if atoms.shape[0] == 0:
            raise DeclarationError(f"The dictionary of {name!r} must have at least one row.")
        coefficients = self.variable(f"{name}.coefficients", atoms.shape[0])
        self.functions[name] = Function(name, own_kernel, atoms, coefficients)
        return self.functions[name]

    def parameter(self, name: str, shape: int | Shape = (), *, sign: int = 0) -> Parameter:
        """Declare numbers that may change between solves.

        Parameters
        ----------
        name : str
            Name of the parameter.
        shape : int or tuple of int, default=()
            Shape of the parameter.
        sign : {-1, 0, 1}, default=0
            Sign of all entries; 0 if it is unknown. The sign is needed if the parameter multiplies an atom, because it
            decides whether the product is convex.

        Returns
        -------
        Parameter
            The parameter, as an expression; assign its `value` before a solve.

        Raises
        ------
        DeclarationError
            If the name is used already, or shape or sign are invalid.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program()
        >>> x, limit = program.variable("x"), program.parameter("limit")
        >>> program.maximize(x)
        >>> _ = program.subject_to(x <= limit)
        >>> limit.value = 2.0
        >>> round(milopt.solve(program).objective, 6)
        2.0
        """
        self._check_new_name(name)
        if not isinstance(sign, (int, np.integer)) or sign not in (-1, 0, 1):
            raise DeclarationError(f"The sign of parameter {name!r} is -1, 0 or +1, not {sign!r}.")
        self.parameters[name] = Parameter(name, as_shape(shape, name), sign)
        return self.parameters[name]

    def minimize(self, objective: Expression | float) -> None:
        """Set the objective, to be minimised.

        Parameters
        ----------
        objective : Expression or float
            Scalar expression.

        Raises
        ------
        DeclarationError
            If the objective is not a scalar, or contains variables of another program.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program()
        >>> x = program.variable("x", 2)
        >>> program.minimize(milopt.sum_squares(x - [1.0, 2.0]))
        >>> milopt.solve(program).values[x].round(6).tolist()
        [1.0, 2.0]
        """
        self._set_objective(objective, maximizes=False)

    def maximize(self, objective: Expression | float) -> None:
        """Set the objective, to be maximised.

        Parameters
        ----------
        objective : Expression or float
            Scalar expression.

        Raises
        ------
        DeclarationError
            If the objective is not a scalar, or contains variables of another program.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program()
        >>> x = program.variable("x", upper=3)
        >>> program.maximize(2 * x)
        >>> round(milopt.solve(program).objective, 6)
        6.0
        """
        self._set_objective(objective, maximizes=True)

    @overload
    def subject_to(self, constraint: Constraint, name: str | None = None) -> Constraint: ...

    @overload
    def subject_to(self, constraint: Sequence[Constraint], name: None = None) -> list[Constraint]: ...

    def subject_to(
        self, constraint: Constraint | Sequence[Constraint], name: str | None = None
    ) -> Constraint | list[Constraint]:
        """Add a block of constraints.

        Parameters
        ----------
        constraint : Constraint or list of Constraint
            Comparison of expressions, such as x <= 3, or several of them. Each constraint of a list becomes its own
            block.
        name : str, optional
            Name of the block; only for a single constraint.

        Returns
        -------
        Constraint or list of Constraint
            The block; its multipliers are `result.duals[constraint]` or `result.duals[name]`.

        Raises
        ------
        DeclarationError
            If `constraint` is not a comparison of expressions of this program, a row without variables does not hold,
            the name is used already, or a name is given for a list.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program()
        >>> x = program.variable("x", 2, lower=0)
        >>> program.minimize(x[0] + 2 * x[1])
        >>> total = program.subject_to(x.sum() >= 4, name="total")
        >>> result = milopt.solve(program)
        >>> round(float(result.duals[total]), 6) == round(float(result.duals["total"]), 6) == 1.0
        True
        """
        if isinstance(constraint, (list, tuple)):
            if name is not None:
                raise DeclarationError(
                    f"A name can only be given for one constraint, not for a list of {len(constraint)}: {name!r}."
                )
            return [self.subject_to(element) for element in constraint]
        chosen, own = self._check_new_block(constraint, name)
        self.constraints[chosen] = assign_block_name(check_constant_rows(own, chosen), chosen)
        return self.constraints[chosen]

    def add_unchecked(self, constraint: Constraint, name: str | None = None) -> Constraint:
        """Add a block of constraints like `subject_to`, even if a row without variables does not hold.

        So a program that is read from a file, or that is part of another program, can be infeasible without an error
        when it is declared.

        Parameters
        ----------
        constraint : Constraint
            Comparison of expressions.
        name : str, optional
            Name of the block.

        Returns
        -------
        Constraint
            The block.

        Raises
        ------
        DeclarationError
            If `constraint` is not a comparison of expressions of this program, or the name is used already.
        """
        chosen, own = self._check_new_block(constraint, name)
        self.constraints[chosen] = assign_block_name(own, chosen)
        return self.constraints[chosen]

    def between(self, lower: Operand, expression: Operand, upper: Operand, name: str | None = None) -> Constraint:
        """Add the constraints lower <= expression <= upper as one block.

        Parameters
        ----------
        lower : Expression, float or array-like
            Lower side; infinite numbers mean no bound.
        expression : Expression
            The bounded expression.
        upper : Expression, float or array-like
            Upper side; infinite numbers mean no bound.
        name : str, optional
            Name of the block.

        Returns
        -------
        Constraint
            The block. Its multipliers are positive for the lower side and negative for the upper side, like reduced
            costs.

        Raises
        ------
        DeclarationError
            If a lower side is above the upper one, an expression belongs to another program, or the name is used
            already.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program()
        >>> x = program.variable("x", 2)
        >>> program.between(1, x.sum(), 3, name="total")
        1 <= sum(x) <= 3
        """
        from milopt.declaration.programs.interval import interval_constraint

        return self.subject_to(interval_constraint(lower, expression, upper), name)

    def implies(self, condition: Expression, constraint: Constraint, name: str | None = None) -> Constraint:
        """Add constraints that must hold if a condition is 1.

        The rows are e >= m (1 - condition), with m <= 0 a lower bound on e, computed from the bounds of its variables.
        Tighter bounds give a tighter relaxation.

        Parameters
        ----------
        condition : Expression
            A binary variable b, entries of it, or 1 - b: one condition per row, or one for all rows.
        constraint : Constraint
            The rows, such as x <= 3. Their variables must have finite bounds.
        name : str, optional
            Name of the block.

        Returns
        -------
        Constraint
            The block.

        Raises
        ------
        DeclarationError
            If the condition may have values other than 0 and 1, a variable in the rows has no finite bounds, the rows
            contain a parameter, or the name is used already.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program()
        >>> x, b = program.variable("x", lower=0, upper=10), program.variable("b", binary=True)
        >>> program.implies(b, x <= 3, name="small")
        b implies x <= 3
        """
        from milopt.declaration.programs.implication import conditional_constraint

        chosen, own = self._check_new_block(constraint, name)
        return self.subject_to(conditional_constraint(condition, own), chosen)

    def family(self, name: str, row: Callable[[npt.NDArray[np.float64]], Constraint]) -> RowFamily:
        """Declare an infinite family of rows, one for every column that an oracle may find; no row is added yet.

        Parameters
        ----------
        name : str
            Name of the family.
        row : callable
            Function from a column, a vector with one entry per bag, to a scalar constraint.

        Returns
        -------
        RowFamily
            The family, an argument of `SemiInfinite`.

        Raises
        ------
        DeclarationError
            If the name is used already, or `row` is not a function.
        """
        from milopt.declaration.programs.semi_infinite import RowFamily

        self._check_new_name(name)
        if not callable(row):
            raise DeclarationError(
                f"The family {name!r} requires a function from a column to a constraint, not {row!r}."
            )
        return RowFamily(self, name, row)

    def replace(self, name: str, constraint: Constraint) -> None:
        """Replace a constraint block.

        Parameters
        ----------
        name : str
            Name of the block.
        constraint : Constraint
            New constraint.

        Raises
        ------
        UnknownNameError
            If there is no block of this name.
        DeclarationError
            If `constraint` is not a comparison of expressions of this program, or a row without variables does not
            hold.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program()
        >>> x = program.variable("x")
        >>> program.minimize(x)
        >>> _ = program.subject_to(x >= 1, name="floor")
        >>> program.replace("floor", x >= 2)
        >>> round(milopt.solve(program).objective, 6)
        2.0
        """
        self.block(name)
        self.constraints[name] = assign_block_name(
            check_constant_rows(self._check_constraint(constraint, name), name), name
        )

    def score(self, bags: BagScore, instances: InstanceScore | None = None) -> None:
        """Declare how new bags, and single instances, are scored at the solution.

        Parameters
        ----------
        bags : callable
            Function from bags to an expression with one score per bag.
        instances : callable, optional
            Function from an array of instances to an expression with one score per instance.

        Raises
        ------
        DeclarationError
            If an argument is not a function.

        Examples
        --------
        >>> import milopt
        >>> bags = milopt.as_bags([[[0.0], [2.0]], [[-1.0]]])
        >>> program = milopt.Program()
        >>> w = program.variable("w")
        >>> program.minimize((w - 3) ** 2)
        >>> program.score(lambda new: milopt.bag_max(w * new.instances[:, 0], new))
        >>> milopt.solve(program).score(bags).round(4).tolist()
        [6.0, -3.0]
        """
        if not callable(bags) or not (instances is None or callable(instances)):
            raise DeclarationError("score requires functions of bags and of instances, such as lambda new: f(new) + b.")
        self.bag_score = bags
        self.instance_score = instances

    def remark(self, sentence: str) -> None:
        """Add a remark about the declaration of this program, which reports print.

        Parameters
        ----------
        sentence : str
            The remark.

        Raises
        ------
        DeclarationError
            If `sentence` is not a string.
        """
        if not isinstance(sentence, str):
            raise DeclarationError(f"A remark must be a string, not {sentence!r}.")
        self.remarks = (*self.remarks, sentence)

    def name_constant(self, symbol: str, values: npt.ArrayLike, meaning: str, kernel: Kernel | None = None) -> None:
        r"""Name an array of constants, so that `to_latex` prints its symbol, and its meaning below the program.

        Parameters
        ----------
        symbol : str
            LaTeX of the symbol without index, such as "M".
        values : array-like of shape (n,) or (m, n)
            The constants. A matrix is recognised also if its rows are multiplied by signs, such as labels.
        meaning : str
            LaTeX of entry i, or of entry (i, j) of a matrix.
        kernel : Kernel or None, default=None
            Kernel that the meaning calls K.

        Raises
        ------
        DeclarationError
            If the symbol or the meaning is not a text, or the array has neither one nor two dimensions.

        Examples
        --------
        >>> import numpy as np
        >>> import milopt
        >>> program = milopt.Program("cover")
        >>> x = program.variable("x", 3, lower=0)
        >>> A = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.2]])
        >>> program.name_constant("A", A, r"\text{share of } j \text{ in } i")
        >>> program.minimize(x.sum())
        >>> program.subject_to(A @ x >= 1, name="cover")
        [2 x 3] @ x >= 1  (2 rows)
        >>> "A_{ij} x_{j}" in program.to_latex()
        True
        """
        array = np.asarray(values)
        if not isinstance(symbol, str) or not isinstance(meaning, str) or array.ndim not in (1, 2):
            raise DeclarationError("name_constant needs two texts and an array of one or two dimensions.")
        self.named_constants[symbol] = NamedConstant(array, meaning, kernel)

    # -- queries -----------------------------------------------------------------------------------------------

    @property
    def core(self) -> Program:
        """The program itself."""
        return self

    @property
    def parts(self) -> dict[str, Program]:
        """Dictionary of the parts by name; a program has one part, itself."""
        return {"program": self}

    @property
    def scores_bags(self) -> bool:
        """Whether the program declares a score of bags."""
        return self.bag_score is not None

    @property
    def scores_instances(self) -> bool:
        """Whether the program declares a score of single instances."""
        return self.instance_score is not None

    def bag_scores(self, result: Result, bags: Bags) -> npt.NDArray[np.float64]:
        """Return the declared score of each bag at the solution of a result.

        Parameters
        ----------
        result : Result
            Result of solving this program.
        bags : Bags
            Bags to score.

        Returns
        -------
        ndarray of shape (n_bags,)
            Scores.

        Raises
        ------
        DeclarationError
            If the program does not declare a score of bags, or the score does not have one value per bag.
        """
        if self.bag_score is None:
            raise DeclarationError(f"Program {self.name!r} does not declare a score; call program.score(...).")
        scores = result.value(self.bag_score(bags))
        if scores.shape != (len(bags),):
            raise DeclarationError(
                f"The score of program {self.name!r} has shape {scores.shape} for {len(bags)} bags: return one score "
                "per bag, such as bag_max(f(new) + b) or bag_mean(f(new) + b)."
            )
        return scores

    def instance_scores(self, result: Result, points: Points) -> npt.NDArray[np.float64]:
        """Return the declared score of each instance at the solution of a result.

        Parameters
        ----------
        result : Result
            Result of solving this program.
        points : array or csr_array of shape (n_instances, n_features)
            Instances to score.

        Returns
        -------
        ndarray of shape (n_instances,)
            Scores.

        Raises
        ------
        DeclarationError
            If the program does not declare a score of instances.
        """
        if self.instance_score is None:
            raise DeclarationError(f"Program {self.name!r} does not declare a score of instances.")
        return result.value(self.instance_score(points))

    def minimized_objective(self) -> Expression:
        """Return the objective of the equivalent minimisation problem.

        Returns
        -------
        Expression
            The objective, negated if it is maximised; the same object until the objective changes.
        """
        if self._minimized is None:
            self._minimized = -self.objective if self.maximizes else self.objective
        return self._minimized

    def block(self, name: str) -> Constraint:
        """Return a constraint block.

        Parameters
        ----------
        name : str
            Name of the block.

        Returns
        -------
        Constraint
            The block.

        Raises
        ------
        UnknownNameError
            If there is no block of this name.
        """
        if not isinstance(name, str) or name not in self.constraints:
            known = ", ".join(self.constraints) or "none"
            raise UnknownNameError(f"Program {self.name!r} has no constraint block {name!r}; it has {known}.")
        return self.constraints[name]

    def maxima(self) -> list[SelectionAtom]:
        """Return all maxima (`bag_max`, `maximum`, `e.max()`) in the objective and the constraints, also inside atoms.

        Returns
        -------
        list of SelectionAtom
            Each maximum once, in order of occurrence.
        """
        maxima: dict[int, SelectionAtom] = {}
        for expression in (self.objective, *(c.expression for c in self.constraints.values())):
            for leaf in leaves(expression):
                if isinstance(leaf, SelectionAtom):
                    maxima.setdefault(id(leaf), leaf)
        return list(maxima.values())

    def names_by_id(self) -> NamesById:
        """Return the names of all variables, functions and constraint blocks by the id of the object.

        Results use this mapping to look up values by an object.

        Returns
        -------
        mapping of int to tuple of (str, object)
            Name and object by id.
        """
        parts = (self.variables, self.functions, self.constraints)
        return {id(part): (name, part) for named in parts for name, part in named.items()}

    def as_own_expression(self, expression: Expression, where: str) -> Expression:
        """Return an expression after checking that all its leaves belong to this program.

        Parameters
        ----------
        expression : Expression
            The expression.
        where : str
            Place of the expression, for the message.

        Returns
        -------
        Expression
            The expression.

        Raises
        ------
        DeclarationError
            If a leaf belongs to another program.
        """
        for leaf in leaves(expression):
            if isinstance(leaf, Variable):
                known = self.variables.get(leaf.name) is leaf
            elif isinstance(leaf, Parameter):
                known = self.parameters.get(leaf.name) is leaf
            elif isinstance(leaf, (FunctionEvaluation, Atom)) and leaf.function is not None:
                known = self.functions.get(leaf.function.name) is leaf.function
            else:
                known = True
            if not known:
                raise DeclarationError(f"{leaf.describe()} in {where} belongs to another program.")
        return expression

    # -- checks ------------------------------------------------------------------------------------------------

    def _declare_semicontinuous(
        self,
        name: str,
        shape: int | Shape,
        lower: npt.ArrayLike | None,
        upper: npt.ArrayLike | None,
        integer: npt.ArrayLike,
        binary: npt.ArrayLike,
    ) -> Variable:
        """Declare a variable x and a binary variable b (`x.active`), with the constraint lower b <= x <= upper b."""
        bounded = new_variable(name, shape, lower, upper, integer)
        low, high = (ends.reshape(bounded.shape) for ends in (bounded.lower, bounded.upper))
        if np.any(binary) or not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise DeclarationError(
                f"Variable {name!r} is semicontinuous: give finite bounds lower and upper, and do not give binary=True."
            )
        self._check_new_name(f"{name}.active")
        self._check_new_name(f"{name}.range")
        x = new_variable(name, shape, np.minimum(low, 0.0), np.maximum(high, 0.0), integer)
        self.variables[name] = x
        x.active = self.variable(f"{name}.active", shape, binary=True)
        self.between(low * x.active, x, high * x.active, name=f"{name}.range")
        return x

    def _set_objective(self, objective: Expression | float, maximizes: bool) -> None:
        """Set the objective; raise `DeclarationError` if it is not a scalar expression of this program."""
        expression = as_expression(objective)
        if expression.shape:
            raise DeclarationError(f"The objective must be a scalar, not of shape {expression.shape}; sum it.")
        self.objective, self.maximizes = self.as_own_expression(expression, "the objective"), maximizes
        self._minimized = None

    def _check_new_name(self, name: str) -> None:
        """Raise `DeclarationError` if a name is not a non-empty string, or is used already."""
        if not isinstance(name, str) or not name:
            raise DeclarationError(f"A name must be a non-empty string, not {name!r}.")
        if self._has_name(name):
            raise DeclarationError(f"The name {name!r} is taken in program {self.name!r}.")

    def _has_name(self, name: str) -> bool:
        """Return True if a variable, function, parameter or constraint block has this name."""
        return any(name in parts for parts in (self.variables, self.functions, self.parameters, self.constraints))

    def _unused_block_name(self) -> str:
        """Return the first unused name "rows0", "rows1", ..., beginning with the number of constraint blocks."""
        number = len(self.constraints)
        while self._has_name(f"rows{number}"):
            number += 1
        return f"rows{number}"

    def _check_new_block(self, constraint: object, name: str | None) -> tuple[str, Constraint]:
        """Return (name, constraint) of a new block after checking both; if `name` is None, an unused name is chosen."""
        chosen = name if name is not None else self._unused_block_name()
        self._check_new_name(chosen)
        return chosen, self._check_constraint(constraint, chosen)

    def _check_constraint(self, constraint: object, name: str) -> Constraint:
        """Return a constraint in expressions of this program; raise `DeclarationError` if it is not a constraint."""
        if not isinstance(constraint, Constraint):
            raise DeclarationError(
                f"Constraint {name!r} must be a comparison of expressions such as x >= 0, "
                f"not {type(constraint).__name__}."
            )
        expression = self.as_own_expression(constraint.expression, f"constraint {name!r}")
        if expression is constraint.expression:
            return constraint
        return Constraint(expression, constraint.equality, constraint.compared, constraint.layout, constraint.shape)


def leaves(expression: Expression) -> list[Leaf]:
    """Return all leaves of an expression, also those inside its atoms and parametric coefficients, with repetitions."""
    result: list[Leaf] = []
    for leaf, coefficient in expression.terms:
        result.append(leaf)
        if isinstance(leaf, Atom) and leaf.function is None:
            result.extend(leaves(leaf.argument))
        for product in coefficient.products:
            result.extend(leaves(product.scale))
    return result


def assign_block_name(constraint: Constraint, name: str) -> Constraint:
    """Return the constraint with this name: the object itself if it has no name yet, otherwise a copy of it."""
    if constraint.name is not None:
        constraint = Constraint(
            constraint.expression, constraint.equality, constraint.compared, constraint.layout, constraint.shape
        )
    constraint.name = name
    return constraint
