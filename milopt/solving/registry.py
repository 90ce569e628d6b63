"""Solvers and models by name, found through the entry point groups `milopt.solvers` and `milopt.models`.

Any installed package may add to each group, and milopt knows its own solvers and models in no other way:

    [project.entry-points."milopt.solvers"]
    mine = "my_package.solver:Mine"

A solver's class is loaded when its name is asked for; the package behind it only when it builds an engine. A *family*
is a class with `family = True` that reaches many solvers, one a variant: `get("cvxpy:SCS")` makes `CVXPY("SCS")`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

from milopt.errors import DeclarationError, MissingSolverError, UnknownNameError
from milopt.names import quoted, unknown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from milopt.solving.profile import Profile
    from milopt.solving.solver import Availability, Solver

SOLVERS = "milopt.solvers"
MODELS = "milopt.models"


class Family(Protocol):
    """The class of a family of solvers: called with a variant's name, it makes that solver."""

    family: bool
    package: str

    def __call__(self, variant: str) -> Solver:
        """The solver of this variant."""

    def variants(self) -> list[str]:
        """The variants that are installed; told best without importing the family's package."""


def names() -> list[str]:
    """Every registered solver, installed or not; a family appears once, as `family:NAME`."""
    return [_spelled(name, loaded) for name, loaded in _solver_classes().items()]


def get(name: str) -> Solver:
    """The solver of this name, installed or not."""
    prefix, colon, variant = name.partition(":")
    solver = _solver_class(prefix)
    if not _is_family(solver):
        if colon:
            raise UnknownNameError(f'{quoted(prefix)} is one solver, not a family: write "{prefix}", not "{name}".')
        return solver()
    if not variant:
        raise UnknownNameError(f'{quoted(prefix)} is a family of solvers: write "{prefix}:NAME" for the one to use.')
    return cast(Family, solver)(variant)


def require(name: str) -> Solver:
    """The solver of this name, which must be installed."""
    solver = get(name)
    found = solver.availability()
    if not found.installed:
        remedy = f"run `{found.install}`" if found.install else found.reason or "install the package that brings it"
        raise MissingSolverError(f'The solver "{name}" is not installed: {remedy}.')
    return solver


def plain_solvers() -> list[Solver]:
    """Every installed solver that is not a family, in the order in which they are registered."""
    found: list[Solver] = []
    for loaded in _solver_classes().values():
        if not isinstance(loaded, Exception) and not _is_family(loaded):
            solver = loaded()
            if solver.availability().installed:
                found.append(solver)
    return found


def ranked(profile: Profile) -> list[Solver]:
    """Every registered solver that `auto` may choose for a program, best first; installed or not, taking it or not."""
    found: list[tuple[float, str, Solver]] = []
    for name, loaded in _solver_classes().items():
        if isinstance(loaded, Exception) or _is_family(loaded):
            continue
        try:
            solver = loaded()
            rank = solver.rank(profile)
            place = None if rank is None else -float(rank)
        except Exception as error:
            # One broken package must not hide the others.
            from warnings import warn

            from milopt.errors import MiloptWarning

            warn(f'The solver "{name}" cannot rank itself: {_sentence(error)}.', MiloptWarning, stacklevel=2)
            continue
        if place is not None and place == place:
            found.append((place, name, solver))
    return [solver for _, _, solver in sorted(found, key=lambda one: one[:2])]


def variants(family: str) -> list[str]:
    """The installed variants of a family, as `get` takes them; milopt's own tell by metadata alone."""
    solver = _solver_class(family)
    if not _is_family(solver):
        raise UnknownNameError(f"{quoted(family)} is one solver, not a family: it has no variants.")
    return [f"{family}:{variant}" for variant in cast(Family, solver).variants()]


def available() -> dict[str, Availability]:
    """What can run here, name by name, without importing any solver's package; a family answers for itself."""
    return {_spelled(name, loaded): _availability(loaded) for name, loaded in _solver_classes().items()}


def model_names() -> list[str]:
    """Every registered model."""
    return names_in(MODELS)


def model(name: str) -> type:
    """The model of this name; `path/file.py:Class` is a class in a person's own file."""
    path, _, within = name.rpartition(":")
    if path.endswith(".py"):
        from milopt.solving.model_file import load

        return load(path, within)
    if name.endswith(".py"):
        raise UnknownNameError(f'{quoted(name)} is a file: write "{name}:Class" for the model class in it.')
    return class_in(MODELS, "model", name)


def names_in(group: str) -> list[str]:
    """Return the names of all entry points of a group."""
    return list(_entries(group))


def class_in(group: str, kind: str, name: str) -> type:
    """Return the class of an entry point; `kind` is what messages call it, such as "model"."""
    entries = _entries(group)
    if name not in entries:
        raise unknown(kind, name, list(entries))
    loaded = _attempt(entries[name])
    if isinstance(loaded, Exception):
        raise DeclarationError(f'The {kind} "{name}" cannot be loaded: {_sentence(loaded)}.') from loaded
    return loaded


def _solver_class(name: str) -> type[Solver]:
    entries = _entries(SOLVERS)
    if name not in entries:
        raise unknown("solver", name, names())
    loaded = _attempt_solver(entries[name])
    if isinstance(loaded, Exception):
        raise MissingSolverError(f'The solver "{name}" cannot be loaded: {_sentence(loaded)}.') from loaded
    return loaded


def _solver_classes() -> dict[str, type[Solver] | Exception]:
    return {name: _attempt_solver(entry) for name, entry in _entries(SOLVERS).items()}


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name, in order; where two packages claim a name, milopt's own is kept."""
    from importlib.metadata import entry_points

    found = entry_points(group=group)
    ours = [entry for entry in found if entry.value.startswith(f"{group}.")]
    return dict(sorted(({entry.name: entry for entry in found} | {entry.name: entry for entry in ours}).items()))


def _attempt(entry: EntryPoint) -> type | Exception:
    """The class behind an entry point, or what went wrong: one broken package must not hide the others."""
    try:
        loaded = entry.load()
    except Exception as error:
        # Whatever a stranger's module raises while it is imported.
        return error
    if not isinstance(loaded, type):
        return TypeError(f"{entry.value} is not a class")
    return loaded


def _attempt_solver(entry: EntryPoint) -> type[Solver] | Exception:
    from milopt.solving.solver import Solver

    loaded = _attempt(entry)
    if isinstance(loaded, type) and not issubclass(loaded, Solver):
        return TypeError(f"{entry.value} is not a subclass of milopt's Solver")
    return loaded


def _is_family(loaded: object) -> bool:
    return bool(getattr(loaded, "family", False))


def _spelled(name: str, loaded: type[Solver] | Exception) -> str:
    return f"{name}:NAME" if _is_family(loaded) else name


def _availability(loaded: type[Solver] | Exception) -> Availability:
    from milopt.solving.solver import Availability

    if isinstance(loaded, Exception):
        return Availability(False, reason=_sentence(loaded))
    try:
        if not _is_family(loaded):
            return loaded().availability()
        return Availability.of(cast(Family, loaded).package)
    except Exception as error:
        # As in `_attempt`: a class that cannot be made, or that fails to look at itself.
        return Availability(False, reason=_sentence(error))


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(".")
