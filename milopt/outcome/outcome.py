"""The outcome of one convex solve: a point of the evaluation form with its statuses and its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from milopt.compilation.answer import Answer
from milopt.compilation.compiled_form import PrimalDualPoint
from milopt.compilation.curvature import nonconvex_terms
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.inertia import Inertia
from milopt.compilation.status import PointStatus, Termination
from milopt.outcome.certificate import Certificate, PointEvaluation

if TYPE_CHECKING:
    from milopt.outcome.contradiction import Contradiction


@dataclass(frozen=True)
class Outcome:
    """Outcome of one convex solve, expressed in the evaluation form, as a scheme receives it."""

    form: EvaluationForm
    termination: Termination
    status: PointStatus
    raw_status: str
    """Status in the words of the solver."""
    point: PrimalDualPoint | None
    """Point with its multipliers; None if the solver returned no point."""
    evaluation: PointEvaluation | None
    """Values of the form at the point."""
    certificate: Certificate | None
    bound: float | None
    """Lower bound on the minimised objective; None if there is none.

    If the certificate holds, it is the bound of the certificate, otherwise that of the solver.
    """
    message: str = ""
    polished: Certificate | None = None
    """Certificate before polishing, if polishing improved the point."""
    iterations: int = 0
    build_seconds: float = 0.0
    solve_seconds: float = 0.0
    rebuilds: int = 0
    """Number of times that the solver's model was built again."""
    log: str = ""
    inertia: Inertia | None = None
    contradiction: Contradiction | None = None
    """Proof that the program is infeasible, if multipliers prove it."""
    ray: PrimalDualPoint | None = None
    """Direction along which the objective decreases without limit, if the program is unbounded."""
    form_reason: str = ""
    """Form in which the solver got the functions of kernels, with the reason; empty if there are none."""

    @property
    def objective(self) -> float:
        """Value of the minimised objective; NaN without a point."""
        return self.evaluation.objective if self.evaluation is not None else float("nan")

    @classmethod
    def from_answer(
        cls,
        form: EvaluationForm,
        answer: Answer,
        point: PrimalDualPoint,
        evaluation: PointEvaluation,
        certificate: Certificate,
        tolerance: float,
    ) -> Outcome:
        """Return the outcome of a solver's answer, with both statuses according to the certificate.

        The status that the solver reports is not trusted. A point whose certificate holds is optimal, or stationary if
        a term of the objective is not convex and the solver does not report optimality. (If the solver reports
        optimality for such an objective, the session checks the claim.)
        """
        termination, message = answer.termination, ""
        feasible = PointStatus.FEASIBLE if certificate.primal <= tolerance else PointStatus.NONE
        if certificate.holds(tolerance):
            certified, raw = PointStatus.CERTIFIED, answer.raw_status
            if termination is not Termination.OPTIMAL and nonconvex_terms(form):
                return cls(form, Termination.STATIONARY, certified, raw, point, evaluation, certificate, None, raw)
            bound = certificate.bound if np.isfinite(certificate.bound) else None
            return cls(form, Termination.OPTIMAL, certified, raw, point, evaluation, certificate, bound)
        if termination in (Termination.OPTIMAL, Termination.STATIONARY):
            termination = Termination.STALLED
            message = f"The solver reported {answer.raw_status!r}, but the certificate does not hold: {certificate}."
        elif termination is Termination.STALLED:
            message = f"The solver gave up ({answer.raw_status!r}), and the certificate does not hold: {certificate}."
        return cls(
            form, termination, feasible, answer.raw_status, point, evaluation, certificate, answer.bound, message
        )

    @classmethod
    def without_point(cls, form: EvaluationForm, termination: Termination, raw: str, message: str) -> Outcome:
        """Return an outcome without a point: infeasible, unbounded, or ended before the first point."""
        return cls(form, termination, PointStatus.NONE, raw, None, None, None, None, message)


def violation_clause(status: PointStatus, certificate: Certificate | None) -> str:
    """Return a clause that states by how much a point violates the constraints; empty if it is feasible."""
    if status is not PointStatus.NONE or certificate is None:
        return ""
    return f", but it violates the constraints by {certificate.violation:.3g}"
