"""The session that schemes use: one program compiled for one solver, which is changed and solved step by step.

All methods take expressions and constraints of the program. A persistent engine applies only what has changed; any
other engine builds its model again and counts it in `rebuilds`. Every `solve` certifies its answer on the whole
program, including lazy rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from milopt.compilation.compiled_form import CompiledForm
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowered_program import LoweredProgram, lower_program
from milopt.compilation.minorant import StandIns
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.deadline import deadline
from milopt.declaration.programs.expression import Constraint, Expression, Leaf
from milopt.declaration.programs.leaves import Parameter, Variable
from milopt.declaration.programs.program import Program, leaves
from milopt.errors import ConvexityError, DeclarationError, MiloptError, TimeLimitError
from milopt.jit_time import seconds_without_jit
from milopt.outcome.certificate import Certificate
from milopt.outcome.declared_proof import certify_declared
from milopt.outcome.declared_residuals import declared_residuals
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import LeafValues
from milopt.solving import registry
from milopt.solving.clock import Clock
from milopt.solving.convexity import ConvexityCheck
from milopt.solving.declared_state import DeclaredState
from milopt.solving.engine import Change, ChangeKind
from milopt.solving.live_engine import LiveEngine
from milopt.solving.live_form import FULL_CHANGE, LiveForm
from milopt.solving.options import Options
from milopt.solving.session_arguments import (
    check_clock,
    check_parameters,
    check_program,
    check_session,
    check_stand_ins,
)
from milopt.solving.solve_run import SolveRun
from milopt.solving.solver import Solver


class StepSession:
    """A compiled program inside a solver, which schemes change and solve again."""

    def __init__(
        self,
        program: Program,
        solver: str | Solver,
        options: Options | None = None,
        *,
        witnesses: StandIns | None = None,
        both_sides: bool = False,
        lowered: LoweredProgram | None = None,
    ) -> None:
        """Compile a program for a solver, which is given by its name or as an object.

        `witnesses` are the minorants of atoms on their non-convex side. With `both_sides`, witnesses also replace
        maxima on their convex side. `lowered` is the program as lowered before without witnesses, if it has not changed
        since; `witnesses` and `both_sides` are then not used.
        """
        began = seconds_without_jit()
        check_session(program, solver, options, witnesses)
        self.program = program
        self.solver = solver = registry.require_solver(solver) if isinstance(solver, str) else solver
        self.options = options or Options()
        compiled = lowered or lower_program(program, witnesses, both_sides)
        self.lowering = compiled.lowering
        self.live = LiveForm(compiled, self.options, solver)
        self._engine = LiveEngine(solver, self.options)
        self._convexity = ConvexityCheck(solver)
        self._build_seconds = seconds_without_jit() - began

    @property
    def form(self) -> EvaluationForm:
        """Current evaluation form of the program."""
        return self.live.form

    @property
    def spaces(self) -> list[KernelSpace]:
        """Kernel spaces with the kernel values computed so far."""
        return self.live.spaces

    @property
    def compiled(self) -> CompiledForm:
        """Flat form that the solver has or will get, with the mapping from its answer back to the program."""
        return self.live.compiled

    @property
    def rebuilds(self) -> int:
        """Number of times the solver's own model was built again."""
        return self._engine.rebuilds

    # -- changes -----------------------------------------------------------------------------------------------

    def set_parameter(self, parameter: Parameter, value: npt.ArrayLike) -> None:
        """Set the value of a parameter."""
        self.set_parameters_and_minorants({parameter: value}, {})

    def set_witnesses(self, witnesses: StandIns) -> None:
        """Set the minorants of the given atoms, used on their non-convex side; other atoms keep theirs."""
        self.set_parameters_and_minorants({}, witnesses)

    def set_parameters_and_minorants(self, parameters: Mapping[Parameter, npt.ArrayLike], witnesses: StandIns) -> None:
        """Set parameters and minorants together, so that the blocks in which they occur are compiled only once."""
        check_parameters(self.program, parameters)
        check_stand_ins(witnesses)
        with self.undo_on_error():
            for parameter, value in parameters.items():
                parameter.value = value
            for witness in witnesses.values():
                self.lowering.affine.register_stand_in_points(witness)
            self.lowering.other_side.stand_ins.update(witnesses)
            self._recompile_parts_with([*parameters, *witnesses])

    def set_objective(self, objective: Expression | float, *, maximize: bool = False) -> None:
        """Replace the objective of the program; `maximize`: whether it is maximised."""
        with self.undo_on_error():
            (self.program.maximize if maximize else self.program.minimize)(objective)
            self.lowering.affine.register_points(self.program.objective)
            self._apply_change(self.live.refresh_objective())

    def add_rows(self, constraint: Constraint, name: str | None = None) -> str:
        """Add a constraint block and return its name."""
        with self.undo_on_error():
            self.program.subject_to(constraint, name)
            added = next(reversed(self.program.constraints))
            self.lowering.affine.register_points(self.program.constraints[added].expression)
            self._apply_change(self.live.append_block(added))
        return added

    def replace_rows(self, name: str, constraint: Constraint) -> None:
        """Replace the constraint of a block."""
        with self.undo_on_error():
            self.program.replace(name, constraint)
            self.lowering.affine.register_points(self.program.constraints[name].expression)
            self._apply_change(self.live.refresh_blocks([name]))

    def register_columns(self, variable: Variable, names: Iterable[str]) -> None:
        """Add the columns of a new variable of the program, which occurs in the objective and in the blocks `names`."""
        self.lowering.affine.add_variable(variable)
        self._apply_change(self.live.append_columns(names))

    def register_bounds(self, variable: Variable) -> None:
        """Apply the bounds of a variable, which the caller has changed in the program, to the forms and the engine."""
        if (
            self.lowering.has_epigraphs
            or self.lowering.other_side.stand_ins
            or not self.live.is_primal_without_functions
        ):
            # Bounds determine how atoms inside atoms are lowered, and whether there is a dual form.
            self.recompile()
        else:
            self._apply_change(self.live.change_bounds(variable))

    def recompile(self) -> None:
        """Compile the current program again with the same minorants; kernel values at the same points are kept."""
        other = self.lowering.other_side
        relowered = lower_program(self.program, dict(other.stand_ins), other.both_sides)
        self.lowering = relowered.lowering
        self.live = LiveForm(relowered, self.options, self.solver, self.live)
        self._apply_change(FULL_CHANGE)

    def switch_program(self, program: Program, lowered: LoweredProgram | None = None) -> None:
        """Continue with another program without witnesses, and reuse data of the current one.

        Kernel values are reused if functions are evaluated at the same points. An engine keeps its factorisation if the
        two programs differ only in the linear part of the objective, in the offsets of rows or in bounds.
        """
        check_program(program)
        before, had = self.live, self.live.compiled.form if self._engine.has_model else None
        relowered = lowered or lower_program(program)
        self.program, self.lowering = program, relowered.lowering
        self.live = LiveForm(relowered, self.options, self.solver, before)
        if had is not None:
            same = self.live.uses_dual == before.uses_dual
            self._apply_change(_change_between(had, self.live.compiled.form) if same else FULL_CHANGE)

    def delete(self, *names: str) -> None:
        """Delete the constraint blocks of these names; raise an error and delete nothing if one does not exist."""
        for name in names:
            self.program.block(name)
        for name in dict.fromkeys(names):
            del self.program.constraints[name]
        if names:
            self._apply_change(self.live.delete_blocks(names))

    def close(self) -> None:
        """Release the resources of the solver."""
        self._engine.close()

    def __enter__(self) -> StepSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def undo_on_error(self) -> Iterator[None]:
        """Undo all changes made inside the `with` block if one of them raises a `MiloptError`.

        The program, its parameters, the minorants, the forms and the engine are restored.
        """
        declared, witnesses = DeclaredState(self.program), dict(self.lowering.other_side.stand_ins)
        began = seconds_without_jit()
        try:
            yield
        except MiloptError:
            declared.restore()
            relowered = lower_program(self.program, witnesses, self.lowering.other_side.both_sides)
            self.lowering = relowered.lowering
            self.live = LiveForm(relowered, self.options, self.solver)
            self._apply_change(FULL_CHANGE)
            raise
        finally:
            self._build_seconds += seconds_without_jit() - began

    def _recompile_parts_with(self, touched: Iterable[Leaf]) -> None:
        """Compile the parts in which the leaves occur again: the objective, declared blocks and auxiliary blocks."""
        wanted = {id(leaf) for leaf in touched}
        for atom, witness in self.lowering.other_side.stand_ins.items():
            if isinstance(witness, Expression) and any(id(leaf) in wanted for leaf in leaves(witness)):
                wanted.add(id(atom))
        auxiliary = self.lowering.refresh_auxiliary(wanted)
        if any(id(leaf) in wanted for leaf in leaves(self.program.objective)):
            self._apply_change(self.live.refresh_objective())
        names = [
            name
            for name, constraint in self.program.constraints.items()
            if any(id(leaf) in wanted for leaf in leaves(constraint.expression))
        ]
        self._apply_change(self.live.refresh_blocks(names, auxiliary))

    def _apply_change(self, change: Change | None) -> None:
        """Apply a change of the form to the engine; None is no change."""
        self._engine.apply_change(self.live, change)

    # -- solving -----------------------------------------------------------------------------------------------

    def solve(self, clock: Clock | None = None) -> Outcome:
        """Solve the current program within the time that is left, and certify the answer.

        If the solver raises an unexpected exception, the termination is "error" and the message is that of the
        exception.
        """
        check_clock(clock)
        clock = clock or Clock(self.options.time_limit)
        try:
            with deadline(clock.seconds_left()):
                return self._solve(clock)
        except TimeLimitError as error:
            return Outcome.without_point(self.form, Termination.LIMIT, "", str(error))

    def certificate_with_minorants(self, outcome: Outcome, stand_ins: StandIns) -> Certificate:
        """Return the certificate of the last outcome's point with other minorants; the session is not changed.

        `outcome` must be that of the last solve, without changes since. With the tangents at the point, the certificate
        measures how far the point is from being stationary.
        """
        check_stand_ins(stand_ins)
        if not isinstance(outcome, Outcome):
            raise DeclarationError(f"certificate_with_minorants requires an outcome of solve, not {outcome!r}.")
        if outcome.point is None or outcome.evaluation is None:
            raise DeclarationError("The outcome has no point, so there is nothing to certify.")
        other = self.lowering.other_side
        before = dict(other.stand_ins)
        other.stand_ins.update(stand_ins)
        try:
            values = LeafValues(self.lowering, outcome.point, outcome.evaluation.function_values, self.spaces)
            declared = declared_residuals(self.lowering, values, outcome.evaluation.objective)
            form, spaces = self.form, self.spaces
            return certify_declared(self.lowering, form, spaces, outcome.point, outcome.evaluation, declared)
        finally:
            other.stand_ins = before

    def _check_witnesses(self) -> None:
        """Raise `ConvexityError` if a maximum has no witness but needs one: the default, a mean, is not exact."""
        other = self.lowering.other_side
        missing = [atom for atom in other.missing if atom not in other.stand_ins]
        if missing:
            raise ConvexityError(
                f"{self.program.name!r} is a DC program: {missing[0].describe()} needs a witness per bag; give "
                "witnesses= to the session, call set_witnesses, or solve the program by a scheme."
            )

    def _solve(self, clock: Clock) -> Outcome:
        """Solve once, and add the seconds to the clock."""
        self._check_witnesses()
        outcome = SolveRun(self.live, self._engine, self._convexity, clock, self._build_seconds).run()
        self._build_seconds = 0.0
        clock.work.build += outcome.build_seconds
        clock.work.solve += outcome.solve_seconds
        return outcome


def _change_between(old: StandardForm, new: StandardForm) -> Change:
    """Return the change from one flat form to another."""
    if new.differs_only_in(old, "q"):
        return Change(ChangeKind.LINEAR)
    if new.differs_only_in(old, "g"):
        return Change(ChangeKind.OFFSET)
    if new.differs_only_in(old, "lower", "upper"):
        return Change(ChangeKind.BOUNDS, np.flatnonzero((new.lower != old.lower) | (new.upper != old.upper)))
    return Change(ChangeKind.EVERYTHING, np.arange(old.n)) if new.n == old.n else FULL_CHANGE
