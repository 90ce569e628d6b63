"""The cases about time: a limit is kept, or the solver states in words why it may not be; Ctrl-C ends a long solve.

Nothing here depends on the speed of the machine: a program is made larger until it takes the solver some seconds. It is
then solved again within a tenth of that time.
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
from milopt.solving.refusal import refusal
from milopt.solving.solver import Solver
from milopt.testing.conformance import Case, CaseError, NotApplicableError, require

LONG_SECONDS = 4.0
"""Seconds that a program must take without a limit: well above what it takes to start a process."""
LIMIT_SHARE, LATE_SHARE = 0.1, 0.6
"""Shares of the time without a limit: the limit, and the time until which the solver must have ended."""
MAX_ENTRIES = 6_000_000
"""Entries of the matrix of the largest program that is tried."""
TRIES = 3
"""How often a solve within a limit may be late before it counts: another process may have taken the processor."""


@dataclass(frozen=True)
class LongProgram:
    """A program that takes a solver long, and how long."""

    form: StandardForm
    seconds: float


def limit_cases(solver: Solver) -> list[Case]:
    """Return the cases about time."""
    long = _Cached(partial(_long_program, solver))
    return [
        Case("time limit", partial(_check_time_limit, solver, long)),
        Case("Ctrl-C", partial(_check_interrupt, solver, long)),
    ]


class _Cached:
    """The result of a call that is made at most once; an error of it is raised again."""

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


def _long_program(solver: Solver) -> LongProgram:
    """Return a program that takes a solver long, of growing ones; raise NotApplicableError if there is none."""
    for form in _growing(solver):
        if refusal(solver, form) is not None:
            continue
        engine = solver.engine(form, Options())
        try:
            began = perf_counter()
            engine.solve(None)
            seconds = perf_counter() - began
        finally:
            engine.close()
        if seconds >= LONG_SECONDS:
            return LongProgram(form, seconds)
    raise NotApplicableError(f"no program of this case takes it {LONG_SECONDS:g} s")


def _growing(solver: Solver) -> Iterator[StandardForm]:
    """Yield larger and larger programs of the hardest kind that a solver takes."""
    size = 10 if Feature.INTEGER in solver.features else 60
    while size * size <= MAX_ENTRIES:
        yield _program(solver, size).to_standard_form()
        size = size + 4 if Feature.INTEGER in solver.features else int(1.6 * size)


def _program(solver: Solver, size: int) -> Program:
    rng = np.random.default_rng(size)
    program = Program("long")
    if Feature.INTEGER in solver.features:
        # Strongly correlated, so that a search over it takes long.
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
    found = long()
    limit, latest = LIMIT_SHARE * found.seconds, LATE_SHARE * found.seconds
    reason = solver.may_be_late(Options(time_limit=limit))
    if reason:
        raise NotApplicableError(f"it states that it may be late: {reason}")
    taken = []
    for _ in range(TRIES):
        engine = solver.engine(found.form, Options(time_limit=limit))
        try:
            began = perf_counter()
            answer = engine.solve(limit)
            taken.append(perf_counter() - began)
        finally:
            engine.close()
        honest = answer.termination in (Termination.LIMIT, Termination.STALLED, Termination.OPTIMAL)
        told = f"it returns {answer.termination} ({answer.raw_status!r}); return Termination.LIMIT"
        require(honest, f"at a time limit, {told}")
        if taken[-1] <= latest:
            return
    shortest = min(taken)
    say = "pass the limit on to the solver, or state in time_limit_note why it cannot be kept"
    raise CaseError(
        f"with a time limit of {limit:.2g} s it took {shortest:.2g} s ({found.seconds:.2g} s without): {say}"
    )


def _check_interrupt(solver: Solver, long: Callable[[], LongProgram], is_excepted: bool) -> None:
    """Check that Ctrl-C ends a long solve: by a KeyboardInterrupt, or by an answer that is marked as interrupted."""
    main = threading.main_thread()
    can_send = threading.current_thread() is main and hasattr(signal, "pthread_kill")
    if not can_send or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        raise NotApplicableError("Ctrl-C can be tried in the main thread, by Python's own handler, and on POSIX only")
    found = long()
    engine = solver.engine(found.form, Options())
    timer = threading.Timer(LIMIT_SHARE * found.seconds, signal.pthread_kill, [main.ident, signal.SIGINT])
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
    taken = perf_counter() - began
    told = f"Ctrl-C ended it after {taken:.2g} s, and the solve takes {found.seconds:.2g} s"
    require(taken <= LATE_SHARE * found.seconds, told)
