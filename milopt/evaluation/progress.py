"""A run on its way: outcomes as they come, each kept at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TypeAlias

from milopt.evaluation.interrupt import Stopped, stoppable
from milopt.evaluation.plan import Plan
from milopt.evaluation.record import Failure, Record
from milopt.evaluation.runners import Outcome, Runner
from milopt.evaluation.store import Store
from milopt.evaluation.task import Pool

Progress: TypeAlias = Callable[[int, int, Outcome], object]


class Run:
    """The tasks of a plan with their outcomes so far; `resumed` of them were found in the store."""

    def __init__(self, plan: Plan, store: Store | None, progress: Progress | None) -> None:
        self._plan = plan
        self._store = store
        self._progress = progress
        self._outcomes: dict[int, Outcome] = {}
        self.resumed = 0
        self.interrupted = False

    def through(self, runner: Runner, pool: Pool) -> None:
        """Do what is not done yet, until all is done or Ctrl-C."""
        tasks = self._plan.tasks
        try:
            with stoppable():
                left = [place for place in range(len(tasks)) if not self._found(place)]
                self.resumed = len(self._outcomes)
                if left:
                    with closing(runner([tasks[place] for place in left], pool)) as outcomes:
                        for place, outcome in outcomes:
                            self._take(left[place], outcome)
        except (Stopped, KeyboardInterrupt):
            self.interrupted = True

    def records(self, model: str) -> tuple[Record, ...]:
        """The finished tasks of a model, in order."""
        found = (self._outcomes[place] for place in sorted(self._outcomes))
        return tuple(one for one in found if isinstance(one, Record) and one.model == model)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The tasks that failed, in order."""
        found = (self._outcomes[place] for place in sorted(self._outcomes))
        return tuple(one for one in found if isinstance(one, Failure))

    def _found(self, place: int) -> bool:
        record = self._store.get(self._plan.tasks[place]) if self._store is not None else None
        if record is not None:
            self._tell(place, record)
        return record is not None

    def _take(self, place: int, outcome: Outcome) -> None:
        # Failures are not kept: what was missing may be there next time.
        if self._store is not None and isinstance(outcome, Record):
            self._store.keep(self._plan.tasks[place], outcome)
        self._tell(place, outcome)

    def _tell(self, place: int, outcome: Outcome) -> None:
        # Under the name that the person gave, wherever the model's file lies.
        named = replace(outcome, model=self._plan.model_of[place])
        self._outcomes[place] = named
        if self._progress is not None:
            self._progress(len(self._outcomes), len(self._plan.tasks), named)
