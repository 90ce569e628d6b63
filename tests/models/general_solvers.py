"""Who is asked to solve a model: every installed solver that takes such programs in general."""

from __future__ import annotations

from milopt.solving import registry
from milopt.solving.solver import Feature
from tests.conformance.solvers_under_test import solver_names

PATTERNS = ("native", "libsvm")
"""They take only what they recognise, and are asked where a model has their pattern."""

FIRST_ORDER = {
    "cvxpy:SCS": "a first-order method needs minutes for eight digits",
    "cvxpy:OSQP": "a first-order method needs minutes for eight digits of a linear program",
    "cvxpy:PROXQP": "an augmented Lagrangian that calls feasible linear programs infeasible",
}


def general_solvers(*features: Feature, cones: tuple[str, ...] = (), but: tuple[str, ...] = ()) -> list[str]:
    """The installed solvers that have all these features and take these cones, but some."""
    wanted = {Feature.LINEAR, *features}
    left_out = (*PATTERNS, *but)
    solvers = [registry.get(name) for name in solver_names() if name not in left_out]
    return [solver.name for solver in solvers if wanted <= solver.features and solver.cones >= set(cones)]
