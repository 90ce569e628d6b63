"""Choose the solvers of an exact search: for the program with binary variables, and for programs without integers."""

from __future__ import annotations

from dataclasses import replace

from milopt.compilation.features import Feature, combine_integer_and_quadratic
from milopt.compilation.kind import declared_features, required_cones
from milopt.declaration.programs.program import Program
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.solver_support import supports_features


def supports_binaries(program: Program, solver: Solver) -> bool:
    """Return True if a program has no integer variables, and a solver supports it with additional binary variables."""
    features = declared_features(program)
    mixed = combine_integer_and_quadratic(features | {Feature.INTEGER})
    return Feature.INTEGER not in features and supports_features(solver, mixed, required_cones(program))


def continuous_solver(program: Program, solver: Solver, options: Options) -> tuple[Solver, Options]:
    """Return the solver if it supports the program, otherwise the one that `auto` chooses; and the options for it.

    A solver for integer programs, such as SCIP, may support quadratic objectives and cones only with integers. Settings
    of one solver are not used for another.
    """
    from milopt.schemes.automatic import automatic_solver

    if supports_features(solver, declared_features(program), required_cones(program)):
        return solver, options
    return automatic_solver(program), replace(options, extra={})
