"""Who takes what: the features of a flat program, a solver's refusal in words, and a check before any work."""

from __future__ import annotations

from collections.abc import Collection

from milopt.compilation.standard_form import StandardForm
from milopt.errors import UnsupportedError
from milopt.solving.solver import Feature, Solver


def features_of(form: StandardForm) -> frozenset[Feature]:
    """What a flat program contains (convexity is judged elsewhere)."""
    features = {Feature.LINEAR}
    if not form.P.is_zero:
        features.add(Feature.QUADRATIC)
    if form.second_order:
        features.add(Feature.SECOND_ORDER)
    if form.integer.any():
        features.add(Feature.INTEGER)
    return frozenset(features)


def kind_of(form: StandardForm) -> str:
    """LP, QP, SOCP, MILP, MIQP or MISOCP."""
    return kind_name(features_of(form))


def kind_name(features: Collection[Feature]) -> str:
    """The kind of a program that contains these: LP, QP, SOCP, MILP, MIQP or MISOCP."""
    flat = "QP" if Feature.QUADRATIC in features else "LP"
    base = "SOCP" if Feature.SECOND_ORDER in features else flat
    if Feature.INTEGER not in features:
        return base
    return "MILP" if base == "LP" else f"MI{base}"


def lack(solver: Solver, missing: Collection[Feature], kind: str) -> str:
    """The sentence for a program of this kind that contains what a solver does not take."""
    words = " and ".join(sorted(str(feature) for feature in missing))
    taken = ", ".join(sorted(str(feature) for feature in solver.features))
    return f"it is of kind {kind} and has {words}; {solver.name} takes {taken}"


def refusal(solver: Solver, form: StandardForm) -> str | None:
    """Why this solver cannot take this form, in one sentence, or None."""
    missing = features_of(form) - solver.features
    if missing:
        return lack(solver, missing, kind_of(form))
    return solver.refusal(form)


def check(solver: Solver, form: StandardForm, program: str) -> None:
    """Raise before any work when the solver cannot take the form, naming who could."""
    reason = refusal(solver, form)
    if reason is None:
        return
    from milopt.solving import registry

    able = [s.name for s in registry.plain_solvers() if s.name != solver.name and refusal(s, form) is None]
    who = f"; {', '.join(able)} could take it" if able else ""
    raise UnsupportedError(f"{solver.name} cannot take {program!r}: {reason}{who}.")
