"""Evaluation of models on a data set, as in `milopt evaluate`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, TypeAlias, overload

import milopt
from milopt.data.data_set import DataSet
from milopt.errors import ParameterError
from milopt.evaluation.data import as_data_set, as_task_data, list_data_sets
from milopt.evaluation.evaluations import Evaluations
from milopt.evaluation.plan import EvaluationPlan, Grid, command_line, make_plan
from milopt.evaluation.progress import EvaluationRun, FitProgress, Progress
from milopt.evaluation.protocol import parse_protocol
from milopt.evaluation.runners import Runner, dask_runner, run_in_this_process, worker_runner
from milopt.evaluation.selection import Settings
from milopt.evaluation.store import TaskStore
from milopt.evaluation.summary import EvaluationReport, ModelSummary
from milopt.notebook import NotebookProgress

Data: TypeAlias = "DataSet | str | os.PathLike[str] | tuple[object, object]"
"""Data set, its name or file, or a pair (bags, labels)."""


@overload
def evaluate(
    data: Data,
    models: str | type | Sequence[str | type],
    protocol: str = "1x10",
    *,
    seed: int = 0,
    solver: str | tuple[str, ...] = "auto",
    grid: Grid | None = None,
    settings: Settings | None = None,
    inner_repeats: int = 1,
    n_jobs: int = 1,
    dask: str | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    on_fit: FitProgress | None = None,
) -> EvaluationReport: ...


@overload
def evaluate(
    data: list[Any],
    models: str | type | Sequence[str | type],
    protocol: str = "1x10",
    *,
    seed: int = 0,
    solver: str | tuple[str, ...] = "auto",
    grid: Grid | None = None,
    settings: Settings | None = None,
    inner_repeats: int = 1,
    n_jobs: int = 1,
    dask: str | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    on_fit: FitProgress | None = None,
) -> Evaluations: ...


def evaluate(
    data: Data | list[Any],
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
    on_fit: FitProgress | None = None,
) -> EvaluationReport | Evaluations:
    """Estimate the accuracy of models on unseen bags by nested cross-validation.

    Hyper-parameters are selected inside each training part only, by an inner cross-validation over the grid of the
    model, with 5 folds, or fewer if the smallest class has fewer than 5 bags. Ctrl-C ends the run, and the report
    contains the finished tasks.

    Parameters
    ----------
    data : DataSet, str, path-like, tuple, or list of them
        Data set, its name or file, or a pair (bags, labels); or a list of several data sets.
    models : str, type or sequence of them
        Model names ("mi-svm,miles", "path/file.py:Class") or model classes.
    protocol : str, default="1x10"
        How bags are split: "10-fold", "10x10" (repeats x folds), "20x80/20" (random splits), or "train/test" and
        "5xtrain/test" (official parts).
    seed : int, default=0
        Random seed of the splits and of the models.
    solver : str or tuple of str, default="auto"
        Solver of all fits, or several solvers to try in order.
    grid : mapping of str to sequence, or None, default=None
        Candidate values by hyper-parameter. None uses the grid of each model. An empty mapping means that nothing is
        selected: hyper-parameters that are not in `settings` have their default values.
    settings : mapping of str to object, or None, default=None
        Fixed hyper-parameters of those models that have them, which are removed from the default grids. For example,
        ``{"positive": label}`` names the positive class.
    inner_repeats : int, default=1
        Number of times that the inner folds are drawn. With few bags, one inner cross-validation selects nearly at
        random.
    n_jobs : int, default=1
        Number of processes; -1 uses one per core. The results do not depend on it.
    dask : str or None, default=None
        Address of a Dask scheduler that runs the tasks; `n_jobs` is then ignored.
    store : str, path-like or None, default=None
        Directory for finished tasks, which are not run again. None stores nothing.
    progress : callable or None, default=None
        Called as ``progress(done, total, outcome)`` after each task, with numbers of tasks.
    on_fit : callable or None, default=None
        Called as ``on_fit(done, total)`` when fits have finished, with numbers of fits: one fit per candidate and inner
        fold, and one last fit per task. With several processes, it is called from another thread. None shows a line of
        progress in a notebook.

    Returns
    -------
    EvaluationReport or Evaluations
        One row per model, with the records of all tasks; `print` shows it as a table. For a list of data sets, a
        sequence of such reports, which prints as one table.

    Raises
    ------
    ParameterError
        If an argument is invalid, two data sets have the same name, or a hyper-parameter in `grid` or `settings` is
        unknown.
    DataError
        If a data set is unknown or cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> bags = np.random.default_rng(0).normal(size=(12, 3, 2))
    >>> y = np.repeat([-1, 1], 6)
    >>> bags[y == 1] += 4
    >>> report = milopt.evaluate((bags, y), "set-kernel-svm", "2-fold", grid={})
    >>> report.table[0].accuracy
    1.0
    """
    start = perf_counter()
    given = list_data_sets(data)
    plans = [
        make_plan(as_data_set(each), models, parse_protocol(protocol), seed, solver, grid, settings, inner_repeats)
        for each in given
    ]
    names = [plan.data.name for plan in plans]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ParameterError(f"Two data sets are called {twice!r}: give each one once, or under its own name.")
    runner = _choose_runner(n_jobs, dask)
    task_store = TaskStore(store) if store is not None else None
    reports: list[EvaluationReport] = []
    with NotebookProgress(f"evaluating on {', '.join(names)}", "fits") as line:
        for number, (plan, each) in enumerate(zip(plans, given, strict=True)):
            run = EvaluationRun(
                plan, task_store, *_make_progress_callbacks(plans, number, progress, on_fit or line.update)
            )
            run.run(runner, as_task_data(plan.data))
            reports.append(_make_report(plan, run, task_store, command_line([plan], [each], store), start))
            if run.interrupted:
                break
            start = perf_counter()
    if not isinstance(data, list):
        return reports[0]
    return Evaluations(tuple(reports), command_line(plans, given, store), len(plans))


def _make_progress_callbacks(
    plans: Sequence[EvaluationPlan], number: int, progress: Progress | None, on_fit: FitProgress | None
) -> tuple[Progress | None, FitProgress | None]:
    """Return `progress` and `on_fit` for one of several plans: they add the tasks and fits of the plans before it."""
    tasks, fits = [len(plan.tasks) for plan in plans], [sum(plan.fits) for plan in plans]
    tasks_before, fits_before = sum(tasks[:number]), sum(fits[:number])
    return (
        None if progress is None else lambda done, total, outcome: progress(tasks_before + done, sum(tasks), outcome),
        None if on_fit is None else lambda done, total: on_fit(fits_before + done, sum(fits)),
    )


def _make_report(
    plan: EvaluationPlan, run: EvaluationRun, task_store: TaskStore | None, command: str, start: float
) -> EvaluationReport:
    """Return the report of a run that began at the time `start`."""
    expected = len(plan.tasks) // len(plan.models)
    return EvaluationReport(
        data=plan.data.name,
        digest=plan.data.digest,
        protocol=str(plan.protocol),
        seed=plan.seed,
        table=[
            ModelSummary.from_records(
                model, plan.solver_text, str(plan.protocol), run.records(model), expected, positive
            )
            for model, positive in zip(plan.models, plan.positive_labels, strict=True)
        ],
        records=tuple(record for model in plan.models for record in run.records(model)),
        failures=run.failures,
        command=command,
        interrupted=run.interrupted,
        resumed=run.resumed,
        store=str(task_store.folder) if task_store is not None else "",
        seconds=perf_counter() - start,
        version=milopt.__version__,
    )


def _choose_runner(n_jobs: int, dask: str | None) -> Runner:
    """Return the function that runs the tasks: in this process, in several processes, or on a Dask cluster."""
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or not (n_jobs == -1 or n_jobs >= 1):
        raise ParameterError(f"n_jobs must be a number of processes, or -1 for one per core, not {n_jobs!r}.")
    if dask is not None:
        return dask_runner(dask)
    return run_in_this_process if n_jobs == 1 else worker_runner(n_jobs)
