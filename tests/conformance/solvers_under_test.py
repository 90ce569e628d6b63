"""Installed solvers of the registry, including the variants of families, and exceptions for some of them.

A new solver is included automatically. An exception names a solver and a case of `check_solver`, with the reason. It
allows an uncertified status if a certified optimum is required of all other solvers, but never a wrong answer.
"""

from __future__ import annotations

from functools import cache

from milopt.solving import registry

EXCEPTIONS = {
    ("cvxpy:SCS", "lp, 5000 rows"): "still running after 25 s",
    ("cvxpy:OSQP", "lp, 5000 rows"): "still running after 24 s",
    ("clarabel", "lp, columns scaled by 1e6"): "stops as AlmostSolved",
    ("cvxpy:CLARABEL", "lp, columns scaled by 1e6"): "stops as optimal_inaccurate",
    ("ecos", "lp, columns scaled by 1e6"): "stops as close to optimal",
    ("cvxpy:ECOS", "lp, columns scaled by 1e6"): "stops as optimal_inaccurate",
    (
        "cvxpy:OSQP",
        "lp, columns scaled by 1e6",
    ): "reports a feasible program as infeasible; milopt must not return that",
    ("cvxpy:OSQP", "lp, rows scaled by 1e6"): "reaches its limit of iterations",
    **{
        ("cvxpy:PIQP", family): "reaches its limit of iterations"
        for family in (
            "lp, columns scaled by 1e6",
            "lp, infeasible",
            "qp, objective scaled by 1e6",
            "qp, infeasible",
            "qp, unbounded",
            "qp, unbounded function",
        )
    },
    ("cvxpy:ECOS", "qp, objective scaled by 1e6"): "reaches its limit of iterations",
    ("highs", "qp, rows scaled by 1e6"): "reports optimal for a point with a dual residual of 0.2",
    ("cvxpy:HIGHS", "qp, rows scaled by 1e6"): "reports optimal for a point with a gap of 0.08",
    ("pyomo:highs", "qp, rows scaled by 1e6"): "reports optimal for a point with a dual residual of 0.2",
    ("cvxpy:HIGHS", "claim, unbounded quadratic"): "reports optimal for an unbounded program",
    ("pyomo:highs", "claim, unbounded quadratic"): "reports optimal for an unbounded program",
    ("cvxpy:OSQP", "answer, linear"): "reaches its limit of iterations",
    ("cvxpy:OSQP", "answer, maximised"): "reaches its limit of iterations",
    ("cvxpy:OSQP", "engine, two at the same time"): "reaches its limit of iterations",
    ("cvxpy:OSQP", "session, one change after the other, linear"): "reaches its limit of iterations",
    ("cvxpy:OSQP", "Ctrl-C"): "compiled code that does not hear signals",
    ("cvxpy:HIGHS", "Ctrl-C"): "compiled code that does not hear signals",
    ("cvxpy:PROXQP", "lp"): "reports a feasible program as infeasible; milopt must not return that",
    ("cvxpy:PROXQP", "lp, empty blocks"): "reports a feasible program as infeasible; milopt must not return that",
    ("cvxpy:PROXQP", "lp, rows scaled by 1e6"): "reports a feasible program as infeasible; milopt must not return that",
    (
        "cvxpy:PROXQP",
        "lp, columns scaled by 1e6",
    ): "reports a feasible program as infeasible; milopt must not return that",
    ("cvxpy:PROXQP", "qp, rows scaled by 1e6"): "reports a feasible program as infeasible; milopt must not return that",
    ("cvxpy:PROXQP", "lp, unbounded"): "reaches its limit of iterations",
    ("cvxpy:PROXQP", "options, unknown extra"): "cvxpy drops options that ProxQP does not know",
    **{
        ("cvxpy:PROXQP", case): "reports a feasible program as infeasible; milopt must not return that"
        for case in (
            "answer, linear",
            "engine, two at the same time",
            "session, rows deleted, linear",
            "session, one change after the other, linear",
        )
    },
    ("cvxpy:PROXQP", "qp, unbounded function"): "reaches its limit of iterations",
}


@cache
def solver_names() -> list[str]:
    """Return the names of all installed solvers: single solvers, then every installed variant of every family."""
    names = [solver.name for solver in registry.installed_solvers()]
    for spelled in registry.solver_names():
        family, colon, _ = spelled.partition(":")
        if colon:
            names += registry.family_variants(family)
    return names


def exceptions_of(solver: str) -> dict[str, str]:
    """Return the exceptions of a solver by the name of the case."""
    return {case: reason for (name, case), reason in EXCEPTIONS.items() if name == solver}


def is_slow(solver: str, case: str) -> bool:
    """Return True if a case takes long because of a long program or the time limit of an exception."""
    return case in ("time limit", "Ctrl-C") or EXCEPTIONS.get((solver, case), "").startswith("still running")
