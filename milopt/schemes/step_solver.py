"""Choose the solvers of an exact search: for the program with binary variables, and for programs without integers."""

from __future__ import annotations

from dataclasses import replace

from milopt.compilation.features import Feature, with_integers
from milopt.compilation.kind import block_cones, block_features
from milopt.declaration.programs.program import Program
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.solver_support import supports_features


def supports_binaries(program: Program, solver: Solver) -> bool:
    """Return True if a program has no integer variables, and a solver supports it with additional binary variables."""
    features = block_features(program)
    mixed = with_integers(features | {Feature.INTEGER})
    return Feature.INTEGER not in features and supports_features(solver, mixed, block_cones(program))


def choose_continuous_solver(program: Program, solver: Solver, options: Options) -> tuple[Solver, Options]:
    """Return (solver, options) for a program: the given solver if it supports the program, otherwise that of `auto`.

    A solver for integer programs, such as SCIP, may support quadratic objectives and cones only with integers. Settings
    of one solver (`Options.extra`) are not used for another.
    """
    from milopt.schemes.automatic import automatic_solver

    if supports_features(solver, block_features(program), block_cones(program)):
        return solver, options
    return automatic_solver(program), replace(options, extra={})
