"""Convexity checks: before a solve that needs a convex objective, and of an answer that claims optimality."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from milopt.compilation.answer import Answer
from milopt.compilation.curvature import judge_convexity, nonconvex_terms
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.features import Feature
from milopt.compilation.status import Termination
from milopt.cones import ZERO
from milopt.errors import ConvexityError
from milopt.solving.live_form import LiveForm
from milopt.solving.solver import Solver


class ConvexityCheck:
    """Convexity check for solvers that support only convex programs; a form found convex is not examined again."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._convex_form: EvaluationForm | None = None

    def require_convex(self, live: LiveForm) -> None:
        """Raise `ConvexityError` if the objective is not convex.

        A dual form is always convex, so it is not examined. If the solver supports non-convex programs, nothing is
        examined.
        """
        if self._convex_form is live.form or live.uses_dual or Feature.NONCONVEX in self._solver.features:
            return
        verdict = judge_convexity(live.form, live.compiled.form)
        if not verdict.convex:
            limit = f"{self._solver.name} supports only convex programs."
            raise ConvexityError(f"{verdict.reason()} {limit} {nonconvexity_remedy(live.form)}".strip())
        self._convex_form = live.form


def nonconvexity_remedy(form: EvaluationForm) -> str:
    """Return one sentence on how to solve a program with a non-convex objective; empty if milopt has no algorithm.

    Without inequalities and bounds, `native` computes the stationary point in closed form. Otherwise the
    convex-concave procedure can linearise quadratics, but not a negative weight of some ||f||^2.
    """
    has_bounds = bool(np.isfinite(form.lower).any() or np.isfinite(form.upper).any())
    if not has_bounds and all(block.cone == ZERO for block in form.blocks):
        return "Use native."
    return "Use scheme='ccp'." if min(form.objective.ridge, default=0.0) >= 0.0 else ""


def with_inertia(answer: Answer, live: LiveForm, solver: Solver) -> Answer:
    """Return the answer with the inertia of the program's reduced Hessian, and the termination that follows from it.

    The inertia is the number of positive, zero and negative eigenvalues. A stationary or optimal answer with an inertia
    becomes "stationary" if an eigenvalue or the weight of some ||f||^2 is negative, otherwise "optimal". The weights
    are checked separately, because the Hessian contains f only through its values at finitely many points. An optimal
    answer without an inertia, from a solver for non-convex programs, becomes "stationary" if the objective has terms
    that may be non-convex and its eigenvalues, which are then computed, show that it is not convex.
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
