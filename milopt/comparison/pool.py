"""Run fits in this process or in several processes, and yield each outcome as soon as it is finished.

Ctrl-C ends all processes at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence, Set
from time import monotonic, sleep
from typing import Any

import numpy.typing as npt

from milopt.comparison.fit_task import FitOutcome, FitTask, run_fit_task
from milopt.declaration.bags.bags import Bags
from milopt.evaluation.child_warnings import suppress_resource_warnings
from milopt.evaluation.interrupt import block_interrupts_in_children

SUBMISSION_TIMEOUT_SECONDS = 5.0
"""Seconds to wait until all submitted tasks have reached a worker, before the workers are shut down."""


def run_tasks(tasks: Sequence[FitTask], bags: Bags, labels: npt.NDArray[Any], jobs: int) -> Iterator[FitOutcome]:
    """Yield the outcome of every task in the order in which the tasks finish.

    `bags` and `labels` are the whole data set, and `jobs` is the number of processes. If a task kills its process, this
    task and the remaining tasks of its cell fail.
    """
    if jobs == 1:
        yield from (run_fit_task(task, bags, labels) for task in tasks)
        return
    waiting, failed_cells = deque(tasks), set[int]()
    while waiting:
        lost: list[FitTask] = []
        yield from _run_until_killed(waiting, failed_cells, bags, labels, min(jobs, len(waiting)), lost)
        # A killed worker also loses the other running tasks. Each lost task is run again in a separate process, to find
        # the task that kills its process.
        for task in lost:
            lost_again: list[FitTask] = []
            yield from _run_until_killed(deque([task]), failed_cells, bags, labels, 1, lost_again)
            if lost_again:
                failed_cells.add(task.cell)
                yield _killed_outcome(task)


def _killed_outcome(task: FitTask) -> FitOutcome:
    """Return the outcome of a task whose process was killed."""
    message = "the worker process was killed, perhaps because memory ran out; use fewer jobs."
    return FitOutcome(task.cell, task.fold, failure=message, killed=True)


def _run_until_killed(
    waiting: deque[FitTask],
    failed_cells: Set[int],
    bags: Bags,
    labels: npt.NDArray[Any],
    jobs: int,
    lost: list[FitTask],
) -> Iterator[FitOutcome]:
    """Run tasks in `jobs` processes until one is killed; then append all running tasks to `lost`.

    Tasks are removed from `waiting` when they start. Tasks of `failed_cells` are not run; their outcome is a failure.
    """
    from concurrent.futures import FIRST_COMPLETED, Future, wait

    from joblib.externals.loky.process_executor import ProcessPoolExecutor, TerminatedWorkerError

    with suppress_resource_warnings(), block_interrupts_in_children():
        workers = ProcessPoolExecutor(
            jobs, initializer=_store_data, initargs=(bags, labels), env={"OMP_NUM_THREADS": "1"}
        )
    futures: dict[Future[FitOutcome], FitTask] = {}
    try:
        while not lost:
            # Submit one task more than there are workers, so that a worker never waits for its next task.
            while waiting and len(futures) <= jobs:
                task = waiting.popleft()
                if task.cell in failed_cells:
                    yield _killed_outcome(task)
                    continue
                try:
                    with suppress_resource_warnings(), block_interrupts_in_children():
                        futures[workers.submit(_run_with_stored_data, task)] = task
                except TerminatedWorkerError:
                    lost.append(task)
                    break
            if not futures:
                return
            for future in wait(futures, return_when=FIRST_COMPLETED).done:
                task = futures.pop(future)
                try:
                    yield future.result()
                except TerminatedWorkerError:
                    lost.append(task)
        lost += futures.values()
        futures.clear()
    finally:
        # This also runs if the caller stops iterating: the results of the running tasks are then not needed. loky fails
        # if it is shut down before every submitted task has reached a worker.
        deadline = monotonic() + SUBMISSION_TIMEOUT_SECONDS
        while monotonic() < deadline and not all(future.running() or future.done() for future in futures):
            sleep(1e-3)
        workers.shutdown(wait=True, kill_workers=True)


_stored_data: tuple[Bags, npt.NDArray[Any]] | None = None
"""Bags and labels in a worker process; None in the main process."""


def _store_data(bags: Bags, labels: npt.NDArray[Any]) -> None:
    """Store the data in a worker process, so that they are sent only once."""
    global _stored_data
    _stored_data = bags, labels


def _run_with_stored_data(task: FitTask) -> FitOutcome:
    assert _stored_data is not None
    return run_fit_task(task, *_stored_data)
