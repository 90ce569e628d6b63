"""What is fitted in a training part is a function of that part alone.

Held-out bags are poisoned: values that no scaler of all data could overlook, and whose sign gives the label away. If
anything that a task computes from its training part (selection counts, certificates, the score of a test bag that was
left as it was) changes by one bit, something looked at bags that it should not have seen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from milopt import RBF, Bags
from milopt.data.data_set import DataSet
from milopt.evaluation.data import as_pool
from milopt.evaluation.plan import make_plan
from milopt.evaluation.protocol import parse_protocol
from milopt.evaluation.record import Record
from milopt.evaluation.task import Pool, Task, run
from milopt.model_registry import model_names, spelled

from .conftest import toy_data

Runner = Callable[[Task, Pool], Record]


def poisoned(pool: Pool, places: list[int]) -> Pool:
    """The pool with the instances of some bags moved far away, to the side of their label."""
    rows = np.array(pool.bags.instances)
    sign = np.where(pool.labels[pool.bags.bag_of] > 0, 1.0, -1.0)
    hit = np.isin(pool.bags.bag_of, places)
    rows[hit] += 1e6 * sign[hit, None]
    return Pool(Bags(rows, pool.bags.offsets), pool.labels)


def seen(record: Record, unchanged: list[int]) -> object:
    """All that a record owes to the training part, and the scores of the test bags that were left as they were."""
    scores = [score for place, score in zip(record.test, record.scores, strict=True) if place in unchanged]
    return record.chosen, record.candidates, record.fits, scores


def is_blind(task: Task, pool: Pool, runner: Runner) -> bool:
    """Whether a task gives the same to the last bit when half of its test bags are poisoned."""
    hidden, unchanged = list(task.test[::2]), list(task.test[1::2])
    plain, other = runner(task, pool), runner(task, poisoned(pool, hidden))
    return seen(plain, unchanged) == seen(other, unchanged)


def tasks(data: DataSet, model: str, protocol: str = "2", **keywords: object) -> tuple[Task, ...]:
    chosen: dict[str, object] = {"grid": {}, "settings": None} | keywords
    return make_plan(data, model, parse_protocol(protocol), 0, "auto", **chosen).tasks  # type: ignore[arg-type]  # mixed


@pytest.mark.thorough(unless={"scale": ["zscore"]})
@pytest.mark.thorough(unless={"model": ["mi-svm", "set-kernel-svm"]})
@pytest.mark.parametrize("scale", ["minmax01", "zscore"])
@pytest.mark.parametrize("model", model_names())
def test_no_task_sees_its_test_bags(model: str, scale: str) -> None:
    data = toy_data(count=12)
    grid = {"kernel": (RBF("median"), RBF(1.0))}
    for task in tasks(data, model, grid=grid, settings={"scale": scale}):
        assert is_blind(task, as_pool(data), run)


@pytest.mark.parametrize("protocol", ["2x80/20", "train/test"])
def test_no_protocol_shows_them(protocol: str) -> None:
    data = toy_data(count=16, test=8)
    for task in tasks(data, "set-kernel-svm", protocol, settings={"kernel": RBF("median")}):
        assert is_blind(task, as_pool(data), run)


def leaky_scaler(task: Task, pool: Pool) -> Record:
    """What people do: the features of all bags scaled to [0, 1], and then the split."""
    rows = np.asarray(pool.bags.instances)
    low, spread = rows.min(axis=0), np.ptp(rows, axis=0)
    return run(task, Pool(Bags((rows - low) / spread, pool.bags.offsets), pool.labels))


def leaky_width(task: Task, pool: Pool) -> Record:
    """The kernel's width from all instances, and then the split."""
    width = RBF("median").fitted(pool.bags.instances)
    settings = (*task.settings, f"kernel={spelled(width)}")
    return run(Task(**{**vars(task), "settings": settings}), pool)


UNMOVED = {("box-svm", leaky_scaler)}
"""Who learns nothing from such a leak: a grid that follows the range of each training feature undoes every scaling."""


@pytest.mark.parametrize("runner", [leaky_scaler, leaky_width])
@pytest.mark.parametrize("model", model_names())
def test_a_planted_leak_is_found_by_the_same_test(model: str, runner: Runner) -> None:
    data = toy_data(count=12)
    for task in tasks(data, model, settings={"scale": "none"}):
        assert is_blind(task, as_pool(data), run)
        assert is_blind(task, as_pool(data), runner) == ((model, runner) in UNMOVED)


def test_every_test_bag_is_scored_by_itself() -> None:
    # Together, far points would move the origin that distances are computed from, and with it the last bits of others.
    data = toy_data(count=12)
    pool = as_pool(data)
    (task, *_) = tasks(data, "set-kernel-svm", settings={"scale": "none"})
    record = run(task, pool)
    for k, place in enumerate(task.test):
        others = [other for other in task.test if other != place]
        assert run(task, poisoned(pool, others)).scores[k] == record.scores[k]
