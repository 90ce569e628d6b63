"""Tasks of an evaluation: one model on one split. The result of a task does not depend on the process that runs it."""

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
from milopt.arrays import Labels
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.gram_cache import result_cache
from milopt.errors import DeclarationError, MiloptWarning
from milopt.estimator import BagClassifier
from milopt.evaluation.fit_count import FitsDone
from milopt.evaluation.one_thread import limit_to_one_thread
from milopt.evaluation.protocol import derive_seed
from milopt.evaluation.record import FitRecord, Label, Record
from milopt.evaluation.selection import configure_model, grid_combinations, select_candidate
from milopt.model_registry import identify_code, parse_grid, parse_settings, resolve_model
from milopt.model_registry.settings import fields_of


@dataclass(frozen=True)
class TaskData:
    """All bags of a data set with their labels, to which the indices in tasks refer.

    The bags of the official test part, if there is one, come last.
    """

    bags: Bags
    labels: Labels


@dataclass(frozen=True)
class Task:
    """All inputs that determine the result of one model on one split, as plain data.

    The model is given by name, hyper-parameters as text, and bags by index.
    """

    data: str
    """Digest of the data set."""
    model: str
    """Name of the model, with the full path if its class is in a file."""
    origin: str
    """Text that identifies the code of the model: package with version, or digest of the file."""
    solver: str | tuple[str, ...]
    settings: tuple[str, ...]
    grid: tuple[str, ...]
    division: str
    """How a repeat divides the bags, as text such as `10-fold`."""
    repeat: int
    fold: int
    seed: int
    inner_repeats: int
    """Number of times that the inner folds are drawn."""
    train: tuple[int, ...]
    test: tuple[int, ...]
    solvers: tuple[str, ...] = ()
    """Solvers that may run, with their versions."""
    version: str = milopt.__version__

    @property
    def content(self) -> dict[str, Any]:
        """Fields that identify the task, as JSON data.

        The name of the model is left out, because `origin` identifies its code; the split is replaced by a digest.
        """
        parts = hashlib.sha256(json.dumps([self.train, self.test]).encode()).hexdigest()
        excluded = ("model", "train", "test")
        plain = {name: value for name, value in vars(self).items() if name not in excluded} | {"split": parts}
        return cast(dict[str, Any], json.loads(json.dumps(plain)))

    @property
    def key(self) -> str:
        """Digest of `content`, which names the file of the task in a store."""
        return hashlib.sha256(json.dumps(self.content, sort_keys=True).encode()).hexdigest()


def run_task(task: Task, data: TaskData, fits_done: FitsDone | None = None) -> Record:
    """Select hyper-parameters in the training part, fit the model there, and predict the labels of the test part.

    `data` has all bags of the data set; the indices in `task` refer to it. `fits_done` is called after every fit.
    """
    start = perf_counter()
    model = _load_model_class(task)
    base = {"solver": task.solver, **parse_settings(model, task.settings)}
    if "random_state" in fields_of(model):
        base.setdefault("random_state", derive_seed(task.seed, task.repeat, task.fold))
    grid = grid_combinations(parse_grid(model, task.grid))
    train, test = np.array(task.train), np.array(task.test)
    with limit_to_one_thread(), result_cache(), warnings.catch_warnings():
        # The warnings of the fits are not needed, because the record states how each fit ended.
        warnings.simplefilter("ignore", MiloptWarning)
        # The training part is extracted first, so that no fit can use a test bag.
        bags, labels = data.bags[train], data.labels[train]
        inner_seed = derive_seed(task.seed, task.repeat, task.fold, 1)
        selection = select_candidate(model, base, grid, bags, labels, inner_seed, task.inner_repeats, fits_done)
        fitted = configure_model(model, base, grid[selection.chosen]).fit(bags, labels)
        if fits_done is not None:
            fits_done(1)
        # Score one bag at a time, so that a score does not depend on the other test bags, not even by rounding.
        test_bags = [data.bags[index : index + 1] for index in task.test]
        scores = np.concatenate([fitted.decision_function(bag) for bag in test_bags])
        predicted = fitted.labels(scores)
    accuracy, balanced, auc = _compute_test_measures(data.labels[test], predicted, scores, fitted.classes_)
    return Record(
        model=task.model,
        repeat=task.repeat,
        fold=task.fold,
        accuracy=accuracy,
        balanced_accuracy=balanced,
        auc=auc,
        chosen=selection.chosen,
        candidates=selection.candidates,
        fits=(*selection.fits, FitRecord.from_results(fitted.results_, selection.chosen, None)),
        test=task.test,
        predicted=tuple(cast(list[Label], predicted.tolist())),
        scores=tuple(tuple(score) if isinstance(score, list) else score for score in scores.tolist()),
        seconds=perf_counter() - start,
        pid=os.getpid(),
        finished=datetime.now(UTC).isoformat(),
    )


def _load_model_class(task: Task) -> type[BagClassifier]:
    """Return the model class of a task, after checking that its code is the code for which the task was created."""
    model = resolve_model(task.model)
    origin, version = identify_code(task.model), milopt.__version__
    if origin != task.origin or version != task.version:
        current, expected = f"{origin}, milopt {version}", f"{task.origin}, milopt {task.version}"
        raise DeclarationError(
            f"The model {task.model} is {current} in the process of the task, but was {expected}: "
            "start the evaluation again."
        )
    return model


def _compute_test_measures(
    labels: Labels, predicted: Labels, scores: Labels, classes: Labels
) -> tuple[float, float, float | None]:
    """Return the accuracy, the balanced accuracy and the area under the ROC curve.

    The area is None for more than two classes, or if the test labels are all equal.
    """
    from sklearn.metrics import balanced_accuracy_score, roc_auc_score

    with warnings.catch_warnings():
        # A test part may not contain a class that was predicted; its recall is then not part of the mean.
        warnings.simplefilter("ignore", UserWarning)
        balanced = float(balanced_accuracy_score(labels, predicted))
    positive = labels == classes[-1]
    auc = float(roc_auc_score(positive, scores)) if classes.size == 2 and 0 < positive.sum() < positive.size else None
    return float(np.mean(predicted == labels)), balanced, auc
