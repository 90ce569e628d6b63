"""Progress of an evaluation: outcomes are collected as they arrive, and records are stored at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from threading import Lock
from typing import TypeAlias

from milopt.evaluation.interrupt import RunInterrupted, stop_on_interrupt
from milopt.evaluation.plan import EvaluationPlan
from milopt.evaluation.record import Failure, Record
from milopt.evaluation.runners import Runner, TaskOutcome
from milopt.evaluation.store import TaskStore
from milopt.evaluation.task import TaskData

Progress: TypeAlias = Callable[[int, int, TaskOutcome], object]
"""Function that is called as `progress(done, total, outcome)` after each task, with numbers of tasks."""
FitProgress: TypeAlias = Callable[[int, int], object]
"""Function that is called as `on_fit(done, total)` when fits have finished, with numbers of fits."""


class EvaluationRun:
    """Tasks of a plan with their outcomes so far.

    `resumed` is the number of tasks that were already in the store. `interrupted` is True if Ctrl-C ended the run.
    """

    def __init__(
        self,
        plan: EvaluationPlan,
        store: TaskStore | None,
        progress: Progress | None,
        on_fit: FitProgress | None = None,
    ) -> None:
        self._plan = plan
        self._store = store
        self._progress = progress
        self._on_fit = on_fit
        self._outcomes: dict[int, TaskOutcome] = {}
        self._fits_stored = 0
        self._fits_run = 0
        """Number of fits of this run, also those of tasks that have not ended."""
        self._fits_reported = -1
        self._lock = Lock()
        """Lock of the numbers of fits, which a runner may count in another thread."""
        self.resumed = 0
        self.interrupted = False

    def run(self, runner: Runner, data: TaskData) -> None:
        """Run all tasks that are not in the store, until all are done or Ctrl-C is pressed."""
        tasks = self._plan.tasks
        try:
            with stop_on_interrupt():
                remaining = [index for index in range(len(tasks)) if not self._load_stored(index)]
                self.resumed = len(self._outcomes)
                self._fits_stored = self._fits_of_ended_tasks
                self._count_fits(0)
                if remaining:
                    count = None if self._on_fit is None else self._count_fits
                    with closing(runner([tasks[index] for index in remaining], data, count)) as outcomes:
                        for position, outcome in outcomes:
                            self._add_outcome(remaining[position], outcome)
                            self._count_fits(0)
        except (RunInterrupted, KeyboardInterrupt):
            self.interrupted = True

    def records(self, model: str) -> tuple[Record, ...]:
        """Return the records of the finished tasks of a model, in order."""
        outcomes = (self._outcomes[index] for index in sorted(self._outcomes))
        return tuple(outcome for outcome in outcomes if isinstance(outcome, Record) and outcome.model == model)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Failed tasks, in order."""
        outcomes = (self._outcomes[index] for index in sorted(self._outcomes))
        return tuple(outcome for outcome in outcomes if isinstance(outcome, Failure))

    @property
    def _fits_of_ended_tasks(self) -> int:
        """Number of fits of all tasks that have an outcome."""
        # A copy of the indices, because the other thread may add an outcome meanwhile.
        return sum(self._plan.fits[index] for index in list(self._outcomes))

    def _count_fits(self, fits: int) -> None:
        """Add finished fits of this run, and call `on_fit` if there are more than at the last call.

        A task that failed may have ended before some of its fits; when it ends, all its fits count as finished.
        """
        if self._on_fit is None:
            return
        with self._lock:
            self._fits_run += fits
            total = sum(self._plan.fits)
            done = min(total, max(self._fits_of_ended_tasks, self._fits_stored + self._fits_run))
            if done > self._fits_reported:
                self._fits_reported = done
                self._on_fit(done, total)

    def _load_stored(self, index: int) -> bool:
        """Load and report the record of a task from the store; return True if there is one."""
        record = self._store.load(self._plan.tasks[index]) if self._store is not None else None
        if record is not None:
            self._report_outcome(index, record)
        return record is not None

    def _add_outcome(self, index: int, outcome: TaskOutcome) -> None:
        """Store the outcome if it is a record and there is a store, and report it."""
        # Failures are not stored, because the task may succeed when it is run again.
        if self._store is not None and isinstance(outcome, Record):
            self._store.save(self._plan.tasks[index], outcome)
        self._report_outcome(index, outcome)

    def _report_outcome(self, index: int, outcome: TaskOutcome) -> None:
        """Collect an outcome under the name that the user gave to the model, and call `progress`."""
        named = replace(outcome, model=self._plan.model_of[index])
        self._outcomes[index] = named
        if self._progress is not None:
            self._progress(len(self._outcomes), len(self._plan.tasks), named)
