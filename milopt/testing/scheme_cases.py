"""The cases of a scheme: known problems, steps, time limits, and a problem that stays as it is."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import numpy as np

from milopt import ConvexConcave, Options, PointStatus, Program, Result, Scheme, Step, Termination, load_model, solve
from milopt.declaration.problem import Problem
from milopt.errors import ConvexityError, MiloptError, MiloptWarning, UnsupportedError
from milopt.solving import registry
from milopt.solving.clock import Clock
from milopt.solving.solver import Solver
from milopt.testing.conformance import Case, NotApplicableError, WrongAnswerError, require
from milopt.testing.scheme_judgement import check_point, judge
from milopt.testing.scheme_problems import SchemeProblem, many_steps, scheme_problems
from milopt.testing.scheme_runs import EndingClock, long_problem, run_scheme, runs

LATE_STEPS = 1
"""Steps that a scheme may still make after its time is over: the one that is under way."""
MAX_LATE_STEPS = 6
"""Steps after which the check does not wait any longer for a scheme that ignores its clock."""
TIME_LIMIT, LATEST_SECONDS = 0.5, 60.0
"""A time limit, and the seconds until which any machine must have ended: a search without a limit takes hours."""
WITH_ONE_MAXIMUM = ("dc, two ends", "dc, margins on a line", "dc, 1-norm ball", "dc, Hilbert ball")
"""Problems whose stationary points are tested by a convex step from them."""
STATIONARY_TOLERANCE, STATIONARY_SECONDS = 1e-4, 2.0
"""Relative decrease by a convex step from which a point is not stationary, and the time for the long problem."""
RISE = 1e-6
"""Relative rise of the objective from which a scheme does not descend: certificates allow that much."""


def scheme_cases(scheme: Scheme, solver: Solver) -> list[Case]:
    """Return the cases of a scheme with a solver of its steps."""
    checks: dict[str, Callable[[Scheme, Solver, bool], None]] = {
        "members": _check_members,
        "refusal in words": _check_refusal,
        "steps, one after the other": _check_steps,
        "time limit, between steps": _check_ending_clock,
        "time limit, in seconds": _check_time_limit,
        "descent": _check_descent,
        "stationary points": _check_stationary,
        "the problem stays as it is": _check_problem_is_kept,
        "the same result twice": _check_repetition,
        "a solver that takes no step": _check_unsupported,
        "saved by its name": _check_saving,
    }
    solved = [Case(f"solves {one.name}", partial(_check_solved, scheme, solver, one)) for one in scheme_problems()]
    return [*solved, *(Case(name, partial(check, scheme, solver)) for name, check in checks.items())]


def _check_solved(scheme: Scheme, solver: Solver, problem: SchemeProblem, is_excepted: bool) -> None:
    posed, optimum = problem.make()
    result = run_scheme(scheme, posed, solver)
    require(isinstance(result, Result), f"the steps must return a Result, not {type(result).__name__}")
    judge(posed, result, optimum, problem.termination)
    known = {scheme.name, *registry.scheme_names()}
    require(result.scheme in known, f"result.scheme is {result.scheme!r}, and no scheme is called so")
    if problem.termination is Termination.OPTIMAL:
        told = f"the optimum is {optimum:.9g}, and it ended as {result.termination} without a point: {result.message}"
        require(result.point is not PointStatus.NONE, told)


def _check_members(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    name = getattr(scheme, "name", None)
    is_name = isinstance(name, str) and bool(name) and " " not in name
    require(is_name, f"name must be a text without spaces, not {name!r}")
    for member in ("descends", "linearises_quadratics"):
        value = getattr(scheme, member)
        require(isinstance(value, bool), f"{member} must be True or False, not {value!r}")
    cls = type(scheme)
    try:
        cls()
    except TypeError as error:
        require(False, f"every parameter needs a default, so that the scheme can be made by its name: {error}")
    if scheme.name in registry.scheme_names():
        found = registry.scheme(scheme.name)
        require(found is cls, f"the name {scheme.name!r} is registered for {found.__name__}")


def _check_refusal(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    for one in scheme_problems():
        reason = scheme.refusal(one.make()[0])
        is_sentence = reason is None or (isinstance(reason, str) and bool(reason.strip()))
        require(is_sentence, f"refusal must return a reason in words or None, not {reason!r} ({one.name})")


def _check_steps(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check that every step is yielded, in the order of time, and that bounds hold."""
    for problem, optimum, result in runs(scheme, solver):
        if result.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
            continue
        name = problem.core.name
        require(result.history, f"no step is recorded ({name!r}): yield a Step after each step")
        for step in result.history:
            require(isinstance(step, Step), f"a scheme yields steps, not {type(step).__name__}")
        times = [step.seconds for step in result.history]
        require(times == sorted(times), "the seconds of its steps do not grow: take them from the clock of the scheme")
        latest = result.seconds.total
        require(times[-1] <= latest, f"its last step is at {times[-1]:.3g} s, and it ended after {latest:.3g} s")
        sign = -1.0 if problem.core.maximizes else 1.0
        for bound in [step.bound for step in result.history if step.bound is not None and not problem.oracles]:
            if sign * (bound - optimum) > 1e-5 * (1.0 + abs(optimum)):
                told = f"a step has the bound {bound:.9g}, which is on the wrong side of the optimum {optimum:.9g}"
                raise WrongAnswerError(f"{told} ({name!r})")


def _check_ending_clock(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check that a scheme ends when the time is over after its first step."""
    problem, clock = long_problem(scheme), EndingClock()
    late, steps = 0, scheme.steps(problem, solver, Options(), clock)
    try:
        while late <= MAX_LATE_STEPS:
            next(steps)
            late += clock.is_over()
            clock.end()
    except StopIteration as end:
        result = end.value
    except (UnsupportedError, ConvexityError) as refusal:
        raise NotApplicableError(str(refusal)) from None
    else:
        result = None
    finally:
        steps.close()
    told = "pass the clock on to every session and scheme inside, and look at clock.is_over() between steps"
    many = f"{late} steps" if result is not None else f"more than {MAX_LATE_STEPS} steps"
    require(late <= LATE_STEPS, f"it made {many} after the time was over: {told}")
    assert result is not None
    ends = (Termination.LIMIT, Termination.STATIONARY, Termination.CYCLE, Termination.OPTIMAL)
    told = f'after the time was over it ended as {result.termination}, not as "limit": {result.message}'
    require(result.termination in ends, told)
    if not problem.oracles:
        check_point(problem.core, result)


def _check_time_limit(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    problem = long_problem(scheme)
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MiloptWarning)
        try:
            result = solve(problem, solver, scheme=scheme, time_limit=TIME_LIMIT)  # type: ignore[arg-type]
        except (UnsupportedError, ConvexityError) as refusal:
            raise NotApplicableError(str(refusal)) from None
    seconds = perf_counter() - began
    require(seconds <= LATEST_SECONDS, f"with a time limit of {TIME_LIMIT:g} s it took {seconds:.3g} s")
    if not problem.oracles:
        check_point(problem.core, result)


def _check_descent(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    if not scheme.descends:
        raise NotApplicableError("it does not state that it descends")
    for problem, _, result in runs(scheme, solver, *WITH_ONE_MAXIMUM):
        _require_descent(problem, result)
    _require_descent(many_steps(), run_scheme(scheme, many_steps(), solver))


def _require_descent(problem: Problem, result: Result) -> None:
    sign = -1.0 if problem.core.maximizes else 1.0
    objectives = [sign * step.objective for step in result.history]
    for before, after in pairwise(objectives):
        told = f"it states that it descends, and its objective goes from {sign * before:.9g} to {sign * after:.9g}"
        require(after <= before + RISE * (1.0 + abs(before)), told)


def _check_stationary(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check that one convex step from a point that is called stationary and certified leads no further down."""
    claimed = 0
    for problem, _, result in runs(scheme, solver, *WITH_ONE_MAXIMUM):
        claimed += _is_stationary(problem.core, result, solver)
    long = many_steps()
    claimed += _is_stationary(long, run_scheme(scheme, long, solver, Clock(STATIONARY_SECONDS)), solver)
    if not claimed:
        raise NotApplicableError("it calls no result stationary and certified")


def _is_stationary(program: Program, result: Result, solver: Solver) -> bool:
    """Return whether a result is called stationary and certified; raise an error if it is called so wrongly."""
    if result.termination is not Termination.STATIONARY or result.point is not PointStatus.CERTIFIED:
        return False
    (atom,) = program.maxima()
    start = result.value(atom.argument)
    further = replace(ConvexConcave(start=start), max_steps=1).run(program, solver, Options())
    sign = -1.0 if program.maximizes else 1.0
    if sign * (further.objective - result.objective) < -STATIONARY_TOLERANCE * (1.0 + abs(result.objective)):
        told = f"one convex step from its point leads from {result.objective:.9g} to {further.objective:.9g}"
        raise WrongAnswerError(f"its result is called stationary and certified, and {told} ({program.name!r})")
    return True


def _check_problem_is_kept(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    taken = 0
    for one in scheme_problems():
        posed, _ = one.make()
        before = _fingerprint(posed.core)
        try:
            run_scheme(scheme, posed, solver)
        except NotApplicableError:
            continue
        taken += 1
        if posed.oracles:
            continue  # Rows are added to the master of a semi-infinite problem: that is how it is solved.
        after = _fingerprint(posed.core)
        changed = [part for part in before if before[part] != after[part]]
        told = f"it changes the {', '.join(changed)} of the program that it gets ({one.name}): solve a copy of it"
        require(not changed, told)
    if not taken:
        raise NotApplicableError("it takes none of the problems of this case")


def _fingerprint(program: Program) -> dict[str, object]:
    """Return what a program consists of, so that two states of it can be compared."""
    return {
        "objective": (program.maximizes, repr(program.objective), id(program.objective)),
        "constraints": [(name, id(one.expression)) for name, one in program.constraints.items()],
        "variables": [
            (name, one.lower.tolist(), one.upper.tolist(), one.integer) for name, one in program.variables.items()
        ],
        "functions": list(program.functions),
        "parameters": [(name, np.asarray(one.value).tolist()) for name, one in program.parameters.items()],
    }


def _check_repetition(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    for (problem, _, first), (_, _, second) in zip(runs(scheme, solver), runs(scheme, solver), strict=True):
        same = first.termination is second.termination
        same &= bool(np.isclose(first.objective, second.objective, rtol=1e-6, equal_nan=True))
        told = "random choices must start from a seed that is a parameter"
        ends = f"{first.objective:.9g} and {second.objective:.9g} ({problem.core.name!r})"
        require(same, f"two runs end with {ends}: {told}")


def _check_unsupported(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check that a solver which takes no step leads to an error of milopt, or to a result without a point."""
    problem = long_problem(scheme)
    try:
        result = scheme.run(problem, registry.get("libsvm"), Options(time_limit=5.0))
    except MiloptError:
        return
    told = f"libsvm takes no step of the problem, and the result is {result.termination}, its point {result.point}"
    require(result.point is PointStatus.NONE, told)


def _check_saving(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check that a model with the scheme is saved and loaded with an equal scheme."""
    from milopt.models import MILES, MISVM, ShapeletBoost

    if scheme.name not in registry.scheme_names():
        raise NotApplicableError(f"no installed package registers {scheme.name!r} in the group milopt.schemes")
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(3, 2)) + 2 * (k % 2) for k in range(8)]
    y = np.array([-1, 1] * 4)
    models = (
        MISVM(C=1.0, scheme=scheme, solver=solver.name),
        ShapeletBoost(ball="one-hot", scheme=scheme),
        MILES(scheme=scheme, solver=solver.name),
    )
    model = next((one for one in models if _takes(scheme, one.program(bags, y))), None)
    if model is None:
        raise NotApplicableError("it takes none of the programs of the models of this case")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", MiloptWarning)
        model.fit(bags, y).save(Path(folder) / "model.milopt")
        loaded = load_model(Path(folder) / "model.milopt")
    told = f"saved as {scheme!r}, it is loaded as {loaded.scheme!r}"
    require(loaded.scheme == scheme, told)


def _takes(scheme: Scheme, problem: Problem) -> bool:
    """Return True if a scheme takes a problem, and it is not one whose minorants the scheme has no use for."""
    if scheme.refusal(problem) is not None:
        return False
    try:
        next(scheme.steps(problem, registry.get("clarabel"), Options(), Clock(None)), None)
    except (UnsupportedError, ConvexityError):
        return False
    return True
