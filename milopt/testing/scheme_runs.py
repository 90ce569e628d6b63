"""Runs of a scheme on the problems that it takes."""

from __future__ import annotations

from collections.abc import Iterator

from milopt import Options, Result, Scheme
from milopt.declaration.programs.problem import Problem
from milopt.errors import ConvexityError, UnsupportedError
from milopt.solving.clock import Clock
from milopt.solving.solver import Solver
from milopt.testing.conformance import NotApplicableError
from milopt.testing.scheme_problems import many_steps, scheme_problems


class EndingClock(Clock):
    """A clock without a limit until it is told that the time is over."""

    def __init__(self) -> None:
        super().__init__(None)

    def end(self) -> None:
        """Let the time be over."""
        self.limit = 1e-9


def run_scheme(scheme: Scheme, problem: Problem, solver: Solver, clock: Clock | None = None) -> Result:
    """Run a scheme; raise NotApplicableError if the scheme, or the solver, does not take the problem."""
    if (reason := scheme.refusal(problem)) is not None:
        raise NotApplicableError(reason)
    try:
        return scheme.run(problem, solver, Options(), clock)
    except (UnsupportedError, ConvexityError) as refusal:
        raise NotApplicableError(str(refusal)) from None


def runs(scheme: Scheme, solver: Solver, *names: str) -> Iterator[tuple[Problem, float, Result]]:
    """Yield the problems that a scheme takes, of those of these names or of all, their optima and their results."""
    taken = 0
    for one in scheme_problems():
        if not names or one.name in names:
            posed, optimum = one.make()
            try:
                result = run_scheme(scheme, posed, solver)
            except NotApplicableError:
                continue
            taken += 1
            yield posed, optimum, result
    if not taken:
        raise NotApplicableError("it takes none of the problems of this case")


def long_problem(scheme: Scheme) -> Problem:
    """Return a problem that takes a scheme several steps: the DC program, or the semi-infinite one."""
    game = next(one for one in scheme_problems() if one.name.startswith("semi-infinite")).make()[0]
    for problem in (many_steps(), game):
        if scheme.refusal(problem) is None:
            return problem
    raise NotApplicableError("it refuses the problems of this case")
