"""`milopt solvers`: a list of the solvers with version, licence and problem classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milopt.cli.arguments import JsonOption, TableFormatOption
from milopt.cli.output import print_json, print_table, print_wrapped
from milopt.cli.tables import OutputFormat, print_listing

if TYPE_CHECKING:
    from milopt.solving.solver import Availability, Solver


def solvers(as_json: JsonOption = False, table_format: TableFormatOption = OutputFormat.text) -> None:
    """List the installed solvers with version, licence and problem classes."""
    from milopt.solving import registry

    rows: list[dict[str, object]] = []
    for name, availability in registry.available_solvers().items():
        family, colon, _ = name.partition(":")
        if not availability.installed and (colon or availability.reason):
            rows.append(_describe_solver(name, availability, None))
        else:
            names = registry.family_variants(family) if colon else [name]
            rows += [
                _describe_solver(solver.name, solver.availability(), solver)
                for solver in map(registry.get_solver, names)
            ]
    if as_json:
        print_json({"solvers": rows})
        return
    cells = [(str(row["name"]), _version_text(row), str(row["licence"] or ""), str(row["about"])) for row in rows]
    heads = ("solver", "version", "licence", "problem classes")
    notes = {str(row["name"]): "; ".join(str(row[key]) for key in ("remark", "time_limit") if row[key]) for row in rows}
    if table_format is not OutputFormat.text:
        lines = [f"{name}: {note}." for name, note in notes.items() if note]
        print_listing(heads, cells, lines, table_format)
        return
    print_table(heads, cells)
    for name, note in notes.items():
        if note:
            print_wrapped(f"{name}: ", f"{note}.")


def _describe_solver(name: str, availability: Availability, solver: Solver | None) -> dict[str, object]:
    """Return the description of a solver as JSON data; `solver` is None if it cannot be loaded."""
    kinds = [] if solver is None else _supported_kinds(solver)
    patterns = solver is not None and solver.recognises_patterns
    # A solver that recognises patterns supports less than its features state; the first docstring line says what.
    first_line = (type(solver).__doc__ or "").strip().partition("\n")[0].rstrip(".")
    first_line = first_line.removeprefix(f"Solver `{name}`: ")
    return {
        "name": name,
        "installed": availability.installed,
        "version": availability.version,
        "licence": None if solver is None else ", ".join(dict.fromkeys(solver.licence.split(", "))),
        "supports": kinds,
        "only_patterns": patterns,
        "about": first_line if patterns else ", ".join(kinds),
        "remark": "" if solver is None else solver.remark,
        "time_limit": "" if solver is None else solver.time_limit_note,
        "install": availability.install,
        "reason": availability.reason,
    }


def _supported_kinds(solver: Solver) -> list[str]:
    """Return the kinds of programs that the features of a solver state, such as LP, QP and MILP."""
    from milopt.compilation.features import Feature, kind_name
    from milopt.cones import CONES

    def kinds(linear: Feature, quadratic: Feature) -> list[str]:
        named = ((linear, kind_name({linear}, ())), (quadratic, kind_name({linear, quadratic}, ())))
        return [kind for feature, kind in named if feature in solver.features]

    conic = [cone.kind for cone in CONES.values() if cone.name in solver.cones]
    mixed = [cone.integer_kind for cone in CONES.values() if cone.name in solver.integer_cones]
    supported = [*kinds(Feature.LINEAR, Feature.QUADRATIC), *conic]
    supported += [*kinds(Feature.INTEGER, Feature.INTEGER_QUADRATIC), *mixed]
    return [kind for kind in supported if kind is not None]


def _version_text(row: dict[str, object]) -> str:
    """Return the version of a solver; if it is not installed, how to install it or why it cannot be used."""
    if row["installed"]:
        return str(row["version"])
    return f"not installed: {row['install'] or row['reason']}"
