"""Which solvers support which flat programs, with the reason in words if a program is not supported."""

from __future__ import annotations

from collections.abc import Collection

from milopt.compilation.features import Feature, cones_of, features_of, kind_name
from milopt.compilation.standard_form import StandardForm
from milopt.cones import get_cone
from milopt.errors import UnsupportedError
from milopt.solving.solver import Solver


def format_features(features: Collection[Feature], cones: Collection[str]) -> list[str]:
    """Return the names of features and cones in words, in alphabetical order."""
    return sorted([*(str(feature) for feature in features), *(f"{get_cone(name).display_name}s" for name in cones)])


def supports_features(solver: Solver, features: Collection[Feature], cones: Collection[str]) -> bool:
    """Return True if a solver supports programs with these features and cones."""
    return solver.features.issuperset(features) and _supported_cones(solver, features).issuperset(cones)


def missing_feature_reason(solver: Solver, features: frozenset[Feature], cones: frozenset[str]) -> str | None:
    """Return why a solver does not support programs with these features and cones, in words; None if it does."""
    if supports_features(solver, features, cones):
        return None
    missing = " and ".join(format_features(features - solver.features, cones - _supported_cones(solver, features)))
    only_integer = [
        f"{words} with integer variables" for words in format_features((), solver.integer_cones - solver.cones)
    ]
    supported = ", ".join(sorted([*format_features(solver.features, solver.cones), *only_integer]))
    return f"the program is of kind {kind_name(features, cones)} and has {missing}; {solver.name} supports {supported}"


def _supported_cones(solver: Solver, features: Collection[Feature]) -> frozenset[str]:
    """Return the names of the cones that a solver supports, which may be fewer if some variables are integer."""
    return solver.integer_cones if Feature.INTEGER in features else solver.cones


def unsupported_reason(solver: Solver, form: StandardForm) -> str | None:
    """Return why a solver does not support a form, in words; None if it supports the form."""
    return missing_feature_reason(solver, features_of(form), cones_of(form)) or solver.unsupported_reason(form)


def check_supported(solver: Solver, form: StandardForm, program: str) -> None:
    """Raise `UnsupportedError` if the solver does not support the form; the message lists the solvers that do.

    `program`: name of the program, for the message.
    """
    reason = unsupported_reason(solver, form)
    if reason is None:
        return
    from milopt.solving import registry

    able = [
        s.name for s in registry.installed_solvers() if s.name != solver.name and unsupported_reason(s, form) is None
    ]
    alternatives = f"; use {', '.join(able)}" if able else ""
    raise UnsupportedError(f"{solver.name} cannot solve {program!r}: {reason}{alternatives}.")
