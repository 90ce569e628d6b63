"""Runs of a scheme on the problems that it supports."""

from __future__ import annotations

from collections.abc import Iterator

from milopt import Options, Result, Scheme
from milopt.declaration.programs.problem import Problem
from milopt.errors import ConvexityError, UnsupportedError
from milopt.solving.clock import Clock
from milopt.solving.solver import Solver
from milopt.testing.conformance import NotApplicableError
from milopt.testing.scheme_problems import many_step_program, scheme_problems


class EndingClock(Clock):
    """Clock without a limit until `end` is called."""

    def __init__(self) -> None:
        super().__init__(None)

    def end(self) -> None:
        """Set a limit that has passed already, so that the time is over."""
        self.limit = 1e-9


def run_scheme(scheme: Scheme, problem: Problem, solver: Solver, clock: Clock | None = None) -> Result:
    """Run a scheme; raise NotApplicableError if the scheme or the solver does not support the problem."""
    if (reason := scheme.unsupported_reason(problem)) is not None:
        raise NotApplicableError(reason)
    try:
        return scheme.run(problem, solver, Options(), clock)
    except (UnsupportedError, ConvexityError) as error:
        raise NotApplicableError(str(error)) from None


def supported_runs(scheme: Scheme, solver: Solver, *names: str) -> Iterator[tuple[Problem, float, Result]]:
    """Yield (problem, optimum, result) for every supported problem in `names`, or for all supported problems.

    Raises NotApplicableError at the end if no problem is supported.
    """
    count = 0
    for problem in scheme_problems():
        if not names or problem.name in names:
            posed, optimum = problem.make()
            try:
                result = run_scheme(scheme, posed, solver)
            except NotApplicableError:
                continue
            count += 1
            yield posed, optimum, result
    if not count:
        raise NotApplicableError("it supports none of the problems of this case")


def long_problem(scheme: Scheme) -> Problem:
    """Return a problem that needs several steps: a DC program, or a semi-infinite one if that is not supported.

    Raises NotApplicableError if the scheme supports neither of the two problems.
    """
    game = next(problem for problem in scheme_problems() if problem.name.startswith("semi-infinite")).make()[0]
    for problem in (many_step_program(), game):
        if scheme.unsupported_reason(problem) is None:
            return problem
    raise NotApplicableError("it does not support the problems of this case")
