"""Scores of many bags by a fitted model, in blocks of bags, in this process or on a Dask cluster.

Both ways score the same blocks with linear algebra on one thread, so that the scores are equal bit by bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from milopt.arrays import Floats
from milopt.declaration.bags.bag_rows import bag_blocks
from milopt.declaration.bags.bags import Bags
from milopt.errors import MiloptError
from milopt.estimator import BagClassifier
from milopt.evaluation.one_thread import limit_to_one_thread
from milopt.evaluation.runners import MAX_RETRIES, dask_client, format_exception

TASKS_PER_WORKER = 2
"""Number of blocks per worker that are sent at a time, so that not all bags are in memory."""


def score_bags(model: BagClassifier, bags: object, *, dask: str | None = None) -> Floats:
    """Compute the scores of bags by a fitted model, as `decision_function` does.

    Blocks of bags, of at most 4 million values each, are scored one after the other, or as tasks on a Dask cluster. The
    scores are the same.

    Parameters
    ----------
    model : BagClassifier
        Fitted model.
    bags : list of array, 3-D array or Bags
        Bags with the features of the training bags.
    dask : str or None, default=None
        Address of a Dask scheduler. None computes the scores in this process.

    Returns
    -------
    ndarray of shape (n_bags,) or (n_bags, n_classes)
        One score per bag for two classes, otherwise one column per class.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> from milopt.models import SetKernelSVM
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1] += 4
    >>> model = SetKernelSVM().fit(bags, y)
    >>> bool(np.allclose(milopt.score_bags(model, bags), model.decision_function(bags)))
    True
    """
    return np.concatenate(_score_blocks(model, model.check_bags(bags), _bag_scores, dask))


def score_instances(model: BagClassifier, bags: object, *, dask: str | None = None) -> list[Floats]:
    """Compute the scores of the instances of bags by a fitted model, as `instance_scores` does.

    Parameters
    ----------
    model : BagClassifier
        Fitted model.
    bags : list of array, 3-D array or Bags
        Bags with the features of the training bags.
    dask : str or None, default=None
        Address of a Dask scheduler. None computes the scores in this process.

    Returns
    -------
    list of ndarray
        One array per bag, of shape (n_instances,) for two classes, otherwise (n_instances, n_classes).

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> from milopt.models import MISVM
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1, 0] += 4
    >>> scores = milopt.score_instances(MISVM().fit(bags, y), bags)
    >>> len(scores), scores[0].shape
    (20, (4,))
    """
    given = model.check_bags(bags)
    return np.split(np.concatenate(_score_blocks(model, given, _instance_scores, dask)), given.offsets[1:-1])


def _bag_scores(model: BagClassifier, bags: Bags) -> Floats:
    """Return the scores of bags, with linear algebra on one thread."""
    with limit_to_one_thread():
        return model.decision_function(bags)


def _instance_scores(model: BagClassifier, bags: Bags) -> Floats:
    """Return the scores of all instances, with linear algebra on one thread."""
    with limit_to_one_thread():
        return np.concatenate(model.instance_scores(bags))


def _score_blocks(
    model: BagClassifier, bags: Bags, score: Callable[[BagClassifier, Bags], Floats], address: str | None
) -> list[Floats]:
    """Return the scores of all blocks of bags, in order."""
    if address is None:
        return [score(model, part) for part in bag_blocks(bags)]
    with dask_client(address) as (distributed, client):
        shared = client.submit(_as_model, model, pure=False)
        workers = max(1, sum(client.nthreads().values()))
        return list(_run_tasks(distributed, client, score, shared, bag_blocks(bags), TASKS_PER_WORKER * workers))


def _run_tasks(
    distributed: Any,
    client: Any,
    score: Callable[[BagClassifier, Bags], Floats],
    model: Any,
    parts: Iterator[Bags],
    most: int,
) -> list[Floats]:
    """Score the parts as tasks, at most `most` at a time; return their scores in order."""
    place: dict[Any, int] = {}
    scores: dict[int, Floats] = {}
    numbered = enumerate(parts)

    def submit_next() -> list[Any]:
        """Submit the next part, and return its task in a list, which is empty if there is none."""
        following = next(numbered, None)
        if following is None:
            return []
        with warnings.catch_warnings():
            # Dask warns that the bags are large. They are part of the task, so that it can run on another worker.
            warnings.filterwarnings("ignore", message="Sending large graph")
            task = client.submit(score, model, following[1], retries=MAX_RETRIES, pure=False)
        place[task] = following[0]
        return [task]

    running = distributed.as_completed([], loop=client.loop)
    for _ in range(most):
        running.update(submit_next())
    for task in running:
        if task.status != "finished":
            error = task.exception()
            raise error if isinstance(error, MiloptError) else MiloptError(f"A task failed: {format_exception(error)}")
        scores[place.pop(task)] = cast(Floats, task.result())
        running.update(submit_next())
    return [scores[i] for i in range(len(scores))]


def _as_model(model: BagClassifier) -> BagClassifier:
    """Return the model, as a task of its own: Dask sends it to each worker once."""
    return model
