"""Plan of an evaluation: all tasks, created and checked before the first one runs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from milopt.data.data_set import DataSet
from milopt.errors import ParameterError
from milopt.estimator import BagClassifier
from milopt.evaluation.data import all_labels, official_training_size
from milopt.evaluation.preflight import positive_label_of, validate_before_run
from milopt.evaluation.protocol import Protocol, TrainTestSplit, check_seed
from milopt.evaluation.record import Label
from milopt.evaluation.selection import Settings, count_fits, grid_combinations
from milopt.evaluation.task import Task
from milopt.model_registry import (
    check_model,
    format_grid,
    format_settings,
    identify_code,
    name_of,
    parse_grid,
    parse_settings,
    portable_name,
    resolve_model,
    set_given_model,
)
from milopt.model_registry.settings import check_field, fields_of
from milopt.model_registry.values import parse_value
from milopt.name_suggestions import quote
from milopt.schemes.scheme import check_at_least_one
from milopt.solving import registry
from milopt.solving.model_file import check_not_importing
from milopt.solving.solver_parts import solvers_in_choice

DEFAULT_STORE_DIRECTORY = "milopt-results"
"""Directory in which the command line stores finished tasks by default."""

Grid = Mapping[str, Sequence[object]]


@dataclass(frozen=True)
class EvaluationPlan:
    """Tasks of an evaluation, with the arguments of the user: for each model in turn, one task per split."""

    data: DataSet
    protocol: Protocol
    seed: int
    inner_repeats: int
    solver: str | tuple[str, ...]
    models: tuple[str, ...]
    """Names of the models as given by the user."""
    settings: tuple[str, ...]
    """Fixed hyper-parameters as texts `name=value`."""
    grid: tuple[str, ...] | None
    """Candidate values as texts `name=first,second`; an empty tuple means no selection.

    None means the default grid of each model, without the hyper-parameters that are fixed.
    """
    tasks: tuple[Task, ...]
    model_of: tuple[str, ...]
    """Name of the model of each task as given by the user."""
    positive_labels: tuple[Label | None, ...]
    """Positive class of each model; None for more than two classes, or if its candidates have different ones."""
    fits: tuple[int, ...]
    """Number of fits of each task: those of the selection, and the last fit."""

    @property
    def solver_text(self) -> str:
        """Solver, or several in order, as written on the command line."""
        return self.solver if isinstance(self.solver, str) else ",".join(self.solver)

    @property
    def command_line_options(self) -> list[str]:
        """Options of `milopt evaluate` for the same evaluation, without the data and the store."""
        words = ["--model", ",".join(self.models), "--protocol", str(self.protocol), "--seed", str(self.seed)]
        if self.solver != "auto":
            words += ["--solver", self.solver_text]
        if self.inner_repeats != 1:
            words += ["--inner-repeats", str(self.inner_repeats)]
        for item in self.settings:
            name, _, text = item.partition("=")
            words += ["--positive", str(parse_value(text))] if name == "positive" else ["--set", item]
        for item in self.grid or ():
            # Double quotes need no escape between the single quotes of a shell.
            words += ["--grid", item if '"' in item else item.replace("'", '"')]
        return words

    @property
    def has_command_line_candidates(self) -> bool:
        """True if the command line can select from the same candidates.

        The command line cannot give an empty grid; without a grid, it uses the default grids of the models. An empty
        grid has a command only if the settings fix all hyper-parameters of these default grids.
        """
        fixed = {item.partition("=")[0] for item in self.settings}
        return self.grid != () or all(fixed >= set(resolve_model(name).grid) for name in self.models)

    def command_line_source(self, given: object) -> str | None:
        """Return the name or file of the data for the command line; None if there is neither (bags made in Python).

        `given` is the data argument of the user.
        """
        if isinstance(given, (str, os.PathLike)):
            return os.fspath(given)
        if self.data.source == "embedded":
            return self.data.name
        return self.data.source if os.path.exists(self.data.source) else None


def command_line(
    plans: Sequence[EvaluationPlan], given: Sequence[object], store: str | os.PathLike[str] | None = None
) -> str:
    """Return the command line of the same evaluations; empty if the command line cannot express the arguments.

    The plans differ in their data only. `given` are the data arguments of the user, and `store` is the directory of
    finished tasks.
    """
    sources = [plan.command_line_source(argument) for plan, argument in zip(plans, given, strict=True)]
    if None in sources or not plans[0].has_command_line_candidates:
        return ""
    words = ["milopt", "evaluate", *map(str, sources), *plans[0].command_line_options]
    if store is not None and os.fspath(store) != DEFAULT_STORE_DIRECTORY:
        words += ["--store", os.fspath(store)]
    return shlex.join(words)


def make_plan(
    data: DataSet,
    models: str | type | Sequence[str | type],
    protocol: Protocol,
    seed: int,
    solver: str | tuple[str, ...],
    grid: Grid | None,
    settings: Settings | None,
    inner_repeats: int = 1,
) -> EvaluationPlan:
    """Create all tasks of an evaluation, and raise an error now if all tasks of a model would fail."""
    check_not_importing()
    check_seed(seed)
    check_at_least_one("inner_repeats", inner_repeats)
    _check_solver(solver)
    models_by_name = _models_by_name(models)
    names = tuple(models_by_name)
    fixed, chosen = dict(settings or {}), None if grid is None else dict(grid)
    _check_disjoint(fixed, chosen or {})
    splits = protocol.splits(all_labels(data), seed, official_training_size(data))
    tasks: list[Task] = []
    positive_labels: list[Label | None] = []
    fits: list[int] = []
    for name, given in models_by_name.items():
        set_given_model(name, given)
    classes = {name: resolve_model(name) for name in names}
    _check_some_model_has(list(classes.values()), fixed)
    for name, cls in classes.items():
        own = {field: value for field, value in fixed.items() if field in fields_of(cls)}
        # Format and parse once, so that values without a text form, or of a wrong type, raise an error before any work.
        values = parse_settings(cls, format_settings(own))
        settings_text = format_settings(values)
        default_grid = {field: values for field, values in cls.grid.items() if field not in fixed}
        candidates = _check_grid(cls, default_grid if chosen is None else chosen)
        grid_text = format_grid(candidates)
        positive_labels.append(positive_label_of(cls, values, grid_combinations(candidates), all_labels(data)))
        validate_before_run(name, cls, {"solver": solver, **values}, grid_combinations(candidates), data, splits)
        tasks += _make_tasks(
            data.digest, name, solver, settings_text, grid_text, protocol.division, seed, inner_repeats, splits
        )
        count = len(grid_combinations(candidates))
        fits += [count_fits(count, all_labels(data)[split.train], inner_repeats) for split in splits]
    return EvaluationPlan(
        data=data,
        protocol=protocol,
        seed=seed,
        inner_repeats=inner_repeats,
        solver=solver,
        models=names,
        settings=format_settings(fixed),
        grid=None if chosen is None else format_grid(chosen),
        tasks=tuple(tasks),
        model_of=tuple(name for name in names for _ in splits),
        positive_labels=tuple(positive_labels),
        fits=tuple(fits),
    )


def _make_tasks(
    digest: str,
    name: str,
    solver: str | tuple[str, ...],
    settings: tuple[str, ...],
    grid: tuple[str, ...],
    division: str,
    seed: int,
    inner_repeats: int,
    splits: Sequence[TrainTestSplit],
) -> list[Task]:
    """Create the tasks of one model, one per split."""
    model, origin, versions = portable_name(name), identify_code(name), _solver_versions(solver)
    return [
        Task(
            data=digest,
            model=model,
            origin=origin,
            solver=solver,
            settings=settings,
            grid=grid,
            division=division,
            repeat=split.repeat,
            fold=split.fold,
            seed=seed,
            inner_repeats=inner_repeats,
            train=tuple(split.train.tolist()),
            test=tuple(split.test.tolist()),
            solvers=versions,
        )
        for split in splits
    ]


def _solver_versions(solver: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the solvers that may run, as texts with name and version; "auto" stands for all installed solvers."""
    names = solvers_in_choice(solver)
    automatic = registry.installed_solvers() if "auto" in names else []
    solvers = [*(registry.get_solver(name) for name in names if name != "auto"), *automatic]
    return tuple(f"{solver.name} {solver.availability().version}" for solver in solvers)


def _models_by_name(models: str | type | Sequence[str | type]) -> dict[str, type[BagClassifier] | None]:
    """Map the name of each model to its class if the user gave a class, otherwise to None."""
    if isinstance(models, (type, BagClassifier)):
        models = [models]
    by_name: dict[str, type[BagClassifier] | None] = {}
    for model in models.split(",") if isinstance(models, str) else models:
        if isinstance(model, str):
            by_name.setdefault(model.strip(), None)
        elif isinstance(model, type):
            name = name_of(model)
            by_name[name] = check_model(model, name)
        else:
            raise ParameterError(
                f"{type(model).__name__}(...) is a model object, but an evaluation creates its models: give the class, "
                "and its hyper-parameters as `settings`."
            )
    if not by_name:
        raise ParameterError('No model was named: give at least one, such as "mi-svm".')
    return by_name


def _check_some_model_has(classes: Sequence[type], settings: Settings) -> None:
    """Raise an error if none of the models has a fixed hyper-parameter."""
    for name in settings:
        if not any(name in fields_of(cls) for cls in classes):
            # The message of the first model suggests similar names.
            check_field(classes[0], name)


def _check_grid(cls: type, grid: Grid) -> Grid:
    """Check the names of the grid, and return the candidate values converted to the types of the fields."""
    for name, values in grid.items():
        check_field(cls, name)
        if isinstance(values, (str, Mapping)) or not isinstance(values, Sequence) or not len(values):
            raise ParameterError(f"The grid of {quote(name)} must list at least one value, not {values!r}.")
    return parse_grid(cls, format_grid(grid))


def _check_disjoint(settings: Settings, grid: Grid) -> None:
    """Check that no hyper-parameter is both fixed and in the grid, and that the solver is in neither."""
    for name in settings:
        if name in grid:
            raise ParameterError(f"{quote(name)} is both in the settings and in the grid: give it in one of them.")
    if "solver" in settings or "solver" in grid:
        raise ParameterError("The solver cannot be a setting or in the grid: give it as `solver`.")


def _check_solver(solver: str | tuple[str, ...]) -> None:
    """Raise an error if a named solver is not installed."""
    for name in solvers_in_choice(solver):
        if name != "auto":
            registry.require_solver(name)
