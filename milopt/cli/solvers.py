"""`milopt solvers`: what is installed, in which version, under which licence, and what each takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milopt.cli.arguments import Json
from milopt.cli.output import print_json, print_table

if TYPE_CHECKING:
    from milopt.solving.solver import Availability, Solver


def solvers(as_json: Json = False) -> None:
    """What is installed, in which version, under which licence, and what each takes."""
    from milopt.solving import registry

    rows: list[dict[str, object]] = []
    for name, availability in registry.available().items():
        family, colon, _ = name.partition(":")
        if not availability.installed and (colon or availability.reason):
            rows.append(_entry(name, availability, None))
        else:
            names = registry.variants(family) if colon else [name]
            rows += [_entry(one.name, one.availability(), one) for one in map(registry.get, names)]
    if as_json:
        print_json({"solvers": rows})
        return
    cells = [(str(row["name"]), _state(row), str(row["licence"] or ""), _takes(row)) for row in rows]
    print_table(("solver", "version", "licence", "takes"), cells)


def _entry(name: str, availability: Availability, solver: Solver | None) -> dict[str, object]:
    takes = [] if solver is None else _kinds(solver)
    patterns = solver is not None and solver.recognises_patterns
    # What recognises patterns takes less than its features say; its own first line says what.
    words = (type(solver).__doc__ or "").strip().partition("\n")[0].rstrip(".")
    return {
        "name": name,
        "installed": availability.installed,
        "version": availability.version,
        "licence": None if solver is None else ", ".join(dict.fromkeys(solver.licence.split(", "))),
        "takes": takes,
        "only_patterns": patterns,
        "about": words if patterns else ", ".join(takes),
        "remark": "" if solver is None else solver.remark,
        "time_limit": "" if solver is None else solver.time_limit_note,
        "install": availability.install,
        "reason": availability.reason,
    }


def _kinds(solver: Solver) -> list[str]:
    """Return the kinds of programs that a solver takes."""
    from milopt.compilation.features import Feature, kind_name
    from milopt.cones import CONES

    def kinds(linear: Feature, quadratic: Feature) -> list[str]:
        named = ((linear, kind_name({linear}, ())), (quadratic, kind_name({linear, quadratic}, ())))
        return [kind for feature, kind in named if feature in solver.features]

    conic = [cone.kind for cone in CONES.values() if cone.name in solver.cones]
    mixed = [cone.integer_kind for cone in CONES.values() if cone.name in solver.integer_cones]
    found = [*kinds(Feature.LINEAR, Feature.QUADRATIC), *conic]
    found += [*kinds(Feature.INTEGER, Feature.INTEGER_QUADRATIC), *mixed]
    return [kind for kind in found if kind is not None]


def _takes(row: dict[str, object]) -> str:
    notes = "; ".join(str(row[name]) for name in ("remark", "time_limit") if row[name])
    return f"{row['about']} ({notes})" if notes else str(row["about"])


def _state(row: dict[str, object]) -> str:
    if row["installed"]:
        return str(row["version"])
    return f"not installed: {row['install'] or row['reason']}"
