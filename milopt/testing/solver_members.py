"""The cases about the members of a solver: name, features, rank, availability, options, and what it prints."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from functools import partial

from milopt import Options
from milopt.compilation.features import Feature
from milopt.cones import CONES
from milopt.errors import ParameterError
from milopt.solving import registry
from milopt.solving.capture import captured
from milopt.solving.engine import Engine
from milopt.solving.profile import Profile
from milopt.solving.solver import Availability, Solver
from milopt.testing.conformance import Case, CaseError, NotApplicableError, require
from milopt.testing.known_programs import KNOWN_PROGRAMS
from milopt.testing.solver_answers import first_taken, solved

UNKNOWN_OPTION = "no_solver_has_an_option_of_this_name"

_IMPORTED = """
import json, sys
import milopt.solving.solver, milopt.compilation.standard_form
from importlib import import_module
before = set(sys.modules)
solver = import_module({module!r})
for name in {qualified!r}.split("."):
    solver = getattr(solver, name)
found = (solver({variant!r}) if {variant!r} else solver()).availability()
print(json.dumps([bool(found.installed), sorted(set(sys.modules) - before)]))
"""


def member_cases(solver: Solver) -> list[Case]:
    """Return the cases about the members of a solver."""
    checks = {
        "members, name and package": _check_names,
        "members, features and cones": _check_features,
        "members, rank": _check_rank,
        "members, refusal in words": _check_refusal,
        "members, registered by its name": _check_registration,
        "availability": _check_availability,
        "availability without an import": _check_import,
        "options, unknown extra": _check_extra,
        "options, quiet unless verbose": _check_quiet,
    }
    return [Case(name, partial(check, solver)) for name, check in checks.items()]


def _check_names(solver: Solver, is_excepted: bool) -> None:
    for member in ("name", "package", "licence"):
        value = getattr(solver, member, None)
        is_text = isinstance(value, str) and bool(value) and value == value.strip()
        require(is_text, f"{member} must be a text, not {value!r}")
    require(" " not in solver.name, f"the name {solver.name!r} has spaces, which the command line cannot take")
    require(solver.licence != "unknown", "licence must state the licence of the solver's package")
    options = ("dual", "coordinates")
    require(solver.prefers in options, f'prefers must be "dual" or "coordinates", not {solver.prefers!r}')
    note = solver.time_limit_note
    require(isinstance(note, str), f"time_limit_note must be a text, empty if it keeps time limits, not {note!r}")


def _check_features(solver: Solver, is_excepted: bool) -> None:
    are_features = isinstance(solver.features, frozenset) and all(isinstance(one, Feature) for one in solver.features)
    require(are_features, f"features must be a frozenset of Feature, not {solver.features!r}")
    require(Feature.LINEAR in solver.features, "features must include Feature.LINEAR: every program has linear rows")
    unknown = sorted(str(one) for one in solver.cones if one not in CONES)
    known = ", ".join(CONES)
    require(isinstance(solver.cones, frozenset), f"cones must be a frozenset of names, not {solver.cones!r}")
    require(not unknown, f"cones names {', '.join(unknown)}, which milopt does not know; it knows {known}")


def _check_rank(solver: Solver, is_excepted: bool) -> None:
    """Check that `auto` may ask for a rank of any program, twice, and gets the same number or None."""
    for known in KNOWN_PROGRAMS:
        profile = Profile.of(known.make().program)
        ranks = [solver.rank(profile), solver.rank(profile)]
        for rank in ranks:
            is_number = isinstance(rank, (int, float)) and not isinstance(rank, bool) and not math.isnan(rank)
            require(rank is None or is_number, f"rank must return a number or None, not {rank!r} ({known.name})")
        require(ranks[0] == ranks[1], f"rank returns {ranks[0]} and then {ranks[1]} for one program ({known.name})")


def _check_refusal(solver: Solver, is_excepted: bool) -> None:
    for known in KNOWN_PROGRAMS:
        if known.scheme is None:
            reason = solver.refusal(known.make().program.to_standard_form())
            is_sentence = reason is None or (isinstance(reason, str) and bool(reason.strip()))
            told = f"refusal must return a reason in words or None, not {reason!r} ({known.name})"
            require(is_sentence, told)


def _check_registration(solver: Solver, is_excepted: bool) -> None:
    family = solver.name.partition(":")[0]
    if family not in {name.partition(":")[0] for name in registry.names()}:
        raise NotApplicableError(f"no installed package registers {solver.name!r} in the group milopt.solvers")
    found = registry.get(solver.name)
    require(type(found) is type(solver), f"the name {solver.name!r} is registered for {type(found).__name__}")


def _check_availability(solver: Solver, is_excepted: bool) -> None:
    found = solver.availability()
    require(isinstance(found, Availability), f"availability must return an Availability, not {found!r}")
    told = f"a solver that is checked must be installed; availability says {found.install or found.reason!r}"
    require(found.installed, told)
    require(found.version, "availability must state the version of an installed solver")


def _check_import(solver: Solver, is_excepted: bool) -> None:
    """Check in another process that neither the module nor `availability` imports the solver's package."""
    cls = type(solver)
    if cls.__module__ == "__main__" or "<locals>" in cls.__qualname__:
        raise NotApplicableError("its class is not in a module that another process can import")
    variant = getattr(solver, "variant", "")
    code = _IMPORTED.format(module=cls.__module__, qualified=cls.__qualname__, variant=variant)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CaseError(f"another process cannot import its class: {done.stderr.strip().splitlines()[-1]}")
    _, imported = json.loads(done.stdout.splitlines()[-1])
    heavy = sorted(set(imported) & _modules_of(solver.package))
    told = f"its module or availability imports {', '.join(heavy)}: import the package when an engine is built"
    require(not heavy, told)


def _modules_of(package: str) -> set[str]:
    """Return the top-level modules of an installed package."""
    from importlib.metadata import packages_distributions

    folded = package.casefold().replace("_", "-")
    return {
        module
        for module, packages in packages_distributions().items()
        if folded in {one.casefold().replace("_", "-") for one in packages} and module != "milopt"
    }


def _check_extra(solver: Solver, is_excepted: bool) -> None:
    form = first_taken(solver)
    engine: Engine | None = None
    try:
        engine = solver.engine(form, Options(extra={UNKNOWN_OPTION: 1}))
        engine.solve(None)
    except ParameterError as error:
        require(UNKNOWN_OPTION in str(error), f"the error about an unknown option does not name it: {error}")
        return
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise CaseError(f"an unknown option in `extra` must be a ParameterError that names it, not {told}") from None
    finally:
        if engine is not None:
            engine.close()
    raise CaseError("it ignores an unknown option in `extra`: raise a ParameterError that names it")


def _check_quiet(solver: Solver, is_excepted: bool) -> None:
    form = first_taken(solver)
    # Some packages keep the standard output that they find when they are imported: let that be the true one.
    solved(solver, form)
    for verbose in (False, True):
        engine = solver.engine(form, Options(verbose=verbose))
        try:
            answer, printed = captured(lambda engine=engine: engine.solve(None))  # type: ignore[misc]
        finally:
            engine.close()
        when = "with verbose=True" if verbose else "without verbose"
        told = f"it prints {when}, and what it says belongs into Answer.log: {printed[:60]!r}"
        require(not printed, told)
        require(verbose or not answer.log, "it keeps a log without verbose")
