"""Base class of schemes: algorithms that solve a problem by convex steps of a solver, within one time limit.

A scheme of another package is one file and one entry point in the group `milopt.schemes`:

    class Twice(Scheme):
        name = "twice"

        def steps(self, problem, solver, options, clock):
            first = yield from ConvexConcave().steps(problem, solver, options, clock)
            again = yield from ConvexConcave(start=...).steps(problem, solver, options, clock)
            return replace(min(first, again, key=lambda result: result.objective), scheme=self.name)

    [project.entry-points."milopt.schemes"]
    twice = "my_package.twice:Twice"

`solve(program, scheme="twice")` and `milopt fit --scheme twice` find it by its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias, TypeVar

from milopt.declaration.programs.problem import Problem
from milopt.errors import ParameterError
from milopt.outcome.result import Result, Seconds, Step
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver

T = TypeVar("T")
Steps: TypeAlias = Generator[Step, None, T]
"""Generator that yields each step when it is made, and returns the result at the end."""


def run_steps(steps: Steps[T]) -> tuple[T, tuple[Step, ...]]:
    """Run a generator of steps to its end; return its result and the steps."""
    history: list[Step] = []
    while True:
        try:
            history.append(next(steps))
        except StopIteration as end:
            return end.value, tuple(history)


def check_at_least_one(name: str, value: object) -> None:
    """Raise `ParameterError` if the value is not an integer of at least 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ParameterError(f"{name} must be an integer of at least 1, not {value!r}.")


class Scheme(ABC):
    """Base class of algorithms that solve a problem by convex steps.

    The parameters of a scheme are the fields of its class, which should be a frozen dataclass. Each field needs a
    default, so that the scheme can be created by its name.

    Attributes
    ----------
    name : str
        Name under which the scheme is registered.
    descends : bool
        Whether the objective never gets worse from step to step.
    linearises_quadratics : bool
        Whether `solve` splits the objective's concave quadratics into atoms on their non-convex side for this scheme,
        if the scheme is requested and not just the default.

    Examples
    --------
    >>> from dataclasses import dataclass, replace
    >>> import milopt
    >>> @dataclass(frozen=True)
    ... class Once(milopt.Scheme):
    ...     name = "once"
    ...
    ...     def steps(self, problem, solver, options, clock):
    ...         result = yield from milopt.Direct().steps(problem, solver, options, clock)
    ...         return replace(result, scheme=self.name)
    >>> program = milopt.Program("smallest")
    >>> x = program.variable("x", lower=2)
    >>> program.minimize(x)
    >>> result = milopt.solve(program, scheme=Once())
    >>> print(result.scheme, result.objective)
    once 2.0
    """

    name: ClassVar[str]
    descends: ClassVar[bool] = False
    linearises_quadratics: ClassVar[bool] = False

    @abstractmethod
    def steps(self, problem: Any, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        """Solve a problem; yield a `Step` after each step, and return the result.

        Parameters
        ----------
        problem : Program or SemiInfinite
            Problem for which `unsupported_reason` returns None.
        solver : Solver
            Solver of the convex steps.
        options : Options
            Options of the solver; `options.tolerance` is the tolerance of certificates.
        clock : Clock
            Time that is left. It must be passed to every session and scheme inside, and `clock.is_over()` must be
            checked between steps. At a limit and at Ctrl-C, the best point so far is the result, with termination
            "limit".

        Returns
        -------
        Result
            The result, without history and seconds, which `run` adds. Its `scheme` is the name of this scheme, or of
            the scheme to which the problem was passed on, such as "direct" for a convex program. Its termination is
            "optimal" only if a global optimum is proved; a fixed point is "stationary".
        """

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Return why the scheme does not support a problem. By default, semi-infinite programs are not supported.

        Parameters
        ----------
        problem : Program or SemiInfinite
            Problem to check.

        Returns
        -------
        str or None
            Reason as a sentence; None if the problem is supported.
        """
        if not problem.oracles:
            return None
        return f"{problem.core.name!r} is semi-infinite: its scheme is {problem.default_scheme}, not {self.name}."

    def reached_limit(self, result: Result) -> bool:
        """Return True if a result ended at a limit of the scheme itself, such as a number of steps or nodes.

        It is called for results that ended at a limit before the time was over. If it returns True, no other solver is
        tried. The default is True; a scheme that can distinguish its own limits from those of a solver overrides it.

        Parameters
        ----------
        result : Result
            Result with termination "limit".

        Returns
        -------
        bool
            Whether the limit is one of the scheme.
        """
        return True

    def run(self, problem: Any, solver: Solver, options: Options, clock: Clock | None = None) -> Result:
        """Solve a problem, and return the result with all steps and with the time of all sessions that use the clock.

        Parameters
        ----------
        problem : Program or SemiInfinite
            Problem to solve.
        solver : Solver
            Solver of the convex steps.
        options : Options
            Options of the solver.
        clock : Clock or None, default=None
            Time that is left. None starts a clock with the time limit of the options.

        Returns
        -------
        Result
            Result of the scheme.
        """
        clock = clock or Clock(options.time_limit)
        return self.result_of_steps(self.steps(problem, solver, options, clock), clock)

    def result_of_steps(self, steps: Steps[Result], clock: Clock) -> Result:
        """Run steps to their end; return the result with its history and its seconds.

        Parameters
        ----------
        steps : generator
            Steps of a scheme, as returned by `steps`.
        clock : Clock
            Clock with which the steps are made.

        Returns
        -------
        Result
            Result of the steps.
        """
        result, history = run_steps(steps)
        seconds = Seconds(clock.work.build, clock.work.solve, clock.elapsed())
        return replace(result, history=history, seconds=seconds)
