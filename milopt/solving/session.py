"""A session: one program compiled for one solver, kept alive while it changes, solved as often as wanted.

All verbs speak the program's own expressions. A persistent engine applies just what a verb changed; another rebuilds
and counts (`rebuilds`). Every `solve` proves its answer on the whole program, lazy rows included.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from traceback import format_exception

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.compilation.compiled import Compiled
from milopt.compilation.curvature import bending_terms, curvature
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import StandIns
from milopt.declaration.expression import Constraint, Expression, Leaf
from milopt.declaration.leaves import Parameter
from milopt.declaration.program import Program, leaves
from milopt.errors import ConvexityError, DeclarationError, MiloptError, SolverError, TimeLimitError
from milopt.jit_time import working_seconds
from milopt.outcome.certificate import Certificate
from milopt.outcome.claims import excludes_all_points, falls_along
from milopt.outcome.declared import declared_residuals
from milopt.outcome.declared_proof import certify_declared
from milopt.outcome.outcome import Outcome, unless_feasible
from milopt.outcome.point_values import LeafValues
from milopt.outcome.status import PointStatus, Termination
from milopt.solving import registry
from milopt.solving.clock import Clock
from milopt.solving.deadline import deadline
from milopt.solving.diagnosis import Diagnosis, diagnose
from milopt.solving.engine import Answer, Change, Engine, What
from milopt.solving.engine_process import is_heavy
from milopt.solving.live_form import EVERYTHING, LiveForm
from milopt.solving.options import Options
from milopt.solving.proof import Candidate, Prover, candidate
from milopt.solving.refusal import check, cones_of, features_of, refusal, takes_all
from milopt.solving.session_arguments import (
    check_clock,
    check_parameters,
    check_program,
    check_session,
    check_stand_ins,
)
from milopt.solving.solver import Feature, Solver
from milopt.solving.solver_failure import solver_errors

CLAIMS = (Termination.INFEASIBLE, Termination.UNBOUNDED)
"""Ends of a solver that milopt must prove."""
FAR_FROM_OPTIMAL = 1e-4
"""Largest residual of a point from which on a solver that stalls may have met an infeasible or unbounded program."""

DIAGNOSIS_SECONDS = 1.0
"""For the confirmation that a program is infeasible or unbounded, if the time is almost up."""


class Session:
    """A compiled program inside a solver."""

    def __init__(
        self,
        program: Program,
        solver: str | Solver,
        options: Options | None = None,
        *,
        witnesses: StandIns | None = None,
        both_sides: bool = False,
    ) -> None:
        """Compile `program` for `solver`, which is given by its name or as an object."""
        began = working_seconds()
        check_session(program, solver, options, witnesses)
        self.program = program
        self.solver = solver = registry.require(solver) if isinstance(solver, str) else solver
        self.options = options or Options()
        self.lowering = Lowering(program, witnesses, both_sides)
        self.live = LiveForm(self.lowering, self.options, solver)
        self._engine: Engine | None = None
        self._judged_form: EvaluationForm | None = None
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
        return self._engine.rebuilds if self._engine is not None else 0

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
        with self._all_or_nothing():
            for parameter, value in parameters.items():
                parameter.value = value
            for witness in witnesses.values():
                self.lowering.linear.register_stand_in(witness)
            self.lowering.other_side.stand_ins.update(witnesses)
            self._refresh([*parameters, *witnesses])

    def set_objective(self, objective: Expression | float, *, maximize: bool = False) -> None:
        """Another objective for the same constraints."""
        with self._all_or_nothing():
            (self.program.maximize if maximize else self.program.minimize)(objective)
            self.lowering.linear.register(self.program.objective)
            self._tell(self.live.refresh_objective())

    def add_rows(self, constraint: Constraint, name: str | None = None) -> str:
        """Add a constraint block; returns its name."""
        with self._all_or_nothing():
            self.program.subject_to(constraint, name)
            added = next(reversed(self.program.constraints))
            self.lowering.linear.register(constraint.expression)
            self._tell(self.live.append_block(added))
        return added

    def replace_rows(self, name: str, constraint: Constraint) -> None:
        """Put another constraint in a block's place."""
        with self._all_or_nothing():
            self.program.replace(name, constraint)
            self.lowering.linear.register(constraint.expression)
            self._tell(self.live.refresh_blocks([name]))

    def add_columns(
        self,
        name: str,
        count: int,
        rows: Mapping[str, npt.ArrayLike | sp.sparray],
        cost: npt.ArrayLike = 0.0,
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
    ) -> None:
        """Add a variable block with its cost and, by constraint name, the matrix with which it enters `expression`."""
        with self._all_or_nothing():
            variable = self.program.extend(name, count, rows, cost, lower, upper)
            self.lowering.linear.add_variable(variable)
            self._tell(self.live.append_columns(rows))

    def adopt(self, program: Program) -> None:
        """Go on with another program without witnesses, and keep of this one what serves it too.

        Kernel values stay where functions are evaluated at the same points, and an engine that was told so keeps its
        factors where the two differ in the linear part of the objective alone.
        """
        check_program(program)
        before, had = self.live, self.live.compiled.form if self._engine is not None else None
        self.program, self.lowering = program, Lowering(program)
        self.live = LiveForm(self.lowering, self.options, self.solver, before)
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
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the program, its parameters, the witnesses, the forms and the engine as they were if a change fails."""
        program, witnesses = self.program, dict(self.lowering.other_side.stand_ins)
        values = {parameter: parameter.value for parameter in program.parameters.values()}
        variables, constraints = dict(program.variables), dict(program.constraints)
        objective, maximizes = program.objective, program.maximizes
        try:
            yield
        except MiloptError:
            program.variables, program.constraints = variables, constraints
            (program.maximize if maximizes else program.minimize)(objective)
            for parameter, value in values.items():
                parameter.restore(value)
            self.lowering = Lowering(program, witnesses, self.lowering.other_side.both_sides)
            self.live = LiveForm(self.lowering, self.options, self.solver)
            self._tell(EVERYTHING)
            raise

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
        if self._engine is not None and change is not None:
            form = self.live.compiled.form
            if not takes_all(self.solver, features_of(form), cones_of(form)):
                check(self.solver, form, self.program.name)
            with solver_errors(self.solver.name):
                self._engine.update(form, change)

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
            raise DeclarationError("There is no point to certify.")
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
        began, work = working_seconds(), _Work()
        try:
            outcome = self._solved(clock, work)
        except SolverError as error:
            self._engine = None  # in an unknown state: the next solve builds another one
            outcome = Outcome.without_point(self.form, Termination.ERROR, str(error), str(error))
            work.log += "".join(format_exception(error))
        cut = outcome.termination is Termination.LIMIT or (
            clock.is_over() and outcome.termination is Termination.STALLED
        )
        if cut and outcome.point is not None:
            why = clock.why() if clock.is_over() else f"The solver gave up ({outcome.raw_status})"
            message = f"{why}; the last point is kept{unless_feasible(outcome.status, outcome.certificate)}."
            outcome = replace(outcome, termination=Termination.LIMIT, message=message)
        build, self._build_seconds = self._build_seconds + working_seconds() - began - work.seconds, 0.0
        return replace(
            outcome,
            iterations=work.iterations,
            build_seconds=build,
            solve_seconds=work.seconds,
            log=work.log,
            rebuilds=self.rebuilds,
        )

    def _solved(self, clock: Clock, work: _Work) -> Outcome:
        """Solve in the form that the solver prefers, then in coordinates if the dual leads nowhere; prove the end."""
        outcome = self._solved_once(clock, work)
        if self._may_try_coordinates(outcome) and not clock.is_over():
            outcome = self._solved_in_coordinates(outcome, clock, work)
        return self._diagnosed(outcome, clock) if _needs_diagnosis(outcome) else outcome

    def _solved_in_coordinates(self, by_dual: Outcome, clock: Clock, work: _Work) -> Outcome:
        """Leave the dual for good; the better of the two outcomes."""
        self._tell(self.live.use_coordinates())
        again = self._solved_once(clock, work)
        if by_dual.termination in CLAIMS:
            return again  # A claim about the dual is not one about the program.
        if again.status is not PointStatus.CERTIFIED and _worst(by_dual) < _worst(again):
            return by_dual
        tried = f"The dual ended as {by_dual.raw_status!r}; solved in coordinates."
        return replace(again, message=f"{tried} {again.message}".strip())

    def _solved_once(self, clock: Clock, work: _Work) -> Outcome:
        """Solve the current form, with more rows as long as lazy ones are violated."""
        self._check_curvature()
        while True:
            engine = self._ready()
            start = working_seconds()
            try:
                with solver_errors(self.solver.name):
                    answer = engine.solve(clock.left())
            finally:
                work.seconds += working_seconds() - start
            work.iterations, work.log = work.iterations + answer.iterations, work.log + answer.log
            clock.interrupted |= answer.interrupted
            answer = self._in_program(answer)
            found = candidate(self.form, self.spaces, self.live.compiled, answer)
            change = None if clock.is_over() else self._next(answer, found)
            if change is None:
                return self._judged(answer, found, clock)
            self._tell(change)

    def _next(self, answer: Answer, found: Candidate | None) -> Change | None:
        """What the engine must get before its answer is about the whole program; None when it is."""
        if found is None or answer.termination in CLAIMS:
            # Over fewer rows a program may be unbounded (its dual infeasible), or so flat that a solver breaks down.
            settled = answer.termination is Termination.INFEASIBLE and not self.live.uses_dual
            return self.live.hand_over_all() if self.live.rows.lazy and not settled else None
        slack = 0.1 * self.options.tolerance
        violated = self.live.rows.violated(self.form, found.worth.rows / (1.0 + np.abs(self.form.rows.g)), slack)
        return self.live.hand_over(violated) if violated.size else None

    def _in_program(self, answer: Answer) -> Answer:
        """Return the answer with the inertia of the program's own Hessian; a saddle is no more than stationary.

        A claim of optimality without an inertia is checked by eigenvalues if the objective may be non-convex.
        """
        inertia = None if answer.inertia is None else self.live.compiled.inertia(answer.inertia)
        known = (Termination.STATIONARY, Termination.OPTIMAL)
        if answer.termination not in known:
            return replace(answer, inertia=inertia)
        if inertia is None:
            claims = answer.termination is Termination.OPTIMAL and Feature.NONCONVEX in self.solver.features
            if claims and bending_terms(self.form):
                verdict = curvature(self.form, self.live.coordinates().form)
                if not verdict.convex:
                    answer = replace(answer, termination=Termination.STATIONARY, raw_status=verdict.reason())
            return replace(answer, inertia=inertia)
        termination = Termination.STATIONARY if inertia.is_saddle else Termination.OPTIMAL
        return replace(answer, inertia=inertia, termination=termination, raw_status=str(inertia))

    def _check_curvature(self) -> None:
        """Judge the objective again whenever the form is another one; the dual, where it exists, is convex."""
        if self._judged_form is self.form or self.live.uses_dual or Feature.NONCONVEX in self.solver.features:
            return
        verdict = curvature(self.form, self.live.compiled.form)
        if not verdict.convex:
            raise ConvexityError(f"{verdict.reason()} {self.solver.name} takes convex programs only.")
        self._judged_form = self.form

    def _may_try_coordinates(self, outcome: Outcome) -> bool:
        """Whether a solver that broke down on the dual, or claims something about it, takes the coordinates."""
        if not self.live.uses_dual:
            return False
        failed = self.options.form == "auto" and outcome.termination in (Termination.ERROR, Termination.STALLED)
        claims = outcome.termination in CLAIMS
        return (failed or claims) and refusal(self.solver, self.live.coordinates().form) is None

    def _ready(self) -> Engine:
        if self._engine is None:
            form = self.live.compiled.form
            check(self.solver, self.live.pattern() if self.solver.recognises_patterns else form, self.program.name)
            with solver_errors(self.solver.name):
                self._engine = self.solver.engine(form, self.options)
        return self._engine

    def _judged(self, answer: Answer, found: Candidate | None, clock: Clock) -> Outcome:
        """The outcome with its certificate; a claim of infeasibility or unboundedness has yet to be proved."""
        termination = answer.termination
        if found is not None:
            if termination in CLAIMS:
                # The claim may be wrong and the point an optimum. An inertia is about neither.
                answer = replace(answer, termination=Termination.STATIONARY, inertia=None)
            late = clock.is_over() and is_heavy(self.live.compiled.form)
            options = replace(self.options, polish=False) if late else self.options
            prover = Prover(self.lowering, self.form, self.spaces, self.live.compiled, options)
            outcome = prover.proved(answer, found)
            if termination not in CLAIMS or outcome.status is PointStatus.CERTIFIED:
                return outcome
        if termination is Termination.LIMIT or (termination is Termination.STALLED and clock.is_over()):
            message = f"{clock.why()} before any point."
            return Outcome.without_point(self.form, Termination.LIMIT, answer.raw_status, message)
        message = f"The solver said {answer.raw_status!r} and gave no finite point."
        if termination not in (*CLAIMS, Termination.STALLED):
            termination = Termination.ERROR
        return Outcome.without_point(self.form, termination, answer.raw_status, message)

    def _diagnosed(self, outcome: Outcome, clock: Clock) -> Outcome:
        """The outcome, or that the program is infeasible or unbounded if milopt proves it."""
        compiled = self.live.coordinates() if self.live.uses_dual else self.live.compiled
        form = compiled.form
        extended = outcome.termination in CLAIMS and not clock.interrupted
        within = clock.extended(DIAGNOSIS_SECONDS) if extended else clock
        diagnosis = diagnose(form, self.solver, self.options, within, has_all_rows=not self.live.rows.lazy)
        clock.interrupted |= within.interrupted
        if diagnosis.proved is not None and not self._is_confirmed(diagnosis, compiled):
            message = f"{diagnosis.proved} by the rows that atoms became, but not by the declared program"
            diagnosis = Diagnosis(None, message)
        if diagnosis.proved is not None:
            return Outcome.without_point(self.form, diagnosis.proved, outcome.raw_status, diagnosis.message)
        if outcome.termination not in CLAIMS:
            return outcome
        if clock.is_over():
            message = f"{clock.why()} before the solver's claim ({outcome.raw_status}) was checked."
            return Outcome.without_point(self.form, Termination.LIMIT, outcome.raw_status, message)
        message = f"The solver said {outcome.raw_status!r}, but this is not confirmed: {diagnosis.message}."
        return Outcome.without_point(self.form, Termination.STALLED, outcome.raw_status, message)

    def _is_confirmed(self, diagnosis: Diagnosis, compiled: Compiled) -> bool:
        """Return True if the declared program bears out a proof that was found with the rows that atoms became."""
        lowering = self.lowering
        if not lowering.has_epigraphs:
            return True
        if diagnosis.farkas is not None:
            farkas = compiled.recover(np.zeros(compiled.form.n), diagnosis.farkas)
            return excludes_all_points(lowering, self.form, self.spaces, farkas)
        if diagnosis.feasible is not None and diagnosis.ray is not None:
            return falls_along(lowering, self.spaces, compiled, diagnosis.feasible, diagnosis.ray)
        return True


@dataclass
class _Work:
    """What the solver did during one call of `Session.solve`."""

    seconds: float = 0.0
    iterations: int = 0
    log: str = ""


def _needs_diagnosis(outcome: Outcome) -> bool:
    """Whether a program may be infeasible or unbounded: a solver says so, or its point is far from optimal."""
    if outcome.termination in CLAIMS:
        return True
    if outcome.termination not in (Termination.STALLED, Termination.ERROR):
        return False
    return outcome.point is None or FAR_FROM_OPTIMAL < _worst(outcome) < math.inf


def _worst(outcome: Outcome) -> float:
    """The largest residual of a point; infinite without one."""
    return math.inf if outcome.point is None or outcome.certificate is None else outcome.certificate.worst
