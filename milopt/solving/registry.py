"""Registry of solvers and models, found through the entry point groups `milopt.solvers` and `milopt.models`.

Any installed package may add to each group. The solvers and models of milopt are registered in the same way:

    [project.entry-points."milopt.solvers"]
    mine = "my_package.solver:Mine"

The class of a solver is loaded when its name is requested, and the package that it uses only when an engine is built. A
*family* is a class with `family = True` that makes many solvers, one per variant: `get_solver("cvxpy:SCS")` returns
`CVXPY("SCS")`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

from milopt.errors import DeclarationError, MissingSolverError, UnknownNameError
from milopt.name_suggestions import quote, unknown_name_error

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from milopt.solving.profile import Profile
    from milopt.solving.solver import Availability, Solver

SOLVER_GROUP = "milopt.solvers"
MODEL_GROUP = "milopt.models"


class SolverFamilyProtocol(Protocol):
    """Class of a family of solvers: calling it with the name of a variant returns that solver."""

    family: bool
    package: str

    def __call__(self, variant: str) -> Solver:
        """Return the solver of this variant."""

    def variants(self) -> list[str]:
        """Return the installed variants, if possible without importing the package of the family."""


def solver_names() -> list[str]:
    """Return the names of all registered solvers, installed or not; a family appears once, as `family:NAME`."""
    return [_display_name(name, loaded) for name, loaded in _solver_classes().items()]


def get_solver(name: str) -> Solver:
    """Return the solver with the given name, whether it is installed or not.

    Parameters
    ----------
    name : str
        Name of a registered solver, such as "highs", or of a variant of a family, such as "cvxpy:SCS".

    Returns
    -------
    Solver
        The solver. Its `availability()` shows whether it is installed.

    Raises
    ------
    UnknownNameError
        If no solver has this name, or if a family is named without a variant.
    MissingSolverError
        If the class of the solver cannot be loaded.

    Examples
    --------
    >>> import milopt
    >>> solver = milopt.get_solver("highs")
    >>> solver.name
    'highs'
    >>> solver.availability().installed
    True
    """
    prefix, colon, variant = name.partition(":")
    solver = _solver_class(prefix)
    if not _is_family(solver):
        if colon:
            raise UnknownNameError(f'{quote(prefix)} is one solver, not a family: write "{prefix}", not "{name}".')
        return solver()
    if not variant:
        raise UnknownNameError(f'{quote(prefix)} is a family of solvers: write "{prefix}:NAME" for the one to use.')
    return cast(SolverFamilyProtocol, solver)(variant)


def require_solver(name: str) -> Solver:
    """Return the solver with the given name; raise `MissingSolverError` if it is not installed."""
    solver = get_solver(name)
    status = solver.availability()
    if not status.installed:
        remedy = (
            f"run `{status.install}`" if status.install else status.reason or "install the package that provides it"
        )
        raise MissingSolverError(f'The solver "{name}" is not installed: {remedy}.')
    return solver


def single_solvers() -> list[Solver]:
    """Return all solvers that do not belong to a family, installed or not, in the order of their names."""
    loaded_classes = _solver_classes().values()
    return [loaded() for loaded in loaded_classes if not isinstance(loaded, Exception) and not _is_family(loaded)]


def installed_solvers() -> list[Solver]:
    """Return all installed solvers that do not belong to a family, in the order of their names."""
    return [solver for solver in single_solvers() if solver.availability().installed]


def ranked_solvers(profile: Profile) -> list[Solver]:
    """Return all solvers that `auto` may choose for a program, best first, including solvers that are not installed.

    Whether a solver supports the program is not checked here.
    """
    places: list[tuple[float, str, Solver]] = []
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

            warn(f'The solver "{name}" cannot rank itself: {_format_error(error)}.', MiloptWarning, stacklevel=2)
            continue
        if place is not None and place == place:
            places.append((place, name, solver))
    return [solver for _, _, solver in sorted(places, key=lambda entry: entry[:2])]


def family_variants(family: str) -> list[str]:
    """Return the names of the installed variants of a family, in the form that `get_solver` accepts."""
    solver = _solver_class(family)
    if not _is_family(solver):
        raise UnknownNameError(f"{quote(family)} is one solver, not a family: it has no variants.")
    return [f"{family}:{variant}" for variant in cast(SolverFamilyProtocol, solver).variants()]


def available_solvers() -> dict[str, Availability]:
    """Return the availability of all registered solvers by name.

    No package of a solver is imported. A family appears once, as ``family:NAME``.

    Returns
    -------
    dict of str to Availability
        For each solver, whether it is installed, its version, and how it can be installed.

    Examples
    --------
    >>> import milopt
    >>> solvers = milopt.available_solvers()
    >>> solvers["highs"].installed
    True
    """
    return {_display_name(name, loaded): _availability(loaded) for name, loaded in _solver_classes().items()}


def model_names() -> list[str]:
    """Return the names of all registered models."""
    return entry_point_names(MODEL_GROUP)


def model_class(name: str) -> type:
    """Return the class of a model, given its name or `path/file.py:Class` for a class in a user's file."""
    path, _, within = name.rpartition(":")
    if path.endswith(".py"):
        from milopt.solving.model_file import load_model_class

        return load_model_class(path, within)
    if name.endswith(".py"):
        raise UnknownNameError(f'{quote(name)} is a file: write "{name}:Class" for the model class in it.')
    return entry_point_class(MODEL_GROUP, "model", name)


def entry_point_names(group: str) -> list[str]:
    """Return the names of all entry points of a group."""
    return list(_entry_points(group))


def entry_point_class(group: str, kind: str, name: str) -> type:
    """Return the class of the entry point `name` of a group; `kind` is the word for it in messages, such as "model"."""
    entries = _entry_points(group)
    if name not in entries:
        raise unknown_name_error(kind, name, list(entries))
    loaded = _load_class(entries[name])
    if isinstance(loaded, Exception):
        raise DeclarationError(f'The {kind} "{name}" cannot be loaded: {_format_error(loaded)}.') from loaded
    return loaded


def _solver_class(name: str) -> type[Solver]:
    """Return the class of a registered solver; raise an error if the name is unknown or the class cannot be loaded."""
    entries = _entry_points(SOLVER_GROUP)
    if name not in entries:
        raise unknown_name_error("solver", name, solver_names())
    loaded = _load_solver_class(entries[name])
    if isinstance(loaded, Exception):
        raise MissingSolverError(f'The solver "{name}" cannot be loaded: {_format_error(loaded)}.') from loaded
    return loaded


def _solver_classes() -> dict[str, type[Solver] | Exception]:
    """Return the class of every registered solver, or the error raised while loading it."""
    return {name: _load_solver_class(entry) for name, entry in _entry_points(SOLVER_GROUP).items()}


@cache
def _entry_points(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, sorted. If two packages use one name, milopt's entry is kept."""
    from importlib.metadata import entry_points

    entries = entry_points(group=group)
    ours = [entry for entry in entries if entry.value.startswith(f"{group}.")]
    return dict(sorted(({entry.name: entry for entry in entries} | {entry.name: entry for entry in ours}).items()))


def _load_class(entry: EntryPoint) -> type | Exception:
    """Return the class of an entry point, or the error raised while loading it.

    One broken package must not hide the others.
    """
    try:
        loaded = entry.load()
    except Exception as error:
        # A module of another package may raise any exception while it is imported.
        return error
    if not isinstance(loaded, type):
        return TypeError(f"{entry.value} is not a class")
    return loaded


def _load_solver_class(entry: EntryPoint) -> type[Solver] | Exception:
    """Return the solver class of an entry point, or an error if it cannot be loaded or is not a `Solver`."""
    from milopt.solving.solver import Solver

    loaded = _load_class(entry)
    if isinstance(loaded, type) and not issubclass(loaded, Solver):
        return TypeError(f"{entry.value} is not a subclass of milopt's Solver")
    return loaded


def _is_family(loaded: object) -> bool:
    """Return True if a loaded class is a family of solvers."""
    return bool(getattr(loaded, "family", False))


def _display_name(name: str, loaded: type[Solver] | Exception) -> str:
    """Return the name of a solver as users write it."""
    return f"{name}:NAME" if _is_family(loaded) else name


def _availability(loaded: type[Solver] | Exception) -> Availability:
    """Return the availability of a loaded class."""
    from milopt.solving.solver import Availability

    if isinstance(loaded, Exception):
        return Availability(False, reason=_format_error(loaded))
    try:
        if not _is_family(loaded):
            return loaded().availability()
        return Availability.of_package(cast(SolverFamilyProtocol, loaded).package)
    except Exception as error:
        # The class of another package may raise any exception when it is created or asked for its availability.
        return Availability(False, reason=_format_error(error))


def _format_error(error: Exception) -> str:
    """Return the type and the message of an error."""
    return f"{type(error).__name__}: {error}".rstrip(".")
