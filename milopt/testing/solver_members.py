"""Conformance cases of the members of a solver: name, features, rank, availability, options and output.

Every case has a parameter `is_excepted` (see `ConformanceCase`), which these cases do not use.
"""

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
from milopt.solving.capture import capture_output
from milopt.solving.engine import Engine
from milopt.solving.profile import Profile
from milopt.solving.solver import Availability, Solver
from milopt.testing.conformance import CaseError, ConformanceCase, NotApplicableError, require
from milopt.testing.known_programs import KNOWN_PROGRAMS
from milopt.testing.solver_answers import first_supported_form, solve_form

UNKNOWN_OPTION = "no_solver_has_an_option_of_this_name"
"""Name of an option that no solver has."""

_IMPORT_SCRIPT = """
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
"""Program for another process: print whether a solver is installed, and the modules that this question imported."""


def member_cases(solver: Solver) -> list[ConformanceCase]:
    """Return the cases about the members of a solver."""
    checks = {
        "members, name and package": _check_names,
        "members, features and cones": _check_features,
        "members, rank": _check_rank,
        "members, unsupported reason": _check_unsupported_reason,
        "members, registered by its name": _check_registration,
        "availability": _check_availability,
        "availability without an import": _check_import,
        "options, unknown extra": _check_extra,
        "options, quiet unless verbose": _check_quiet,
    }
    return [ConformanceCase(name, partial(check, solver)) for name, check in checks.items()]


def _check_names(solver: Solver, is_excepted: bool) -> None:
    """Check name, package, licence, preferred form and time limit note."""
    for member in ("name", "package", "licence"):
        value = getattr(solver, member, None)
        is_text = isinstance(value, str) and bool(value) and value == value.strip()
        require(is_text, f"{member} must be a text, not {value!r}")
    require(" " not in solver.name, f"the name {solver.name!r} has spaces, which the command line does not accept")
    require(solver.licence != "unknown", "licence must state the licence of the solver's package")
    form = solver.preferred_form
    require(form in ("dual", "primal"), f'preferred_form must be "dual" or "primal", not {form!r}')
    note = solver.time_limit_note
    require(isinstance(note, str), f"time_limit_note must be a text, empty if it keeps time limits, not {note!r}")


def _check_features(solver: Solver, is_excepted: bool) -> None:
    """Check that `features` and `cones` are frozensets of known entries, and that `Feature.LINEAR` is included."""
    are_features = isinstance(solver.features, frozenset) and all(
        isinstance(entry, Feature) for entry in solver.features
    )
    require(are_features, f"features must be a frozenset of Feature, not {solver.features!r}")
    require(Feature.LINEAR in solver.features, "features must include Feature.LINEAR: every program has linear rows")
    unknown = sorted(str(cone) for cone in solver.cones if cone not in CONES)
    known = ", ".join(CONES)
    require(isinstance(solver.cones, frozenset), f"cones must be a frozenset of names, not {solver.cones!r}")
    require(not unknown, f"cones names {', '.join(unknown)}, which milopt does not support; it supports {known}")


def _check_rank(solver: Solver, is_excepted: bool) -> None:
    """Check that `rank` returns a number or None for every known program, and the same if it is called again."""
    for known in KNOWN_PROGRAMS:
        profile = Profile.from_program(known.make().program)
        ranks = [solver.rank(profile), solver.rank(profile)]
        for rank in ranks:
            is_number = isinstance(rank, (int, float)) and not isinstance(rank, bool) and not math.isnan(rank)
            require(rank is None or is_number, f"rank must return a number or None, not {rank!r} ({known.name})")
        require(ranks[0] == ranks[1], f"rank returns {ranks[0]} and then {ranks[1]} for one program ({known.name})")


def _check_unsupported_reason(solver: Solver, is_excepted: bool) -> None:
    """Check that `unsupported_reason` returns a sentence or None for all known programs that need no scheme."""
    for known in KNOWN_PROGRAMS:
        if known.scheme is None:
            reason = solver.unsupported_reason(known.make().program.to_standard_form())
            is_sentence = reason is None or (isinstance(reason, str) and bool(reason.strip()))
            message = f"unsupported_reason must return a sentence or None, not {reason!r} ({known.name})"
            require(is_sentence, message)


def _check_registration(solver: Solver, is_excepted: bool) -> None:
    """Check that the name of the solver, if an installed package registers it, is registered for the solver's class."""
    family = solver.name.partition(":")[0]
    if family not in {name.partition(":")[0] for name in registry.solver_names()}:
        raise NotApplicableError(f"no installed package registers {solver.name!r} in the group milopt.solvers")
    registered = registry.get_solver(solver.name)
    message = f"the name {solver.name!r} is registered for {type(registered).__name__}"
    require(type(registered) is type(solver), message)


def _check_availability(solver: Solver, is_excepted: bool) -> None:
    """Check that `availability` reports the solver as installed, with its version."""
    status = solver.availability()
    require(isinstance(status, Availability), f"availability must return an Availability, not {status!r}")
    message = f"a solver that is checked must be installed; availability returns {status.install or status.reason!r}"
    require(status.installed, message)
    require(status.version, "availability must state the version of an installed solver")


def _check_import(solver: Solver, is_excepted: bool) -> None:
    """Check in another process that neither the module nor `availability` imports the solver's package."""
    cls = type(solver)
    if cls.__module__ == "__main__" or "<locals>" in cls.__qualname__:
        raise NotApplicableError("its class is not in a module that another process can import")
    variant = getattr(solver, "variant", "")
    code = _IMPORT_SCRIPT.format(module=cls.__module__, qualified=cls.__qualname__, variant=variant)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CaseError(f"another process cannot import its class: {done.stderr.strip().splitlines()[-1]}")
    _, imported = json.loads(done.stdout.splitlines()[-1])
    heavy = sorted(set(imported) & _modules_of_package(solver.package))
    message = f"its module or availability imports {', '.join(heavy)}: import the package when an engine is built"
    require(not heavy, message)


def _modules_of_package(package: str) -> set[str]:
    """Return the names of the top-level modules of an installed package, without milopt."""
    from importlib.metadata import packages_distributions

    folded = package.casefold().replace("_", "-")
    return {
        module
        for module, packages in packages_distributions().items()
        if folded in {name.casefold().replace("_", "-") for name in packages} and module != "milopt"
    }


def _check_extra(solver: Solver, is_excepted: bool) -> None:
    """Check that an unknown option in `extra` raises a ParameterError that names it."""
    form = first_supported_form(solver)
    engine: Engine | None = None
    try:
        engine = solver.engine(form, Options(extra={UNKNOWN_OPTION: 1}))
        engine.solve(None)
    except ParameterError as error:
        require(UNKNOWN_OPTION in str(error), f"the error about an unknown option does not name it: {error}")
        return
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        raise CaseError(f"an unknown option in `extra` must be a ParameterError that names it, not {message}") from None
    finally:
        if engine is not None:
            engine.close()
    raise CaseError("it ignores an unknown option in `extra`: raise a ParameterError that names it")


def _check_quiet(solver: Solver, is_excepted: bool) -> None:
    """Check that the solver prints nothing, with or without `verbose`, and that only `verbose` gives a log."""
    form = first_supported_form(solver)
    # Some packages store the standard output when they are imported, so import them before it is replaced.
    solve_form(solver, form)
    for verbose in (False, True):
        engine = solver.engine(form, Options(verbose=verbose))
        try:
            answer, printed = capture_output(lambda engine=engine: engine.solve(None))  # type: ignore[misc]
        finally:
            engine.close()
        when = "with verbose=True" if verbose else "without verbose"
        message = f"it prints {when}; put its output into Answer.log: {printed[:60]!r}"
        require(not printed, message)
        require(verbose or not answer.log, "it keeps a log without verbose")
