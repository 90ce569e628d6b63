"""Schemes that are deliberately wrong, each in one way, based on the convex-concave procedure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from milopt import ConvexConcave, Options, PointStatus, Program, Result, Scheme, Termination
from milopt.declaration.programs.problem import Problem
from milopt.schemes.scheme import Steps
from milopt.solving.clock import Clock
from milopt.solving.solver import Solver

CCP = ConvexConcave()
_CALLS = count()


@dataclass(frozen=True)
class RenamedProcedure(Scheme):
    """The convex-concave procedure under another name."""

    name = "wrong"

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        result = yield from CCP.steps(problem, solver, options, clock)
        return replace(result, scheme=self.name)


class ClaimsOptimal(RenamedProcedure):
    """Scheme that calls a stationary point optimal."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        result = yield from CCP.steps(problem, solver, options, clock)
        is_end = result.termination is Termination.STATIONARY
        return replace(result, termination=Termination.OPTIMAL) if is_end else result


class ClaimsStationary(RenamedProcedure):
    """Scheme that stops after one step and calls its point stationary and certified."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        result = yield from ConvexConcave(max_steps=1).steps(problem, solver, options, clock)
        if result.point is PointStatus.NONE:
            return result
        return replace(result, termination=Termination.STATIONARY, point=PointStatus.CERTIFIED, message="")


class ClaimsInfeasible(RenamedProcedure):
    """Scheme that calls a program infeasible if it did not finish."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        result = yield from CCP.steps(problem, solver, options, clock)
        if result.termination is Termination.STATIONARY:
            return replace(result, termination=Termination.INFEASIBLE, point=PointStatus.NONE, values={}, functions={})
        return result


class ReportsTheStep(RenamedProcedure):
    """Scheme that reports an objective that is not the declared objective at its point."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        result = yield from CCP.steps(problem, solver, options, clock)
        better = -0.5 if not problem.maximizes else 0.5
        return replace(result, objective=result.objective + better)


class IgnoresTheClock(RenamedProcedure):
    """Scheme that ignores the time limit and continues from random witnesses."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        rng = np.random.default_rng(0)
        result = yield from CCP.steps(problem, solver, options, Clock(None))
        for _ in range(3 if problem.maxima() else 0):
            start = rng.uniform(size=problem.maxima()[0].segments.entry_count)
            yield from ConvexConcave(start=start).steps(problem, solver, options, Clock(None))
        return result


class ChangesTheProgram(RenamedProcedure):
    """Scheme that changes a bound of the given program."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        name, variable = next(iter(problem.variables.items()), ("", None))
        if variable is not None:
            problem.subject_to(variable <= 1e6, name=f"{name} is not too large")
        return (yield from CCP.steps(problem, solver, options, clock))


class KeepsNoSteps(RenamedProcedure):
    """Scheme that runs another scheme without yielding its steps."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        yield from ()
        return CCP.run(problem, solver, options, clock)


class RisesAgain(RenamedProcedure):
    """Scheme that states that it descends, but restarts from another point."""

    descends = True

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        result = yield from CCP.steps(problem, solver, options, clock)
        if problem.maxima():
            start = np.random.default_rng(1).uniform(size=problem.maxima()[0].segments.entry_count)
            yield from ConvexConcave(start=start).steps(problem, solver, options, clock)
        return result


class DrawsWithoutASeed(RenamedProcedure):
    """Scheme that starts each run from another random choice."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        start = None
        if problem.maxima():
            # Use another start in each call; a generator without a seed would only do so most of the time.
            size = problem.maxima()[0].segments.entry_count
            start = np.linspace(0.0, 1.0, size)[:: -1 if next(_CALLS) % 2 else 1].copy()
        return (yield from ConvexConcave(start=start).steps(problem, solver, options, clock))


class RefusesWithoutWords(RenamedProcedure):
    """Scheme that rejects semi-infinite problems without a reason."""

    def unsupported_reason(self, problem: Problem) -> str | None:
        return "" if problem.oracles else None


@dataclass(frozen=True)
class NeedsAParameter(RenamedProcedure):
    """Scheme that cannot be created by its name alone."""

    restarts: int

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        return (yield from CCP.steps(problem, solver, options, clock))
