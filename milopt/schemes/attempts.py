"""Attempts: one program and one scheme, tried with one solver after another until an answer is certified."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

from milopt.compilation.lowered_program import LoweredProgram
from milopt.declaration.program import Program
from milopt.errors import (
    ConvexityError,
    MiloptError,
    MiloptWarning,
    MissingSolverError,
    SolverError,
    UnsupportedError,
)
from milopt.jit_time import jit_seconds, working_seconds
from milopt.outcome.result import Attempt, Result, Seconds
from milopt.outcome.status import PointStatus, Termination, keeps_promise
from milopt.schemes.automatic import takers
from milopt.schemes.direct import Direct
from milopt.schemes.scheme import Scheme
from milopt.solving import registry
from milopt.solving.clock import Clock
from milopt.solving.deadline import deadline
from milopt.solving.explain import Case
from milopt.solving.options import Options
from milopt.solving.solver import Feature, Solver

SETTLED = (Termination.INFEASIBLE, Termination.UNBOUNDED)
"""Ends without a point that milopt has proved: another solver would find nothing else."""


class Attempts:
    """The attempts to solve one program by one scheme within the time of a clock, and the best of their results."""

    def __init__(
        self, program: Program, plan: Scheme, options: Options, clock: Clock, jit: float | None = None
    ) -> None:
        """`jit` is a reading of `jit_seconds` from which on compilation counts; now if it is None."""
        self._program, self._plan, self._options, self._clock = program, plan, options, clock
        self._jit = jit_seconds() if jit is None else jit
        self._made: list[Attempt] = []
        self._best: Result | None = None
        self._last: Result | None = None
        self._failure: MiloptError | None = None

    def by(self, solver: str | Solver, lowered: LoweredProgram | None = None) -> bool:
        """Run the scheme with one solver; return whether no other solver is needed."""
        began, plan, clock = perf_counter(), self._plan, self._clock
        try:
            chosen = registry.require(solver) if isinstance(solver, str) else solver
            warn_if_late(chosen, self._options)
            if isinstance(plan, Direct):
                steps = plan.steps(self._program, chosen, self._options, clock, lowered)
            else:
                steps = plan.steps(self._program, chosen, self._options, clock)
            found = plan.completed(steps, clock)
        except (UnsupportedError, ConvexityError, MissingSolverError, SolverError) as error:
            self._fail(solver if isinstance(solver, str) else solver.name, error, perf_counter() - began)
            return False
        return self.takes(found, perf_counter() - began)

    def automatic(self, after: Solver | None = None) -> bool:
        """Try the solvers of `auto` in order, those up to `after` left out; return whether no other is needed."""
        case = Case(self._program, self._options.form)
        is_convex = True
        try:
            for solver in self._takers(case, after):
                if not is_convex and Feature.NONCONVEX not in solver.features:
                    continue
                failure = self._failure
                if self.by(solver, case.lowered):
                    return True
                if self._failure is not failure and isinstance(self._failure, ConvexityError):
                    is_convex = False
                elif not self.may_go_on():
                    return False
        except UnsupportedError as error:
            self._fail("auto", error, 0.0)
        return False

    def may_go_on(self) -> bool:
        """Whether another solver may find more than the last one: it left no certificate, and there is time."""
        last = self._made[-1]
        if self._clock.is_over() or last.termination in SETTLED or keeps_promise(last.termination, last.point):
            return False
        if last.termination is not Termination.LIMIT or self._last is None:
            return True
        # The time is not over, so the limit was one of the solver or of the scheme.
        return not self._plan.reached_limit(self._last)

    def _takers(self, case: Case, after: Solver | None) -> Iterator[Solver]:
        """Yield the solvers of `auto`, within the time: to find out who takes a program may need kernel values."""
        solvers = takers(case, self._options, after)
        while True:
            began = working_seconds()
            with deadline(self._clock.left()):
                solver = next(solvers, None)
            self._clock.work.build += working_seconds() - began
            if solver is None:
                return
            yield solver

    @property
    def has_result(self) -> bool:
        """Whether some attempt has ended with a result."""
        return self._best is not None

    def takes(self, found: Result, seconds: float) -> bool:
        """Record a result; return whether it needs no other solver."""
        self._made.append(attempt_of(found, seconds))
        self._best, self._last = _better(self._best, found), found
        return found.point is PointStatus.CERTIFIED or found.termination in SETTLED

    def best(self) -> Result:
        """Return the best result with all attempts and their time; raise the last failure if there is none."""
        if self._best is None:
            assert self._failure is not None
            raise self._failure
        work = self._clock.work
        seconds = Seconds(work.build, work.solve, self._clock.elapsed(), jit_seconds() - self._jit)
        return replace(self._best, attempts=tuple(self._made), seconds=seconds)

    def _fail(self, name: str, error: MiloptError, seconds: float) -> None:
        self._failure = error
        self._made.append(Attempt(name, Termination.ERROR, PointStatus.NONE, None, "", seconds, str(error)))


def attempt_of(found: Result, seconds: float) -> Attempt:
    """Return the attempt that ended with a result."""
    return Attempt(
        found.solver, found.termination, found.point, found.certificate, found.raw_status, seconds, found.message
    )


def warn_if_late(solver: Solver, options: Options) -> None:
    """Warn if there is a time limit that the solver may exceed."""
    if options.time_limit is not None and (why := solver.may_be_late(options)):
        told = f"{solver.name} may take longer than the time limit of {options.time_limit:g} s: {why.rstrip('.')}."
        warnings.warn(told, MiloptWarning, stacklevel=2)


def _better(old: Result | None, new: Result) -> Result:
    """Proved before certified before feasible before none before failed; the smaller certificate between equals."""
    if old is None:
        return new
    if _rank(new) != _rank(old):
        return new if _rank(new) > _rank(old) else old
    if new.certificate is None or old.certificate is None:
        return old
    return new if new.certificate.worst < old.certificate.worst else old


def _rank(result: Result) -> int:
    """How much is known of a program by a result."""
    if result.termination in SETTLED:
        return 4
    if result.point is PointStatus.NONE:
        return 0 if result.termination is Termination.ERROR else 1
    return 3 if result.point is PointStatus.CERTIFIED else 2
