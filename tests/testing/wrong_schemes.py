"""Schemes that are wrong on purpose, each in one way; the convex-concave procedure does the work behind them."""

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
class Wrong(Scheme):
    """The convex-concave procedure under another name."""

    name = "wrong"

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        found = yield from CCP.steps(problem, solver, options, clock)
        return replace(found, scheme=self.name)


class ClaimsOptimal(Wrong):
    """Calls a stationary point optimal."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        found = yield from CCP.steps(problem, solver, options, clock)
        is_end = found.termination is Termination.STATIONARY
        return replace(found, termination=Termination.OPTIMAL) if is_end else found


class ClaimsStationary(Wrong):
    """Stops after one step, and calls its point stationary and certified."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        found = yield from ConvexConcave(max_steps=1).steps(problem, solver, options, clock)
        if found.point is PointStatus.NONE:
            return found
        return replace(found, termination=Termination.STATIONARY, point=PointStatus.CERTIFIED, message="")


class ClaimsInfeasible(Wrong):
    """Calls a program infeasible if it is not done."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        found = yield from CCP.steps(problem, solver, options, clock)
        if found.termination is Termination.STATIONARY:
            return replace(found, termination=Termination.INFEASIBLE, point=PointStatus.NONE, values={}, functions={})
        return found


class ReportsTheStep(Wrong):
    """Reports an objective that is not the declared one at its point."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        found = yield from CCP.steps(problem, solver, options, clock)
        better = -0.5 if not problem.maximizes else 0.5
        return replace(found, objective=found.objective + better)


class IgnoresTheClock(Wrong):
    """Goes on from random witnesses, however late it is."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        rng = np.random.default_rng(0)
        found = yield from CCP.steps(problem, solver, options, Clock(None))
        for _ in range(3 if problem.maxima() else 0):
            start = rng.uniform(size=problem.maxima()[0].segments.total)
            yield from ConvexConcave(start=start).steps(problem, solver, options, Clock(None))
        return found


class ChangesTheProgram(Wrong):
    """Leaves a bound in the program that it got."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        name, variable = next(iter(problem.variables.items()), ("", None))
        if variable is not None:
            problem.subject_to(variable <= 1e6, name=f"{name} is not too large")
        return (yield from CCP.steps(problem, solver, options, clock))


class KeepsNoSteps(Wrong):
    """Runs another scheme, and yields none of its steps."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        yield from ()
        return CCP.run(problem, solver, options, clock)


class RisesAgain(Wrong):
    """States that it descends, and starts again from elsewhere."""

    descends = True

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        found = yield from CCP.steps(problem, solver, options, clock)
        if problem.maxima():
            start = np.random.default_rng(1).uniform(size=problem.maxima()[0].segments.total)
            yield from ConvexConcave(start=start).steps(problem, solver, options, clock)
        return found


class DrawsWithoutASeed(Wrong):
    """Starts each run from another random choice."""

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        start = None
        if problem.maxima():
            # Another start at each call; a generator without a seed would do so most of the time.
            size = problem.maxima()[0].segments.total
            start = np.linspace(0.0, 1.0, size)[:: -1 if next(_CALLS) % 2 else 1].copy()
        return (yield from ConvexConcave(start=start).steps(problem, solver, options, clock))


class RefusesWithoutWords(Wrong):
    """Refuses semi-infinite problems without a reason."""

    def refusal(self, problem: Problem) -> str | None:
        return "" if problem.oracles else None


@dataclass(frozen=True)
class NeedsAParameter(Wrong):
    """Cannot be made by its name alone."""

    restarts: int

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        return (yield from CCP.steps(problem, solver, options, clock))
