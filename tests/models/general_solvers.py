"""Solvers that solve the models in the tests: all installed solvers that support such programs in general."""

from __future__ import annotations

from milopt.compilation.features import Feature
from milopt.solving import registry
from tests.conformance.solvers_under_test import solver_names

PATTERNS = ("native", "libsvm")
"""Solvers that only support certain patterns; they are tested with models that have their pattern."""

FIRST_ORDER = {
    "cvxpy:SCS": "a first-order method needs minutes for eight digits",
    "cvxpy:OSQP": "a first-order method needs minutes for eight digits of a linear program",
    "cvxpy:PROXQP": "an augmented Lagrangian that calls feasible linear programs infeasible",
}

WITHOUT_MULTIPLIERS = ("cvxpy:SCIP",)
"""Solvers without all multipliers: cvxpy reads SCIP's multipliers of rows with one entry as 0."""


def general_solvers(*features: Feature, cones: tuple[str, ...] = (), but: tuple[str, ...] = ()) -> list[str]:
    """Return the installed solvers that support all these features and cones, except the excluded ones."""
    wanted = {Feature.LINEAR, *features}
    left_out = (*PATTERNS, *WITHOUT_MULTIPLIERS, *but)
    solvers = [registry.get_solver(name) for name in solver_names() if name not in left_out]
    return [solver.name for solver in solvers if wanted <= solver.features and solver.cones >= set(cones)]
