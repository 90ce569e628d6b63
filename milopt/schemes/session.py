"""A session: a program that stays inside a solver while it changes, and is solved as often as wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.compilation.lowered_program import LoweredProgram
from milopt.compilation.status import PointStatus
from milopt.declaration.programs.constants import real
from milopt.declaration.programs.expression import Constraint, Expression, Operand, Shape
from milopt.declaration.programs.implication import implied
from milopt.declaration.programs.interval import interval
from milopt.declaration.programs.leaves import Parameter, Variable
from milopt.declaration.programs.new_variable import new_variable
from milopt.declaration.programs.program import Program, leaves
from milopt.declaration.programs.program_copy import ProgramCopy
from milopt.declaration.programs.program_parts import block_name, own_entries, own_parameter, part_name
from milopt.declaration.programs.row_edits import with_coefficients, with_cost, with_rhs
from milopt.errors import DeclarationError, UnsupportedError
from milopt.jit_time import jit_seconds
from milopt.outcome.result import Result
from milopt.schemes.attempts import Attempts, warn_if_late
from milopt.schemes.automatic import named_solver, takers
from milopt.schemes.direct import Direct, refuse_witnesses
from milopt.solving.clock import Clock
from milopt.solving.explain import Case
from milopt.solving.options import Options, with_knobs
from milopt.solving.session_arguments import check_session
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession

T = TypeVar("T")
Coefficients = npt.ArrayLike | sp.sparray


class Session:
    """A program inside a solver, to be changed and solved again.

    The verbs are those of a program, and they take the variables, parameters and constraints that the program was
    declared with. Signs are as written: in `2 * x >= 3` the coefficient is 2 and the right-hand side 3, and so they are
    in `2 * x <= 3`. The program itself stays as it is: the session has a copy. A change that is refused leaves the
    session as it was.

    A linear program stays alive in HiGHS and in `native`: a solve after a change starts from the last basis. Other
    solvers build their model again where they must, and `rebuilds` counts how often.

    Parameters
    ----------
    program : Program
        A program that is convex as declared, integer variables aside. (A DC program is solved by `milopt.solve`.)
    solver : str or Solver, default="auto"
        The name of a solver, or "auto" for the one that `milopt.solve` would take; "auto" goes to another one if a
        change asks for it.
    options : Options, optional
        The options of every solve; `time_limit` is that of each solve.
    **knobs
        Fields of `Options`, such as `time_limit=5`.

    Attributes
    ----------
    program : Program
        The program as it is now, with the changes.
    solver : Solver
        The solver that has it.
    options : Options
        The options of every solve.
    rebuilds : int
        How often the solver's own model was built again.

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
        self, program: Program, solver: str | Solver = "auto", options: Options | None = None, **knobs: object
    ) -> None:
        check_session(program, solver, options, None)
        refuse_witnesses(program)
        self.options = with_knobs(options, knobs)
        self.program = ProgramCopy(program)
        self._is_automatic = isinstance(solver, str) and solver == "auto"
        self._step = self._automatic_step() if self._is_automatic else self._begun(named_solver(solver, self.program))

    @property
    def solver(self) -> Solver:
        """The solver that has the program."""
        return self._step.solver

    @property
    def rebuilds(self) -> int:
        """How often the solver's own model was built again."""
        return self._step.rebuilds

    def solve(self) -> Result:
        """Solve the program as it is now, and prove the answer.

        Returns
        -------
        Result
            As of `milopt.solve`: values, functions, multipliers and reduced costs by name or by what was declared, and
            the objective as it was declared. Its program shows later changes of bounds and parameters.
        """
        if self._step.lowering.other_side.missing:
            refuse_witnesses(self.program)
            self._step.start_again()  # The maximum that needed a witness is gone.
        clock, before, program = Clock(self.options.time_limit), jit_seconds(), self.program.snapshot()
        try:
            found = Direct().solved(self._step, clock, program)
        except UnsupportedError:
            if not self._is_automatic:
                raise
            self._choose_solver()
            found = Direct().solved(self._step, clock, program)
        if self._is_automatic and found.point is not PointStatus.CERTIFIED:
            tried = Attempts(self.program, Direct(), self.options, clock, before)
            if not tried.takes(found, clock.elapsed()) and tried.may_go_on():
                tried.automatic(after=self.solver)
                return replace(tried.best(), program=program)
        compiling = jit_seconds() - before
        return replace(found, seconds=replace(found.seconds, jit=compiling)) if compiling else found

    # -- the objective -------------------------------------------------------------------------------------------

    def minimize(self, objective: Expression | float) -> None:
        """Minimise another objective.

        Parameters
        ----------
        objective : Expression or float
            A scalar expression.
        """
        self._change(lambda: self._step.set_objective(objective))

    def maximize(self, objective: Expression | float) -> None:
        """Maximise another objective.

        Parameters
        ----------
        objective : Expression or float
            A scalar expression.
        """
        self._change(lambda: self._step.set_objective(objective, maximize=True))

    def set_cost(self, variable: Expression | str, cost: npt.ArrayLike) -> None:
        """Change the linear coefficients of a variable in the objective.

        Parameters
        ----------
        variable : Variable, str or Expression
            A variable, its name, or entries of it such as x[2] or x[:3].
        cost : array-like
            One number, or one per entry; of a maximised objective too with the sign as written.
        """
        chosen = own_entries(self.program, variable)
        objective = with_cost(self.program.objective, cost, *chosen)
        self._change(lambda: self._step.set_objective(objective, maximize=self.program.maximizes))

    # -- constraints ---------------------------------------------------------------------------------------------

    def subject_to(self, constraint: Constraint, name: str | None = None) -> Constraint:
        """Add a block of rows.

        Parameters
        ----------
        constraint : Constraint
            A comparison of expressions.
        name : str, optional
            The name of the block.

        Returns
        -------
        Constraint
            The block: its multipliers are `result.duals[constraint]`, and verbs of the session take it.
        """
        _refuse_condition(constraint)
        return self._add(constraint, name)

    def between(self, lower: Operand, expression: Operand, upper: Operand, name: str | None = None) -> Constraint:
        """Add the rows lower <= expression <= upper as one block.

        Parameters
        ----------
        lower, expression, upper : Expression or array-like
            The sides; infinite ones are absent.
        name : str, optional
            The name of the block.

        Returns
        -------
        Constraint
            The block.
        """
        return self._add(interval(lower, expression, upper), name)

    def implies(self, condition: Expression, constraint: Constraint, name: str | None = None) -> Constraint:
        """Add rows that must hold where a condition is 1.

        Parameters
        ----------
        condition : Expression
            A binary variable b, entries of it, or 1 - b.
        constraint : Constraint
            The rows. Their variables have finite bounds, which cannot be changed while the block is there.
        name : str, optional
            The name of the block.

        Returns
        -------
        Constraint
            The block.
        """
        own = self.program.owned(condition, "the condition") if isinstance(condition, Expression) else condition
        return self._add(implied(own, self.program.owned_rows(constraint, name)), name)

    def replace(self, constraint: Constraint | str, by: Constraint) -> Constraint:
        """Put another constraint in a block's place, under the same name.

        Parameters
        ----------
        constraint : Constraint or str
            A block, or its name.
        by : Constraint
            A comparison of expressions.

        Returns
        -------
        Constraint
            The block; what stood for it before still does.
        """
        name = block_name(self.program, constraint)
        _refuse_condition(by)
        self._replace(name, by)
        self.program.remember(name, by)
        return self.program.constraints[name]

    def set_rhs(self, constraint: Constraint | str, value: npt.ArrayLike) -> None:
        """Change the right-hand side of a block: the numbers, if all of them stood on the right.

        Parameters
        ----------
        constraint : Constraint or str
            A block, or its name.
        value : array-like
            One number, or one per row.
        """
        name = block_name(self.program, constraint)
        self._replace(name, with_rhs(self.program.written(name), value))

    def set_coefficients(self, constraint: Constraint | str, variable: Expression | str, values: Coefficients) -> None:
        """Change the coefficients of a variable in a block, as if all variables stood on the left.

        Parameters
        ----------
        constraint : Constraint or str
            A block, or its name.
        variable : Variable, str or Expression
            A variable, its name, or entries of it such as x[2] or x[:3].
        values : array-like or sparse array
            The shape of the block followed by the shape of the entries: (rows, entries) for vectors, without the first
            for a block of one scalar row, without the second for a scalar variable. Terms inside atoms stay as they
            are.
        """
        name = block_name(self.program, constraint)
        chosen = own_entries(self.program, variable)
        self._replace(name, with_coefficients(self.program.written(name), values, *chosen))

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
        """Add a block of variables, as columns of blocks that are there if wanted.

        Parameters
        ----------
        name, shape, lower, upper, integer, binary
            As of `Program.variable`.
        cost : array-like, default=0
            The linear coefficients in the objective.
        rows : mapping, optional
            The coefficients in each block, by the block or its name, as `set_coefficients` takes them.

        Returns
        -------
        Variable
            The variable.
        """
        if rows is not None and not isinstance(rows, Mapping):
            raise DeclarationError(f"rows must be a mapping from constraint blocks to coefficients, not {rows!r}.")
        entering = {block_name(self.program, block): values for block, values in (rows or {}).items()}

        def add() -> Variable:
            program = self.program
            with self._step.all_or_nothing():
                added = program.variable(name, shape, lower=lower, upper=upper, integer=integer, binary=binary)
                whole = np.arange(added.size)
                if sp.issparse(cost) or np.any(np.asarray(cost)):
                    objective = with_cost(program.objective, cost, added, whole, added.shape)
                    (program.maximize if program.maximizes else program.minimize)(objective)
                for block, values in entering.items():
                    changed = with_coefficients(program.written(block), values, added, whole, added.shape)
                    program.replace(block, changed)
                self._step.take_columns(added, entering)
            return added

        added = self._change(add)
        self.program.remember(name, added)
        self._remember_blocks(entering)
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
        lower, upper : array-like, optional
            One number, or one per entry; None leaves the bound as it is, -inf and inf take it away.
        """
        chosen, entries, shape = own_entries(self.program, variable)
        low = _with_entries(chosen.lower, entries, lower, shape, f"The lower bound of {chosen.name!r}")
        high = _with_entries(chosen.upper, entries, upper, shape, f"The upper bound of {chosen.name!r}")
        self._refuse_use_of_bounds(chosen)
        bounded = new_variable(chosen.name, chosen.shape, low.reshape(chosen.shape), high.reshape(chosen.shape))

        def change() -> None:
            with self._step.all_or_nothing():
                chosen.lower, chosen.upper = bounded.lower, bounded.upper
                self._step.take_bounds(chosen)

        self._change(change)

    def set_parameter(self, parameter: Parameter | str, value: npt.ArrayLike) -> None:
        """Give a parameter other numbers, in this session alone.

        Parameters
        ----------
        parameter : Parameter or str
            A parameter, or its name.
        value : array-like
            Numbers of its shape.
        """
        own = own_parameter(self.program, parameter)
        self._change(lambda: self._step.set_parameter(own, value))

    # -- both ----------------------------------------------------------------------------------------------------

    def delete(self, *parts: Constraint | Variable | str) -> None:
        """Delete constraint blocks and variables; a variable leaves the rows and the objective in which it occurs.

        Parameters
        ----------
        *parts : Constraint, Variable or str
            Blocks and variables, or their names.
        """
        names = list(dict.fromkeys(part_name(self.program, part) for part in parts))
        if not names:
            return

        def change() -> None:
            with self._step.all_or_nothing():
                self._step.delete(*(name for name in names if name in self.program.constraints))
                gone = [name for name in names if name in self.program.variables]
                for name in gone:
                    self.program.delete_variable(name)
                if gone:
                    self._step.start_again()

        self._change(change)
        for name in names:
            self.program.forget(name)
        self._remember_blocks(self.program.constraints)

    def close(self) -> None:
        """Give back what the solver holds."""
        self._step.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Session({self.program!r}, {self.solver.name!r})"

    # -- pieces --------------------------------------------------------------------------------------------------

    def _add(self, constraint: Constraint, name: str | None) -> Constraint:
        """Add a block of rows."""
        added = self._change(lambda: self._step.add_rows(constraint, name))
        self.program.remember(added, constraint, self.program.constraints[added])
        return self.program.constraints[added]

    def _refuse_use_of_bounds(self, variable: Variable) -> None:
        """Raise an error if rows were made with the bounds of a variable."""
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

    def _replace(self, name: str, by: Constraint) -> None:
        """Put another constraint in a block's place."""
        self._change(lambda: self._step.replace_rows(name, by))
        self._remember_blocks([name])

    def _remember_blocks(self, names: Iterable[str]) -> None:
        """Let blocks that were made again stand for themselves, as those do that they were made of."""
        for name in names:
            self.program.remember(name, self.program.constraints[name])

    def _change(self, verb: Callable[[], T]) -> T:
        """Make a change; if the solver does not take it and `auto` chose the solver, choose another one."""
        try:
            return verb()
        except UnsupportedError:
            if not self._is_automatic:
                raise
        # Without an engine nobody refuses the change; it is taken back if no solver takes the program.
        self._step.close()
        with self._step.all_or_nothing():
            made = verb()
            self._choose_solver()
        return made

    def _choose_solver(self) -> None:
        """Take the solver that `auto` takes for the program as it is now."""
        self._step.close()
        self._step = self._automatic_step()

    def _automatic_step(self) -> StepSession:
        """Return a session of the solver that `auto` takes first."""
        case = Case(self.program, self.options.form)
        return self._begun(next(takers(case, self.options)), case.lowered)

    def _begun(self, solver: Solver, lowered: LoweredProgram | None = None) -> StepSession:
        warn_if_late(solver, self.options)
        return StepSession(self.program, solver, self.options, lowered=lowered)


def _refuse_condition(constraint: object) -> None:
    """Raise an error if rows hold under a condition: they were made with bounds that a session may have changed."""
    if isinstance(constraint, Constraint) and constraint.is_conditional:
        raise DeclarationError(
            f"{constraint.describe()} was made with the bounds of a program: declare it by session.implies."
        )


def _with_entries(
    bounds: npt.NDArray[np.float64],
    entries: npt.NDArray[np.intp],
    given: npt.ArrayLike | None,
    shape: Shape,
    what: str,
) -> npt.NDArray[np.float64]:
    """Return bounds with some entries changed; as they are if None is given."""
    if given is None:
        return bounds
    numbers = real(given, what)
    if numbers.shape not in ((), shape):
        raise DeclarationError(f"{what} must be one number or of shape {shape}, not {numbers.shape}.")
    changed = bounds.copy()
    changed[entries] = numbers.ravel() if numbers.shape else numbers
    return changed
