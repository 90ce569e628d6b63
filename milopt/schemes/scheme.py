"""A scheme: an algorithm over a problem that calls a solver for convex steps, within one time limit.

A scheme of another package is one file and one entry point in the group `milopt.schemes`:

    class Twice(Scheme):
        name = "twice"

        def steps(self, problem, solver, options, clock):
            first = yield from ConvexConcave().steps(problem, solver, options, clock)
            again = yield from ConvexConcave(start=...).steps(problem, solver, options, clock)
            return replace(min(first, again, key=lambda one: one.objective), scheme=self.name)

    [project.entry-points."milopt.schemes"]
    twice = "my_package.twice:Twice"

`solve(program, scheme="twice")` and `milopt fit --scheme twice` find it by its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias, TypeVar

from milopt.declaration.problem import Problem
from milopt.errors import ParameterError
from milopt.outcome.result import Result, Seconds, Step
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver

T = TypeVar("T")
Steps: TypeAlias = Generator[Step, None, T]
"""Yields a step as soon as it is made, and returns what was found."""


def finished(steps: Steps[T]) -> tuple[T, tuple[Step, ...]]:
    """Make all steps; return what was found, and the steps."""
    made: list[Step] = []
    while True:
        try:
            made.append(next(steps))
        except StopIteration as end:
            return end.value, tuple(made)


def at_least_one(name: str, value: object) -> None:
    """Check a number of steps."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ParameterError(f"{name} must be an integer of at least 1, not {value!r}.")


class Scheme(ABC):
    """Solves a problem by convex steps.

    The parameters of a scheme are the fields of its class, best a frozen dataclass; each needs a default, so that the
    scheme can be made by its name alone.
    """

    name: ClassVar[str]
    """The name under which it is registered."""
    descends: ClassVar[bool] = False
    """Whether the objective gets better from step to step, or stays as it is."""
    linearises_quadratics: ClassVar[bool] = False
    """Whether it takes concave quadratics of the objective as atoms on their other side, if asked for by name."""

    @abstractmethod
    def steps(self, problem: Any, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        """Solve a problem; yield a `Step` after each step, and return the result.

        Parameters
        ----------
        problem : Program or SemiInfinite
            A problem that `refusal` does not refuse.
        solver : Solver
            The solver of the convex steps.
        options : Options
            Options of the solver; `options.tolerance` is that of certificates.
        clock : Clock
            The time that is left: pass it on to every session and scheme inside, and look at `clock.is_over()` between
            steps. At a limit and at Ctrl-C, the best point so far is the result, with termination "limit".

        Returns
        -------
        Result
            The result, which `run` gives its history and its seconds. Its `scheme` is the name of this scheme, or of
            the one to which everything was left, such as "direct" for a program that is convex. It is "optimal" only
            if a global optimum is proved: a fixed point is "stationary".
        """

    def refusal(self, problem: Problem) -> str | None:
        """Return why it does not take a problem, as a sentence; None if it does. By default, it takes programs."""
        if not problem.oracles:
            return None
        return f"{problem.core.name!r} is semi-infinite: its scheme is {problem.default_scheme}, not {self.name}."

    def reached_limit(self, result: Result) -> bool:
        """Whether a result that ended at a limit before the time was over ended at one of the scheme (steps, nodes).

        Then no other solver is tried. The default is True; a scheme that can tell its own limits from those of a
        solver overrides it.
        """
        return True

    def run(self, problem: Any, solver: Solver, options: Options, clock: Clock | None = None) -> Result:
        """Solve a problem to the end; the result has all steps, and the time that sessions with this clock took."""
        clock = clock or Clock(options.time_limit)
        return self.completed(self.steps(problem, solver, options, clock), clock)

    def completed(self, steps: Steps[Result], clock: Clock) -> Result:
        """Make all steps; return the result with its history and its seconds."""
        result, made = finished(steps)
        seconds = Seconds(clock.work.build, clock.work.solve, clock.elapsed())
        return replace(result, history=made, seconds=seconds)
