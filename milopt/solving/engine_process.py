"""Run a solver in a separate process, which is killed when the time limit is over.

Compiled code checks its time limit between iterations at best, and one iteration may take minutes. An engine uses an
`EngineProcess` to solve in another process: that process (`engine_child`) is started at the first solve, answers one
form after the other, and is killed if an answer is late. Starting it takes about half a second, so an
engine uses it only if there is a time limit that its library might exceed.

The pipes carry frames: eight bytes with the length, then an archive of `engine_wire`. The process first gets the name
of the solver and the options, and replies with an empty frame when it is ready. A request consists of two frames: the
form, and the seconds that are left after it was sent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from time import perf_counter
from typing import IO

from milopt import errors
from milopt.compilation.answer import Answer
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.interrupt import CallEnd, run_interruptible
from milopt.solving.engine_wire import Header, pack_form, pack_message, unpack_answer, unpack_message
from milopt.solving.options import Options

CHILD_MODULE = "milopt.solving.engine_child"
REPLY_GRACE_SECONDS = 1.2
"""Seconds after the time limit during which the solver may still return the point that it has."""
MIN_TIME_LIMIT_SECONDS = 1e-3
"""Time limit in seconds given to a solver if no time is left, so that the solver reports the limit itself."""
MIN_SOLVE_FRACTION = 0.5
"""Fraction of the time limit that remains for solving, however long the process took to start."""
MIN_SLOW_ITERATION_ENTRIES = 500_000
"""Entries of P and F from which on one iteration of an interior-point or active-set method may take a second."""

_in_child = False


def mark_as_child() -> None:
    """Mark this process as the child of another, so that it solves everything itself."""
    global _in_child
    _in_child = True


def has_slow_iterations(form: StandardForm, limit: int = MIN_SLOW_ITERATION_ENTRIES) -> bool:
    """Return True if the matrices P and F of a form have at least `limit` entries.

    One iteration of a solver, during which it does not check the clock, may then take a second. `limit` depends on the
    algorithm.
    """
    entries = form.F.nnz
    for piece in form.P.pieces:
        entries += piece.weight.size if piece.weight.ndim == 2 else piece.rows.nnz
    return bool(entries >= limit)


def late_reason(solver: str, options: Options) -> str:
    """Return why a solver without a time limit of its own cannot be stopped by ending its process; empty if it can."""
    if EngineProcess(solver, options).can_run():
        return ""
    return "it has no time limit, and cannot run in a separate process, because `extra` holds Python objects"


class EngineProcess:
    """Separate process in which the solver of the given name solves forms."""

    def __init__(self, solver: str, options: Options) -> None:
        self._request: Header = {
            "solver": solver,
            "threads": int(options.threads),
            "verbose": options.verbose,
            "tolerance": float(options.tolerance),
            "extra": dict(options.extra),
        }
        self._process: subprocess.Popen[bytes] | None = None

    def can_run(self) -> bool:
        """Return True if a separate process can be used.

        That requires options that are plain data, and that this process is not itself such a process.
        """
        if _in_child:
            return False
        try:
            json.dumps(self._request)
        except (TypeError, ValueError):
            return False
        return True

    def solve(self, form: StandardForm, time_limit: float) -> Answer:
        """Solve a form within `time_limit` seconds.

        The process is killed at Ctrl-C, or if there is no answer `REPLY_GRACE_SECONDS` after the time limit; the answer
        then has no point. If the process starts late, the limit is extended, so that `MIN_SOLVE_FRACTION` of it
        remains.
        """
        replies: list[bytes] = []
        began = perf_counter()
        stopped = threading.Event()

        def kill_process() -> None:
            """Kill the process."""
            stopped.set()
            if self._process is not None:
                self._process.kill()

        def request_answer() -> None:
            """Send the form to the process and wait for the reply."""
            process = self._running_process()
            if stopped.is_set():
                return
            assert process.stdin is not None
            assert process.stdout is not None
            deadline = max(began + time_limit, perf_counter() + MIN_SOLVE_FRACTION * time_limit)
            timer = threading.Timer(deadline + REPLY_GRACE_SECONDS - perf_counter(), process.kill)
            timer.daemon = True
            timer.start()
            try:
                write_frame(process.stdin, pack_form(form))
                seconds = max(deadline - perf_counter(), MIN_TIME_LIMIT_SECONDS)
                write_frame(process.stdin, pack_message({"seconds": seconds}, {}))
                replies.append(read_frame(process.stdout))
            except (OSError, EOFError):
                pass  # the process was killed or crashed; the two cases are distinguished below
            finally:
                timer.cancel()

        ended = run_interruptible(request_answer, kill_process)
        if ended is not CallEnd.FINISHED:
            self.close()
            return Answer(Termination.LIMIT, "its process was ended at Ctrl-C", interrupted=True)
        if not replies:
            late = perf_counter() - began >= time_limit
            code = None if self._process is None else self._process.poll()
            self.close()
            if late:
                return Answer(Termination.LIMIT, "its process was ended at the time limit")
            return Answer(Termination.ERROR, f"the process of the solver ended with code {code}")
        return _parse_reply(replies[0])

    def close(self) -> None:
        """Kill the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            _kill_and_wait(process)

    def _running_process(self) -> subprocess.Popen[bytes]:
        """Return the running process; start one if there is none."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        # -P: modules in the current directory must not hide packages. A separate process group: Ctrl-C in a terminal
        # must reach only this process.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", CHILD_MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            process_group=0 if os.name == "posix" else None,
        )
        weakref.finalize(self, _kill_and_wait, process)
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            write_frame(process.stdin, pack_message(self._request, {}))
            read_frame(process.stdout)
        except (OSError, EOFError):
            pass  # sending the form will fail in the same way, and is handled there
        return process


def write_frame(pipe: IO[bytes], content: bytes) -> None:
    """Send a frame."""
    pipe.write(len(content).to_bytes(8, "big"))
    pipe.write(content)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> bytes:
    """Wait for a frame; raise `EOFError` if the other end is closed first."""
    length = int.from_bytes(_read_exactly(pipe, 8), "big")
    return _read_exactly(pipe, length)


def _read_exactly(pipe: IO[bytes], count: int) -> bytes:
    """Read `count` bytes; raise `EOFError` if there are fewer."""
    content = pipe.read(count)
    if len(content) < count:
        raise EOFError
    return content


def pack_failure(error: BaseException) -> bytes:
    """Encode an exception as a reply."""
    return pack_message({"error": type(error).__name__, "message": str(error)}, {})


def _parse_reply(reply: bytes) -> Answer:
    """Return the answer in a reply; raise the `MiloptError` if the reply contains one.

    Any other exception becomes an answer with termination "error".
    """
    header, _ = unpack_message(reply)
    if "error" not in header:
        return unpack_answer(reply)
    kind = getattr(errors, header["error"], None)
    if isinstance(kind, type) and issubclass(kind, errors.MiloptError):
        raise kind(header["message"])
    return Answer(Termination.ERROR, f"{header['error']}: {header['message']}")


def _kill_and_wait(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, close its pipes and wait for its end."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # a broken pipe is closed despite the error
                pipe.close()
    process.wait()
