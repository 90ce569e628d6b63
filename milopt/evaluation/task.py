"""A task: one model on one split. A pure function of plain data, whichever process runs it."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, cast

import numpy as np

import milopt
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.recollection import recollection
from milopt.errors import DeclarationError, MiloptWarning
from milopt.estimator import BagClassifier
from milopt.evaluation.one_thread import one_thread
from milopt.evaluation.protocol import Labels, derived_seed
from milopt.evaluation.record import Fit, Label, Record
from milopt.evaluation.selection import made, members, select
from milopt.model_registry import held_model, origin_of, parse_grid, parse_settings
from milopt.model_registry.settings import fields_of


@dataclass(frozen=True)
class Pool:
    """All bags of a data set with their labels: the training part, then the official test part where there is one."""

    bags: Bags
    labels: Labels


@dataclass(frozen=True)
class Task:
    """What decides the outcome of a task, in plain data: a model by name, its fields as texts, bags by place."""

    data: str
    """The digest of the data set."""
    model: str
    origin: str
    """Which code the name stands for."""
    solver: str | tuple[str, ...]
    settings: tuple[str, ...]
    grid: tuple[str, ...]
    division: str
    repeat: int
    fold: int
    seed: int
    inner_repeats: int
    """How often the inner folds are drawn."""
    train: tuple[int, ...]
    test: tuple[int, ...]
    solvers: tuple[str, ...] = ()
    """Those that may run, with their versions."""
    version: str = milopt.__version__

    @property
    def content(self) -> dict[str, Any]:
        """What identifies the task: all of it but the place of a person's file, with the bags as a digest."""
        parts = hashlib.sha256(json.dumps([self.train, self.test]).encode()).hexdigest()
        apart = ("model", "train", "test")
        plain = {name: value for name, value in vars(self).items() if name not in apart} | {"split": parts}
        return cast(dict[str, Any], json.loads(json.dumps(plain)))

    @property
    def key(self) -> str:
        """The name of the task among all others."""
        return hashlib.sha256(json.dumps(self.content, sort_keys=True).encode()).hexdigest()


def run(task: Task, pool: Pool) -> Record:
    """Choose hyper-parameters in the training part, fit there, and label the test part."""
    began = perf_counter()
    model = _model(task)
    base = {"solver": task.solver, **parse_settings(model, task.settings)}
    if "random_state" in fields_of(model):
        base.setdefault("random_state", derived_seed(task.seed, task.repeat, task.fold))
    grid = members(parse_grid(model, task.grid))
    train, test = np.array(task.train), np.array(task.test)
    with one_thread(), recollection(), warnings.catch_warnings():
        # The record tells how each fit ended.
        warnings.simplefilter("ignore", MiloptWarning)
        # Both parts are cut out before anything looks at them: no fit can reach a test bag.
        bags, labels = pool.bags[train], pool.labels[train]
        inner_seed = derived_seed(task.seed, task.repeat, task.fold, 1)
        selection = select(model, base, grid, bags, labels, inner_seed, task.inner_repeats)
        fitted = made(model, base, grid[selection.chosen]).fit(bags, labels)
        # One bag at a time: its score is then its own, to the last bit, whatever other test bags hold.
        alone = [pool.bags[place : place + 1] for place in task.test]
        scores = np.concatenate([fitted.decision_function(bag) for bag in alone])
        predicted = fitted.labels(scores)
    accuracy, balanced, auc = _measures(pool.labels[test], predicted, scores, fitted.classes_)
    return Record(
        model=task.model,
        repeat=task.repeat,
        fold=task.fold,
        accuracy=accuracy,
        balanced_accuracy=balanced,
        auc=auc,
        chosen=selection.chosen,
        candidates=selection.candidates,
        fits=(*selection.fits, Fit.of(fitted.results_, selection.chosen, None)),
        test=task.test,
        predicted=tuple(cast(list[Label], predicted.tolist())),
        scores=tuple(tuple(one) if isinstance(one, list) else one for one in scores.tolist()),
        seconds=perf_counter() - began,
        pid=os.getpid(),
        finished=datetime.now(UTC).isoformat(),
    )


def _model(task: Task) -> type[BagClassifier]:
    """The class behind the task's name, which must be the code that the task was made for."""
    model = held_model(task.model)
    found, version = origin_of(task.model), milopt.__version__
    if found != task.origin or version != task.version:
        here, there = f"{found}, milopt {version}", f"{task.origin}, milopt {task.version}"
        raise DeclarationError(
            f"The model {task.model} is {here} where the task runs, and was {there}: start it again."
        )
    return model


def _measures(labels: Labels, predicted: Labels, scores: Labels, classes: Labels) -> tuple[float, float, float | None]:
    """Accuracy, balanced accuracy, and the area under the ROC curve of two classes."""
    from sklearn.metrics import balanced_accuracy_score, roc_auc_score

    with warnings.catch_warnings():
        # A test part may lack a class that was predicted: its recall is then left out of the mean.
        warnings.simplefilter("ignore", UserWarning)
        balanced = float(balanced_accuracy_score(labels, predicted))
    positive = labels == classes[-1]
    auc = float(roc_auc_score(positive, scores)) if classes.size == 2 and 0 < positive.sum() < positive.size else None
    return float(np.mean(predicted == labels)), balanced, auc
