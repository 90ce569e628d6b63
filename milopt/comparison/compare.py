"""The function `compare`: models and solvers on one data set, `compare("musk1")`, or solvers on one program."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
import numpy.typing as npt

from milopt.comparison.cell import ComparisonCell
from milopt.comparison.comparison import Comparison
from milopt.comparison.fit_task import FitOutcome, FitTask, FoldSplit
from milopt.comparison.formulation import (
    Formulation,
    ModelChoice,
    default_models,
    default_solvers,
    make_names_unique,
    resolve_solver_names,
)
from milopt.comparison.pool import run_tasks
from milopt.comparison.solver_comparison import SolverComparison, compare_solvers
from milopt.comparison.task_order import order_tasks
from milopt.declaration.programs.problem import Problem
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import ParameterError
from milopt.estimator import BagClassifier
from milopt.evaluation.data import as_data_set
from milopt.evaluation.interrupt import RunInterrupted, stop_on_interrupt
from milopt.evaluation.protocol import check_seed
from milopt.notebook import NotebookProgress
from milopt.schemes.scheme import Scheme
from milopt.solving.model_file import check_not_importing
from milopt.solving.options import Options, merge_options

if TYPE_CHECKING:
    from milopt.data.data_set import DataSet


@overload
def compare(
    data: Program | SemiInfinite,
    *,
    solvers: str | Sequence[str] | None = None,
    scheme: str | Scheme | None = None,
    options: Options | None = None,
) -> SolverComparison: ...


@overload
def compare(
    data: DataSet | str | os.PathLike[str] | tuple[object, object],
    models: ModelChoice | Sequence[ModelChoice] | None = None,
    solvers: str | Sequence[str] | None = None,
    *,
    folds: int = 5,
    seed: int = 0,
    n_jobs: int = 2,
    settings: Mapping[str, object] | None = None,
    options: Options | None = None,
    on_cell: Callable[[ComparisonCell], None] | None = None,
) -> Comparison: ...


def compare(
    data: Program | SemiInfinite | DataSet | str | os.PathLike[str] | tuple[object, object],
    models: ModelChoice | Sequence[ModelChoice] | None = None,
    solvers: str | Sequence[str] | None = None,
    *,
    scheme: str | Scheme | None = None,
    folds: int = 5,
    seed: int = 0,
    n_jobs: int = 2,
    settings: Mapping[str, object] | None = None,
    options: Options | None = None,
    on_cell: Callable[[ComparisonCell], None] | None = None,
) -> Comparison | SolverComparison:
    """Compare solvers on one program, or models and solvers on one data set.

    A program is solved once by every solver. On a data set, every model is fitted with every solver: to all bags for
    the optimum, and once per fold for the accuracy.

    Parameters
    ----------
    data : Program, DataSet, str, path or tuple
        A program; or a data set, its name, its file, or a pair (bags, labels).
    models : str, class, model or sequence of these, optional
        Models to fit to the data set; by default six models that are fast. A string may contain several names,
        separated by commas.
    solvers : str or sequence of str, optional
        Names of the solvers; by default all installed solvers and `cvxpy:SCS`, without those that would take long on a
        formulation.
    scheme : str or Scheme, optional
        Scheme that solves a program, as in `milopt.solve`. Not for data sets, whose models choose their schemes.
    folds : int, default 5
        Number of cross-validation folds. Only for data sets.
    seed : int, default 0
        Random seed of the folds and of the models. Only for data sets.
    n_jobs : int, default 2
        Number of processes, which does not change the results. Only for data sets.
    settings : mapping, optional
        Hyper-parameters of those models that have them; `settings={"positive": label}` chooses the positive class.
    options : Options, optional
        Options of every solve.
    on_cell : callable, optional
        Called with every cell as soon as the cell is finished. Cells that are not run come first. None shows a line
        of progress in a notebook.

    Returns
    -------
    SolverComparison or Comparison
        Prints as a table. If Ctrl-C interrupts the comparison of a data set, it contains the finished cells.

    Raises
    ------
    ParameterError
        If an argument is invalid, or belongs to the other kind of comparison.
    UnknownNameError
        If a model or a solver does not exist.

    See Also
    --------
    milopt.explain : List the solvers that support a program, without solving it.
    milopt.evaluate : Estimate the accuracy of models by nested cross-validation.

    Examples
    --------
    Compare solvers on one program:

    >>> import milopt
    >>> program = milopt.Program("diet")
    >>> x = program.variable("x", 2, lower=0)
    >>> program.minimize(2 * x[0] + 3 * x[1])
    >>> need = program.subject_to(x.sum() >= 4, name="need")
    >>> comparison = milopt.compare(program, solvers=["highs", "clarabel", "libsvm"])
    >>> comparison.agreement.agree
    True
    >>> [row.solver for row in comparison.rows if row.is_not_run]
    ['libsvm']

    Compare solvers on one model and data set:

    >>> comparison = milopt.compare("musk1", "set-kernel-svm", ["highs", "clarabel"], folds=2, n_jobs=1)
    >>> [f"{cell.solver}: {cell.objective:.3f}, accuracy {cell.accuracy:.2f}" for cell in comparison.cells]
    ['highs: 233.052, accuracy 0.80', 'clarabel: 233.052, accuracy 0.80']
    """
    if isinstance(data, Problem):
        if models is not None or settings or on_cell is not None or (folds, seed, n_jobs) != (5, 0, 2):
            raise ParameterError(
                "The comparison of a program has the arguments solvers=, scheme= and options=; models, folds, seed, "
                "n_jobs, settings and on_cell belong to the comparison of a data set."
            )
        names = resolve_solver_names(default_solvers() if solvers is None else _as_sequence(solvers))
        if not names:
            raise ParameterError("There is no solver to compare: name at least one.")
        return compare_solvers(data, names, scheme, merge_options(options, {}))
    if scheme is not None:
        raise ParameterError("scheme= belongs to the comparison of a program; the models of a data set have their own.")
    start = perf_counter()
    check_not_importing()
    check_seed(seed)
    jobs = check_at_least("n_jobs", n_jobs, 1)
    common_settings = settings or {}
    _check_settings(common_settings)
    names = resolve_solver_names(default_solvers() if solvers is None else _as_sequence(solvers))
    data_set = as_data_set(data)
    formulations = make_names_unique(
        [
            Formulation(model, data_set.bags, data_set.labels, common_settings)
            for model in (default_models() if models is None else _as_sequence(models))
        ]
    )
    for name in common_settings:
        if not any(name in formulation.settings for formulation in formulations):
            raise ParameterError(f'None of the models has a hyper-parameter "{name}".')
    if not formulations:
        raise ParameterError("There is no model to compare: name at least one.")
    if not names:
        raise ParameterError("There is no solver to compare: name at least one.")
    cells = [_plan_cell(formulation, solver, solvers is None) for formulation in formulations for solver in names]
    formulation_of_cell = [formulation for formulation in formulations for _ in names]
    # The fit to all bags comes last: by then the solver's package is imported, so the measured time is only that of the
    # fit.
    splits = [*_split_bags(data_set.labels, check_at_least("folds", folds, 2), seed), None]
    tasks = order_tasks(
        FitTask(k, formulation.model, formulation.settings, cell.solver, options or Options(), seed, split)
        for k, (formulation, cell) in enumerate(zip(formulation_of_cell, cells, strict=True))
        if not cell.is_not_run
        for split in splits
    )
    interrupted = False
    outcomes: dict[int, list[FitOutcome]] = {task.cell: [] for task in tasks}
    try:
        with stop_on_interrupt(), _cell_reporter(on_cell, data_set.name, len(cells)) as report_cell:
            for cell in cells:
                if cell.is_not_run:
                    report_cell(cell)
            for outcome in run_tasks(tasks, data_set.bags, data_set.labels, jobs):
                k = outcome.cell
                outcomes[k].append(outcome)
                if len(outcomes[k]) == len(splits):
                    cells[k] = _complete_cell(cells[k], outcomes[k])
                    report_cell(cells[k])
    except (RunInterrupted, KeyboardInterrupt):
        interrupted = True
    return Comparison(
        data=data_set.name,
        digest=data_set.digest,
        folds=folds,
        seed=seed,
        settings=common_settings,
        cells=tuple(cell for cell in cells if cell.is_not_run or cell.is_finished),
        expected=len(cells),
        interrupted=interrupted,
        seconds=perf_counter() - start,
    )


@contextmanager
def _cell_reporter(
    on_cell: Callable[[ComparisonCell], None] | None, data: str, expected: int
) -> Iterator[Callable[[ComparisonCell], None]]:
    """Yield the function that is called with every finished cell; None becomes a line of progress in a notebook."""
    if on_cell is not None:
        yield on_cell
        return
    with NotebookProgress(f"comparing on {data}", "cells") as line:
        done = itertools.count(1)
        yield lambda cell: line.update(next(done), expected)


def _as_sequence(names: Any) -> Sequence[Any]:
    """Return models or solvers as a sequence; split a string at its commas, and put one class or model in a list."""
    if isinstance(names, str):
        return [name.strip() for name in names.split(",")]
    return [names] if isinstance(names, (type, BagClassifier)) else cast(Sequence[Any], names)


def _check_settings(settings: Mapping[str, object]) -> None:
    """Raise ParameterError if a setting is an argument of `compare`: solver, options or random_state."""
    arguments = {"solver": "solvers", "options": "options", "random_state": "seed"}
    for name in settings:
        if name in arguments:
            raise ParameterError(
                f'"{name}" cannot be set in `settings`: it is the same for all models, given as `{arguments[name]}`.'
            )


def _plan_cell(formulation: Formulation, solver: str, is_default: bool) -> ComparisonCell:
    """Return a cell before its fits; it is not run if the solver cannot solve the program, or is skipped as too slow.

    Slow solvers are skipped only if `is_default`, that is, if the user did not name the solvers.
    """
    unsupported = formulation.unsupported_reason(solver)
    skipped = formulation.skip_reason(solver) if is_default and not unsupported else ""
    reason = unsupported or skipped
    return ComparisonCell(
        formulation.name,
        solver,
        formulation.sizes,
        bool(reason),
        reason,
        positive_label=formulation.positive_label,
        skipped=bool(skipped),
    )


def _complete_cell(cell: ComparisonCell, outcomes: Sequence[FitOutcome]) -> ComparisonCell:
    """Return the cell with the outcomes of its fits; if a fit failed, with the reason and without accuracies."""
    failures = [outcome.failure for outcome in outcomes if outcome.failure]
    accuracies = sorted((outcome.fold, outcome.accuracy) for outcome in outcomes if outcome.accuracy is not None)
    optimum = next((outcome.optimum for outcome in outcomes if outcome.optimum is not None), None)
    cell = replace(
        cell,
        reason=failures[0] if failures else "",
        killed=any(outcome.killed for outcome in outcomes),
        accuracies=() if failures else tuple(accuracy for _, accuracy in accuracies),
        jit_seconds=sum(outcome.jit_seconds for outcome in outcomes),
    )
    if optimum is None:
        return cell
    return replace(
        cell,
        termination=optimum.termination,
        point=optimum.point,
        objective=optimum.objective,
        certificate=optimum.certificate,
        iterations=optimum.iterations,
        seconds=optimum.seconds,
    )


def _split_bags(labels: npt.NDArray[Any], folds: int, seed: int) -> list[FoldSplit]:
    """Return stratified folds, shuffled by the seed; they are the same for every cell."""
    from sklearn.model_selection import StratifiedKFold

    classes, counts = np.unique(labels, return_counts=True)
    if counts.min() < folds:
        rarest = classes[counts.argmin()]
        raise ParameterError(
            f"{folds} folds need {folds} bags of every class, but class {rarest!s} has {counts.min()}: use fewer folds."
        )
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(labels.size), labels)
    return [FoldSplit(k, train, test) for k, (train, test) in enumerate(splits)]


def check_at_least(name: str, value: object, minimum: int) -> int:
    """Return `value`; raise ParameterError unless it is an integer of at least `minimum`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise ParameterError(f"{name} must be a whole number of at least {minimum}, not {value!r}.")
    return value
