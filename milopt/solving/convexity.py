"""Convexity checks: before a solve that needs a convex objective, and of an answer that claims optimality."""

from __future__ import annotations

from dataclasses import replace

from milopt.compilation.answer import Answer
from milopt.compilation.curvature import judge_convexity, nonconvex_terms
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.features import Feature
from milopt.compilation.status import Termination
from milopt.errors import ConvexityError
from milopt.solving.live_form import LiveForm
from milopt.solving.solver import Solver


class ConvexityCheck:
    """Convexity check for solvers that support only convex programs; a form found convex is not examined again."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._convex_form: EvaluationForm | None = None

    def require(self, live: LiveForm) -> None:
        """Raise `ConvexityError` if the objective is not convex.

        A dual form is always convex, so it is not examined. Neither is a program for a solver that supports non-convex
        programs.
        """
        if self._convex_form is live.form or live.uses_dual or Feature.NONCONVEX in self._solver.features:
            return
        verdict = judge_convexity(live.form, live.compiled.form)
        if not verdict.convex:
            raise ConvexityError(f"{verdict.reason()} {self._solver.name} supports only convex programs.")
        self._convex_form = live.form


def with_inertia(answer: Answer, live: LiveForm, solver: Solver) -> Answer:
    """Return the answer with the inertia (signs of the eigenvalues) of the program's own reduced Hessian.

    A solution with an inertia is "stationary" if there is a negative eigenvalue or a negative weight of ||f||^2,
    otherwise "optimal". The inertia refers to the points at which functions are evaluated, where a negative weight of
    ||f||^2 may be hidden. If an answer claims optimality without an inertia, and the objective may be non-convex,
    eigenvalues are computed.
    """
    inertia = None if answer.inertia is None else live.compiled.convert_inertia(answer.inertia)
    if answer.termination not in (Termination.STATIONARY, Termination.OPTIMAL):
        return replace(answer, inertia=inertia)
    if inertia is None:
        claims = answer.termination is Termination.OPTIMAL and Feature.NONCONVEX in solver.features
        if claims and nonconvex_terms(live.form):
            verdict = judge_convexity(live.form, live.primal_form().form)
            if not verdict.convex:
                answer = replace(answer, termination=Termination.STATIONARY, raw_status=verdict.reason())
        return answer if answer.inertia is None else replace(answer, inertia=None)
    is_nonconvex = inertia.is_saddle or min(live.form.objective.ridge, default=0.0) < 0.0
    termination = Termination.STATIONARY if is_nonconvex else Termination.OPTIMAL
    return replace(answer, inertia=inertia, termination=termination, raw_status=str(inertia))
