"""The session of a scheme: one program compiled for one solver, kept alive while it changes, solved step by step.

All verbs speak the program's own expressions. A persistent engine applies just what a verb changed; another rebuilds
and counts (`rebuilds`). Every `solve` proves its answer on the whole program, lazy rows included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy.typing as npt

from milopt.compilation.compiled import Compiled
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowered_program import LoweredProgram, lower
from milopt.compilation.minorant import StandIns
from milopt.compilation.status import Termination
from milopt.deadline import deadline
from milopt.declaration.programs.expression import Constraint, Expression, Leaf
from milopt.declaration.programs.leaves import Parameter, Variable
from milopt.declaration.programs.program import Program, leaves
from milopt.errors import ConvexityError, DeclarationError, MiloptError, TimeLimitError
from milopt.jit_time import working_seconds
from milopt.outcome.certificate import Certificate
from milopt.outcome.declared import declared_residuals
from milopt.outcome.declared_proof import certify_declared
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import LeafValues
from milopt.solving import registry
from milopt.solving.clock import Clock
from milopt.solving.convexity import ConvexityCheck
from milopt.solving.declared_state import DeclaredState
from milopt.solving.engine import Change, What
from milopt.solving.live_engine import LiveEngine
from milopt.solving.live_form import EVERYTHING, LiveForm
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
    """A compiled program inside a solver."""

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
        """Compile `program` for `solver`, which is given by its name or as an object.

        `lowered` is the program as it was lowered before without witnesses, if it has not changed since.
        """
        began = working_seconds()
        check_session(program, solver, options, witnesses)
        self.program = program
        self.solver = solver = registry.require(solver) if isinstance(solver, str) else solver
        self.options = options or Options()
        known = lowered or lower(program, witnesses, both_sides)
        self.lowering = known.lowering
        self.live = LiveForm(known, self.options, solver)
        self._engine = LiveEngine(solver, self.options)
        self._convexity = ConvexityCheck(solver)
        self._build_seconds = working_seconds() - began

    @property
    def form(self) -> EvaluationForm:
        """The program's evaluation form as it stands."""
        return self.live.form

    @property
    def spaces(self) -> list[KernelSpace]:
        """The kernel values computed so far."""
        return self.live.spaces

    @property
    def compiled(self) -> Compiled:
        """Exactly what the solver has (or will get): a flat form, and the way back from its answer."""
        return self.live.compiled

    @property
    def rebuilds(self) -> int:
        """How often the solver's own model was built again."""
        return self._engine.rebuilds

    # -- verbs -------------------------------------------------------------------------------------------------

    def set_parameter(self, parameter: Parameter, value: npt.ArrayLike) -> None:
        """Give a parameter new numbers."""
        self.set_inputs({parameter: value}, {})

    def set_witnesses(self, witnesses: StandIns) -> None:
        """Choose the witnesses of the maxima on their other side."""
        self.set_inputs({}, witnesses)

    def set_inputs(self, parameters: Mapping[Parameter, npt.ArrayLike], witnesses: StandIns) -> None:
        """Parameters and witnesses at once: what they occur in is lowered again once."""
        check_parameters(self.program, parameters)
        check_stand_ins(witnesses)
        with self.all_or_nothing():
            for parameter, value in parameters.items():
                parameter.value = value
            for witness in witnesses.values():
                self.lowering.linear.register_stand_in(witness)
            self.lowering.other_side.stand_ins.update(witnesses)
            self._refresh([*parameters, *witnesses])

    def set_objective(self, objective: Expression | float, *, maximize: bool = False) -> None:
        """Another objective for the same constraints."""
        with self.all_or_nothing():
            (self.program.maximize if maximize else self.program.minimize)(objective)
            self.lowering.linear.register(self.program.objective)
            self._tell(self.live.refresh_objective())

    def add_rows(self, constraint: Constraint, name: str | None = None) -> str:
        """Add a constraint block; returns its name."""
        with self.all_or_nothing():
            self.program.subject_to(constraint, name)
            added = next(reversed(self.program.constraints))
            self.lowering.linear.register(self.program.constraints[added].expression)
            self._tell(self.live.append_block(added))
        return added

    def replace_rows(self, name: str, constraint: Constraint) -> None:
        """Put another constraint in a block's place."""
        with self.all_or_nothing():
            self.program.replace(name, constraint)
            self.lowering.linear.register(self.program.constraints[name].expression)
            self._tell(self.live.refresh_blocks([name]))

    def take_columns(self, variable: Variable, names: Iterable[str]) -> None:
        """Take over a variable that the program has got, and that was added to the objective and to these blocks."""
        self.lowering.linear.add_variable(variable)
        self._tell(self.live.append_columns(names))

    def take_bounds(self, variable: Variable) -> None:
        """Take over the bounds of a variable."""
        if self.lowering.has_epigraphs or self.lowering.other_side.stand_ins or not self.live.is_flat:
            # How atoms inside atoms are lowered depends on bounds, and so does whether there is a dual.
            self.start_again()
        else:
            self._tell(self.live.change_bounds(variable))

    def start_again(self) -> None:
        """Compile the program again as it stands; kernel values are kept."""
        other = self.lowering.other_side
        known = lower(self.program, dict(other.stand_ins), other.both_sides)
        self.lowering = known.lowering
        self.live = LiveForm(known, self.options, self.solver, self.live)
        self._tell(EVERYTHING)

    def adopt(self, program: Program, lowered: LoweredProgram | None = None) -> None:
        """Go on with another program without witnesses, and keep of this one what serves it too.

        Kernel values stay where functions are evaluated at the same points, and an engine that was told so keeps its
        factors where the two differ in the linear part of the objective alone.
        """
        check_program(program)
        before, had = self.live, self.live.compiled.form if self._engine.is_built else None
        known = lowered or lower(program)
        self.program, self.lowering = program, known.lowering
        self.live = LiveForm(known, self.options, self.solver, before)
        if had is not None:
            same = self.live.uses_dual == before.uses_dual and self.live.compiled.form.differs_in_q_only(had)
            self._tell(Change(What.LINEAR) if same else EVERYTHING)

    def delete(self, *names: str) -> None:
        """Delete constraint blocks."""
        for name in names:
            self.program.block(name)
        for name in dict.fromkeys(names):
            del self.program.constraints[name]
        if names:
            self._tell(self.live.delete_blocks(names))

    def close(self) -> None:
        """Give back what the solver holds."""
        self._engine.close()

    def __enter__(self) -> StepSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Leave the program, its parameters, the witnesses, the forms and the engine as they were if a change fails."""
        declared, witnesses = DeclaredState(self.program), dict(self.lowering.other_side.stand_ins)
        began = working_seconds()
        try:
            yield
        except MiloptError:
            declared.restore()
            known = lower(self.program, witnesses, self.lowering.other_side.both_sides)
            self.lowering = known.lowering
            self.live = LiveForm(known, self.options, self.solver)
            self._tell(EVERYTHING)
            raise
        finally:
            self._build_seconds += working_seconds() - began

    def _refresh(self, touched: Iterable[Leaf]) -> None:
        """Lower again whatever these leaves occur in: the objective, declared blocks and auxiliary blocks."""
        wanted = {id(leaf) for leaf in touched}
        for atom, witness in self.lowering.other_side.stand_ins.items():
            if isinstance(witness, Expression) and any(id(leaf) in wanted for leaf in leaves(witness)):
                wanted.add(id(atom))
        auxiliary = self.lowering.refresh_auxiliary(wanted)
        if any(id(leaf) in wanted for leaf in leaves(self.program.objective)):
            self._tell(self.live.refresh_objective())
        names = [
            name
            for name, constraint in self.program.constraints.items()
            if any(id(leaf) in wanted for leaf in leaves(constraint.expression))
        ]
        self._tell(self.live.refresh_blocks(names, auxiliary))

    def _tell(self, change: Change | None) -> None:
        self._engine.tell(self.live, change)

    # -- solving -----------------------------------------------------------------------------------------------

    def solve(self, clock: Clock | None = None) -> Outcome:
        """Solve the current program within the time that is left, and prove the answer.

        A solver that raises an unexpected exception ends with termination "error", and with its words as the message.
        """
        check_clock(clock)
        clock = clock or Clock(self.options.time_limit)
        try:
            with deadline(clock.left()):
                return self._solve(clock)
        except TimeLimitError as error:
            return Outcome.without_point(self.form, Termination.LIMIT, "", str(error))

    def certificate_with(self, outcome: Outcome, stand_ins: StandIns) -> Certificate:
        """Return the certificate that the point of the last outcome has with other minorants; the session stays as is.

        With the tangents at the point it measures how far the point is from stationary.
        """
        check_stand_ins(stand_ins)
        if not isinstance(outcome, Outcome):
            raise DeclarationError(f"certificate_with takes an outcome of solve, not {outcome!r}.")
        if outcome.point is None or outcome.worth is None:
            raise DeclarationError("The outcome has no point, so there is nothing to certify.")
        other = self.lowering.other_side
        before = dict(other.stand_ins)
        other.stand_ins.update(stand_ins)
        try:
            values = LeafValues(self.lowering, outcome.point, outcome.worth.evaluations)
            declared = declared_residuals(self.lowering, values, outcome.worth.objective)
            form, spaces = self.form, self.spaces
            return certify_declared(self.lowering, form, spaces, outcome.point, outcome.worth, declared)
        finally:
            other.stand_ins = before

    def _refuse_missing_witnesses(self) -> None:
        """Raise an error if means stand in for maxima that need a witness: that would be another program."""
        other = self.lowering.other_side
        missing = [atom for atom in other.missing if atom not in other.stand_ins]
        if missing:
            raise ConvexityError(
                f"{self.program.name!r} is a DC program: {missing[0].describe()} needs a witness per bag; give "
                "witnesses= to the session, call set_witnesses, or solve the program by a scheme."
            )

    def _solve(self, clock: Clock) -> Outcome:
        self._refuse_missing_witnesses()
        outcome = SolveRun(self.live, self._engine, self._convexity, clock, self._build_seconds).outcome()
        self._build_seconds = 0.0
        clock.work.build += outcome.build_seconds
        clock.work.solve += outcome.solve_seconds
        return outcome
