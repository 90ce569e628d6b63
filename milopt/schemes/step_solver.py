"""Which solver takes which part of an exact search: the program with binaries, and programs without integers."""

from __future__ import annotations

from milopt.declaration.program import Program
from milopt.inspection.kind import block_cones, block_features
from milopt.solving.refusal import takes_all, with_integers
from milopt.solving.solver import Feature, Solver


def takes_binaries(program: Program, solver: Solver) -> bool:
    """Return True if a solver takes the program with binary variables beside its own."""
    return takes_all(solver, with_integers(block_features(program) | {Feature.INTEGER}), block_cones(program))


def continuous_solver(program: Program, solver: Solver) -> Solver:
    """Return the solver if it takes the program, otherwise the one that `auto` chooses.

    A solver with integers, such as SCIP, may take quadratic objectives and cones with integers only.
    """
    from milopt.schemes.automatic import automatic

    taken = takes_all(solver, block_features(program), block_cones(program))
    return solver if taken else automatic(program)
