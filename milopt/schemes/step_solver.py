"""Which solver takes which part of an exact search: the program with binaries, and programs without integers."""

from __future__ import annotations

from dataclasses import replace

from milopt.compilation.features import Feature, with_integers
from milopt.compilation.kind import block_cones, block_features
from milopt.declaration.programs.program import Program
from milopt.solving.options import Options
from milopt.solving.refusal import takes_all
from milopt.solving.solver import Solver


def takes_binaries(program: Program, solver: Solver) -> bool:
    """Return True if a program has no integer variables, and a solver takes it with binary ones besides."""
    features = block_features(program)
    mixed = with_integers(features | {Feature.INTEGER})
    return Feature.INTEGER not in features and takes_all(solver, mixed, block_cones(program))


def continuous_solver(program: Program, solver: Solver, options: Options) -> tuple[Solver, Options]:
    """Return the solver if it takes the program, otherwise the one that `auto` chooses; and the options for it.

    A solver with integers, such as SCIP, may take quadratic objectives and cones with integers only. Its own settings
    are not for another solver.
    """
    from milopt.schemes.automatic import automatic

    if takes_all(solver, block_features(program), block_cones(program)):
        return solver, options
    return automatic(program), replace(options, extra={})
