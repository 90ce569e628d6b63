"""Conformance cases about time: a time limit is respected, or the solver states why not; Ctrl-C ends a long solve.

Nothing here depends on the speed of the machine: a program is made larger until the solver needs some seconds for it.
The program is then solved again with a tenth of this time as the limit. Every case has a parameter `is_excepted` (see
`ConformanceCase`), which these cases do not use.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np

from milopt import Options, Program, Termination, norm, quad_form
from milopt.compilation.features import Feature
from milopt.compilation.standard_form import StandardForm
from milopt.solving.solver import Solver
from milopt.solving.solver_support import unsupported_reason
from milopt.testing.conformance import CaseError, ConformanceCase, NotApplicableError, require

MIN_LONG_SECONDS = 4.0
"""Minimum time in seconds that the program must take without a limit, well above the time to start a process."""
LIMIT_FRACTION, LATE_FRACTION = 0.1, 0.6
"""Fractions of the time without a limit: the time limit, and the time by which the solver must have ended."""
MAX_MATRIX_ENTRIES = 6_000_000
"""Largest square of the number of columns of a tried program, which is about the number of entries of its matrices."""
MAX_TIME_LIMIT_TRIES = 3
"""Maximum number of tries; one try that ends in time is sufficient, because other processes may delay a try."""


@dataclass(frozen=True)
class LongProgram:
    """Program that takes a solver a long time, with the time in seconds that a solve took."""

    form: StandardForm
    seconds: float


def limit_cases(solver: Solver) -> list[ConformanceCase]:
    """Return the cases about the time limit and about Ctrl-C."""
    long = _CachedCall(partial(_find_long_program, solver))
    return [
        ConformanceCase("time limit", partial(_check_time_limit, solver, long)),
        ConformanceCase("Ctrl-C", partial(_check_interrupt, solver, long)),
    ]


class _CachedCall:
    """Function that makes a call once and repeats its result, or its NotApplicableError, afterwards."""

    def __init__(self, call: Callable[[], LongProgram]) -> None:
        self._call = call
        self._found: LongProgram | NotApplicableError | None = None

    def __call__(self) -> LongProgram:
        if self._found is None:
            try:
                self._found = self._call()
            except NotApplicableError as reason:
                self._found = reason
        if isinstance(self._found, NotApplicableError):
            raise self._found
        return self._found


def _find_long_program(solver: Solver) -> LongProgram:
    """Return a program that takes the solver at least `MIN_LONG_SECONDS`; raise NotApplicableError if none does."""
    for form in _larger_programs(solver):
        if unsupported_reason(solver, form) is not None:
            continue
        engine = solver.engine(form, Options())
        try:
            began = perf_counter()
            engine.solve(None)
            seconds = perf_counter() - began
        finally:
            engine.close()
        if seconds >= MIN_LONG_SECONDS:
            return LongProgram(form, seconds)
    raise NotApplicableError(f"no program of this case takes it {MIN_LONG_SECONDS:g} s")


def _larger_programs(solver: Solver) -> Iterator[StandardForm]:
    """Yield larger and larger programs of the hardest kind that a solver supports."""
    size = 10 if Feature.INTEGER in solver.features else 60
    while size * size <= MAX_MATRIX_ENTRIES:
        yield _build_hard_program(solver, size).to_standard_form()
        size = size + 4 if Feature.INTEGER in solver.features else int(1.6 * size)


def _build_hard_program(solver: Solver, size: int) -> Program:
    """Build a random program with `size` columns of the hardest kind that the solver supports.

    The program is a MILP if the solver supports integers. Otherwise it is quadratic, or linear if the solver does not
    support that, with rows and, if supported, a second-order cone. A quadratic program for a solver that recognises
    patterns has only bounds.
    """
    rng = np.random.default_rng(size)
    program = Program("long")
    if Feature.INTEGER in solver.features:
        # Values and weights are strongly correlated, so that the search takes long.
        weight = rng.integers(1000, 2000, size=(6, size)).astype(float)
        x = program.variable("x", size, lower=0, upper=1, integer=True)
        program.maximize((weight.sum(axis=0) + 100) @ x)
        program.subject_to(weight @ x <= weight.sum(axis=1) / 2, name="room")
        return program
    x = program.variable("x", size, lower=0, upper=1)
    matrix = rng.normal(size=(size, size))
    if Feature.QUADRATIC in solver.features:
        program.minimize(0.5 * quad_form(x, matrix.T @ matrix) + 10 * (rng.normal(size=size) @ x))
    else:
        program.minimize(rng.normal(size=size) @ x)
    if solver.recognises_patterns and Feature.QUADRATIC in solver.features:
        return program
    if "second-order" in solver.cones:
        program.subject_to(norm(x) <= 0.2 * np.sqrt(size), name="ball")
    program.subject_to(rng.normal(size=(size, size)) @ x <= rng.uniform(0.1, 1, size), name="rows")
    return program


def _check_time_limit(solver: Solver, long: Callable[[], LongProgram], is_excepted: bool) -> None:
    """Check that a solve with a time limit ends in time, unless the solver states that it may be late."""
    program = long()
    limit, latest = LIMIT_FRACTION * program.seconds, LATE_FRACTION * program.seconds
    reason = solver.late_reason(Options(time_limit=limit))
    if reason:
        raise NotApplicableError(f"it states that it may be late: {reason}")
    seconds = []
    for _ in range(MAX_TIME_LIMIT_TRIES):
        engine = solver.engine(program.form, Options(time_limit=limit))
        try:
            began = perf_counter()
            answer = engine.solve(limit)
            seconds.append(perf_counter() - began)
        finally:
            engine.close()
        honest = answer.termination in (Termination.LIMIT, Termination.STALLED, Termination.OPTIMAL)
        message = f"it returns {answer.termination} ({answer.raw_status!r}); return Termination.LIMIT"
        require(honest, f"at a time limit, {message}")
        if seconds[-1] <= latest:
            return
    shortest = min(seconds)
    remedy = "pass the limit on to the solver, or state in time_limit_note why it cannot be kept"
    raise CaseError(
        f"with a time limit of {limit:.2g} s it took {shortest:.2g} s ({program.seconds:.2g} s without): {remedy}"
    )


def _check_interrupt(solver: Solver, long: Callable[[], LongProgram], is_excepted: bool) -> None:
    """Check that Ctrl-C ends a long solve, by a KeyboardInterrupt or by an answer that is marked as interrupted."""
    main = threading.main_thread()
    can_send = threading.current_thread() is main and hasattr(signal, "pthread_kill")
    if not can_send or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        raise NotApplicableError("Ctrl-C can be tried in the main thread, by Python's own handler, and on POSIX only")
    program = long()
    engine = solver.engine(program.form, Options())
    timer = threading.Timer(LIMIT_FRACTION * program.seconds, signal.pthread_kill, [main.ident, signal.SIGINT])
    began = perf_counter()
    try:
        timer.start()
        answer = engine.solve(None)
        require(answer.interrupted, "an answer after Ctrl-C must have interrupted=True, or a scheme goes on")
    except KeyboardInterrupt:
        pass
    finally:
        timer.cancel()
        engine.close()
    seconds = perf_counter() - began
    message = f"Ctrl-C ended it after {seconds:.2g} s, and the solve takes {program.seconds:.2g} s"
    require(seconds <= LATE_FRACTION * program.seconds, message)
