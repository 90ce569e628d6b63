"""Mistakes seen before the first task: a model is declared once, and the solvers are asked whether they take it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from milopt.data.data_set import DataSet
from milopt.errors import MiloptError, MiloptWarning, ParameterError, UnsupportedError
from milopt.estimator import BagClassifier
from milopt.estimator.positive_label import is_chosen_by_order, positive_place, warn_of_order
from milopt.evaluation.protocol import Labels, Split
from milopt.evaluation.record import Label
from milopt.evaluation.selection import made
from milopt.model_registry import name_of
from milopt.model_registry.settings import fields_of
from milopt.solving import registry
from milopt.solving.explain import case_of
from milopt.solving.solver_parts import solver_names

Settings = Mapping[str, object]


def check_first(
    name: str,
    model: type[BagClassifier],
    base: Settings,
    grid: Sequence[Settings],
    data: DataSet,
    splits: Sequence[Split],
) -> None:
    """Raise what every task would fail with; what some training parts alone do not like is left to their tasks."""
    found: list[MiloptError] = []
    # All candidates on the first training part, then the first candidate on the others, until one goes well.
    for split, settings in [*((splits[0], one) for one in grid), *((split, grid[0]) for split in splits[1:])]:
        try:
            _declare(name, model, {**base, **settings}, data, split)
        except MiloptError as error:
            found.append(error)
        except Exception:
            # A person's own model may raise anything: its tasks tell, with the line.
            return
        else:
            return
    if len(set(map(str, found))) == 1:
        raise found[0]
    raise ParameterError(f"No candidate of the grid could be fitted; the first one: {found[0]}") from found[0]


def positive_label_of(
    model: type[BagClassifier], base: Settings, grid: Sequence[Settings], labels: Labels
) -> Label | None:
    """Return the positive class of a model's fits to bags with these labels; None for more than two classes.

    Warn once for the whole evaluation, since its tasks do not warn, if alphabetical order chose that class.
    """
    classes = np.unique(labels)
    candidates = [made(model, base, one) for one in grid]
    places = {positive_place(one.positive, classes) for one in candidates}
    if any(is_chosen_by_order(one.positive, classes) and not one.has_symmetric_classes for one in candidates):
        warn_of_order(name_of(model), classes, stacklevel=4)
    place = next(iter(places))
    if place is None or len(places) > 1:
        return None
    return cast(Label, classes.tolist()[place])


def two_classes(labels: Labels) -> Labels:
    """Labels of the first program that a fit would solve: with several classes, the first against the rest."""
    classes = np.unique(labels)
    return labels if classes.size <= 2 else np.where(labels == classes[0], 1, -1)


def _declare(name: str, model: type[BagClassifier], settings: Settings, data: DataSet, split: Split) -> None:
    seeded = {"random_state": 0} if "random_state" in fields_of(model) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MiloptWarning)
        one = made(model, seeded, settings)
        program = one.program(data.bags[split.train], two_classes(data.labels[split.train]))
        names = solver_names(one.solver)
        parts = bool(program.oracles) and len(names) > 1
        if "auto" in names or one.scheme is not None or parts:
            # Another scheme makes another program, and of several solvers each may take one part.
            return
        case = case_of(program)
        asked = [case.asked(registry.get(solver)) for solver in names]
    if not any(answer.takes for answer in asked):
        reasons = "; ".join(f"{answer.solver} cannot take {name}: {answer.reason.rstrip('.')}" for answer in asked)
        raise UnsupportedError(f"{reasons}.")
