"""A model on a data set: its program, the size of the program, and the solvers that support it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.comparison.cell import ProgramSizes
from milopt.compilation.kind import convex_step_kind
from milopt.compilation.lowering_attempt import try_lower
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import ParameterError
from milopt.estimator import BagClassifier
from milopt.estimator.positive_label import positive_class_index
from milopt.evaluation.preflight import as_two_classes
from milopt.solving import registry
from milopt.solving.explain import SemiInfiniteSupportChecker, SupportChecker, make_support_checker

ModelChoice = str | type[BagClassifier] | BagClassifier
"""A registered name or `path/file.py:Class`, a class, or a model with its hyper-parameters set."""

EXTRA_DEFAULT_SOLVERS = ("cvxpy:SCS",)
"""Solvers behind a modelling language that are compared by default, if installed: one first-order method."""

SLOW_ON_DC_PROGRAMS = ("ecos",)
"""Solvers that are not run by default on DC programs.

ECOS solves each convex step, a QP, as a cone program, and takes five to twenty times as long as the other solvers.
"""


class Formulation:
    """A model on labelled bags, with its program.

    Of the given settings, those that are hyper-parameters of the model are used. For more than two classes, the program
    is that of the first class against the others.
    """

    def __init__(
        self, model: ModelChoice, bags: Bags, labels: npt.NDArray[Any], settings: Mapping[str, object]
    ) -> None:
        from milopt.model_registry import name_of

        self.model = model
        estimator = estimator_factory(model)()
        own_fields = estimator.get_params(deep=False)
        self.settings = {field: value for field, value in settings.items() if field in own_fields}
        estimator.set_params(**self.settings)
        self.name = model if isinstance(model, str) else name_of(type(estimator))
        self.fields = {field: _format_value(value) for field, value in estimator.get_params(deep=False).items()}
        classes = np.unique(labels)
        place = positive_class_index(estimator.positive, classes)
        self.positive_label = None if place is None else classes.tolist()[place]
        program = estimator.program(bags, as_two_classes(labels))
        self._checker = make_support_checker(program)
        self._uses_column_generation = bool(program.oracles)
        self.sizes = program_sizes(program)

    def unsupported_reason(self, solver: str) -> str:
        """Return why a solver cannot solve the program; an empty string if it can."""
        return unsupported_reason(self._checker, solver)

    def skip_reason(self, solver: str) -> str:
        """Return why a solver that supports the program is not run by default; an empty string if it is run."""
        if self._uses_column_generation and not registry.get_solver(solver).supports_warm_start:
            return "skipped to save time: no warm start, hundreds of solves; run it with --solvers NAME"
        if self.sizes.kind.startswith("DC") and solver in SLOW_ON_DC_PROGRAMS:
            return "skipped to save time: every step becomes a cone program; run it with --solvers NAME"
        return ""


def unsupported_reason(checker: SupportChecker | SemiInfiniteSupportChecker, solver: str) -> str:
    """Return why a solver cannot solve the program of `checker`, or is not installed; an empty string if it can."""
    candidate = registry.get_solver(solver)
    availability = candidate.availability()
    if not availability.installed:
        return f"not installed: {availability.install or availability.reason}"
    explanation = checker.check(candidate)
    return "" if explanation.supports else explanation.reason


def make_names_unique(formulations: Sequence[Formulation]) -> list[Formulation]:
    """Return the formulations without repetitions, with unique names.

    To a name that several formulations share, the hyper-parameters that differ are appended; `name` is changed in
    place.
    """
    distinct: list[Formulation] = []
    for formulation in formulations:
        if not any((other.name, other.fields) == (formulation.name, formulation.fields) for other in distinct):
            distinct.append(formulation)
    for name in dict.fromkeys(formulation.name for formulation in distinct):
        same_name = [formulation for formulation in distinct if formulation.name == name]
        if len(same_name) == 1:
            continue
        differing = [
            field
            for field in same_name[0].fields
            if len({formulation.fields.get(field) for formulation in same_name}) > 1
        ]
        for formulation in same_name:
            values = ", ".join(f"{field}={formulation.fields.get(field)}" for field in differing)
            formulation.name = f"{name} ({values})"
    return distinct


def _format_value(value: object) -> str:
    """Return a hyper-parameter as the command line writes it, or its repr if it cannot be written there."""
    from milopt.model_registry import format_value

    try:
        return format_value(value)
    except ParameterError:
        return repr(value)


def program_sizes(program: Program | SemiInfinite) -> ProgramSizes:
    """Return kind and size of a program; for a semi-infinite program, of the master before column generation."""
    core = program.core
    form = try_lower(core).form
    step = convex_step_kind(core)
    kind = f"SI{step}" if core is not program else f"DC ({step})" if program.kind == "DC" else step
    if form is None:
        return ProgramSizes(kind, None, None, None)
    return ProgramSizes(kind, form.rows.count, form.n, sum(space.count for space in form.spaces))


def estimator_factory(model: ModelChoice) -> Callable[..., BagClassifier]:
    """Return a function that makes the estimator of a model from hyper-parameters given by name.

    If a model with its hyper-parameters set is given, those that are not given keep their values.
    """
    from sklearn.base import clone

    from milopt.model_registry import get_model

    if isinstance(model, BagClassifier):
        return lambda **fields: clone(model).set_params(**fields)
    return get_model(model) if isinstance(model, str) else model


def default_models() -> list[str]:
    """Return the names of the registered models that are compared by default."""
    from milopt.model_registry import get_model, model_names

    return [name for name in model_names() if get_model(name).in_default_comparison]


def default_solvers() -> list[str]:
    """Return all installed solvers without a modelling language, and the installed `EXTRA_DEFAULT_SOLVERS`."""
    direct = [solver.name for solver in registry.installed_solvers()]
    return direct + [name for name in EXTRA_DEFAULT_SOLVERS if registry.get_solver(name).availability().installed]


def missing_solvers_note() -> str:
    """Return a line with the solvers that would be compared by default if they were installed; empty if all are."""
    missing = [solver.name for solver in registry.single_solvers() if not solver.availability().installed]
    return f"not installed: {', '.join(missing)}; `milopt solvers` shows how to install them" if missing else ""


def resolve_solver_names(names: Sequence[str]) -> list[str]:
    """Return the registered names of solvers without repetition; raise UnknownNameError for an unknown name."""
    return list(dict.fromkeys(registry.get_solver(name).name for name in names))
