"""Convexity between a program and a solver: what it must be before a solve, and what an answer says of it."""

from __future__ import annotations

from dataclasses import replace

from milopt.compilation.answer import Answer
from milopt.compilation.curvature import bending_terms, curvature
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.features import Feature
from milopt.compilation.status import Termination
from milopt.errors import ConvexityError
from milopt.solving.live_form import LiveForm
from milopt.solving.solver import Solver


class ConvexityCheck:
    """Refuses non-convex objectives for a solver that takes convex programs only; each form is examined once."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._convex_form: EvaluationForm | None = None

    def require(self, live: LiveForm) -> None:
        """Raise an error if the objective is not convex; the dual, where it exists, is convex."""
        if self._convex_form is live.form or live.uses_dual or Feature.NONCONVEX in self._solver.features:
            return
        verdict = curvature(live.form, live.compiled.form)
        if not verdict.convex:
            raise ConvexityError(f"{verdict.reason()} {self._solver.name} takes convex programs only.")
        self._convex_form = live.form


def with_inertia(answer: Answer, live: LiveForm, solver: Solver) -> Answer:
    """Return the answer with the inertia of the program's own Hessian; a saddle is no more than stationary.

    The inertia is that over the points of the functions, where a negative weight of ||f||^2 may not show. A claim of
    optimality without an inertia is checked by eigenvalues if the objective may be non-convex.
    """
    inertia = None if answer.inertia is None else live.compiled.inertia(answer.inertia)
    if answer.termination not in (Termination.STATIONARY, Termination.OPTIMAL):
        return replace(answer, inertia=inertia)
    if inertia is None:
        claims = answer.termination is Termination.OPTIMAL and Feature.NONCONVEX in solver.features
        if claims and bending_terms(live.form):
            verdict = curvature(live.form, live.coordinates().form)
            if not verdict.convex:
                answer = replace(answer, termination=Termination.STATIONARY, raw_status=verdict.reason())
        return answer if answer.inertia is None else replace(answer, inertia=None)
    bends_down = inertia.is_saddle or min(live.form.objective.ridge, default=0.0) < 0.0
    termination = Termination.STATIONARY if bends_down else Termination.OPTIMAL
    return replace(answer, inertia=inertia, termination=termination, raw_status=str(inertia))
