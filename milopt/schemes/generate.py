"""Solve a semi-infinite program: a solver for the master, one for the oracles, and column generation over both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from milopt.declaration.semi_infinite import Oracle, SemiInfinite
from milopt.errors import ParameterError
from milopt.outcome.result import Attempt, Result
from milopt.schemes.column_generation import ColumnGeneration
from milopt.schemes.oracle_program import ExactPricing, ProgramPricing
from milopt.schemes.solve import named_solver
from milopt.solving import registry
from milopt.solving.clock import Clock
from milopt.solving.explain import Case
from milopt.solving.options import Options
from milopt.solving.pricing import Pricing
from milopt.solving.solver import Solver
from milopt.solving.solver_parts import SolverParts

MANY_PRICES = 1000
"""Up to so many `auto` gives the master to native, whose dense rows are added and solved many times faster."""


def generate(problem: SemiInfinite, solver: object, scheme: object, options: Options) -> Result:
    """Generate columns with the solvers of a flag (see `solver_parts`)."""
    if scheme is None or scheme == ColumnGeneration.name:
        scheme = ColumnGeneration()
    if not isinstance(scheme, ColumnGeneration):
        raise ParameterError(
            f"{problem.name!r} is semi-infinite: its scheme is {ColumnGeneration.name}, not {scheme!r}."
        )
    parts, clock = SolverParts.of(solver), Clock(options.time_limit)
    pricings: list[Pricing] = []
    try:
        for oracle in problem.oracles:
            pricings.append(pricing(problem, oracle, parts.oracle, options))
        result = scheme.run(problem, _master(parts.master, problem), pricings, options, clock)
    finally:
        for one in pricings:
            one.close()
    names = list(dict.fromkeys(name for one in pricings for name in one.solvers))
    shown = result.solver if names == [result.solver] else f"master={result.solver},oracle={'+'.join(names)}"
    message = " ".join(part for part in (result.message, *_fallbacks(pricings)) if part)
    attempt = Attempt(
        shown,
        result.termination,
        result.point,
        result.certificate,
        result.raw_status,
        result.seconds.total,
        message,
    )
    return replace(result, solver=shown, attempts=(attempt,), message=message)


def _master(solver: str | Solver, problem: SemiInfinite) -> Solver:
    """The solver of the master; for `auto` native, where the master's size allows it."""
    native = registry.get("native")
    few = sum(price.size for price in problem.start) <= MANY_PRICES
    if solver == "auto" and few and Case(problem.master).asked(native).takes:
        return native
    return named_solver(solver, problem.master)


def _fallbacks(pricings: Sequence[Pricing]) -> list[str]:
    """A sentence for each pair of solvers of which one left prices to the other."""
    counts: Counter[tuple[str, ...]] = Counter()
    for one in pricings:
        counts[one.solvers] += one.fallbacks
    return [
        f"The oracle's own algorithm ({names[0]}) failed at {_counted(count)}: there {names[-1]} solved its program."
        for names, count in counts.items()
        if count
    ]


def _counted(prices: int) -> str:
    return "1 price" if prices == 1 else f"{prices} prices"


def pricing(problem: SemiInfinite, oracle: Oracle, solver: str | Solver, options: Options) -> Pricing:
    """The oracle at work: by the solver's own algorithm where it has one for such a program, else by solving it."""
    if oracle.scheme == "exact":
        return ExactPricing(oracle, problem.bags, named_solver(solver, oracle.program), options)
    if solver == "auto":
        own = registry.get("native").pricing(oracle, problem.bags, options)
        if own is not None:
            return own
    chosen = named_solver(solver, oracle.program)
    return chosen.pricing(oracle, problem.bags, options) or ProgramPricing(oracle, problem.bags, chosen, options)
