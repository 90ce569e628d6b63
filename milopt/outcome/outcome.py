"""The outcome of one convex solve, on the evaluation form: what a scheme sees of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from milopt.compilation.answer import Answer
from milopt.compilation.compiled import Point
from milopt.compilation.curvature import bending_terms
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.inertia import Inertia
from milopt.compilation.status import PointStatus, Termination
from milopt.outcome.certificate import Certificate, Evaluated

if TYPE_CHECKING:
    from milopt.outcome.contradiction import Contradiction


@dataclass(frozen=True)
class Outcome:
    """A proved (or unproved) point of one convex program; `objective` is of the minimisation."""

    form: EvaluationForm
    termination: Termination
    status: PointStatus
    raw_status: str
    point: Point | None
    worth: Evaluated | None
    certificate: Certificate | None
    bound: float | None
    message: str = ""
    polished: Certificate | None = None
    iterations: int = 0
    build_seconds: float = 0.0
    solve_seconds: float = 0.0
    rebuilds: int = 0
    log: str = ""
    inertia: Inertia | None = None
    contradiction: Contradiction | None = None
    """The proof that the program is infeasible, if multipliers prove it."""
    ray: Point | None = None
    """A direction along which the objective falls without limit, if the program is unbounded."""

    @property
    def objective(self) -> float:
        """Of the minimisation; nan without a point."""
        return self.worth.objective if self.worth is not None else float("nan")

    @classmethod
    def judged(
        cls,
        form: EvaluationForm,
        answer: Answer,
        point: Point,
        worth: Evaluated,
        certificate: Certificate,
        tolerance: float,
    ) -> Outcome:
        """Judge a point by its certificate: what the solver says of it is not believed.

        A KKT point is optimal unless some term of the objective is not convex and the solver does not claim
        optimality. (Whether a claim of optimality for such an objective is right is the session's to find out.)
        """
        termination, message = answer.termination, ""
        feasible = PointStatus.FEASIBLE if certificate.primal <= tolerance else PointStatus.NONE
        if certificate.holds(tolerance):
            certified, raw = PointStatus.CERTIFIED, answer.raw_status
            if termination is not Termination.OPTIMAL and bending_terms(form):
                return cls(form, Termination.STATIONARY, certified, raw, point, worth, certificate, None, raw)
            bound = certificate.bound if np.isfinite(certificate.bound) else None
            return cls(form, Termination.OPTIMAL, certified, raw, point, worth, certificate, bound)
        if termination in (Termination.OPTIMAL, Termination.STATIONARY):
            termination = Termination.STALLED
            message = f"The solver said {answer.raw_status!r}, but the certificate does not hold: {certificate}."
        elif termination is Termination.STALLED:
            message = f"The solver gave up ({answer.raw_status!r}), and the certificate does not hold: {certificate}."
        return cls(form, termination, feasible, answer.raw_status, point, worth, certificate, answer.bound, message)

    @classmethod
    def without_point(cls, form: EvaluationForm, termination: Termination, raw: str, message: str) -> Outcome:
        """Infeasible, unbounded, or ended before any point."""
        return cls(form, termination, PointStatus.NONE, raw, None, None, None, None, message)


def unless_feasible(status: PointStatus, certificate: Certificate | None) -> str:
    """Continue a sentence about a point that is kept: by how much it violates the constraints; empty if it does not."""
    if status is not PointStatus.NONE or certificate is None:
        return ""
    return f", but it violates the constraints by {certificate.violation:.3g}"
