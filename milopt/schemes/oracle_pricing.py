"""Choose the pricing of an oracle: by a solver's own algorithm if there is one, otherwise by a solve."""

from __future__ import annotations

from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.semi_infinite import Oracle, SemiInfinite
from milopt.schemes.automatic import resolve_solver
from milopt.schemes.oracle_program import ExactPricing, ProgramPricing
from milopt.solving import registry
from milopt.solving.options import Options
from milopt.solving.pricing import Pricing
from milopt.solving.profile import Profile
from milopt.solving.solver import Solver


def choose_oracle_pricing(problem: SemiInfinite, oracle: Oracle, solver: str | Solver, options: Options) -> Pricing:
    """Return the pricing of an oracle: by a solver's own algorithm if there is one, otherwise by solving its program.

    "auto" first tries all installed solvers that have their own algorithm for the oracle; any other solver is tried
    alone. An oracle with the scheme "exact" is always priced by solving its program to a global optimum.
    """
    if oracle.scheme == "exact":
        return ExactPricing(oracle, problem.bags, resolve_solver(solver, oracle.program), options)
    if solver == "auto":
        for able in _solvers_with_own_pricing(oracle, problem.bags):
            own = able.pricing(oracle, problem.bags, options)
            if own is not None:
                return own
    chosen = resolve_solver(solver, oracle.program)
    return chosen.pricing(oracle, problem.bags, options) or ProgramPricing(oracle, problem.bags, chosen, options)


def _solvers_with_own_pricing(oracle: Oracle, bags: Bags) -> list[Solver]:
    """Return the installed solvers that have their own algorithm for an oracle, in the order of their ranks."""
    able = [solver for solver in registry.installed_solvers() if solver.supports_oracle(oracle, bags)]
    if len(able) < 2:
        return able
    profile = Profile.from_program(oracle.program)
    return sorted(able, key=lambda solver: -(solver.rank(profile) or 0.0))
