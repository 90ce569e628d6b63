"""Who takes what: the features of a flat program, a solver's refusal in words, and a check before any work."""

from __future__ import annotations

from collections.abc import Collection

from milopt.compilation.features import Feature, cones_of, features_of, kind_name
from milopt.compilation.standard_form import StandardForm
from milopt.cones import cone_named
from milopt.errors import UnsupportedError
from milopt.solving.solver import Solver


def in_words(features: Collection[Feature], cones: Collection[str]) -> list[str]:
    """Return words for features and cones, in alphabetical order."""
    return sorted([*(str(feature) for feature in features), *(f"{cone_named(name).words}s" for name in cones)])


def takes_all(solver: Solver, features: Collection[Feature], cones: Collection[str]) -> bool:
    """Return True if a solver takes programs with these features and cones."""
    return solver.features.issuperset(features) and _cones_taken(solver, features).issuperset(cones)


def lack(solver: Solver, features: frozenset[Feature], cones: frozenset[str]) -> str | None:
    """Return why a solver does not take programs with these features and cones, in one sentence; None if it does."""
    if takes_all(solver, features, cones):
        return None
    missing = " and ".join(in_words(features - solver.features, cones - _cones_taken(solver, features)))
    only_integer = [f"{words} with integer variables" for words in in_words((), solver.integer_cones - solver.cones)]
    taken = ", ".join(sorted([*in_words(solver.features, solver.cones), *only_integer]))
    return f"it is of kind {kind_name(features, cones)} and has {missing}; {solver.name} takes {taken}"


def _cones_taken(solver: Solver, features: Collection[Feature]) -> frozenset[str]:
    return solver.integer_cones if Feature.INTEGER in features else solver.cones


def refusal(solver: Solver, form: StandardForm) -> str | None:
    """Return why this solver cannot take this form, in one sentence, or None."""
    return lack(solver, features_of(form), cones_of(form)) or solver.refusal(form)


def check(solver: Solver, form: StandardForm, program: str) -> None:
    """Raise before any work when the solver cannot take the form, naming who could."""
    reason = refusal(solver, form)
    if reason is None:
        return
    from milopt.solving import registry

    able = [s.name for s in registry.plain_solvers() if s.name != solver.name and refusal(s, form) is None]
    who = f"; {', '.join(able)} could take it" if able else ""
    raise UnsupportedError(f"{solver.name} cannot take {program!r}: {reason}{who}.")
