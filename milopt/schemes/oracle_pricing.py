"""The pricing of an oracle: by a solver's own algorithm if it has one for such a program, otherwise by solving it."""

from __future__ import annotations

from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.semi_infinite import Oracle, SemiInfinite
from milopt.schemes.automatic import named_solver
from milopt.schemes.oracle_program import ExactPricing, ProgramPricing
from milopt.solving import registry
from milopt.solving.options import Options
from milopt.solving.pricing import Pricing
from milopt.solving.profile import Profile
from milopt.solving.solver import Solver


def oracle_pricing(problem: SemiInfinite, oracle: Oracle, solver: str | Solver, options: Options) -> Pricing:
    """Return the oracle at work; `auto` prefers an algorithm of a solver's own to solving the oracle's program."""
    if oracle.scheme == "exact":
        return ExactPricing(oracle, problem.bags, named_solver(solver, oracle.program), options)
    if solver == "auto":
        for able in _with_own_algorithm(oracle, problem.bags):
            own = able.pricing(oracle, problem.bags, options)
            if own is not None:
                return own
    chosen = named_solver(solver, oracle.program)
    return chosen.pricing(oracle, problem.bags, options) or ProgramPricing(oracle, problem.bags, chosen, options)


def _with_own_algorithm(oracle: Oracle, bags: Bags) -> list[Solver]:
    """Return the installed solvers that have an algorithm of their own for an oracle, in the order of their ranks."""
    able = [solver for solver in registry.plain_solvers() if solver.prices(oracle, bags)]
    if len(able) < 2:
        return able
    profile = Profile.of(oracle.program)
    return sorted(able, key=lambda solver: -(solver.rank(profile) or 0.0))
