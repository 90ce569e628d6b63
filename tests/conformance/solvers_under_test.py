"""Every solver of the registry that is installed here, variants of families included, and what is known against some.

A new solver appears here by itself. An exclusion names a solver and a family, and says why: it allows an honest
non-optimal status where a certified optimum is asked of everybody else, and never a wrong answer.
"""

from __future__ import annotations

from functools import cache

from milopt.solving import registry

UNSAFE = {
    "cvxpy:ECOS_BB": "writes beyond its memory on programs without a feasible point, which ends the whole process",
}

SLOW = {
    ("pyomo", "5000 rows"): "Pyomo makes a Python object of each of 60000 coefficients",
    ("cvxpy:SCS", "5000 rows"): "a first-order method needs minutes for eight digits",
    ("cvxpy:OSQP", "5000 rows"): "a first-order method needs minutes for eight digits",
    ("cvxpy:SCIPY", "5000 rows"): "it is HiGHS once more",
    ("cvxpy:SCS", "dc"): "branch and bound by a first-order method",
    ("cvxpy:OSQP", "dc"): "branch and bound by a first-order method",
    ("pyomo", "dc"): "a model in Python objects at every node",
}

HONEST = {
    ("clarabel", "lp, columns scaled by 1e6"): "stops as AlmostSolved: its equilibration ends at 1e4",
    ("cvxpy:CLARABEL", "lp, columns scaled by 1e6"): "stops as AlmostSolved: its equilibration ends at 1e4",
    ("ecos", "lp, columns scaled by 1e6"): "stops close to optimal",
    ("cvxpy:ECOS", "lp, columns scaled by 1e6"): "stops close to optimal",
    ("cvxpy:OSQP", "lp, columns scaled by 1e6"): "a first-order method on a badly scaled program",
    ("cvxpy:OSQP", "lp, rows scaled by 1e6"): "a first-order method on a badly scaled program",
    ("cvxpy:SCS", "lp, columns scaled by 1e6"): "a first-order method on a badly scaled program",
    ("cvxpy:ECOS", "qp, objective scaled by 1e6"): "cvxpy's bridge leaves the objective unscaled, and ECOS breaks down",
    ("highs", "qp, rows scaled by 1e6"): "its active-set QP calls a point optimal that is not",
    ("cvxpy:HIGHS", "qp, rows scaled by 1e6"): "its active-set QP calls a point optimal that is not",
    ("pyomo:highs", "qp, rows scaled by 1e6"): "its active-set QP calls a point optimal that is not",
    ("cvxpy:HIGHS", "qp, unbounded"): "its regularised QP has an optimum far out, and says so",
    ("pyomo:highs", "qp, unbounded"): "its regularised QP has an optimum far out, and says so",
    ("cvxpy:HIGHS", "qp, unbounded function"): "its regularised QP has an optimum far out, and says so",
    ("cvxpy:SCIPY", "milp, unbounded"): "cvxpy reports the failure of milp() without its status",
}


@cache
def solver_names() -> list[str]:
    """Plain solvers, then every installed variant of every family."""
    names = [solver.name for solver in registry.plain_solvers()]
    for spelled in registry.names():
        family, colon, _ = spelled.partition(":")
        if colon:
            names += registry.variants(family)
    return [name for name in names if name not in UNSAFE]


def too_slow(solver: str, family: str) -> bool:
    """Whether a pair is left out for its time."""
    return any(solver.startswith(who) and what in family for who, what in SLOW)
