"""Checks before the first task: each model is declared once, and the solvers are asked whether they support it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import cast

import numpy as np

from milopt.arrays import Labels
from milopt.data.data_set import DataSet
from milopt.errors import MiloptError, MiloptWarning, ParameterError, UnsupportedError
from milopt.estimator import BagClassifier
from milopt.estimator.positive_label import is_chosen_by_order, positive_class_index, warn_about_label_order
from milopt.evaluation.protocol import TrainTestSplit
from milopt.evaluation.record import Label
from milopt.evaluation.selection import Settings, configure_model
from milopt.model_registry import name_of
from milopt.model_registry.settings import fields_of
from milopt.solving import registry
from milopt.solving.explain import make_support_checker
from milopt.solving.solver_parts import solvers_in_choice


def validate_before_run(
    name: str,
    model: type[BagClassifier],
    base: Settings,
    grid: Sequence[Settings],
    data: DataSet,
    splits: Sequence[TrainTestSplit],
) -> None:
    """Raise an error if no candidate of a model can be declared, or if the named solvers do not support it.

    All candidates are tried on the first training part, then the first candidate on the other training parts, until one
    declaration succeeds.
    Errors that only occur on some training parts are left to their tasks. `base` has the fixed hyper-parameters, and
    `grid` the combinations of candidate values.
    """
    errors: list[MiloptError] = []
    for split, settings in [
        *((splits[0], candidate) for candidate in grid),
        *((split, grid[0]) for split in splits[1:]),
    ]:
        try:
            _check_declaration(name, model, {**base, **settings}, data, split)
        except MiloptError as error:
            errors.append(error)
        except Exception:
            # A model of the user may raise any exception; the tasks will report the exception with its line.
            return
        else:
            return
    if len(set(map(str, errors))) == 1:
        raise errors[0]
    raise ParameterError(f"No candidate of the grid could be fitted; the first one: {errors[0]}") from errors[0]


def positive_label_of(
    model: type[BagClassifier], base: Settings, grid: Sequence[Settings], labels: Labels
) -> Label | None:
    """Return the positive class of a model on bags with these labels.

    None means that there are more than two classes, or that the candidates have different positive classes.

    Tasks do not warn, so this function warns once for the whole evaluation if alphabetical order chose the class.
    """
    classes = np.unique(labels)
    candidates = [configure_model(model, base, settings) for settings in grid]
    indices = {positive_class_index(candidate.positive, classes) for candidate in candidates}
    if any(
        is_chosen_by_order(candidate.positive, classes) and not candidate.has_symmetric_classes
        for candidate in candidates
    ):
        warn_about_label_order(name_of(model), classes, stacklevel=4)
    index = next(iter(indices))
    if index is None or len(indices) > 1:
        return None
    return cast(Label, classes.tolist()[index])


def as_two_classes(labels: Labels) -> Labels:
    """Return the labels unchanged for two classes; for more, 1 for the first class and -1 for the others.

    These are the labels of the first program of a fit.
    """
    classes = np.unique(labels)
    return labels if classes.size <= 2 else np.where(labels == classes[0], 1, -1)


def _check_declaration(
    name: str, model: type[BagClassifier], settings: Settings, data: DataSet, split: TrainTestSplit
) -> None:
    """Declare the program of a model on one training part, and raise `UnsupportedError` if no named solver supports it.

    Solvers are not checked if one of them is "auto", if a scheme is given, or if several solvers are named for a
    program with oracles.
    """
    seeded = {"random_state": 0} if "random_state" in fields_of(model) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MiloptWarning)
        candidate = configure_model(model, seeded, settings)
        program = candidate.program(data.bags[split.train], as_two_classes(data.labels[split.train]))
        names = solvers_in_choice(candidate.solver)
        has_solver_parts = bool(program.oracles) and len(names) > 1
        if "auto" in names or candidate.scheme is not None or has_solver_parts:
            # Not checked here: a scheme may pass other programs to the solver, and each named solver may solve only the
            # master or an oracle.
            return
        checker = make_support_checker(program)
        answers = [checker.check(registry.get_solver(solver)) for solver in names]
    if not any(answer.supports for answer in answers):
        reasons = "; ".join(f"{answer.solver} cannot solve {name}: {answer.reason.rstrip('.')}" for answer in answers)
        raise UnsupportedError(f"{reasons}.")
