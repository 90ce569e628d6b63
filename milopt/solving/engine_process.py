"""A solver in a process of its own, which is ended when the time is up.

Compiled code looks at its time limit between iterations at best, and one iteration may take minutes. `EngineProcess`
is the part of an engine that solves elsewhere: the process (`engine_child`) is started at the first solve, answers one
form after the other, and is killed if an answer is late. Starting it takes about half a second, so an engine uses it
only if there is a time limit that its library might not keep.

The pipes carry frames: eight bytes with the length, then an archive of `engine_wire`. The process first gets the name
of the solver and the options, and says that it is ready with an empty frame. A request is two frames: the form, and
the seconds that are left once it was sent.
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
from milopt.interrupt import Ended, run_interruptible
from milopt.solving.engine_wire import Header, pack, pack_form, unpack, unpack_answer
from milopt.solving.options import Options

MODULE = "milopt.solving.engine_child"
GRACE = 1.2
"""Seconds after the time limit in which the solver may still hand over the point that it has."""
LEAST_SECONDS = 1e-3
"""For a solver whose time is up before it begins, so that it says so itself."""
LEAST_SHARE = 0.5
"""Share of the time limit that remains for solving, however long the process took to start."""
HEAVY_ENTRIES = 500_000
"""Entries of P and F from which one iteration of an interior-point or active-set method may take a second."""

_in_child = False


def mark_child() -> None:
    """From now on, solve everything in this process: it is the child of another."""
    global _in_child
    _in_child = True


def is_heavy(form: StandardForm, limit: int = HEAVY_ENTRIES) -> bool:
    """Return True if P and F have so many entries that one iteration, without a look at the clock, may take a second.

    `limit` is that number of entries. It depends on the algorithm.
    """
    entries = form.F.nnz
    for piece in form.P.pieces:
        entries += piece.weight.size if piece.weight.ndim == 2 else piece.rows.nnz
    return bool(entries >= limit)


def late_reason(solver: str, options: Options) -> str:
    """Return why a solver without a time limit cannot be ended from outside, in words; empty if it can be."""
    if EngineProcess(solver, options).can_run():
        return ""
    return "it has no time limit, and cannot run in a process of its own, because `extra` holds Python objects"


class EngineProcess:
    """Solves forms in a process of its own, by the solver of this name."""

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
        """Whether there can be such a process: not inside another one, nor with options that are Python objects."""
        if _in_child:
            return False
        try:
            json.dumps(self._request)
        except (TypeError, ValueError):
            return False
        return True

    def solve(self, form: StandardForm, time_limit: float) -> Answer:
        """Solve within so many seconds; at the limit, and at Ctrl-C, the process is ended and there is no point."""
        found: list[bytes] = []
        began = perf_counter()
        stopped = threading.Event()

        def stop() -> None:
            stopped.set()
            if self._process is not None:
                self._process.kill()

        def call() -> None:
            process = self._ready()
            if stopped.is_set():
                return
            assert process.stdin is not None
            assert process.stdout is not None
            deadline = max(began + time_limit, perf_counter() + LEAST_SHARE * time_limit)
            timer = threading.Timer(deadline + GRACE - perf_counter(), process.kill)
            timer.daemon = True
            timer.start()
            try:
                write_frame(process.stdin, pack_form(form))
                seconds = max(deadline - perf_counter(), LEAST_SECONDS)
                write_frame(process.stdin, pack({"seconds": seconds}, {}))
                found.append(read_frame(process.stdout))
            except (OSError, EOFError):
                pass  # it was killed, or broke down: told apart below
            finally:
                timer.cancel()

        ended = run_interruptible(call, stop)
        if ended is not Ended.FINISHED:
            self.close()
            return Answer(Termination.LIMIT, "its process was ended at Ctrl-C", interrupted=True)
        if not found:
            late = perf_counter() - began >= time_limit
            code = None if self._process is None else self._process.poll()
            self.close()
            if late:
                return Answer(Termination.LIMIT, "its process was ended at the time limit")
            return Answer(Termination.ERROR, f"the process of the solver ended with code {code}")
        return _answer(found[0])

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)

    def _ready(self) -> subprocess.Popen[bytes]:
        """The living process, started if there is none."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        # -P: the current folder must not hide packages. A group of its own: Ctrl-C in a terminal is for this process.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            process_group=0 if os.name == "posix" else None,
        )
        weakref.finalize(self, _end, process)
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            write_frame(process.stdin, pack(self._request, {}))
            read_frame(process.stdout)
        except (OSError, EOFError):
            pass  # the form will find no reader either
        return process


def write_frame(pipe: IO[bytes], content: bytes) -> None:
    """Send a frame."""
    pipe.write(len(content).to_bytes(8, "big"))
    pipe.write(content)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> bytes:
    """Wait for a frame; `EOFError` if the other end is closed first."""
    length = int.from_bytes(_exactly(pipe, 8), "big")
    return _exactly(pipe, length)


def _exactly(pipe: IO[bytes], count: int) -> bytes:
    content = pipe.read(count)
    if len(content) < count:
        raise EOFError
    return content


def pack_failure(error: BaseException) -> bytes:
    """An exception as a reply."""
    return pack({"error": type(error).__name__, "message": str(error)}, {})


def _answer(reply: bytes) -> Answer:
    """The answer in a reply; an error of milopt's own is raised here as there."""
    header, _ = unpack(reply)
    if "error" not in header:
        return unpack_answer(reply)
    kind = getattr(errors, header["error"], None)
    if isinstance(kind, type) and issubclass(kind, errors.MiloptError):
        raise kind(header["message"])
    return Answer(Termination.ERROR, f"{header['error']}: {header['message']}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # a broken pipe is closed all the same
                pipe.close()
    process.wait()
