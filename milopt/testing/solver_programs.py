"""The cases of a solver that solve a known program: the optimum with its certificate, or a refusal in words."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

from milopt import PointStatus, Result, Termination, solve
from milopt.arrays import Vector
from milopt.errors import MiloptWarning, UnsupportedError
from milopt.solving.refusal import in_words, takes_all
from milopt.solving.solver import Solver
from milopt.testing.conformance import Case, CaseError, NotApplicableError, WrongAnswerError, require
from milopt.testing.known_programs import KNOWN_PROGRAMS, Expected, KnownProgram

OBJECTIVE_TOLERANCE = 1e-6
"""Relative difference between the objective of a certified point and the optimum."""
POINT_TOLERANCE = 1e-4
"""The same for points and multipliers, which certificates of 1e-6 leave that much freer."""
EXCEPTED_SECONDS = 10.0
"""Time limit of a case that is a stated exception, so that a slow solver does not delay the check."""
UNFINISHED = (Termination.STALLED, Termination.LIMIT, Termination.ERROR)
"""Ends that claim nothing about the program."""


def program_cases(solver: Solver) -> list[Case]:
    """Return one case per known program."""
    return [Case(known.name, partial(check_program, solver, known)) for known in KNOWN_PROGRAMS]


def check_program(solver: Solver, known: KnownProgram, is_excepted: bool) -> None:
    """Raise an error unless a solver finds and proves the known answer, or refuses a program that it does not take."""
    expected = known.make()
    takes = takes_all(solver, known.features, known.cones)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MiloptWarning)
            limit = EXCEPTED_SECONDS if is_excepted else None
            result = solve(expected.program, solver, scheme=known.scheme, time_limit=limit)
    except UnsupportedError as refusal:
        stated = ", ".join(in_words(known.features, known.cones))
        allowed = not takes or solver.recognises_patterns
        require(allowed, f"it states that it takes {stated}, and refuses the program: {refusal}")
        raise NotApplicableError(str(refusal)) from None
    if known.scheme is None:
        missing = ", ".join(in_words(known.features - solver.features, known.cones - solver.cones))
        require(takes, f"its features and cones do not include {missing}, and it did not refuse the program")
    _require_no_wrong_answer(known, expected, result)
    if result.termination is not known.termination:
        raise CaseError(f"{_truth(known, expected)}, and it ended as {_ended(result)}")
    if known.termination is Termination.OPTIMAL:
        _check_optimum(expected, result)
    else:
        _check_end_without_a_point(known, result)


def _require_no_wrong_answer(known: KnownProgram, expected: Expected, result: Result) -> None:
    truth = _truth(known, expected)
    if result.termination is Termination.OPTIMAL:
        right = known.termination is Termination.OPTIMAL and _near(result.objective, expected.objective)
        if not right:
            raise WrongAnswerError(f"{truth}, and it was called optimal with {result.objective:.9g}")
    elif result.termination in UNFINISHED:
        if result.point is PointStatus.CERTIFIED:
            raise WrongAnswerError(f"it ended as {result.termination} with a point that is called certified")
    elif result.termination is not known.termination:
        raise WrongAnswerError(f"{truth}, and it was called {result.termination}: {result.message}")


def _check_optimum(expected: Expected, result: Result) -> None:
    require(result.point is PointStatus.CERTIFIED, f"its optimum is not certified: {result}")
    again = float(result.value(expected.program.objective))
    require(_near(result.objective, again, 1e-9), f"the objective at its point is {again:.9g}, not {result.objective}")
    for name, values in expected.values.items():
        _require_near(f"the optimal values of {name!r}", result.values[name], values)
    if any(variable.integer for variable in expected.program.variables.values()):
        return
    for name, multipliers in expected.duals.items():
        _require_near(f"the multipliers of {name!r}", result.duals[name], multipliers)


def _check_end_without_a_point(known: KnownProgram, result: Result) -> None:
    require(result.point is PointStatus.NONE and not result.values, f"it is {result.termination}, and has a point")
    if known.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        sign = 1.0 if known.termination is Termination.INFEASIBLE else -1.0
        far = sign * (-np.inf if result.program.core.maximizes else np.inf)
        require(result.objective == far, f"it is {result.termination}, and its objective is {result.objective}")
    told = f"the message must name {known.blames!r}: {result.message!r}"
    require(known.blames in result.message, told)


def _require_near(what: str, found: Vector, known: Vector) -> None:
    near = np.allclose(found, known, rtol=POINT_TOLERANCE, atol=POINT_TOLERANCE)
    require(near, f"{what} are {_short(known)}, and it found {_short(found)}")


def _near(found: float, known: float, tolerance: float = OBJECTIVE_TOLERANCE) -> bool:
    return abs(found - known) <= tolerance * max(1.0, abs(known))


def _truth(known: KnownProgram, expected: Expected) -> str:
    if known.termination is Termination.OPTIMAL:
        return f"the optimum of the program is {expected.objective:.9g}"
    return f"the program is {known.termination}"


def _ended(result: Result) -> str:
    proof = f", {result.certificate}" if result.certificate is not None else ""
    return f"{result.termination}{proof} (it said {result.raw_status!r}). {result.message}".strip()


def _short(values: object) -> str:
    return np.array2string(np.asarray(values), precision=6, threshold=8)
