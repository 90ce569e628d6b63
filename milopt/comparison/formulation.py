"""A formulation on a data set: the model, what its program is, and which solvers can take it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.comparison.cell import Sizes
from milopt.compilation.kind import step_kind
from milopt.compilation.lowered import lowered
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import ParameterError
from milopt.estimator import BagClassifier
from milopt.estimator.positive_label import positive_place
from milopt.evaluation.foresight import two_classes
from milopt.solving import registry
from milopt.solving.explain import Case, PartsCase, case_of

ModelChoice = str | type[BagClassifier] | BagClassifier
"""A registered name or `path/file.py:Class`, a class, or a model with its hyper-parameters set."""

BEYOND = ("cvxpy:SCS",)
"""Solvers behind a modelling language that are compared too when none are named: one first-order method."""


class Formulation:
    """A model on bags with labels; of the settings, it takes those for hyper-parameters that it has."""

    def __init__(
        self, model: ModelChoice, bags: Bags, labels: npt.NDArray[Any], settings: Mapping[str, object]
    ) -> None:
        from milopt.model_registry import name_of

        self.model = model
        one = maker(model)()
        self.settings = {field: value for field, value in settings.items() if field in one.get_params(deep=False)}
        one.set_params(**self.settings)
        self.name = model if isinstance(model, str) else name_of(type(one))
        self.fields = {field: _text(value) for field, value in one.get_params(deep=False).items()}
        classes = np.unique(labels)
        place = positive_place(one.positive, classes)
        self.positive_label = None if place is None else classes.tolist()[place]
        program = one.program(bags, two_classes(labels))
        self._case = case_of(program)
        self._grows = bool(program.oracles)
        self.sizes = sizes_of(program)

    def refusal(self, solver: str) -> str:
        """Why a solver cannot take it, in words; empty when it can."""
        return refusal_of(self._case, solver)

    def patience(self, solver: str) -> str:
        """Why a solver that nobody named is not tried, in words; empty when it is."""
        if not self._grows or registry.get(solver).starts_warm:
            return ""
        return f"not in this table's time: hundreds of steps, each solved from the start; name {solver} to wait for it"


def refusal_of(case: Case | PartsCase, solver: str) -> str:
    """Return why a solver cannot take a program, in words; empty if it can."""
    found = registry.get(solver)
    installed = found.availability()
    if not installed.installed:
        return f"not installed: {installed.install or installed.reason}"
    asked = case.asked(found)
    return "" if asked.takes else asked.reason


def told_apart(formulations: Sequence[Formulation]) -> list[Formulation]:
    """The formulations without repetition; those of one name get the fields behind it in which they differ."""
    found: list[Formulation] = []
    for one in formulations:
        if not any((other.name, other.fields) == (one.name, one.fields) for other in found):
            found.append(one)
    for name in dict.fromkeys(one.name for one in found):
        alike = [one for one in found if one.name == name]
        differ = [field for field in alike[0].fields if len({one.fields.get(field) for one in alike}) > 1]
        for one in alike if len(alike) > 1 else []:
            one.name = f"{name} ({', '.join(f'{field}={one.fields.get(field)}' for field in differ)})"
    return found


def _text(value: object) -> str:
    from milopt.model_registry import spelled

    try:
        return spelled(value)
    except ParameterError:
        return repr(value)


def sizes_of(program: Program | SemiInfinite) -> Sizes:
    """Return the sizes of a program; of a semi-infinite one, those of its master before it has rows of its family."""
    flat = program.core
    form = lowered(flat).form
    step = step_kind(flat)
    word = f"SI{step}" if flat is not program else f"DC ({step})" if program.kind == "DC" else step
    if form is None:
        return Sizes(word, None, None, None)
    return Sizes(word, form.rows.count, form.n, sum(space.count for space in form.spaces))


def maker(model: ModelChoice) -> Callable[..., BagClassifier]:
    """What makes the estimator from fields by name; also in another process."""
    from sklearn.base import clone

    from milopt.model_registry import get_model

    if isinstance(model, BagClassifier):
        return lambda **fields: clone(model).set_params(**fields)
    return get_model(model) if isinstance(model, str) else model


def default_models() -> list[str]:
    """The registered models that are exemplary."""
    from milopt.model_registry import get_model, model_names

    return [name for name in model_names() if get_model(name).is_exemplary]


def default_solvers() -> list[str]:
    """Every installed solver that is reached directly, and those of `BEYOND` that are installed."""
    direct = [solver.name for solver in registry.plain_solvers()]
    return direct + [name for name in BEYOND if registry.get(name).availability().installed]


def checked_solvers(names: Sequence[str]) -> list[str]:
    """The names, each one of a known solver, installed or not, none twice."""
    return list(dict.fromkeys(registry.get(name).name for name in names))
