"""Child process of an `EngineProcess`: `python -m milopt.solving.engine_child` answers forms until its input ends."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from contextlib import suppress
from time import perf_counter
from typing import IO

import numpy as np

from milopt.compilation.quadratic import Quadratic
from milopt.compilation.standard_form import ColumnBlock, StandardForm
from milopt.declaration.programs.sparse import zeros
from milopt.errors import MiloptError
from milopt.solving import registry
from milopt.solving.engine_process import (
    MIN_TIME_LIMIT_SECONDS,
    REPLY_GRACE_SECONDS,
    mark_as_child,
    pack_failure,
    read_frame,
    write_frame,
)
from milopt.solving.engine_wire import pack_answer, unpack_form, unpack_message
from milopt.solving.options import Options
from milopt.solving.solver import Solver

ORPHAN_SOLVE_SECONDS = 10.0
"""Seconds after the time limit and `REPLY_GRACE_SECONDS` at which the process ends, in case its parent has died."""


def main() -> None:
    """Read the solver and its options, report readiness with an empty frame, then answer one form after the other."""
    mark_as_child()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = sys.stdin.buffer
    # Output of the solver must not be mixed with the frames, so it goes to standard error.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    header, _ = unpack_message(read_frame(requests))
    solver = registry.get_solver(header.pop("solver"))
    options = Options(**header)
    _load_library(solver)
    write_frame(replies, b"")
    while _answer_one_form(requests, replies, solver, options):
        pass


def _answer_one_form(requests: IO[bytes], replies: IO[bytes], solver: Solver, options: Options) -> bool:
    """Answer one form; return False if the input has ended."""
    try:
        packed = read_frame(requests)
        seconds = float(unpack_message(read_frame(requests))[0]["seconds"])
    except EOFError:
        return False
    deadline = perf_counter() + seconds
    # The watchdog thread does not need the GIL, so it can end the process while compiled code is running.
    faulthandler.dump_traceback_later(seconds + REPLY_GRACE_SECONDS + ORPHAN_SOLVE_SECONDS, exit=True)
    try:
        engine = solver.engine(unpack_form(packed), options)
        reply = pack_answer(engine.solve(max(deadline - perf_counter(), MIN_TIME_LIMIT_SECONDS)))
        engine.close()
    except Exception as error:  # the parent process raises the error or reports it as a failure of the solver
        reply = pack_failure(error)
    faulthandler.cancel_dump_traceback_later()
    write_frame(replies, reply)
    return True


def _load_library(solver: Solver) -> None:
    """Load the solver's library by solving a program with one column, before the time limit of a form starts."""
    unit, bounds = np.ones(1), (np.ones(1), np.full(1, 2.0))
    rows, columns = (zeros(0, 1), np.zeros(0)), (ColumnBlock("x", 0, 1),)
    form = StandardForm("smallest", Quadratic(1), unit, 0.0, *rows, *bounds, unit < 0, columns, ())
    # A solver that supports only certain patterns may not support this program.
    with suppress(MiloptError):
        solver.engine(form, Options()).solve(None)


if __name__ == "__main__":
    main()
