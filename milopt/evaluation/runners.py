"""Runners of tasks: this process, worker processes (joblib's loky), or a Dask cluster.

A runner yields outcomes in the order in which tasks end. The records of all runners are equal, except for seconds,
process and date.
"""

from __future__ import annotations

import re
import socket
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from milopt.declaration.bags.bags import Bags
from milopt.errors import MiloptError, MissingSolverError, ParameterError
from milopt.evaluation.child_warnings import suppress_resource_warnings
from milopt.evaluation.fit_count import FitsDone, count_in_file
from milopt.evaluation.interrupt import block_interrupts_in_children, ignore_interrupts
from milopt.evaluation.record import Failure, Record
from milopt.evaluation.task import Task, TaskData, run_task

TaskOutcome: TypeAlias = Record | Failure
Outcomes: TypeAlias = Generator[tuple[int, TaskOutcome], None, None]
Runner: TypeAlias = Callable[[Sequence[Task], TaskData, FitsDone | None], Outcomes]
"""Function from tasks to pairs (index of the task, its outcome), in the order in which tasks end.

If the third argument is given, it is called with the numbers of fits that have finished, as far as the runner knows
them before a task ends.
"""

MAX_RETRIES = 3
"""Number of times that Dask runs a task again after its worker died."""
SCHEDULER_TIMEOUT_SECONDS = 10.0
"""Seconds within which a Dask scheduler must answer."""
_SCHEDULER_ADDRESS = re.compile(
    r"(?:(?P<scheme>tcp|tls|ws|wss|ucx|inproc)://)?(?P<host>[^/\s]+):(?P<port>\d+)|inproc://\S+"
)


def attempt_task(index: int, task: Task, data: TaskData, fits_done: FitsDone | None = None) -> tuple[int, TaskOutcome]:
    """Run a task, and return its index and outcome; an error becomes a `Failure`, so that the other tasks still run."""
    try:
        return index, run_task(task, data, fits_done)
    except MiloptError as error:
        return index, task_failure(task, str(error), error.exit_code)
    except Exception as error:
        # A model of the user may raise any exception, not only `MiloptError`.
        return index, task_failure(task, format_exception(error), 1)


def task_failure(task: Task, reason: str, exit_code: int) -> Failure:
    """Return the `Failure` of a task."""
    return Failure(task.model, task.repeat, task.fold, reason, exit_code)


def run_in_this_process(tasks: Sequence[Task], data: TaskData, fits_done: FitsDone | None) -> Outcomes:
    """Run the tasks one after the other in this process."""
    for index, task in enumerate(tasks):
        yield attempt_task(index, task, data, fits_done)


def worker_runner(n_jobs: int) -> Runner:
    """Return a runner that uses `n_jobs` processes of this machine; -1 means one process per core."""

    def run_on_workers(tasks: Sequence[Task], data: TaskData, fits_done: FitsDone | None) -> Outcomes:
        with count_in_file(fits_done) as fit_file:
            yield from run_counted(tasks, data, fit_file)

    def run_counted(tasks: Sequence[Task], data: TaskData, fits_done: FitsDone | None) -> Outcomes:
        from joblib import Parallel, delayed, parallel_config

        remaining = dict(enumerate(tasks))
        with (
            suppress_resource_warnings(),
            block_interrupts_in_children(),
            parallel_config("loky", inner_max_num_threads=1),
        ):
            # Not more processes than tasks: loky would also start processes that have nothing to do.
            workers = n_jobs if n_jobs == -1 else min(n_jobs, len(tasks))
            parallel = Parallel(workers, batch_size=1, return_as="generator_unordered", initializer=ignore_interrupts)
            outcomes = parallel(delayed(attempt_task)(index, task, data, fits_done) for index, task in enumerate(tasks))
        try:
            for index, outcome in outcomes:
                del remaining[index]
                yield index, outcome
        except BrokenProcessPool:
            for index, task in remaining.items():
                yield (
                    index,
                    task_failure(task, "a worker process died, perhaps because memory ran out; use fewer jobs.", 1),
                )
        finally:
            with warnings.catch_warnings():
                # joblib warns that tasks are still running; after an interrupt, this is expected.
                warnings.simplefilter("ignore", UserWarning)
                outcomes.close()

    return run_on_workers


@contextmanager
def dask_client(address: str) -> Iterator[tuple[Any, Any]]:
    """Yield the package `distributed` and a client of the Dask cluster whose scheduler has this address.

    At the end of the block, tasks that are still waiting are cancelled.
    """
    distributed = _import_distributed()
    _check_address(address)
    client = _connect_to_scheduler(distributed, address)
    try:
        yield distributed, client
    finally:
        client.close()


def dask_runner(address: str) -> Runner:
    """Return a runner on the Dask cluster whose scheduler has this address.

    If a worker dies, another one runs its tasks again, at most MAX_RETRIES times.
    """
    _import_distributed()
    _check_address(address)

    def run_on_dask(tasks: Sequence[Task], data: TaskData, fits_done: FitsDone | None) -> Outcomes:
        # Workers on other machines cannot write to a file of this one: their fits are counted when their task ends.
        with dask_client(address) as (distributed, client):
            with warnings.catch_warnings():
                # Dask warns that the data are large. They are sent as a task of their own, so that Dask can send them
                # again if a worker dies.
                warnings.filterwarnings("ignore", message="Sending large graph")
                bags = data.bags
                shared = client.submit(_build_task_data, bags.instances, bags.offsets, data.labels, pure=False)
            futures = {
                client.submit(attempt_task, index, task, shared, retries=MAX_RETRIES, pure=False): index
                for index, task in enumerate(tasks)
            }
            for future in distributed.as_completed(list(futures), loop=client.loop):
                index = futures[future]
                if future.status == "finished":
                    yield future.result()
                else:
                    yield index, task_failure(tasks[index], format_exception(future.exception()), 1)

    return run_on_dask


def _import_distributed() -> Any:
    """Return the package `distributed`; raise an error if it is not installed."""
    try:
        import distributed
    except ImportError:
        raise MissingSolverError(
            "A Dask cluster needs the package distributed, which is not installed: run `pip install 'milopt[dask]'`."
        ) from None
    return distributed


def _connect_to_scheduler(distributed: Any, address: str) -> Any:
    """Connect to the Dask scheduler."""
    try:
        return distributed.Client(address, timeout=SCHEDULER_TIMEOUT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise _no_scheduler_error(address, type(error).__name__) from error


def _check_address(address: str) -> None:
    """Raise an error if the address is not valid, or if nothing answers there (only checked for tcp and tls).

    A Dask client would retry and write to the log instead.
    """
    match = _SCHEDULER_ADDRESS.fullmatch(address)
    if match is None:
        raise _no_scheduler_error(address, "not an address")
    if match["scheme"] in (None, "tcp", "tls"):
        try:
            socket.create_connection((match["host"].strip("[]"), int(match["port"])), SCHEDULER_TIMEOUT_SECONDS).close()
        except (OSError, OverflowError) as error:
            raise _no_scheduler_error(address, type(error).__name__) from error


def _no_scheduler_error(address: str, reason: str) -> ParameterError:
    """Return the error for an address at which no scheduler answers."""
    return ParameterError(
        f"No Dask scheduler answers at {address} ({reason}): give the address that it printed, "
        "such as tcp://127.0.0.1:8786."
    )


def _build_task_data(instances: Any, offsets: Any, labels: np.ndarray[Any, Any]) -> TaskData:
    """Build the data of the tasks on a worker."""
    return TaskData(Bags(instances, offsets), labels)


def format_exception(error: BaseException | None) -> str:
    """Return an exception as a sentence that names the file and the line that raised it."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    location = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}".rstrip(".: ") + f"{location}."
