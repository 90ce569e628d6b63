"""Who runs the tasks: this process, its workers (joblib's loky), or a Dask cluster. Each yields outcomes as they come.

The record of a task is the same from all of them, but for its seconds, process and date.
"""

from __future__ import annotations

import re
import socket
import traceback
import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from milopt.declaration.bags.bags import Bags
from milopt.errors import MiloptError, MissingSolverError, ParameterError
from milopt.evaluation.interrupt import undisturbed
from milopt.evaluation.record import Failure, Record
from milopt.evaluation.task import Pool, Task, run

Outcome: TypeAlias = Record | Failure
Outcomes: TypeAlias = Generator[tuple[int, Outcome], None, None]
Runner: TypeAlias = Callable[[Sequence[Task], Pool], Outcomes]
"""From tasks to (place of the task, its outcome), in whatever order they end."""

RETRIES = 3
PATIENCE = 10.0
"""Seconds in which a scheduler must answer."""
_ADDRESS = re.compile(r"(?:(?P<scheme>tcp|tls|ws|wss|ucx|inproc)://)?(?P<host>[^/\s]+):(?P<port>\d+)|inproc://\S+")


def attempt(place: int, task: Task, pool: Pool) -> tuple[int, Outcome]:
    """The outcome of a task; a mistake is one too, so that it does not take the others with it."""
    try:
        return place, run(task, pool)
    except MiloptError as error:
        return place, failure(task, str(error), error.exit_code)
    except Exception as error:
        # A person's own model may raise anything.
        return place, failure(task, _told(error), 1)


def failure(task: Task, reason: str, exit_code: int) -> Failure:
    """The failure of a task."""
    return Failure(task.model, task.repeat, task.fold, reason, exit_code)


def here(tasks: Sequence[Task], pool: Pool) -> Outcomes:
    """One after the other, in this process."""
    for place, task in enumerate(tasks):
        yield attempt(place, task, pool)


def on_workers(n_jobs: int) -> Runner:
    """In processes of this machine; -1 for as many as it has cores."""

    def runner(tasks: Sequence[Task], pool: Pool) -> Outcomes:
        from joblib import Parallel, delayed, parallel_config

        left = dict(enumerate(tasks))
        with parallel_config("loky", inner_max_num_threads=1):
            # No more than have something to do; loky would start them all.
            workers = n_jobs if n_jobs == -1 else min(n_jobs, len(tasks))
            parallel = Parallel(workers, batch_size=1, return_as="generator_unordered", initializer=undisturbed)
            outcomes = parallel(delayed(attempt)(place, task, pool) for place, task in enumerate(tasks))
        try:
            for place, outcome in outcomes:
                del left[place]
                yield place, outcome
        except BrokenProcessPool:
            for place, task in left.items():
                yield place, failure(task, "a worker process died, perhaps for want of memory; use fewer jobs.", 1)
        finally:
            with warnings.catch_warnings():
                # That tasks are still running is why somebody left early.
                warnings.simplefilter("ignore", UserWarning)
                outcomes.close()

    return runner


def on_dask(address: str) -> Runner:
    """On a Dask cluster whose scheduler has this address; a task whose worker dies is done again by another."""
    try:
        import distributed
    except ImportError:
        raise MissingSolverError(
            "A Dask cluster needs the package distributed, which is not installed: run `pip install 'milopt[dask]'`."
        ) from None
    _check_address(address)

    def runner(tasks: Sequence[Task], pool: Pool) -> Outcomes:
        client = _client(distributed, address)
        try:
            with warnings.catch_warnings():
                # On purpose: as a task of their own, the data outlive the worker that holds them.
                warnings.filterwarnings("ignore", message="Sending large graph")
                bags = pool.bags
                shared = client.submit(_pool, bags.instances, bags.offsets, pool.labels, pure=False)
            futures = {
                client.submit(attempt, place, task, shared, retries=RETRIES, pure=False): place
                for place, task in enumerate(tasks)
            }
            for future in distributed.as_completed(list(futures), loop=client.loop):
                place = futures[future]
                if future.status == "finished":
                    yield future.result()
                else:
                    yield place, failure(tasks[place], _told(future.exception()), 1)
        finally:
            # Tasks that are still waiting are forgotten with the client that asked for them.
            client.close()

    return runner


def _client(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise _silence(address, type(error).__name__) from error


def _check_address(address: str) -> None:
    """Say so if there is nobody; a client would try again and again, and complain to the log."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise _silence(address, "it is no address")
    if found["scheme"] in (None, "tcp", "tls"):
        try:
            socket.create_connection((found["host"].strip("[]"), int(found["port"])), PATIENCE).close()
        except (OSError, OverflowError) as error:
            raise _silence(address, type(error).__name__) from error


def _silence(address: str, why: str) -> ParameterError:
    return ParameterError(
        f"No Dask scheduler answers at {address} ({why}): give the address that it printed, "
        "such as tcp://127.0.0.1:8786."
    )


def _pool(instances: Any, offsets: Any, labels: np.ndarray[Any, Any]) -> Pool:
    return Pool(Bags(instances, offsets), labels)


def _told(error: BaseException | None) -> str:
    """An exception in a sentence, with the line that raised it."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}".rstrip(".: ") + f"{where}."
