"""Conformance cases of a scheme: known answers, descent of its steps, time limits, and problems that stay unchanged.

Every case has a parameter `is_excepted` (see `ConformanceCase`), which these cases do not use.
"""

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
from milopt.declaration.programs.problem import Problem
from milopt.errors import ConvexityError, MiloptError, MiloptWarning, UnsupportedError
from milopt.schemes.registered import scheme_class, scheme_names
from milopt.solving import registry
from milopt.solving.clock import Clock
from milopt.solving.solver import Solver
from milopt.testing.conformance import ConformanceCase, NotApplicableError, WrongAnswerError, require
from milopt.testing.scheme_judgement import check_against_known_answer, check_point
from milopt.testing.scheme_problems import SchemeProblem, many_step_program, scheme_problems
from milopt.testing.scheme_runs import EndingClock, long_problem, run_scheme, supported_runs

ALLOWED_LATE_STEPS = 1
"""Maximum number of steps that a scheme may yield after its time is over: the current step may be completed."""
ABORTING_LATE_STEPS = 6
"""Number of steps after the end of its time after which the check stops a scheme that ignores its clock."""
TIME_LIMIT, LATEST_SECONDS = 0.5, 60.0
"""Time limit, and time by which the scheme must have ended on any machine, in seconds; a global search takes hours."""
SINGLE_MAXIMUM_PROBLEMS = ("dc, two ends", "dc, margins on a line", "dc, 1-norm ball", "dc, Hilbert ball")
"""Names of the problems with a single atom `bag_max`; a convex step from a stationary point tests the point."""
STATIONARY_TOLERANCE = 1e-4
"""Relative decrease of the objective by a convex step above which a point is not stationary."""
STATIONARITY_SECONDS = 2.0
"""Time limit in seconds for the long problem whose stationary point is tested."""
MAX_OBJECTIVE_RISE = 1e-6
"""Relative increase of the objective above which a scheme does not descend.

Smaller increases occur because certified points are feasible only up to a tolerance.
"""


def scheme_cases(scheme: Scheme, solver: Solver) -> list[ConformanceCase]:
    """Return the cases of a scheme with a solver for its steps."""
    checks: dict[str, Callable[[Scheme, Solver, bool], None]] = {
        "members": _check_members,
        "unsupported reason": _check_unsupported_reason,
        "steps, one after the other": _check_steps,
        "time limit, between steps": _check_ending_clock,
        "time limit, in seconds": _check_time_limit,
        "descent": _check_descent,
        "stationary points": _check_stationary,
        "the problem stays as it is": _check_problem_is_unchanged,
        "the same result twice": _check_repetition,
        "a solver that supports no step": _check_unsupported,
        "saved by its name": _check_saving,
    }
    solved = [
        ConformanceCase(f"solves {problem.name}", partial(_check_solved, scheme, solver, problem))
        for problem in scheme_problems()
    ]
    return [*solved, *(ConformanceCase(name, partial(check, scheme, solver)) for name, check in checks.items())]


def _check_solved(scheme: Scheme, solver: Solver, problem: SchemeProblem, is_excepted: bool) -> None:
    """Check the result of a problem with a known answer: termination, objective, point and name of the scheme."""
    posed, optimum = problem.make()
    result = run_scheme(scheme, posed, solver)
    require(isinstance(result, Result), f"the steps must return a Result, not {type(result).__name__}")
    check_against_known_answer(posed, result, optimum, problem.termination)
    known = {scheme.name, *scheme_names()}
    require(result.scheme in known, f"result.scheme is {result.scheme!r}, and no scheme is called so")
    if problem.termination is Termination.OPTIMAL:
        message = (
            f"the optimum is {optimum:.9g}, and it ended as {result.termination} without a point: {result.message}"
        )
        require(result.point is not PointStatus.NONE, message)


def _check_members(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check name, flags, defaults and registration of the scheme."""
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
    if scheme.name in scheme_names():
        registered = scheme_class(scheme.name)
        require(registered is cls, f"the name {scheme.name!r} is registered for {registered.__name__}")


def _check_unsupported_reason(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check that `unsupported_reason` returns a sentence or None for every problem."""
    for problem in scheme_problems():
        reason = scheme.unsupported_reason(problem.make()[0])
        is_sentence = reason is None or (isinstance(reason, str) and bool(reason.strip()))
        require(is_sentence, f"unsupported_reason must return a sentence or None, not {reason!r} ({problem.name})")


def _check_steps(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check that steps are recorded in chronological order, and that no bound is on the wrong side of the optimum.

    Bounds of semi-infinite problems are not checked.
    """
    for problem, optimum, result in supported_runs(scheme, solver):
        if result.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
            continue
        name = problem.core.name
        require(result.history, f"no step is recorded ({name!r}): yield a Step after each step")
        for step in result.history:
            require(isinstance(step, Step), f"a scheme yields steps, not {type(step).__name__}")
        times = [step.seconds for step in result.history]
        require(times == sorted(times), "the seconds of its steps do not increase: use the clock of the scheme")
        latest = result.seconds.total
        require(times[-1] <= latest, f"its last step is at {times[-1]:.3g} s, and it ended after {latest:.3g} s")
        sign = -1.0 if problem.core.maximizes else 1.0
        for bound in [step.bound for step in result.history if step.bound is not None and not problem.oracles]:
            if sign * (bound - optimum) > 1e-5 * (1.0 + abs(optimum)):
                message = f"a step has the bound {bound:.9g}, which is on the wrong side of the optimum {optimum:.9g}"
                raise WrongAnswerError(f"{message} ({name!r})")


def _check_ending_clock(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check that a scheme whose time is over after one step ends after at most `ALLOWED_LATE_STEPS` more steps."""
    problem, clock = long_problem(scheme), EndingClock()
    late, steps = 0, scheme.steps(problem, solver, Options(), clock)
    try:
        while late <= ABORTING_LATE_STEPS:
            next(steps)
            late += clock.is_over()
            clock.end()
    except StopIteration as end:
        result = end.value
    except (UnsupportedError, ConvexityError) as error:
        raise NotApplicableError(str(error)) from None
    else:
        result = None
    finally:
        steps.close()
    message = "pass the clock on to every session and scheme inside, and look at clock.is_over() between steps"
    many = f"{late} steps" if result is not None else f"more than {ABORTING_LATE_STEPS} steps"
    require(late <= ALLOWED_LATE_STEPS, f"it made {many} after the time was over: {message}")
    assert result is not None
    ends = (Termination.LIMIT, Termination.STATIONARY, Termination.CYCLE, Termination.OPTIMAL)
    message = f'after the time was over it ended as {result.termination}, not as "limit": {result.message}'
    require(result.termination in ends, message)
    if not problem.oracles:
        check_point(problem.core, result)


def _check_time_limit(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check that a scheme with the time limit `TIME_LIMIT` ends within `LATEST_SECONDS`."""
    problem = long_problem(scheme)
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MiloptWarning)
        try:
            result = solve(problem, solver, scheme=scheme, time_limit=TIME_LIMIT)  # type: ignore[arg-type]
        except (UnsupportedError, ConvexityError) as error:
            raise NotApplicableError(str(error)) from None
    seconds = perf_counter() - began
    require(seconds <= LATEST_SECONDS, f"with a time limit of {TIME_LIMIT:g} s it took {seconds:.3g} s")
    if not problem.oracles:
        check_point(problem.core, result)


def _check_descent(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check that the objective does not increase, if the scheme states that it descends."""
    if not scheme.descends:
        raise NotApplicableError("it does not state that it descends")
    for problem, _, result in supported_runs(scheme, solver, *SINGLE_MAXIMUM_PROBLEMS):
        _require_descent(problem, result)
    _require_descent(many_step_program(), run_scheme(scheme, many_step_program(), solver))


def _require_descent(problem: Problem, result: Result) -> None:
    """Raise an error if the objective got worse from one step to the next by more than `MAX_OBJECTIVE_RISE`."""
    sign = -1.0 if problem.core.maximizes else 1.0
    objectives = [sign * step.objective for step in result.history]
    for before, after in pairwise(objectives):
        message = f"it states that it descends, and its objective goes from {sign * before:.9g} to {sign * after:.9g}"
        require(after <= before + MAX_OBJECTIVE_RISE * (1.0 + abs(before)), message)


def _check_stationary(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check that no convex step from a point that is called stationary and certified improves the objective."""
    claimed = 0
    for problem, _, result in supported_runs(scheme, solver, *SINGLE_MAXIMUM_PROBLEMS):
        claimed += _is_confirmed_stationary(problem.core, result, solver)
    long = many_step_program()
    claimed += _is_confirmed_stationary(long, run_scheme(scheme, long, solver, Clock(STATIONARITY_SECONDS)), solver)
    if not claimed:
        raise NotApplicableError("it calls no result stationary and certified")


def _is_confirmed_stationary(program: Program, result: Result, solver: Solver) -> bool:
    """Check by a convex step a result that is called stationary and certified; return False for any other result.

    An error is raised if the step improves the objective.
    """
    if result.termination is not Termination.STATIONARY or result.point is not PointStatus.CERTIFIED:
        return False
    (atom,) = program.maxima()
    start = result.value(atom.argument)
    further = replace(ConvexConcave(start=start), max_steps=1).run(program, solver, Options())
    sign = -1.0 if program.maximizes else 1.0
    if sign * (further.objective - result.objective) < -STATIONARY_TOLERANCE * (1.0 + abs(result.objective)):
        message = f"one convex step from its point leads from {result.objective:.9g} to {further.objective:.9g}"
        raise WrongAnswerError(f"its result is called stationary and certified, and {message} ({program.name!r})")
    return True


def _check_problem_is_unchanged(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check that a scheme does not change the problem; the master of a semi-infinite problem may change."""
    count = 0
    for problem in scheme_problems():
        posed, _ = problem.make()
        before = _comparable_state(posed.core)
        try:
            run_scheme(scheme, posed, solver)
        except NotApplicableError:
            continue
        count += 1
        if posed.oracles:
            continue  # The master of a semi-infinite problem is allowed to change: rows are added to solve it.
        after = _comparable_state(posed.core)
        changed = [part for part in before if before[part] != after[part]]
        message = (
            f"it changes the {', '.join(changed)} of the program that it gets ({problem.name}): solve a copy of it"
        )
        require(not changed, message)
    if not count:
        raise NotApplicableError("it supports none of the problems of this case")


def _comparable_state(program: Program) -> dict[str, object]:
    """Return the parts of a program in a form in which two states can be compared."""
    return {
        "objective": (program.maximizes, repr(program.objective), id(program.objective)),
        "constraints": [(name, id(constraint.expression)) for name, constraint in program.constraints.items()],
        "variables": [
            (name, variable.lower.tolist(), variable.upper.tolist(), variable.integer)
            for name, variable in program.variables.items()
        ],
        "functions": list(program.functions),
        "parameters": [(name, np.asarray(parameter.value).tolist()) for name, parameter in program.parameters.items()],
    }


def _check_repetition(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check that two runs on each supported problem have the same termination and objective."""
    for (problem, _, first), (_, _, second) in zip(
        supported_runs(scheme, solver), supported_runs(scheme, solver), strict=True
    ):
        same = first.termination is second.termination
        same &= bool(np.isclose(first.objective, second.objective, rtol=1e-6, equal_nan=True))
        message = "random choices must start from a seed that is a parameter"
        ends = f"{first.objective:.9g} and {second.objective:.9g} ({problem.core.name!r})"
        require(same, f"two runs end with {ends}: {message}")


def _check_unsupported(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check that a solver that supports no step of the scheme leads to a `MiloptError` or a result without a point."""
    problem = long_problem(scheme)
    try:
        result = scheme.run(problem, registry.get_solver("libsvm"), Options(time_limit=5.0))
    except MiloptError:
        return
    message = (
        f"libsvm supports no step of the problem, and the result is {result.termination}, its point {result.point}"
    )
    require(result.point is PointStatus.NONE, message)


def _check_saving(scheme: Scheme, solver: Solver, is_excepted: bool) -> None:
    """Check that a fitted model with a registered scheme is saved and loaded with an equal scheme."""
    from milopt.models import MILES, MISVM, ShapeletBoost

    if scheme.name not in scheme_names():
        raise NotApplicableError(f"no installed package registers {scheme.name!r} in the group milopt.schemes")
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(3, 2)) + 2 * (k % 2) for k in range(8)]
    y = np.array([-1, 1] * 4)
    models = (
        MISVM(C=1.0, scheme=scheme, solver=solver.name),
        ShapeletBoost(ball="one-hot", scheme=scheme),
        MILES(scheme=scheme, solver=solver.name),
    )
    model = next((candidate for candidate in models if _applies_to(scheme, candidate.program(bags, y))), None)
    if model is None:
        raise NotApplicableError("it supports none of the programs of the models of this case")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", MiloptWarning)
        model.fit(bags, y).save(Path(folder) / "model.milopt")
        loaded = load_model(Path(folder) / "model.milopt")
    message = f"saved as {scheme!r}, it is loaded as {loaded.scheme!r}"
    require(loaded.scheme == scheme, message)


def _applies_to(scheme: Scheme, problem: Problem) -> bool:
    """Return True if a scheme supports a problem and can take the first step with Clarabel."""
    if scheme.unsupported_reason(problem) is not None:
        return False
    try:
        next(scheme.steps(problem, registry.get_solver("clarabel"), Options(), Clock(None)), None)
    except (UnsupportedError, ConvexityError):
        return False
    return True
