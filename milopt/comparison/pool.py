"""Parts run in this process or in several, each handed back as it finishes; Ctrl-C ends all of them at once."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any

import numpy.typing as npt

from milopt.comparison.part import Fitted, Part, fitted
from milopt.declaration.bags.bags import Bags

QUIET = "ignore:resource_tracker:UserWarning"
"""Killed, a worker leaves behind what its libraries hold (Pyomo a lock): that is cleared away, and need not be told."""
PATIENCE = 5.0
"""Seconds within which parts must have reached the workers."""


def finished(parts: Sequence[Part], bags: Bags, labels: npt.NDArray[Any], jobs: int) -> Iterator[Fitted]:
    """The outcome of every part, in the order in which they finish; a killed process fails the rest of its cell."""
    if jobs == 1:
        yield from (fitted(part, bags, labels) for part in parts)
        return
    waiting, dead = deque(parts), set[int]()
    while waiting:
        lost: list[Part] = []
        yield from _through(waiting, dead, bags, labels, min(jobs, len(waiting)), lost)
        # Which of those on their way was killed, and took the others with it, shows when each has a process of its own.
        for part in lost:
            again: list[Part] = []
            yield from _through(deque([part]), dead, bags, labels, 1, again)
            if again:
                dead.add(part.cell)
                yield _killed(part)


def _killed(part: Part) -> Fitted:
    return Fitted(
        part.cell, part.fold, failure="its process was killed, perhaps for want of memory; use fewer jobs.", killed=True
    )


def _through(
    waiting: deque[Part], dead: Set[int], bags: Bags, labels: npt.NDArray[Any], jobs: int, lost: list[Part]
) -> Iterator[Fitted]:
    """The outcomes of what is waiting, until a process is killed: then what was on its way is `lost`."""
    from concurrent.futures import FIRST_COMPLETED, Future, wait

    from joblib.externals.loky.process_executor import ProcessPoolExecutor, TerminatedWorkerError

    with _for_children():
        workers = ProcessPoolExecutor(jobs, initializer=_hold, initargs=(bags, labels), env={"OMP_NUM_THREADS": "1"})
    promises: dict[Future[Fitted], Part] = {}
    try:
        while not lost:
            # One more than there are workers: no more than go to them at once.
            while waiting and len(promises) <= jobs:
                part = waiting.popleft()
                if part.cell in dead:
                    yield _killed(part)
                    continue
                try:
                    with _for_children():
                        promises[workers.submit(_fitted, part)] = part
                except TerminatedWorkerError:
                    lost.append(part)
                    break
            if not promises:
                return
            for promise in wait(promises, return_when=FIRST_COMPLETED).done:
                part = promises.pop(promise)
                try:
                    yield promise.result()
                except TerminatedWorkerError:
                    lost.append(part)
        lost += promises.values()
        promises.clear()
    finally:
        # Also when the one who asked stops asking: what still runs has nobody to tell. But loky trips over a part that
        # it has not handed to a worker yet.
        deadline = monotonic() + PATIENCE
        while monotonic() < deadline and not all(one.running() or one.done() for one in promises):
            sleep(1e-3)
        workers.shutdown(wait=True, kill_workers=True)


_held: tuple[Bags, npt.NDArray[Any]] | None = None


def _hold(bags: Bags, labels: npt.NDArray[Any]) -> None:
    """Keep the data in a worker, so that they travel once."""
    global _held
    _held = bags, labels


def _fitted(part: Part) -> Fitted:
    assert _held is not None
    return fitted(part, *_held)


@contextmanager
def _for_children() -> Iterator[None]:
    """Processes started inside do not hear Ctrl-C, which a terminal sends to all: their parent ends them, quietly.

    The parent itself hears it afterwards.
    """
    warned = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = f"{warned},{QUIET}" if warned else QUIET
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else set()
    try:
        yield
    finally:
        if warned is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = warned
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
