"""Everything that is fitted in a training part depends on this part only.

Held-out bags are poisoned: their values are so large that any scaling of all data would change, and their sign reveals
the label. If any result that a task computes from its training part (selection counts, certificates, the score of an
unchanged test bag) changes by one bit, held-out bags were used in training.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from milopt import RBF, Bags
from milopt.data.data_set import DataSet
from milopt.evaluation.data import as_task_data
from milopt.evaluation.plan import make_plan
from milopt.evaluation.protocol import parse_protocol
from milopt.evaluation.record import Record
from milopt.evaluation.task import Task, TaskData, run_task
from milopt.model_registry import format_value, model_names

from .conftest import toy_data

Runner = Callable[[Task, TaskData], Record]


def poison(pool: TaskData, places: list[int]) -> TaskData:
    """Return the pool with the instances of some bags moved far away, in the direction of their label."""
    rows = np.array(pool.bags.instances)
    sign = np.where(pool.labels[pool.bags.bag_of] > 0, 1.0, -1.0)
    hit = np.isin(pool.bags.bag_of, places)
    rows[hit] += 1e6 * sign[hit, None]
    return TaskData(Bags(rows, pool.bags.offsets), pool.labels)


def training_results(record: Record, unchanged: list[int]) -> object:
    """Return everything in a record that depends on the training part, and the scores of the unchanged test bags."""
    scores = [score for place, score in zip(record.test, record.scores, strict=True) if place in unchanged]
    return record.chosen, record.candidates, record.fits, scores


def is_blind(task: Task, pool: TaskData, runner: Runner) -> bool:
    """Return True if the results of a task do not change by a single bit when half of its test bags are poisoned."""
    hidden, unchanged = list(task.test[::2]), list(task.test[1::2])
    plain, other = runner(task, pool), runner(task, poison(pool, hidden))
    return training_results(plain, unchanged) == training_results(other, unchanged)


def tasks(data: DataSet, model: str, protocol: str = "2", **keywords: object) -> tuple[Task, ...]:
    chosen: dict[str, object] = {"grid": {}, "settings": None} | keywords
    return make_plan(data, model, parse_protocol(protocol), 0, "auto", **chosen).tasks  # type: ignore[arg-type]  # mixed


@pytest.mark.thorough(unless={"scale": ["zscore"], "model": ["mi-svm", "safe", "set-kernel-svm", "shapelet-boost"]})
@pytest.mark.parametrize("scale", ["minmax01", "zscore"])
@pytest.mark.parametrize("model", model_names())
def test_no_task_uses_its_test_bags_in_training(model: str, scale: str) -> None:
    data = toy_data(count=12)
    grid = {"kernel": (RBF("median"), RBF(1.0))}
    for task in tasks(data, model, grid=grid, settings={"scale": scale}):
        assert is_blind(task, as_task_data(data), run_task)


@pytest.mark.parametrize("protocol", ["2x80/20", "train/test"])
def test_no_protocol_uses_test_bags_in_training(protocol: str) -> None:
    data = toy_data(count=16, test=8)
    for task in tasks(data, "set-kernel-svm", protocol, settings={"kernel": RBF("median")}):
        assert is_blind(task, as_task_data(data), run_task)


def leaky_scaler(task: Task, pool: TaskData) -> Record:
    """Scale the features of all bags to [0, 1] before the split, a common mistake."""
    rows = np.asarray(pool.bags.instances)
    low, spread = rows.min(axis=0), np.ptp(rows, axis=0)
    return run_task(task, TaskData(Bags((rows - low) / spread, pool.bags.offsets), pool.labels))


def leaky_width(task: Task, pool: TaskData) -> Record:
    """Set the kernel width from all instances before the split."""
    width = RBF("median").fitted(pool.bags.instances)
    settings = (*task.settings, f"kernel={format_value(width)}")
    return run_task(Task(**{**vars(task), "settings": settings}), pool)


UNMOVED = {("box-svm", leaky_scaler)}
"""Leaks without an effect: a grid that follows the range of each training feature undoes every scaling."""


@pytest.mark.thorough(unless={"model": ["box-svm", "mi-svm", "safe", "set-kernel-svm", "shapelet-boost"]})
@pytest.mark.parametrize("runner", [leaky_scaler, leaky_width])
@pytest.mark.parametrize("model", model_names())
def test_a_planted_leak_is_found_by_the_same_test(model: str, runner: Runner) -> None:
    data = toy_data(count=12)
    for task in tasks(data, model, settings={"scale": "none"}):
        assert is_blind(task, as_task_data(data), run_task)
        assert is_blind(task, as_task_data(data), runner) == ((model, runner) in UNMOVED)


def test_every_test_bag_is_scored_by_itself() -> None:
    # Scored together, far points would move the origin from which distances are computed, and so change the last
    # bits of other scores.
    data = toy_data(count=12)
    pool = as_task_data(data)
    (task, *_) = tasks(data, "set-kernel-svm", settings={"scale": "none"})
    record = run_task(task, pool)
    for k, place in enumerate(task.test):
        others = [other for other in task.test if other != place]
        assert run_task(task, poison(pool, others)).scores[k] == record.scores[k]
