"""What an evaluation will do: every task, made and checked before the first one runs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from milopt.data.data_set import DataSet
from milopt.errors import ParameterError
from milopt.estimator import BagClassifier
from milopt.evaluation.data import all_labels, training_count
from milopt.evaluation.foresight import check_first, positive_label_of
from milopt.evaluation.protocol import Protocol, Split, check_seed
from milopt.evaluation.record import Label
from milopt.evaluation.selection import members
from milopt.evaluation.task import Task
from milopt.model_registry import (
    checked_model,
    held_model,
    hold,
    name_of,
    origin_of,
    parse_grid,
    parse_settings,
    portable_name,
    spelled_grid,
    spelled_settings,
)
from milopt.model_registry.settings import check_field
from milopt.model_registry.values import parse_value
from milopt.names import quoted
from milopt.schemes.scheme import at_least_one
from milopt.solving import registry
from milopt.solving.model_file import refuse_amid_import
from milopt.solving.solver_parts import solver_names

STORE = "milopt-results"
"""The folder in which the command line keeps finished tasks unless told otherwise."""

Grid = Mapping[str, Sequence[object]]
Settings = Mapping[str, object]


@dataclass(frozen=True)
class Plan:
    """The tasks, model by model, and what a person asked for."""

    data: DataSet
    protocol: Protocol
    seed: int
    inner_repeats: int
    solver: str | tuple[str, ...]
    models: tuple[str, ...]
    """As the person called them."""
    settings: tuple[str, ...]
    grid: tuple[str, ...] | None
    """None for the models' own, but for what is set; empty for no choice at all."""
    tasks: tuple[Task, ...]
    model_of: tuple[str, ...]
    """The model of each task, as the person called it."""
    positive_labels: tuple[Label | None, ...]
    """The positive class of each model; None for more than two classes."""

    @property
    def solver_text(self) -> str:
        """The solver, or several in order, as the command line writes them."""
        return self.solver if isinstance(self.solver, str) else ",".join(self.solver)

    def command(self, given: object, store: str | os.PathLike[str] | None = None) -> str:
        """The command line of the same evaluation of `given` data; empty where Python alone can say what it is."""
        source = self._source(given)
        if source is None or not self._is_plain:
            return ""
        words = ["milopt", "evaluate", source, "--model", ",".join(self.models), "--protocol", str(self.protocol)]
        words += ["--seed", str(self.seed)]
        if self.solver != "auto":
            words += ["--solver", self.solver_text]
        if self.inner_repeats != 1:
            words += ["--inner-repeats", str(self.inner_repeats)]
        for item in self.settings:
            name, _, text = item.partition("=")
            words += ["--positive", str(parse_value(text))] if name == "positive" else ["--set", item]
        for item in self.grid or ():
            words += ["--grid", item]
        if store is not None and os.fspath(store) != STORE:
            words += ["--store", os.fspath(store)]
        return shlex.join(words)

    @property
    def _is_plain(self) -> bool:
        """Whether the command line, which has no empty grid, would choose from the same candidates."""
        fixed = {item.partition("=")[0] for item in self.settings}
        return self.grid != () or all(fixed >= set(held_model(name).grid) for name in self.models)

    def _source(self, given: object) -> str | None:
        if isinstance(given, (str, os.PathLike)):
            return os.fspath(given)
        if self.data.source == "embedded":
            return self.data.name
        return self.data.source if os.path.exists(self.data.source) else None


def make_plan(
    data: DataSet,
    models: str | type | Sequence[str | type],
    protocol: Protocol,
    seed: int,
    solver: str | tuple[str, ...],
    grid: Grid | None,
    settings: Settings | None,
    inner_repeats: int = 1,
) -> Plan:
    """Every task of an evaluation; a mistake in any of them is told now."""
    refuse_amid_import()
    check_seed(seed)
    at_least_one("inner_repeats", inner_repeats)
    _check_solver(solver)
    named = _named(models)
    names = tuple(named)
    fixed, chosen = dict(settings or {}), None if grid is None else dict(grid)
    _check_apart(fixed, chosen or {})
    splits = protocol.splits(all_labels(data), seed, training_count(data))
    tasks: list[Task] = []
    positive_labels: list[Label | None] = []
    for name, given in named.items():
        hold(name, given)
        cls = held_model(name)
        # Read back once: what has no text, or does not fit a field, is told before any work.
        values = _checked_settings(cls, fixed)
        settings_text = spelled_settings(values)
        own = {field: values for field, values in cls.grid.items() if field not in fixed}
        candidates = _checked_grid(cls, own if chosen is None else chosen)
        grid_text = spelled_grid(candidates)
        positive_labels.append(positive_label_of(cls, values, members(candidates), all_labels(data)))
        check_first(name, cls, {"solver": solver, **values}, members(candidates), data, splits)
        tasks += _tasks(
            data.digest, name, solver, settings_text, grid_text, protocol.division, seed, inner_repeats, splits
        )
    return Plan(
        data=data,
        protocol=protocol,
        seed=seed,
        inner_repeats=inner_repeats,
        solver=solver,
        models=names,
        settings=spelled_settings(fixed),
        grid=None if chosen is None else spelled_grid(chosen),
        tasks=tuple(tasks),
        model_of=tuple(name for name in names for _ in splits),
        positive_labels=tuple(positive_labels),
    )


def _tasks(
    digest: str,
    name: str,
    solver: str | tuple[str, ...],
    settings: tuple[str, ...],
    grid: tuple[str, ...],
    division: str,
    seed: int,
    inner_repeats: int,
    splits: Sequence[Split],
) -> list[Task]:
    model, origin, versions = portable_name(name), origin_of(name), _versions(solver)
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


def _versions(solver: str | tuple[str, ...]) -> tuple[str, ...]:
    """The solvers that may run, with their versions: of all that are installed where the choice is left open."""
    names = solver_names(solver)
    open_to = registry.plain_solvers() if "auto" in names else []
    found = [*(registry.get(name) for name in names if name != "auto"), *open_to]
    return tuple(f"{one.name} {one.availability().version}" for one in found)


def _named(models: str | type | Sequence[str | type]) -> dict[str, type[BagClassifier] | None]:
    """The models by name, with the class where it was given."""
    if isinstance(models, (type, BagClassifier)):
        models = [models]
    found: dict[str, type[BagClassifier] | None] = {}
    for one in models.split(",") if isinstance(models, str) else models:
        if isinstance(one, str):
            found.setdefault(one.strip(), None)
        elif isinstance(one, type):
            name = name_of(one)
            found[name] = checked_model(one, name)
        else:
            raise ParameterError(
                f"{type(one).__name__}(...) is one model, and an evaluation makes many: give the class, and its "
                "hyper-parameters as `settings`."
            )
    if not found:
        raise ParameterError('No model was named: give at least one, such as "mi-svm".')
    return found


def _checked_settings(cls: type, settings: Settings) -> Settings:
    for name in settings:
        check_field(cls, name)
    return parse_settings(cls, spelled_settings(settings))


def _checked_grid(cls: type, grid: Grid) -> Grid:
    for name, values in grid.items():
        check_field(cls, name)
        if isinstance(values, (str, Mapping)) or not isinstance(values, Sequence) or not len(values):
            raise ParameterError(f"The grid of {quoted(name)} must list at least one value, not {values!r}.")
    return parse_grid(cls, spelled_grid(grid))


def _check_apart(settings: Settings, grid: Grid) -> None:
    for name in settings:
        if name in grid:
            raise ParameterError(f"{quoted(name)} is both set and in the grid: give it once.")
    if "solver" in settings or "solver" in grid:
        raise ParameterError("The solver is neither a setting nor in a grid: give it as `solver`.")


def _check_solver(solver: str | tuple[str, ...]) -> None:
    for one in solver_names(solver):
        if one != "auto":
            registry.require(one)
