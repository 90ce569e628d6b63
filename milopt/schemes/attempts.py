"""Solve one program by one scheme, trying one solver after another until an answer is certified."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

from milopt.compilation.features import Feature
from milopt.compilation.lowered_program import LoweredProgram
from milopt.compilation.status import PointStatus, Termination, is_successful
from milopt.deadline import deadline
from milopt.declaration.programs.program import Program
from milopt.errors import (
    ConvexityError,
    MiloptError,
    MiloptWarning,
    MissingSolverError,
    SolverError,
    UnsupportedError,
)
from milopt.jit_time import jit_seconds, seconds_without_jit
from milopt.outcome.result import Attempt, Result, Seconds
from milopt.schemes.automatic import supporting_solvers
from milopt.schemes.direct import Direct
from milopt.schemes.scheme import Scheme
from milopt.schemes.step_progress import OnStep, report_steps
from milopt.solving import registry
from milopt.solving.clock import Clock
from milopt.solving.explain import SupportChecker
from milopt.solving.options import Options
from milopt.solving.solver import Solver

PROVED_TERMINATIONS = (Termination.INFEASIBLE, Termination.UNBOUNDED)
"""Terminations without a point that a result has only after a check, so that no other solver needs to be tried."""


class Attempts:
    """Attempts to solve a program by a scheme within the time of a clock, and the best of their results."""

    def __init__(
        self,
        program: Program,
        plan: Scheme,
        options: Options,
        clock: Clock,
        jit: float | None = None,
        on_step: OnStep | None = None,
    ) -> None:
        """Store the program, the scheme `plan`, the options and the clock; nothing is solved yet.

        `on_step` is called with every step of every attempt.

        `jit`: value of `jit_seconds()` at the start of the call. Seconds of just-in-time compilation after it count as
        `Seconds.jit` of the best result. None uses the present value.
        """
        self._program, self._plan, self._options, self._clock = program, plan, options, clock
        self._on_step = on_step
        self._jit = jit_seconds() if jit is None else jit
        self._attempts: list[Attempt] = []
        self._best: Result | None = None
        self._last: Result | None = None
        self._failure: MiloptError | None = None

    def try_solver(self, solver: str | Solver, lowered: LoweredProgram | None = None) -> bool:
        """Run the scheme with one solver; return True if no other solver is needed.

        A solver that is missing, fails, or does not support the program is recorded as a failed attempt. `lowered`: the
        program if it was lowered before; only the direct scheme uses it.
        """
        began, plan, clock = perf_counter(), self._plan, self._clock
        try:
            chosen = registry.require_solver(solver) if isinstance(solver, str) else solver
            warn_if_late(chosen, self._options)
            if isinstance(plan, Direct):
                steps = plan.steps(self._program, chosen, self._options, clock, lowered)
            else:
                steps = plan.steps(self._program, chosen, self._options, clock)
            result = plan.result_of_steps(report_steps(steps, self._on_step), clock)
        except (UnsupportedError, ConvexityError, MissingSolverError, SolverError) as error:
            self._record_failure(solver if isinstance(solver, str) else solver.name, error, perf_counter() - began)
            return False
        return self.record_result(result, perf_counter() - began)

    def try_automatic(self, after: Solver | None = None) -> bool:
        """Try the solvers of `auto` in order, beginning after the solver `after`; return True if no other is needed.

        After a `ConvexityError`, only solvers that support non-convex programs are tried.
        """
        checker = SupportChecker(self._program, self._options.form)
        is_convex = True
        try:
            for solver in self._supporting_solvers(checker, after):
                if not is_convex and Feature.NONCONVEX not in solver.features:
                    continue
                failure = self._failure
                if self.try_solver(solver, checker.lowered):
                    return True
                if self._failure is not failure and isinstance(self._failure, ConvexityError):
                    is_convex = False
                elif not self.may_continue():
                    return False
        except UnsupportedError as error:
            self._record_failure("auto", error, 0.0)
        return False

    def may_continue(self) -> bool:
        """Return True if another solver may improve on the last attempt and time is left.

        Return False if the last attempt was successful, proved that there is no optimum, or ended at a limit of the
        scheme itself.
        """
        last = self._attempts[-1]
        if (
            self._clock.is_over()
            or last.termination in PROVED_TERMINATIONS
            or is_successful(last.termination, last.point)
        ):
            return False
        if last.termination is not Termination.LIMIT or self._last is None:
            return True
        # The time is not over, so a limit of the solver or of the scheme was reached.
        return not self._plan.reached_limit(self._last)

    def _supporting_solvers(self, checker: SupportChecker, after: Solver | None) -> Iterator[Solver]:
        """Yield the solvers of `auto` that come after the solver `after` (None: all), within the time limit.

        Checking which solvers support a program may require kernel values, and so takes time.
        """
        solvers = supporting_solvers(checker, self._options, after)
        while True:
            began = seconds_without_jit()
            with deadline(self._clock.seconds_left()):
                solver = next(solvers, None)
            self._clock.work.build += seconds_without_jit() - began
            if solver is None:
                return
            yield solver

    @property
    def has_result(self) -> bool:
        """Whether some attempt has ended with a result."""
        return self._best is not None

    def record_result(self, result: Result, seconds: float) -> bool:
        """Record a result; return True if no other solver is needed, as it is certified, infeasible or unbounded."""
        self._attempts.append(make_attempt(result, seconds))
        self._best, self._last = _better_result(self._best, result), result
        return result.point is PointStatus.CERTIFIED or result.termination in PROVED_TERMINATIONS

    def best_result(self) -> Result:
        """Return the best result with all attempts and their time; raise the last failure if there is no result."""
        if self._best is None:
            assert self._failure is not None
            raise self._failure
        work = self._clock.work
        seconds = Seconds(work.build, work.solve, self._clock.elapsed(), jit_seconds() - self._jit)
        return replace(self._best, attempts=tuple(self._attempts), seconds=seconds)

    def _record_failure(self, name: str, error: MiloptError, seconds: float) -> None:
        """Record an attempt that raised an error."""
        self._failure = error
        self._attempts.append(Attempt(name, Termination.ERROR, PointStatus.NONE, None, "", seconds, str(error)))


def make_attempt(result: Result, seconds: float) -> Attempt:
    """Return the record of an attempt that ended with a result."""
    return Attempt(
        result.solver, result.termination, result.point, result.certificate, result.raw_status, seconds, result.message
    )


def warn_if_late(solver: Solver, options: Options) -> None:
    """Warn if there is a time limit that the solver may exceed."""
    if options.time_limit is not None and (reason := solver.late_reason(options)):
        message = f"{solver.name} may exceed the time limit of {options.time_limit:g} s: {reason.rstrip('.')}."
        warnings.warn(message, MiloptWarning, stacklevel=2)


def _better_result(old: Result | None, new: Result) -> Result:
    """Return the result of the higher rank (`_result_rank`); of equal ranks, the one with the smaller residuals.

    If the ranks are equal and one of the two has no certificate, the old result is returned.
    """
    if old is None:
        return new
    if _result_rank(new) != _result_rank(old):
        return new if _result_rank(new) > _result_rank(old) else old
    if new.certificate is None or old.certificate is None:
        return old
    return new if new.certificate.worst < old.certificate.worst else old


def _result_rank(result: Result) -> int:
    """Return 4 if infeasible or unbounded, 3 if certified, 2 if feasible, 1 if not feasible, 0 after an error."""
    if result.termination in PROVED_TERMINATIONS:
        return 4
    if result.point is PointStatus.NONE:
        return 0 if result.termination is Termination.ERROR else 1
    return 3 if result.point is PointStatus.CERTIFIED else 2
