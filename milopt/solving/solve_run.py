"""One solve of a session: call the engine, add violated lazy rows and call it again, then certify the answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from traceback import format_exception

import numpy as np

from milopt.compilation.answer import Answer
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import SolverError, UnsupportedError
from milopt.jit_time import seconds_without_jit
from milopt.outcome.outcome import Outcome, violation_clause
from milopt.solving.claim_check import CLAIMED_TERMINATIONS, check_claim, largest_residual, needs_check
from milopt.solving.clock import Clock
from milopt.solving.convexity import ConvexityCheck, with_inertia
from milopt.solving.engine import Change
from milopt.solving.engine_process import has_slow_iterations
from milopt.solving.live_engine import LiveEngine
from milopt.solving.live_form import LiveForm
from milopt.solving.proof import CandidatePoint, Certifier, finite_candidate, recover_candidate
from milopt.solving.solver_failure import wrap_solver_errors
from milopt.solving.solver_support import unsupported_reason

MAX_LATE_POLISH_SIZE = 1000
"""Rows plus columns up to which a point is polished after the time limit; polishing then takes less than a second."""
MAX_FLAT_FORM_POINTS_AFTER_FAILURE = 3000
"""Number of points up to which a flat form is tried after an engine for evaluation forms has failed."""
LAZY_VIOLATION_FRACTION = 0.1
"""A lazy row is added if it is violated by more than this fraction of the tolerance."""


@dataclass
class SolveRun:
    """One solve of a live form by an engine, within the time of a clock."""

    live: LiveForm
    engine: LiveEngine
    convexity: ConvexityCheck
    clock: Clock
    build_seconds: float = 0.0
    """Seconds of compiling before this solve, which are added to those of the outcome."""
    solver_seconds: float = 0.0
    """Seconds inside the solver so far."""
    iterations: int = 0
    log: str = ""
    form_reason: str = ""
    """Form in which functions were given to the solver, with the reason, if it is not that of the live form."""

    def run(self) -> Outcome:
        """Solve and certify the answer.

        If the solver raises an exception, the termination is "error" and the message is that of the exception.
        """
        began = seconds_without_jit()
        try:
            outcome = self._solve()
        except SolverError as error:
            self.engine.discard()
            outcome = Outcome.without_point(self.live.form, Termination.ERROR, str(error), str(error))
            self.log += "".join(format_exception(error))
        return replace(
            self._with_limit_message(outcome),
            iterations=self.iterations,
            build_seconds=self.build_seconds + seconds_without_jit() - began - self.solver_seconds,
            solve_seconds=self.solver_seconds,
            log=self.log,
            rebuilds=self.engine.rebuilds,
            form_reason=self.form_reason or self.live.choice.reason,
        )

    def _with_limit_message(self, outcome: Outcome) -> Outcome:
        """Return the outcome with termination "limit" and a message about it, if a limit ended the solve with a point.

        Any other outcome is returned unchanged.
        """
        clock = self.clock
        is_cut = outcome.termination is Termination.LIMIT or (
            clock.is_over() and outcome.termination is Termination.STALLED
        )
        if not is_cut or outcome.point is None:
            return outcome
        reason = clock.end_reason() if clock.is_over() else f"The solver gave up ({outcome.raw_status})"
        message = f"{reason}; the last point is kept{violation_clause(outcome.status, outcome.certificate)}."
        return replace(outcome, termination=Termination.LIMIT, message=message)

    def _solve(self) -> Outcome:
        """Solve in evaluation form if the solver supports that, otherwise in a flat form."""
        by_features = self._solve_evaluation_form()
        if by_features is None:
            return self._solve_flat_form()
        if by_features.status is PointStatus.CERTIFIED or self.clock.is_over():
            return by_features
        if sum(self.live.form.point_counts) > MAX_FLAT_FORM_POINTS_AFTER_FAILURE:
            return by_features
        self.engine.form_engine, self.form_reason = None, ""
        try:
            return self._solve_flat_form()
        except UnsupportedError:
            return by_features

    def _solve_evaluation_form(self) -> Outcome | None:
        """Solve by the solver's engine for evaluation forms; None if it has none, or none for this pattern."""
        live, engine = self.live, self.engine.form_engine
        if engine is None:
            return None
        start = seconds_without_jit()
        try:
            with wrap_solver_errors(self.engine.solver.name):
                engine_answer = engine.solve(live.form, live.spaces, self.clock.seconds_left())
        finally:
            self.solver_seconds += seconds_without_jit() - start
        candidate = None if engine_answer is None else finite_candidate(live.form, live.spaces, engine_answer.point)
        if engine_answer is None or candidate is None:
            return None
        self.iterations += engine_answer.iterations
        size = sum(space.size for space in live.spaces)
        name, unit = (
            ("touched points", "points")
            if any(space.features is None for space in live.spaces)
            else ("features", "features")
        )
        self.form_reason = f"{name} ({size} {unit}, {engine_answer.reason})"
        answer = Answer(
            engine_answer.termination, engine_answer.raw_status, None, None, iterations=engine_answer.iterations
        )
        return Certifier(live.lowering, live.form, live.spaces, None, live.options).certify_answer(answer, candidate)

    def _solve_flat_form(self) -> Outcome:
        """Solve in the chosen form; if a dual form fails or gives a claim, in primal form too; check claims."""
        outcome = self._solve_once()
        if self._should_try_primal_form(outcome) and not self.clock.is_over():
            outcome = self._solve_in_primal_form(outcome)
        return check_claim(outcome, self.live, self.engine.solver, self.clock) if needs_check(outcome) else outcome

    def _should_try_primal_form(self, outcome: Outcome) -> bool:
        """Return True if the dual form was used and failed or led to a claim, and the solver supports the primal form.

        A claim is "infeasible" or "unbounded". A failure counts only with the option form="auto".
        """
        if not self.live.uses_dual:
            return False
        broke_down = outcome.termination in (Termination.ERROR, Termination.STALLED)
        failed = self.live.options.form == "auto" and broke_down
        claims = outcome.termination in CLAIMED_TERMINATIONS
        return (failed or claims) and unsupported_reason(self.engine.solver, self.live.primal_form().form) is None

    def _solve_in_primal_form(self, by_dual: Outcome) -> Outcome:
        """Switch to the primal form permanently and solve; return the better of the two outcomes.

        `by_dual`: outcome of the dual form. If it is a claim ("infeasible" or "unbounded"), it is never returned.
        """
        self.engine.apply_change(self.live, self.live.use_primal())
        again = self._solve_once()
        if by_dual.termination in CLAIMED_TERMINATIONS:
            return again  # A claim about the dual form says nothing about the program.
        if again.status is not PointStatus.CERTIFIED and largest_residual(by_dual) < largest_residual(again):
            return by_dual
        note = f"The dual ended as {by_dual.raw_status!r}; solved in primal form."
        return replace(again, message=f"{note} {again.message}".strip())

    def _solve_once(self) -> Outcome:
        """Solve the current form, adding lazy rows until none is violated or the time is over; certify the answer."""
        live = self.live
        self.convexity.require_convex(live)
        while True:
            answer = with_inertia(self._call_engine(), live, self.engine.solver)
            candidate = recover_candidate(live.form, live.spaces, live.compiled, answer)
            change = None if self.clock.is_over() else self._activate_missing_rows(answer, candidate)
            if change is None:
                return self._make_outcome(answer, candidate)
            self.engine.apply_change(live, change)

    def _call_engine(self) -> Answer:
        """Let the engine solve its model once, and add up its iterations, seconds and log."""
        engine = self.engine.get_engine(self.live)
        start = seconds_without_jit()
        try:
            with wrap_solver_errors(self.engine.solver.name):
                answer = engine.solve(self.clock.seconds_left())
        finally:
            self.solver_seconds += seconds_without_jit() - start
        self.iterations, self.log = self.iterations + answer.iterations, self.log + answer.log
        self.clock.interrupted |= answer.interrupted
        return answer

    def _activate_missing_rows(self, answer: Answer, candidate: CandidatePoint | None) -> Change | None:
        """Activate the lazy rows that the answer violates; return the change for the engine, None if there are none.

        All rows are activated if the answer has no point or is a claim ("infeasible" or "unbounded"). The exception is
        "infeasible" in primal form, which further rows cannot change.
        """
        live = self.live
        if candidate is None or answer.termination in CLAIMED_TERMINATIONS:
            # With fewer rows, the program may be unbounded (its dual infeasible), or its optimum may be so weakly
            # determined that a solver fails.
            settled = answer.termination is Termination.INFEASIBLE and not live.uses_dual
            return live.activate_all_rows() if live.rows.is_lazy and not settled else None
        slack = LAZY_VIOLATION_FRACTION * live.options.tolerance
        violated = live.rows.find_violated_rows(
            live.form, candidate.evaluation.rows / (1.0 + np.abs(live.form.rows.g)), slack
        )
        return live.activate_rows(violated) if violated.size else None

    def _make_outcome(self, answer: Answer, candidate: CandidatePoint | None) -> Outcome:
        """Return the outcome of an answer, with its certificate if there is a point.

        A claim, "infeasible" or "unbounded", is checked later; if its point is certified, the claim is dropped.
        """
        live, clock, termination = self.live, self.clock, answer.termination
        if candidate is not None:
            if termination in CLAIMED_TERMINATIONS:
                # The claim may be wrong and the point optimal. The inertia belongs to neither the claim nor the point.
                answer = replace(answer, termination=Termination.STATIONARY, inertia=None)
            form = live.compiled.form
            is_late = clock.is_over() and (form.n + form.m > MAX_LATE_POLISH_SIZE or has_slow_iterations(form))
            options = replace(live.options, polish=False) if is_late else live.options
            outcome = Certifier(live.lowering, live.form, live.spaces, live.compiled, options).certify_answer(
                answer, candidate
            )
            if termination not in CLAIMED_TERMINATIONS or outcome.status is PointStatus.CERTIFIED:
                return outcome
        if termination is Termination.LIMIT or (termination is Termination.STALLED and clock.is_over()):
            message = f"{clock.end_reason()} before any point."
            return Outcome.without_point(live.form, Termination.LIMIT, answer.raw_status, message)
        message = f"The solver returned the status {answer.raw_status!r} and no finite point."
        if termination not in (*CLAIMED_TERMINATIONS, Termination.STALLED):
            termination = Termination.ERROR
        return Outcome.without_point(live.form, termination, answer.raw_status, message)
