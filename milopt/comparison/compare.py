"""Compare formulations and solvers on one data set, `compare("musk1")`, or solvers on one program."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
import numpy.typing as npt

from milopt.comparison.cell import Cell
from milopt.comparison.comparison import Comparison
from milopt.comparison.formulation import (
    Formulation,
    ModelChoice,
    checked_solvers,
    default_models,
    default_solvers,
    told_apart,
)
from milopt.comparison.order import in_good_order
from milopt.comparison.part import Fitted, Part, Split
from milopt.comparison.pool import finished
from milopt.comparison.solver_comparison import SolverComparison, compare_solvers
from milopt.declaration.programs.problem import Problem
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import ParameterError
from milopt.estimator import BagClassifier
from milopt.evaluation.data import as_data_set
from milopt.evaluation.interrupt import Stopped, stoppable
from milopt.evaluation.protocol import check_seed
from milopt.schemes.scheme import Scheme
from milopt.solving.model_file import refuse_amid_import
from milopt.solving.options import Options, with_knobs

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
    on_cell: Callable[[Cell], None] | None = None,
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
    on_cell: Callable[[Cell], None] | None = None,
) -> Comparison | SolverComparison:
    """Compare solvers on one program, or models and solvers on one data set.

    A program is solved once by every solver. To a data set, every model is fitted with every solver: to all bags for
    the optimum, and once per fold for the accuracy.

    Parameters
    ----------
    data : Program, DataSet, str, path or tuple
        A program; or a data set, its name or file, or a pair (bags, labels).
    models : str, class, model or sequence of these, optional
        The models to fit, of a data set only; by default a few. Several names may be one text with commas.
    solvers : str or sequence of str, optional
        The solvers; by default all that are installed.
    scheme : str or Scheme, optional
        The scheme by which a program is solved, as `milopt.solve` takes it.
    folds, seed, n_jobs : int
        The number of folds, their seed and the number of processes, of a data set only. The numbers do not depend on
        `n_jobs`.
    settings : mapping, optional
        Hyper-parameters for those models that have them; `settings={"positive": label}` names the positive class.
    options : Options, optional
        The options of every solve.
    on_cell : callable, optional
        Gets each cell as soon as it is complete; those that cannot be come first.

    Returns
    -------
    SolverComparison or Comparison
        Prints as a table. Ctrl-C ends that of a data set with the cells that are complete.

    Examples
    --------
    >>> from milopt import Program, compare
    >>> program = Program("diet")
    >>> x = program.variable("x", 2, lower=0)
    >>> program.minimize(2 * x[0] + 3 * x[1])
    >>> need = program.subject_to(x.sum() >= 4, name="need")
    >>> comparison = compare(program, solvers=["highs", "clarabel", "libsvm"])
    >>> print(comparison.agreement.agree, [row.solver for row in comparison.rows if row.refused])
    True ['libsvm']
    """
    if isinstance(data, Problem):
        if models is not None or settings or on_cell is not None or (folds, seed, n_jobs) != (5, 0, 2):
            raise ParameterError(
                "A program is compared by solvers alone: give solvers=, scheme= and options=; models, folds, seed, "
                "n_jobs, settings and on_cell belong to the comparison of a data set."
            )
        names = checked_solvers(default_solvers() if solvers is None else _several(solvers))
        if not names:
            raise ParameterError("There is no solver to compare: name at least one.")
        return compare_solvers(data, names, scheme, with_knobs(options, {}))
    if scheme is not None:
        raise ParameterError("scheme= belongs to the comparison of a program; the models of a data set have their own.")
    began = perf_counter()
    refuse_amid_import()
    check_seed(seed)
    jobs = at_least("n_jobs", n_jobs, 1)
    fixed = settings or {}
    _check_settings(fixed)
    named = checked_solvers(default_solvers() if solvers is None else _several(solvers))
    found = as_data_set(data)
    chosen_models = default_models() if models is None else _several(models)
    formulations = told_apart([Formulation(model, found.bags, found.labels, fixed) for model in chosen_models])
    if lost := [name for name in fixed if not any(name in one.settings for one in formulations)]:
        raise ParameterError(f'None of the models has a hyper-parameter "{lost[0]}".')
    if not formulations:
        raise ParameterError("There is no model to compare: name at least one.")
    if not named:
        raise ParameterError("There is no solver to compare: name at least one.")
    cells = [_planned(formulation, solver, solvers is None) for formulation in formulations for solver in named]
    chosen = [formulation for formulation in formulations for _ in named]
    # The fit to all bags comes last: by then a solver's package is imported, and its seconds are those of the work.
    splits = [*_splits(found.labels, at_least("folds", folds, 2), seed), None]
    parts = in_good_order(
        Part(k, chosen[k].model, chosen[k].settings, cell.solver, options or Options(), seed, split)
        for k, cell in enumerate(cells)
        if not cell.refused
        for split in splits
    )
    tell = on_cell or (lambda cell: None)
    for cell in cells:
        if cell.refused:
            tell(cell)
    interrupted = False
    gathered: dict[int, list[Fitted]] = {part.cell: [] for part in parts}
    try:
        with stoppable():
            for one in finished(parts, found.bags, found.labels, jobs):
                gathered[one.cell].append(one)
                if len(gathered[one.cell]) == len(splits):
                    cells[one.cell] = _complete(cells[one.cell], gathered[one.cell])
                    tell(cells[one.cell])
    except (Stopped, KeyboardInterrupt):
        interrupted = True
    done = [cell for cell in cells if cell.refused or cell.finished]
    return Comparison(
        data=found.name,
        digest=found.digest,
        folds=folds,
        seed=seed,
        settings=fixed,
        cells=tuple(done),
        expected=len(cells),
        interrupted=interrupted,
        seconds=perf_counter() - began,
    )


def _several(given: Any) -> Sequence[Any]:
    """One or several, of which a text may name more than one."""
    if isinstance(given, str):
        return [name.strip() for name in given.split(",")]
    return [given] if isinstance(given, (type, BagClassifier)) else cast(Sequence[Any], given)


def _check_settings(settings: Mapping[str, object]) -> None:
    own = {"solver": "solvers", "options": "options", "random_state": "seed"}
    for name in settings:
        if name in own:
            raise ParameterError(
                f'"{name}" is no hyper-parameter to set: it is the same for all, given as `{own[name]}`.'
            )


def _planned(formulation: Formulation, solver: str, unnamed: bool) -> Cell:
    reason = formulation.refusal(solver) or (formulation.patience(solver) if unnamed else "")
    return Cell(
        formulation.name, solver, formulation.sizes, bool(reason), reason, positive_label=formulation.positive_label
    )


def _complete(cell: Cell, parts: Sequence[Fitted]) -> Cell:
    """The cell with what its parts found; a fold that failed leaves it without an accuracy."""
    failures = [part.failure for part in parts if part.failure]
    accuracies = sorted((part.fold, part.accuracy) for part in parts if part.accuracy is not None)
    optimum = next((part.optimum for part in parts if part.optimum is not None), None)
    filled = replace(
        cell,
        reason=failures[0] if failures else "",
        killed=any(part.killed for part in parts),
        accuracies=() if failures else tuple(accuracy for _, accuracy in accuracies),
    )
    if optimum is None:
        return filled
    return replace(
        filled,
        termination=optimum.termination,
        point=optimum.point,
        objective=optimum.objective,
        certificate=optimum.certificate,
        iterations=optimum.iterations,
        seconds=optimum.seconds,
    )


def _splits(labels: npt.NDArray[Any], folds: int, seed: int) -> list[Split]:
    """Stratified folds, shuffled by the seed: the same for every cell."""
    from sklearn.model_selection import StratifiedKFold

    classes, counts = np.unique(labels, return_counts=True)
    if counts.min() < folds:
        few = classes[counts.argmin()]
        raise ParameterError(
            f"{folds} folds need {folds} bags of every class, and class {few!s} has {counts.min()}: take fewer folds."
        )
    chosen = StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(labels.size), labels)
    return [Split(k, train, test) for k, (train, test) in enumerate(chosen)]


def at_least(name: str, value: object, least: int) -> int:
    """A whole number that is not too small."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return value
