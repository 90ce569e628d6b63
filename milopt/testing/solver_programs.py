"""Conformance cases that solve known programs: the certified optimum, or a reason why a program is not supported."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

from milopt import PointStatus, Result, Termination, solve
from milopt.arrays import Vector
from milopt.errors import MiloptWarning, UnsupportedError
from milopt.solving.solver import Solver
from milopt.solving.solver_support import format_features, supports_features
from milopt.testing.conformance import CaseError, ConformanceCase, NotApplicableError, WrongAnswerError, require
from milopt.testing.known_programs import KNOWN_PROGRAMS, KnownProgram, ProgramWithAnswer

OBJECTIVE_TOLERANCE = 1e-6
"""Maximum relative difference between the objective of a certified point and the optimum."""
POINT_TOLERANCE = 1e-4
"""Maximum relative error of points and multipliers; a certificate of 1e-6 determines the objective more accurately."""
EXCEPTED_CASE_SECONDS = 10.0
"""Time limit of a case that is a stated exception, so that a slow solver does not delay the check."""
INCONCLUSIVE_TERMINATIONS = (Termination.STALLED, Termination.LIMIT, Termination.ERROR)
"""Terminations that state nothing about the optimum of the program."""


def program_cases(solver: Solver) -> list[ConformanceCase]:
    """Return one case per known program."""
    return [ConformanceCase(known.name, partial(check_program, solver, known)) for known in KNOWN_PROGRAMS]


def check_program(solver: Solver, known: KnownProgram, is_excepted: bool) -> None:
    """Raise an error unless milopt finds the known answer of a program with this solver, and certifies it.

    Raises NotApplicableError if the solver rejects the program and its features and cones allow it to do so.
    """
    expected = known.make()
    is_supported = supports_features(solver, known.features, known.cones)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MiloptWarning)
            limit = EXCEPTED_CASE_SECONDS if is_excepted else None
            result = solve(expected.program, solver, scheme=known.scheme, time_limit=limit)
    except UnsupportedError as error:
        stated = ", ".join(format_features(known.features, known.cones))
        allowed = not is_supported or solver.recognises_patterns
        require(allowed, f"it states that it supports {stated}, and rejects the program: {error}")
        raise NotApplicableError(str(error)) from None
    if known.scheme is None:
        missing = ", ".join(format_features(known.features - solver.features, known.cones - solver.cones))
        require(is_supported, f"its features and cones do not include {missing}, and it did not reject the program")
    _require_no_wrong_answer(known, expected, result)
    if result.termination is not known.termination:
        raise CaseError(f"{_describe_known_answer(known, expected)}, and it ended as {_describe_end(result)}")
    if known.termination is Termination.OPTIMAL:
        _check_optimum(expected, result)
    else:
        _check_end_without_a_point(known, result)


def _require_no_wrong_answer(known: KnownProgram, expected: ProgramWithAnswer, result: Result) -> None:
    """Raise an error if a result is called optimal, infeasible, unbounded or certified, and this is wrong."""
    known_answer = _describe_known_answer(known, expected)
    if result.termination is Termination.OPTIMAL:
        right = known.termination is Termination.OPTIMAL and _is_near(result.objective, expected.objective)
        if not right:
            raise WrongAnswerError(f"{known_answer}, and it was called optimal with {result.objective:.9g}")
    elif result.termination in INCONCLUSIVE_TERMINATIONS:
        if result.point is PointStatus.CERTIFIED:
            raise WrongAnswerError(f"it ended as {result.termination} with a point that is called certified")
    elif result.termination is not known.termination:
        raise WrongAnswerError(f"{known_answer}, and it was called {result.termination}: {result.message}")


def _check_optimum(expected: ProgramWithAnswer, result: Result) -> None:
    """Check that an optimum is certified and has the known values and (without integers) the known multipliers."""
    require(result.point is PointStatus.CERTIFIED, f"its optimum is not certified: {result}")
    again = float(result.value(expected.program.objective))
    require(
        _is_near(result.objective, again, 1e-9), f"the objective at its point is {again:.9g}, not {result.objective}"
    )
    for name, values in expected.values.items():
        _require_near(f"the optimal values of {name!r}", result.values[name], values)
    if any(variable.integer for variable in expected.program.variables.values()):
        return
    for name, multipliers in expected.duals.items():
        _require_near(f"the multipliers of {name!r}", result.duals[name], multipliers)


def _check_end_without_a_point(known: KnownProgram, result: Result) -> None:
    """Check that an infeasible or unbounded result has no point, an infinite objective and the right message."""
    require(result.point is PointStatus.NONE and not result.values, f"it is {result.termination}, and has a point")
    if known.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        sign = 1.0 if known.termination is Termination.INFEASIBLE else -1.0
        far = sign * (-np.inf if result.program.core.maximizes else np.inf)
        require(result.objective == far, f"it is {result.termination}, and its objective is {result.objective}")
    message = f"the message must name {known.blamed_name!r}: {result.message!r}"
    require(known.blamed_name in result.message, message)


def _require_near(subject: str, values: Vector, expected: Vector) -> None:
    """Raise an error unless two arrays agree up to `POINT_TOLERANCE`."""
    near = np.allclose(values, expected, rtol=POINT_TOLERANCE, atol=POINT_TOLERANCE)
    require(near, f"{subject} are {_format_values(expected)}, and it found {_format_values(values)}")


def _is_near(value: float, expected: float, tolerance: float = OBJECTIVE_TOLERANCE) -> bool:
    """Return True if two numbers agree up to a tolerance relative to max(1, |expected|)."""
    return abs(value - expected) <= tolerance * max(1.0, abs(expected))


def _describe_known_answer(known: KnownProgram, expected: ProgramWithAnswer) -> str:
    """Describe the correct answer: the optimum, or the termination."""
    if known.termination is Termination.OPTIMAL:
        return f"the optimum of the program is {expected.objective:.9g}"
    return f"the program is {known.termination}"


def _describe_end(result: Result) -> str:
    """Describe how a solve ended: termination, certificate, raw status and message."""
    proof = f", {result.certificate}" if result.certificate is not None else ""
    return f"{result.termination}{proof} (raw status {result.raw_status!r}). {result.message}".strip()


def _format_values(values: object) -> str:
    """Return values as short text."""
    return np.array2string(np.asarray(values), precision=6, threshold=8)
