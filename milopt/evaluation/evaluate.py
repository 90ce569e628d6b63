"""Evaluate models on a data set by a protocol: the Python twin of `milopt evaluate`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from time import perf_counter

import milopt
from milopt.data.data_set import DataSet
from milopt.errors import ParameterError
from milopt.evaluation.data import as_data_set, as_pool
from milopt.evaluation.plan import make_plan
from milopt.evaluation.progress import Progress, Run
from milopt.evaluation.protocol import parse_protocol
from milopt.evaluation.runners import Runner, here, on_dask, on_workers
from milopt.evaluation.store import Store
from milopt.evaluation.summary import Evaluation, Row


def evaluate(
    data: DataSet | str | os.PathLike[str] | tuple[object, object],
    models: str | type | Sequence[str | type],
    protocol: str = "1x10",
    *,
    seed: int = 0,
    solver: str | tuple[str, ...] = "auto",
    grid: Mapping[str, Sequence[object]] | None = None,
    settings: Mapping[str, object] | None = None,
    inner_repeats: int = 1,
    n_jobs: int = 1,
    dask: str | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """The accuracy that models reach on bags that they have not seen.

    `data` is a data set, its name or file, or a pair (bags, labels); `models` are names ("mi-svm,miles",
    "path/file.py:Class") or classes. `protocol` is "10-fold", "10x10", "20x80/20", "train/test" or "5xtrain/test".
    In each training part, and nowhere else, hyper-parameters are chosen by inner 5-fold over the model's own `grid`, or
    over the one given here; with an empty one nothing is chosen. `settings` are fixed, and the others still chosen;
    `settings={"positive": label}` names the positive class for all models. On
    few bags one division chooses by chance: `inner_repeats` draws the inner folds so many times.
    Tasks run in this process, in `n_jobs` processes (-1: one a core), or on the Dask cluster at address `dask`; the
    numbers are the same. Finished ones are kept in the folder `store`, where one is given, and not done again.
    `progress(done, total, outcome)` is called after each. Ctrl-C ends the run with what is finished.
    """
    began = perf_counter()
    data_set = as_data_set(data)
    plan = make_plan(data_set, models, parse_protocol(protocol), seed, solver, grid, settings, inner_repeats)
    runner = _runner(n_jobs, dask)
    kept = Store(store) if store is not None else None
    run = Run(plan, kept, progress)
    run.through(runner, as_pool(data_set))
    expected = len(plan.tasks) // len(plan.models)
    return Evaluation(
        data=data_set.name,
        digest=data_set.digest,
        protocol=str(plan.protocol),
        seed=seed,
        table=[
            Row.of(model, plan.solver_text, str(plan.protocol), run.records(model), expected, positive)
            for model, positive in zip(plan.models, plan.positive_labels, strict=True)
        ],
        records=tuple(record for model in plan.models for record in run.records(model)),
        failures=run.failures,
        command=plan.command(data, store),
        interrupted=run.interrupted,
        resumed=run.resumed,
        store=str(kept.folder) if kept is not None else "",
        seconds=perf_counter() - began,
        version=milopt.__version__,
    )


def _runner(n_jobs: int, dask: str | None) -> Runner:
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or not (n_jobs == -1 or n_jobs >= 1):
        raise ParameterError(f"n_jobs must be a number of processes, or -1 for one a core, not {n_jobs!r}.")
    if dask is not None:
        return on_dask(dask)
    return here if n_jobs == 1 else on_workers(n_jobs)
