"""`auto`: the installed solvers that support a program, in the order of their ranks.

Every registered solver ranks itself (`Solver.rank`) by the declared blocks; nothing is lowered for the ranking. Solvers
are then checked one by one, beginning with the best rank, until one is found that is installed and supports the
program. If there is a time limit, solvers that may exceed it come after those that keep it.
"""

from __future__ import annotations

from collections.abc import Iterator

from milopt.declaration.programs.program import Program
from milopt.errors import UnsupportedError
from milopt.solving import registry
from milopt.solving.explain import SupportChecker
from milopt.solving.options import Options
from milopt.solving.solver import Solver


def supporting_solvers(checker: SupportChecker, options: Options, after: Solver | None = None) -> Iterator[Solver]:
    """Yield the installed solvers that support a program, best first, beginning after the solver `after`.

    Raises
    ------
    UnsupportedError
        If no installed solver supports the program and `after` is None; the message gives the reason for each solver.
    """
    order = registry.ranked_solvers(checker.profile)
    if options.time_limit is not None:
        order.sort(key=lambda solver: bool(solver.late_reason(options)))
    names = [solver.name for solver in order]
    rest = order if after is None or after.name not in names else order[1 + names.index(after.name) :]
    found_any = False
    for solver in rest:
        if solver.availability().installed and checker.is_supported_by(solver):
            found_any = True
            yield solver
    if not found_any and after is None:
        reasons = "; ".join(f"{solver.name}: {_exclusion_reason(solver, checker)}" for solver in order)
        raise UnsupportedError(f"No installed solver supports {checker.name!r} ({reasons}).")


def automatic_solver(program: Program, prices: int = 0) -> Solver:
    """Return the solver that `auto` tries first for a program.

    `prices`: number of prices if the program is the master of a column generation, otherwise 0.
    """
    return next(supporting_solvers(SupportChecker(program, prices=prices), Options()))


def resolve_solver(solver: str | Solver, program: Program, prices: int = 0) -> Solver:
    """Return the solver with the given name; for "auto", the one that `auto` tries first for the program.

    A `Solver` is returned as it is. `prices` is used by `auto` only (see `automatic_solver`).
    """
    if isinstance(solver, Solver):
        return solver
    return automatic_solver(program, prices) if solver == "auto" else registry.require_solver(solver)


def _exclusion_reason(solver: Solver, checker: SupportChecker) -> str:
    """Return why a solver is not available or does not support a program, in words."""
    status = solver.availability()
    if not status.installed:
        return f"not installed ({status.install or status.reason})"
    return checker.check(solver).reason
