"""`auto`: the solvers that are installed and take a program, in the order of their ranks.

Every registered solver ranks itself (`Solver.rank`) by what the declared blocks tell; nothing is lowered for that. The
solvers are then asked one by one, best first, whether they are installed and take the program, and no further than is
needed. With a time limit, solvers that may exceed it come after those that keep it.
"""

from __future__ import annotations

from collections.abc import Iterator

from milopt.declaration.programs.program import Program
from milopt.errors import UnsupportedError
from milopt.solving import registry
from milopt.solving.explain import Case
from milopt.solving.options import Options
from milopt.solving.solver import Solver


def takers(case: Case, options: Options, after: Solver | None = None) -> Iterator[Solver]:
    """Yield the solvers of `auto` that are installed and take a program, best first; those up to `after` left out.

    Raises
    ------
    UnsupportedError
        If there is no such solver, with the reason of each.
    """
    order = registry.ranked(case.profile)
    if options.time_limit is not None:
        order.sort(key=lambda solver: bool(solver.may_be_late(options)))
    names = [solver.name for solver in order]
    rest = order if after is None or after.name not in names else order[1 + names.index(after.name) :]
    some = False
    for solver in rest:
        if solver.availability().installed and case.takes(solver):
            some = True
            yield solver
    if not some and after is None:
        reasons = "; ".join(f"{solver.name}: {_reason(solver, case)}" for solver in order)
        raise UnsupportedError(f"No installed solver takes {case.name!r} ({reasons}).")


def automatic(program: Program, prices: int = 0) -> Solver:
    """Return the solver that `auto` tries first; `prices` is the number of prices if the program is a master."""
    return next(takers(Case(program, prices=prices), Options()))


def named_solver(solver: str | Solver, program: Program, prices: int = 0) -> Solver:
    """Return a solver by its name; `auto` by what the program is."""
    if isinstance(solver, Solver):
        return solver
    return automatic(program, prices) if solver == "auto" else registry.require(solver)


def _reason(solver: Solver, case: Case) -> str:
    """Return why a solver was left out."""
    found = solver.availability()
    if not found.installed:
        return f"not installed ({found.install or found.reason})"
    return case.asked(solver).reason
