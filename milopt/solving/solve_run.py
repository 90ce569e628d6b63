"""One solve of a session: ask the engine, hand over violated lazy rows and ask again, and prove the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from traceback import format_exception

import numpy as np

from milopt.compilation.answer import Answer
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import SolverError
from milopt.jit_time import working_seconds
from milopt.outcome.outcome import Outcome, unless_feasible
from milopt.solving.claim_check import CLAIMS, checked, largest_residual, needs_check
from milopt.solving.clock import Clock
from milopt.solving.convexity import ConvexityCheck, with_inertia
from milopt.solving.engine import Change
from milopt.solving.engine_process import is_heavy
from milopt.solving.live_engine import LiveEngine
from milopt.solving.live_form import LiveForm
from milopt.solving.proof import Candidate, Prover, candidate
from milopt.solving.refusal import refusal
from milopt.solving.solver_failure import solver_errors

LARGEST_LATE_POLISH = 1000
"""Rows and columns of a program whose point is still polished when the time is up: it takes a fraction of a second."""
LAZY_SLACK = 0.1
"""Share of the tolerance by which a lazy row may be violated before the engine gets it."""


@dataclass
class SolveRun:
    """One solve of a live form by an engine, within the time of a clock."""

    live: LiveForm
    engine: LiveEngine
    convexity: ConvexityCheck
    clock: Clock
    build_seconds: float = 0.0
    """Time outside the solver, before this solve."""
    solver_seconds: float = 0.0
    """Time inside the solver, up to now."""
    iterations: int = 0
    log: str = ""

    def outcome(self) -> Outcome:
        """Solve and prove the answer; a solver that fails ends with termination "error" and its words as message."""
        began = working_seconds()
        try:
            outcome = self._solved()
        except SolverError as error:
            self.engine.forget()
            outcome = Outcome.without_point(self.live.form, Termination.ERROR, str(error), str(error))
            self.log += "".join(format_exception(error))
        return replace(
            self._with_limit(outcome),
            iterations=self.iterations,
            build_seconds=self.build_seconds + working_seconds() - began - self.solver_seconds,
            solve_seconds=self.solver_seconds,
            log=self.log,
            rebuilds=self.engine.rebuilds,
        )

    def _with_limit(self, outcome: Outcome) -> Outcome:
        """Return the outcome with a message about the limit that cut it off, if one did and there is a point."""
        clock = self.clock
        is_cut = outcome.termination is Termination.LIMIT or (
            clock.is_over() and outcome.termination is Termination.STALLED
        )
        if not is_cut or outcome.point is None:
            return outcome
        why = clock.why() if clock.is_over() else f"The solver gave up ({outcome.raw_status})"
        message = f"{why}; the last point is kept{unless_feasible(outcome.status, outcome.certificate)}."
        return replace(outcome, termination=Termination.LIMIT, message=message)

    def _solved(self) -> Outcome:
        """Solve in the form that the solver prefers, then in coordinates if the dual leads nowhere; prove the end."""
        outcome = self._solved_once()
        if self._may_try_coordinates(outcome) and not self.clock.is_over():
            outcome = self._solved_in_coordinates(outcome)
        return checked(outcome, self.live, self.engine.solver, self.clock) if needs_check(outcome) else outcome

    def _may_try_coordinates(self, outcome: Outcome) -> bool:
        """Return True if a solver that broke down on the dual, or claims something of it, takes the coordinates."""
        if not self.live.uses_dual:
            return False
        broke_down = outcome.termination in (Termination.ERROR, Termination.STALLED)
        failed = self.live.options.form == "auto" and broke_down
        claims = outcome.termination in CLAIMS
        return (failed or claims) and refusal(self.engine.solver, self.live.coordinates().form) is None

    def _solved_in_coordinates(self, by_dual: Outcome) -> Outcome:
        """Leave the dual for good; return the better of the two outcomes."""
        self.engine.tell(self.live, self.live.use_coordinates())
        again = self._solved_once()
        if by_dual.termination in CLAIMS:
            return again  # A claim about the dual is not one about the program.
        if again.status is not PointStatus.CERTIFIED and largest_residual(by_dual) < largest_residual(again):
            return by_dual
        tried = f"The dual ended as {by_dual.raw_status!r}; solved in coordinates."
        return replace(again, message=f"{tried} {again.message}".strip())

    def _solved_once(self) -> Outcome:
        """Solve the current form, with more rows as long as lazy ones are violated."""
        live = self.live
        self.convexity.require(live)
        while True:
            answer = with_inertia(self._answer(), live, self.engine.solver)
            found = candidate(live.form, live.spaces, live.compiled, answer)
            change = None if self.clock.is_over() else self._missing_rows(answer, found)
            if change is None:
                return self._judged(answer, found)
            self.engine.tell(live, change)

    def _answer(self) -> Answer:
        """Let the engine solve its model once, and add up its work."""
        engine = self.engine.ready(self.live)
        start = working_seconds()
        try:
            with solver_errors(self.engine.solver.name):
                answer = engine.solve(self.clock.left())
        finally:
            self.solver_seconds += working_seconds() - start
        self.iterations, self.log = self.iterations + answer.iterations, self.log + answer.log
        self.clock.interrupted |= answer.interrupted
        return answer

    def _missing_rows(self, answer: Answer, found: Candidate | None) -> Change | None:
        """Hand over rows that the engine must get before its answer is about the whole program; None if it is."""
        live = self.live
        if found is None or answer.termination in CLAIMS:
            # Over fewer rows a program may be unbounded (its dual infeasible), or so flat that a solver breaks down.
            settled = answer.termination is Termination.INFEASIBLE and not live.uses_dual
            return live.hand_over_all() if live.rows.lazy and not settled else None
        slack = LAZY_SLACK * live.options.tolerance
        violated = live.rows.violated(live.form, found.worth.rows / (1.0 + np.abs(live.form.rows.g)), slack)
        return live.hand_over(violated) if violated.size else None

    def _judged(self, answer: Answer, found: Candidate | None) -> Outcome:
        """Return the outcome with its certificate; a claim of a solver has yet to be proved."""
        live, clock, termination = self.live, self.clock, answer.termination
        if found is not None:
            if termination in CLAIMS:
                # The claim may be wrong and the point an optimum. An inertia is about neither.
                answer = replace(answer, termination=Termination.STATIONARY, inertia=None)
            form = live.compiled.form
            is_late = clock.is_over() and (form.n + form.m > LARGEST_LATE_POLISH or is_heavy(form))
            options = replace(live.options, polish=False) if is_late else live.options
            outcome = Prover(live.lowering, live.form, live.spaces, live.compiled, options).proved(answer, found)
            if termination not in CLAIMS or outcome.status is PointStatus.CERTIFIED:
                return outcome
        if termination is Termination.LIMIT or (termination is Termination.STALLED and clock.is_over()):
            message = f"{clock.why()} before any point."
            return Outcome.without_point(live.form, Termination.LIMIT, answer.raw_status, message)
        message = f"The solver said {answer.raw_status!r} and gave no finite point."
        if termination not in (*CLAIMS, Termination.STALLED):
            termination = Termination.ERROR
        return Outcome.without_point(live.form, termination, answer.raw_status, message)
