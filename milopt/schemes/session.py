"""Sessions for users: a program inside a solver that is changed and solved again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.compilation.lowered_program import LoweredProgram
from milopt.compilation.status import PointStatus
from milopt.declaration.programs.constants import as_real_array
from milopt.declaration.programs.expression import Constraint, Expression, Operand, Shape
from milopt.declaration.programs.implication import conditional_constraint
from milopt.declaration.programs.interval import interval_constraint
from milopt.declaration.programs.leaves import Parameter, Variable
from milopt.declaration.programs.new_variable import new_variable
from milopt.declaration.programs.program import Program, leaves
from milopt.declaration.programs.program_copy import ProgramCopy
from milopt.declaration.programs.program_parts import (
    resolve_block_name,
    resolve_entries,
    resolve_parameter,
    resolve_part_name,
)
from milopt.declaration.programs.row_edits import with_coefficients, with_cost, with_rhs
from milopt.errors import DeclarationError, UnsupportedError
from milopt.jit_time import jit_seconds
from milopt.outcome.result import Result
from milopt.schemes.attempts import Attempts, warn_if_late
from milopt.schemes.automatic import resolve_solver, supporting_solvers
from milopt.schemes.direct import Direct, check_no_minorants_needed
from milopt.solving.clock import Clock
from milopt.solving.explain import SupportChecker
from milopt.solving.options import Options, merge_options
from milopt.solving.session_arguments import check_session
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession

T = TypeVar("T")
Coefficients = npt.ArrayLike | sp.sparray


class Session:
    """A program inside a solver, which can be changed and solved again.

    The methods correspond to those of `Program`, and accept the variables, parameters and constraints with which the
    program was declared. Signs are as written: in `2 * x >= 3` the coefficient is 2 and the right-hand side 3, and the
    same holds for `2 * x <= 3`. The session works on a copy, so the given program does not change. A change that raises
    an error leaves the session as it was.

    HiGHS and `native` keep the model of a linear program, so that a solve after a change starts from the last basis.
    Other solvers build their model again if necessary, and `rebuilds` counts how often.

    Parameters
    ----------
    program : Program
        Program that is convex as declared, possibly with integer variables. Use `milopt.solve` for DC programs.
    solver : str or Solver, default="auto"
        Name of a solver, or "auto" for the solver that `milopt.solve` would choose. With "auto", another solver is
        chosen if a change requires it.
    options : Options or None, default=None
        Options of every solve. `time_limit` holds for each solve separately.
    **option_values : object
        Fields of `Options` by name, such as ``time_limit=5``. They replace those of `options`.

    Attributes
    ----------
    program : Program
        Current program, with all changes.
    solver : Solver
        Solver that is used.
    options : Options
        Options of every solve.
    rebuilds : int
        Number of times the solver's own model was built again.

    Raises
    ------
    ParameterError
        If `program`, `solver` or an option is invalid.
    ConvexityError
        If the program is not convex as declared.
    UnsupportedError
        If the solver does not support the program.

    Examples
    --------
    >>> from milopt import Program, Session
    >>> program = Program("diet")
    >>> x = program.variable("x", 2, lower=0)
    >>> program.minimize(2 * x[0] + 3 * x[1])
    >>> need = program.subject_to(x.sum() >= 4, name="need")
    >>> with Session(program, "highs") as session:
    ...     print(session.solve().objective)
    ...     session.set_bounds(x[0], upper=1)
    ...     session.set_rhs(need, 5)
    ...     result = session.solve()
    ...     print(result.objective, result.values[x], result.duals[need])
    8.0
    14.0 [1. 4.] 3.0
    """

    def __init__(
        self, program: Program, solver: str | Solver = "auto", options: Options | None = None, **option_values: object
    ) -> None:
        check_session(program, solver, options, None)
        check_no_minorants_needed(program)
        self.options = merge_options(options, option_values)
        self.program = ProgramCopy(program)
        self._is_automatic = isinstance(solver, str) and solver == "auto"
        self._step = (
            self._automatic_step() if self._is_automatic else self._open_step(resolve_solver(solver, self.program))
        )

    @property
    def solver(self) -> Solver:
        """Solver that is used."""
        return self._step.solver

    @property
    def rebuilds(self) -> int:
        """Number of times the solver's own model was built again."""
        return self._step.rebuilds

    def solve(self) -> Result:
        """Solve the current program and certify the answer.

        Returns
        -------
        Result
            As returned by `milopt.solve`: values, functions, multipliers and reduced costs by name or by the declared
            object, and the objective with the declared sign. Its program shows later changes of bounds and parameters.

        Raises
        ------
        UnsupportedError
            If the solver does not support the program, for example because a parameter changed its curvature; with
            ``solver="auto"``, if no installed solver does.
        DeclarationError
            If a parameter has no value.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program("diet")
        >>> x = program.variable("x", 2, lower=0)
        >>> program.minimize(2 * x[0] + 3 * x[1])
        >>> need = program.subject_to(x.sum() >= 4, name="need")
        >>> session = milopt.Session(program, "highs")
        >>> session.solve().objective
        8.0
        """
        if self._step.lowering.other_side.missing:
            check_no_minorants_needed(self.program)
            self._step.recompile()  # The maximum that needed a witness was deleted.
        clock, before, program = Clock(self.options.time_limit), jit_seconds(), self.program.snapshot()
        try:
            result = Direct().solve_session(self._step, clock, program)
        except UnsupportedError:
            if not self._is_automatic:
                raise
            self._switch_solver()
            result = Direct().solve_session(self._step, clock, program)
        if self._is_automatic and result.point is not PointStatus.CERTIFIED:
            attempts = Attempts(self.program, Direct(), self.options, clock, before)
            if not attempts.record_result(result, clock.elapsed()) and attempts.may_continue():
                attempts.try_automatic(after=self.solver)
                return replace(attempts.best_result(), program=program)
        compiling = jit_seconds() - before
        return replace(result, seconds=replace(result.seconds, jit=compiling)) if compiling else result

    # -- the objective -------------------------------------------------------------------------------------------

    def minimize(self, objective: Expression | float) -> None:
        """Replace the objective by one that is minimised.

        Parameters
        ----------
        objective : Expression or float
            Scalar expression.

        Raises
        ------
        DeclarationError
            If the objective is not a scalar, or contains variables of another program.
        UnsupportedError
            If the solver does not support the changed program; with ``solver="auto"``, if no installed solver does.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program("diet")
        >>> x = program.variable("x", 2, lower=0)
        >>> program.minimize(2 * x[0] + 3 * x[1])
        >>> need = program.subject_to(x.sum() >= 4, name="need")
        >>> session = milopt.Session(program, "highs")
        >>> session.minimize(5 * x[0] + 3 * x[1])
        >>> session.solve().objective
        12.0
        """
        self._apply_or_switch_solver(lambda: self._step.set_objective(objective))

    def maximize(self, objective: Expression | float) -> None:
        """Replace the objective by one that is maximised.

        Parameters
        ----------
        objective : Expression or float
            Scalar expression.

        Raises
        ------
        DeclarationError
            If the objective is not a scalar, or contains variables of another program.
        UnsupportedError
            If the solver does not support the changed program; with ``solver="auto"``, if no installed solver does.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program("diet")
        >>> x = program.variable("x", 2, lower=0)
        >>> program.minimize(2 * x[0] + 3 * x[1])
        >>> need = program.subject_to(x.sum() >= 4, name="need")
        >>> session = milopt.Session(program, "highs")
        >>> session.maximize(-5 * x[0] - 3 * x[1])
        >>> session.solve().objective
        -12.0
        """
        self._apply_or_switch_solver(lambda: self._step.set_objective(objective, maximize=True))

    def set_cost(self, variable: Expression | str, cost: npt.ArrayLike) -> None:
        """Change the linear coefficients of a variable in the objective.

        Parameters
        ----------
        variable : Variable, str or Expression
            A variable, its name, or entries of it such as x[2] or x[:3].
        cost : array-like
            One number, or one per entry. The sign is as written, also if the objective is maximised.

        Raises
        ------
        UnknownNameError
            If there is no variable of this name.
        DeclarationError
            If the numbers do not fit the entries.
        UnsupportedError
            If the solver does not support the changed program; with ``solver="auto"``, if no installed solver does.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program("diet")
        >>> x = program.variable("x", 2, lower=0)
        >>> program.minimize(2 * x[0] + 3 * x[1])
        >>> need = program.subject_to(x.sum() >= 4, name="need")
        >>> session = milopt.Session(program, "highs")
        >>> session.set_cost(x[0], 1)
        >>> session.solve().objective
        4.0
        """
        chosen = resolve_entries(self.program, variable)
        objective = with_cost(self.program.objective, cost, *chosen)
        self._apply_or_switch_solver(lambda: self._step.set_objective(objective, maximize=self.program.maximizes))

    # -- constraints ---------------------------------------------------------------------------------------------

    def subject_to(self, constraint: Constraint, name: str | None = None) -> Constraint:
        """Add a constraint block.

        Parameters
        ----------
        constraint : Constraint
            Comparison of expressions.
        name : str or None, default=None
            Name of the block. None selects a new name.

        Returns
        -------
        Constraint
            The block. Its multipliers are `result.duals[constraint]`, and methods of the session accept it.

        Raises
        ------
        DeclarationError
            If `constraint` is not a comparison of expressions of the program, the name is used already, or the rows
            hold under a condition (use `implies`).
        UnsupportedError
            If the solver does not support the changed program; with ``solver="auto"``, if no installed solver does.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program("diet")
        >>> x = program.variable("x", 2, lower=0)
        >>> program.minimize(2 * x[0] + 3 * x[1])
        >>> need = program.subject_to(x.sum() >= 4, name="need")
        >>> session = milopt.Session(program, "highs")
        >>> limit = session.subject_to(x[0] <= 1)
        >>> session.solve().objective
        11.0
        """
        _check_unconditional(constraint)
        return self._add_constraint(constraint, name)

    def between(self, lower: Operand, expression: Operand, upper: Operand, name: str | None = None) -> Constraint:
        """Add the rows lower <= expression <= upper as one block.

        Parameters
        ----------
        lower : Expression or array-like
            Left side; entries -inf are no constraint.
        expression : Expression or array-like
            Middle of the rows.
        upper : Expression or array-like
            Right side; entries inf are no constraint.
        name : str or None, default=None
            Name of the block. None selects a new name.

        Returns
        -------
        Constraint
            The block.

        Raises
        ------
        DeclarationError
            If a lower side is above the upper one, or the name is used already.
        UnsupportedError
            If the solver does not support the changed program; with ``solver="auto"``, if no installed solver does.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program("diet")
        >>> x = program.variable("x", 2, lower=0)
        >>> program.minimize(2 * x[0] + 3 * x[1])
        >>> need = program.subject_to(x.sum() >= 4, name="need")
        >>> session = milopt.Session(program, "highs")
        >>> _ = session.between(1, x[1] - x[0], 2)
        >>> session.solve().objective
        10.5
        """
        return self._add_constraint(interval_constraint(lower, expression, upper), name)

    def implies(self, condition: Expression, constraint: Constraint, name: str | None = None) -> Constraint:
        """Add rows that must hold if a condition is 1.

        Parameters
        ----------
        condition : Expression
            A binary variable b, entries of it, or 1 - b.
        constraint : Constraint
            The rows. Their variables need finite bounds, which cannot be changed while the block exists.
        name : str or None, default=None
            Name of the block. None selects a new name.

        Returns
        -------
        Constraint
            The block.

        Raises
        ------
        DeclarationError
            If the condition may have values other than 0 and 1, a variable in the rows has no finite bounds, or the
            name is used already.
        UnsupportedError
            If the solver does not support the changed program; with ``solver="auto"``, if no installed solver does.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program()
        >>> x, b = program.variable("x", lower=0, upper=10), program.variable("b", binary=True)
        >>> program.maximize(x + 5 * b)
        >>> session = milopt.Session(program, "highs")
        >>> _ = session.implies(b, x <= 3)
        >>> session.solve().objective
        10.0
        """
        own = (
            self.program.as_own_expression(condition, "the condition")
            if isinstance(condition, Expression)
            else condition
        )
        return self._add_constraint(conditional_constraint(own, self.program.as_own_constraint(constraint, name)), name)

    def replace(self, constraint: Constraint | str, by: Constraint) -> Constraint:
        """Replace the constraint of a block; the name stays.

        Parameters
        ----------
        constraint : Constraint or str
            A block, or its name.
        by : Constraint
            Comparison of expressions.

        Returns
        -------
        Constraint
            The new block. The old constraint still refers to it in methods and results.

        Raises
        ------
        UnknownNameError
            If there is no such block.
        DeclarationError
            If `by` is not a comparison of expressions of the program, or holds under a condition.
        UnsupportedError
            If the solver does not support the changed program; with ``solver="auto"``, if no installed solver does.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program("diet")
        >>> x = program.variable("x", 2, lower=0)
        >>> program.minimize(2 * x[0] + 3 * x[1])
        >>> need = program.subject_to(x.sum() >= 4, name="need")
        >>> session = milopt.Session(program, "highs")
        >>> _ = session.replace(need, x.sum() >= 5)
        >>> session.solve().objective
        10.0
        """
        name = resolve_block_name(self.program, constraint)
        _check_unconditional(by)
        self._replace_block(name, by)
        self.program.register_names(name, by)
        return self.program.constraints[name]

    def set_rhs(self, constraint: Constraint | str, value: npt.ArrayLike) -> None:
        """Change the right-hand side of a block, as if all constants of its rows were on the right.

        Parameters
        ----------
        constraint : Constraint or str
            A block, or its name.
        value : array-like
            One number, or one per row.

        Raises
        ------
        UnknownNameError
            If there is no such block.
        DeclarationError
            If the numbers do not fit the rows, the rows have two sides, or their right-hand side depends on a
            parameter.
        UnsupportedError
            If the solver does not support the changed program; with ``solver="auto"``, if no installed solver does.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program("diet")
        >>> x = program.variable("x", 2, lower=0)
        >>> program.minimize(2 * x[0] + 3 * x[1])
        >>> need = program.subject_to(x.sum() >= 4, name="need")
        >>> session = milopt.Session(program, "highs")
        >>> session.set_rhs(need, 6)
        >>> session.solve().objective
        12.0
        """
        name = resolve_block_name(self.program, constraint)
        self._replace_block(name, with_rhs(self.program.written_constraint(name), value))

    def set_coefficients(self, constraint: Constraint | str, variable: Expression | str, values: Coefficients) -> None:
        """Change the coefficients of a variable in a block, as if all variables were on the left.

        Parameters
        ----------
        constraint : Constraint or str
            A block, or its name.
        variable : Variable, str or Expression
            A variable, its name, or entries of it such as x[2] or x[:3].
        values : array-like or sparse array
            Coefficients of shape (rows, entries), without `rows` if the block is one scalar row, and without `entries`
            if the variable is a scalar. In general, the shape of the block followed by that of the entries. Terms
            inside atoms are not changed.

        Raises
        ------
        UnknownNameError
            If there is no such block or variable.
        DeclarationError
            If the numbers do not fit the rows and entries, or the variable is part of a bound of the rows.
        UnsupportedError
            If the solver does not support the changed program; with ``solver="auto"``, if no installed solver does.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program("diet")
        >>> x = program.variable("x", 2, lower=0)
        >>> program.minimize(2 * x[0] + 3 * x[1])
        >>> need = program.subject_to(x.sum() >= 4, name="need")
        >>> session = milopt.Session(program, "highs")
        >>> session.set_coefficients(need, x[0], 2)
        >>> session.solve().objective
        4.0
        """
        name = resolve_block_name(self.program, constraint)
        chosen = resolve_entries(self.program, variable)
        self._replace_block(name, with_coefficients(self.program.written_constraint(name), values, *chosen))

    # -- variables and parameters --------------------------------------------------------------------------------

    def variable(
        self,
        name: str,
        shape: int | Shape = (),
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        integer: npt.ArrayLike = False,
        binary: npt.ArrayLike = False,
        cost: npt.ArrayLike = 0.0,
        rows: Mapping[Constraint, Coefficients] | Mapping[str, Coefficients] | None = None,
    ) -> Variable:
        """Add a variable block, optionally with coefficients in the objective and in existing blocks.

        Parameters
        ----------
        name : str
            Name of the variable.
        shape : int or tuple of int, default=()
            Shape of the variable.
        lower : array-like or None, default=None
            Lower bounds, one number or one per entry. None for no bound.
        upper : array-like or None, default=None
            Upper bounds, one number or one per entry. None for no bound.
        integer : array-like of bool, default=False
            Whether the entries are integer.
        binary : array-like of bool, default=False
            Whether the entries are binary.
        cost : array-like, default=0.0
            Linear coefficients in the objective.
        rows : mapping or None, default=None
            Coefficients in existing blocks, by the block or its name, with shapes as in `set_coefficients`.

        Returns
        -------
        Variable
            The variable.

        Raises
        ------
        DeclarationError
            If the name is used already, the bounds are invalid, or `rows` is not a mapping or does not fit the blocks.
        UnknownNameError
            If `rows` names an unknown block.
        UnsupportedError
            If the solver does not support the changed program; with ``solver="auto"``, if no installed solver does.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program("diet")
        >>> x = program.variable("x", 2, lower=0)
        >>> program.minimize(2 * x[0] + 3 * x[1])
        >>> need = program.subject_to(x.sum() >= 4, name="need")
        >>> session = milopt.Session(program, "highs")
        >>> y = session.variable("y", lower=0, upper=1, cost=1, rows={need: 1})
        >>> session.solve().objective
        7.0
        """
        if rows is not None and not isinstance(rows, Mapping):
            raise DeclarationError(f"rows must be a mapping from constraint blocks to coefficients, not {rows!r}.")
        entering = {resolve_block_name(self.program, block): values for block, values in (rows or {}).items()}

        def add_variable() -> Variable:
            """Add the variable with its coefficients, or change nothing if that fails."""
            program = self.program
            with self._step.undo_on_error():
                added = program.variable(name, shape, lower=lower, upper=upper, integer=integer, binary=binary)
                whole = np.arange(added.size)
                if sp.issparse(cost) or np.any(np.asarray(cost)):
                    objective = with_cost(program.objective, cost, added, whole, added.shape)
                    (program.maximize if program.maximizes else program.minimize)(objective)
                for block, values in entering.items():
                    changed = with_coefficients(program.written_constraint(block), values, added, whole, added.shape)
                    program.replace(block, changed)
                self._step.register_columns(added, entering)
            return added

        added = self._apply_or_switch_solver(add_variable)
        self.program.register_names(name, added)
        self._register_blocks(entering)
        return added

    def set_bounds(
        self,
        variable: Expression | str,
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
    ) -> None:
        """Change bounds of a variable.

        Parameters
        ----------
        variable : Variable, str or Expression
            A variable, its name, or entries of it such as x[2] or x[:3].
        lower : array-like or None, default=None
            New lower bounds, one number or one per entry. None keeps the bound, -inf removes it.
        upper : array-like or None, default=None
            New upper bounds, one number or one per entry. None keeps the bound, inf removes it.

        Raises
        ------
        UnknownNameError
            If there is no such variable.
        DeclarationError
            If a lower bound is above the upper one, the variable is semicontinuous, or a block that holds under a
            condition depends on its bounds.
        UnsupportedError
            If the solver does not support the changed program; with ``solver="auto"``, if no installed solver does.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program("diet")
        >>> x = program.variable("x", 2, lower=0)
        >>> program.minimize(2 * x[0] + 3 * x[1])
        >>> need = program.subject_to(x.sum() >= 4, name="need")
        >>> session = milopt.Session(program, "highs")
        >>> session.set_bounds(x[0], upper=1)
        >>> session.solve().objective
        11.0
        """
        chosen, entries, shape = resolve_entries(self.program, variable)
        low = _with_entries(chosen.lower, entries, lower, shape, f"The lower bound of {chosen.name!r}")
        high = _with_entries(chosen.upper, entries, upper, shape, f"The upper bound of {chosen.name!r}")
        self._check_bounds_unused(chosen)
        bounded = new_variable(chosen.name, chosen.shape, low.reshape(chosen.shape), high.reshape(chosen.shape))

        def change_bounds() -> None:
            """Set the bounds, or change nothing if that fails."""
            with self._step.undo_on_error():
                chosen.lower, chosen.upper = bounded.lower, bounded.upper
                self._step.register_bounds(chosen)

        self._apply_or_switch_solver(change_bounds)

    def set_parameter(self, parameter: Parameter | str, value: npt.ArrayLike) -> None:
        """Set the value of a parameter in this session; the parameter of the given program is not changed.

        Parameters
        ----------
        parameter : Parameter or str
            A parameter, or its name.
        value : array-like
            Numbers of the parameter's shape.

        Raises
        ------
        UnknownNameError
            If there is no such parameter.
        DeclarationError
            If the value does not fit the shape or the sign of the parameter.
        UnsupportedError
            If the solver does not support the changed program; with ``solver="auto"``, if no installed solver does.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program()
        >>> x, limit = program.variable("x"), program.parameter("limit")
        >>> program.maximize(x)
        >>> _ = program.subject_to(x <= limit)
        >>> limit.value = 2.0
        >>> session = milopt.Session(program, "highs")
        >>> session.set_parameter(limit, 3)
        >>> session.solve().objective
        3.0
        """
        own = resolve_parameter(self.program, parameter)
        self._apply_or_switch_solver(lambda: self._step.set_parameter(own, value))

    # -- deletion ------------------------------------------------------------------------------------------------

    def delete(self, *parts: Constraint | Variable | str) -> None:
        """Delete constraint blocks and variables; a variable is removed from the rows and the objective.

        Parameters
        ----------
        *parts : Constraint, Variable or str
            Blocks and variables, or their names.

        Raises
        ------
        UnknownNameError
            If there is no such block or variable.
        UnsupportedError
            If the solver does not support the changed program; with ``solver="auto"``, if no installed solver does.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program("diet")
        >>> x = program.variable("x", 2, lower=0)
        >>> program.minimize(2 * x[0] + 3 * x[1])
        >>> need = program.subject_to(x.sum() >= 4, name="need")
        >>> session = milopt.Session(program, "highs")
        >>> session.delete(need)
        >>> session.solve().objective
        0.0
        """
        names = list(dict.fromkeys(resolve_part_name(self.program, part) for part in parts))
        if not names:
            return

        def delete_parts() -> None:
            """Delete all blocks and variables, or change nothing if that fails."""
            with self._step.undo_on_error():
                self._step.delete(*(name for name in names if name in self.program.constraints))
                deleted = [name for name in names if name in self.program.variables]
                for name in deleted:
                    self.program.delete_variable(name)
                if deleted:
                    self._step.recompile()

        self._apply_or_switch_solver(delete_parts)
        for name in names:
            self.program.unregister_names(name)
        self._register_blocks(self.program.constraints)

    def close(self) -> None:
        """Release the resources of the solver."""
        self._step.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Session({self.program!r}, {self.solver.name!r})"

    # -- internals -----------------------------------------------------------------------------------------------

    def _add_constraint(self, constraint: Constraint, name: str | None) -> Constraint:
        """Add a constraint block and return it."""
        added = self._apply_or_switch_solver(lambda: self._step.add_rows(constraint, name))
        self.program.register_names(added, constraint, self.program.constraints[added])
        return self.program.constraints[added]

    def _check_bounds_unused(self, variable: Variable) -> None:
        """Raise `DeclarationError` if rows depend on the bounds of a variable."""
        if variable.active is not None:
            raise DeclarationError(
                f"Variable {variable.name!r} is semicontinuous: its bounds are in the rows '{variable.name}.range', "
                "which can be replaced."
            )
        for name, block in self.program.constraints.items():
            if block.is_conditional and any(leaf is variable for leaf in leaves(block.expression)):
                raise DeclarationError(
                    f"Constraint {name!r} holds under a condition, with the bounds that {variable.name!r} has: delete "
                    "it, change the bounds, and declare it again by session.implies."
                )

    def _replace_block(self, name: str, by: Constraint) -> None:
        """Replace the constraint of a block."""
        self._apply_or_switch_solver(lambda: self._step.replace_rows(name, by))
        self._register_blocks([name])

    def _register_blocks(self, names: Iterable[str]) -> None:
        """Register the present constraints of blocks, so that methods and results accept them like earlier ones."""
        for name in names:
            self.program.register_names(name, self.program.constraints[name])

    def _apply_or_switch_solver(self, change: Callable[[], T]) -> T:
        """Call `change`; if a solver chosen by `auto` does not support the changed program, switch the solver."""
        try:
            return change()
        except UnsupportedError:
            if not self._is_automatic:
                raise
        # Without an engine, the change is not checked. The change is undone if no solver supports the program.
        self._step.close()
        with self._step.undo_on_error():
            value = change()
            self._switch_solver()
        return value

    def _switch_solver(self) -> None:
        """Switch to the solver that `auto` chooses for the current program."""
        self._step.close()
        self._step = self._automatic_step()

    def _automatic_step(self) -> StepSession:
        """Return a step session with the solver that `auto` chooses first."""
        case = SupportChecker(self.program, self.options.form)
        return self._open_step(next(supporting_solvers(case, self.options)), case.lowered)

    def _open_step(self, solver: Solver, lowered: LoweredProgram | None = None) -> StepSession:
        """Return a step session with the given solver; warn if the solver may exceed the time limit."""
        warn_if_late(solver, self.options)
        return StepSession(self.program, solver, self.options, lowered=lowered)


def _check_unconditional(constraint: object) -> None:
    """Raise `DeclarationError` if rows hold under a condition.

    Such rows were built from bounds of variables, which the session may have changed since.
    """
    if isinstance(constraint, Constraint) and constraint.is_conditional:
        raise DeclarationError(
            f"{constraint.describe()} depends on the bounds of a program's variables: add it by session.implies."
        )


def _with_entries(
    bounds: npt.NDArray[np.float64],
    entries: npt.NDArray[np.intp],
    given: npt.ArrayLike | None,
    shape: Shape,
    bounds_name: str,
) -> npt.NDArray[np.float64]:
    """Return a copy of `bounds` with the values `given` at the indices `entries`; `bounds` itself if `given` is None.

    `given`: one number, or numbers of the given shape. `bounds_name` is used in error messages.
    """
    if given is None:
        return bounds
    numbers = as_real_array(given, bounds_name)
    if numbers.shape not in ((), shape):
        raise DeclarationError(f"{bounds_name} must be one number or of shape {shape}, not {numbers.shape}.")
    changed = bounds.copy()
    changed[entries] = numbers.ravel() if numbers.shape else numbers
    return changed
