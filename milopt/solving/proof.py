"""From a solver's answer to an outcome with a certificate: recover the point, certify it, polish it if necessary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.compiled_form import CompiledForm, PrimalDualPoint
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.outcome.certificate import (
    Certificate,
    DeclaredResiduals,
    PointEvaluation,
    certify,
    certify_integer,
    evaluate,
    stationarity_residual,
)
from milopt.outcome.declared_proof import certify_declared
from milopt.outcome.declared_residuals import declared_residuals
from milopt.outcome.dual_repair import repair_multipliers
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import LeafValues
from milopt.outcome.polish import (
    EquilibratedProgram,
    FactoriseFunction,
    equilibrate,
    factorise_least_squares,
    factorise_regularised,
    polish,
)
from milopt.solving.options import Options

MAX_POLISHES = 3
"""Maximum number of polishing rounds. Each round estimates the active rows from the last point."""
MAX_UNREPAIRED_RESIDUAL = 1e-9
"""Dual residuals up to this value are not repaired."""
MAX_REPAIRED_FRACTION = 0.1
"""A repair is used only if it leaves at most this fraction of the dual residual."""


@dataclass(frozen=True)
class PolishMethod:
    """A method of polishing a point."""

    factorise: FactoriseFunction
    """Function that factorises the KKT matrix."""
    is_equilibrated: bool
    """Whether rows and columns are scaled to similar size first; otherwise the units of the program are used."""


POLISH_METHODS = (
    PolishMethod(factorise_regularised, False),
    PolishMethod(factorise_least_squares, True),
    PolishMethod(factorise_least_squares, False),
)
"""Methods, in the order in which they are tried until a certificate holds. The first is fastest and usually enough."""


@dataclass(frozen=True)
class CandidatePoint:
    """Point of the evaluation form, and the values of all functions, of all rows and of the objective at the point."""

    point: PrimalDualPoint
    evaluation: PointEvaluation


def finite_candidate(
    form: EvaluationForm, spaces: Sequence[KernelSpace], point: PrimalDualPoint
) -> CandidatePoint | None:
    """Return a point of the program with its evaluation; None if it is not finite."""
    parts = (point.x, *point.coefficients, *([] if point.z is None else [point.z]))
    return _evaluate_candidate(form, spaces, point) if all(np.isfinite(part).all() for part in parts) else None


def recover_candidate(
    form: EvaluationForm, spaces: Sequence[KernelSpace], compiled: CompiledForm, answer: Answer
) -> CandidatePoint | None:
    """Return the point of the evaluation form that an answer has; None without a finite point of the right size."""
    if not _is_finite_of_size(answer.x, compiled.form.n):
        return None
    z = answer.z if _is_finite_of_size(answer.z, compiled.form.m) else None
    return _evaluate_candidate(form, spaces, compiled.recover(answer.x, z))


def _is_finite_of_size(values: Vector | None, size: int) -> TypeGuard[Vector]:
    """Return True if `values` is an array of this size without NaN and infinity."""
    return values is not None and values.size == size and bool(np.isfinite(values).all())


@dataclass(frozen=True)
class Certifier:
    """Certification of a solver's answers with all rows of the program, even lazy rows that the solver did not get."""

    lowering: Lowering
    form: EvaluationForm
    spaces: Sequence[KernelSpace]
    compiled: CompiledForm | None
    """Flat form of the answer; None if the point is not that of a flat form. It is then neither completed nor polished.
    """
    options: Options

    def certify_answer(self, answer: Answer, candidate: CandidatePoint) -> Outcome:
        """Return the outcome of an answer, with the certificate of its point `candidate`.

        For an integer program, the gap of the certificate is that to the bound in the answer. For other programs with
        the option `polish`, multipliers are repaired first (see `_repair_candidate`). If the certificate then does not
        hold and all cones are polyhedral, the point is polished, and replaced if a polished point is better.
        """
        tolerance = self.options.tolerance
        if self.form.integer.any():
            proof = certify_integer(
                self.form, candidate.point, candidate.evaluation, answer.bound, self._declared_residuals(candidate)
            )
            return Outcome.from_answer(self.form, answer, candidate.point, candidate.evaluation, proof, tolerance)
        candidate, proof = self._certify_completed(answer.x, candidate)
        before: Certificate | None = None
        if self.options.polish and candidate.point.z is not None:
            candidate, proof, before = self._repair_candidate(candidate, proof)
            compiled = self.compiled
            if compiled is not None and not proof.holds(tolerance) and not compiled.form.conic_blocks:
                candidate, proof, before = self._polish_candidate(compiled, answer, candidate, proof, before)
        outcome = Outcome.from_answer(self.form, answer, candidate.point, candidate.evaluation, proof, tolerance)
        return replace(outcome, polished=before, inertia=answer.inertia)

    def _certificate_of(self, candidate: CandidatePoint) -> Certificate:
        """Return the certificate of a point."""
        declared = self._declared_residuals(candidate)
        if not self.lowering.has_epigraphs:
            return certify(self.form, self.spaces, candidate.point, candidate.evaluation, declared)
        return certify_declared(self.lowering, self.form, self.spaces, candidate.point, candidate.evaluation, declared)

    def _declared_residuals(self, candidate: CandidatePoint) -> DeclaredResiduals:
        """Return the residuals of the declared constraints and objective at a point."""
        values = LeafValues(self.lowering, candidate.point, candidate.evaluation.function_values, self.spaces)
        return declared_residuals(self.lowering, values, candidate.evaluation.objective)

    def _certify_completed(self, x: Vector | None, candidate: CandidatePoint) -> tuple[CandidatePoint, Certificate]:
        """Return (point, certificate), where the point is `candidate` or its completion.

        The completion adds components of functions that the flat form omits (`CompiledForm.complete`). It is tried if
        the certificate of `candidate` does not hold, and used if its certificate is better. `x` is the solution of the
        flat form.
        """
        proof, tolerance = self._certificate_of(candidate), self.options.tolerance
        if x is None or self.compiled is None or proof.holds(tolerance):
            return candidate, proof
        whole = self.compiled.add_orthogonal_components(candidate.point, x)
        if whole is None:
            return candidate, proof
        other = _evaluate_candidate(self.form, self.spaces, whole)
        new = self._certificate_of(other)
        return (other, new) if _is_better_certificate(new, proof, tolerance) else (candidate, proof)

    def _repair_candidate(
        self, candidate: CandidatePoint, proof: Certificate
    ) -> tuple[CandidatePoint, Certificate, Certificate | None]:
        """Replace the multipliers by nearby ones with a much smaller dual residual, if there are any.

        Return (point, certificate, before): `before` is the certificate before the repair if that one did not hold and
        the new one does, otherwise None. The repaired multipliers are used even if their certificate is worse, because
        a bound from multipliers without a residual does not depend on the size of the optimum.
        """
        if proof.dual <= MAX_UNREPAIRED_RESIDUAL or candidate.point.z is None:
            return candidate, proof, None
        left = stationarity_residual(self.form, self.spaces, candidate.point, candidate.evaluation)
        z = repair_multipliers(self.form, candidate.evaluation.rows, candidate.point.z, left)
        if z is None:
            return candidate, proof, None
        other = replace(candidate, point=replace(candidate.point, z=z))
        new = self._certificate_of(other)
        if not new.dual <= MAX_REPAIRED_FRACTION * proof.dual:
            return candidate, proof, None
        mended = new.holds(self.options.tolerance) and not proof.holds(self.options.tolerance)
        return other, new, proof if mended else None

    def _polish_candidate(
        self,
        compiled: CompiledForm,
        answer: Answer,
        candidate: CandidatePoint,
        proof: Certificate,
        before: Certificate | None,
    ) -> tuple[CandidatePoint, Certificate, Certificate | None]:
        """Try the polishing methods, in the order of `POLISH_METHODS`, until the certificate holds.

        The arguments are the point, its certificate `proof`, and `before`, the certificate before an earlier
        improvement or None. Return the three after polishing, (point, certificate, before): if no polished point is
        better, they are unchanged; if one is, and `before` was None, `before` becomes the argument `proof`.
        """
        tolerance = self.options.tolerance
        units = None
        for method in POLISH_METHODS:
            if answer.x is None or answer.z is None or proof.holds(tolerance):
                break
            if method.is_equilibrated:
                units = units or equilibrate(compiled.form)
            chosen = units if method.is_equilibrated else None
            candidate, proof, before = self._polish_by(
                compiled, (answer.x, answer.z), method.factorise, chosen, candidate, proof, before
            )
        return candidate, proof, before

    def _polish_by(
        self,
        compiled: CompiledForm,
        start: tuple[Vector, Vector],
        factorise: FactoriseFunction,
        units: EquilibratedProgram | None,
        candidate: CandidatePoint,
        proof: Certificate,
        before: Certificate | None,
    ) -> tuple[CandidatePoint, Certificate, Certificate | None]:
        """Polish the point `start` = (x, z) of the flat form up to `MAX_POLISHES` times.

        Return (point, certificate, before) as `_polish_candidate` does. The system is solved in the equilibrated
        `units` if they are given, otherwise in the units of the program.
        """
        at = start if units is None else units.to_scaled(*start)
        for _ in range(MAX_POLISHES):
            at = polish(compiled.form if units is None else units.form, *at, factorise)
            x, z = at if units is None else units.to_original(*at)
            # The certificate allows small violations; a polish must not gain from them.
            x = np.clip(x, compiled.form.lower, compiled.form.upper)
            moved = _evaluate_candidate(self.form, self.spaces, compiled.recover(x, z))
            if not np.isfinite(moved.evaluation.objective):
                break  # numbers so large that their products overflow
            better, new = self._certify_completed(x, moved)
            better, new, _ = self._repair_candidate(better, new)
            if _is_better_certificate(new, proof, self.options.tolerance):
                candidate, proof, before = better, new, before or proof
            if proof.holds(self.options.tolerance):
                break
        return candidate, proof, before


def _evaluate_candidate(form: EvaluationForm, spaces: Sequence[KernelSpace], point: PrimalDualPoint) -> CandidatePoint:
    """Return the point with the values of all functions, all rows and the objective of the evaluation form."""
    return CandidatePoint(point, evaluate(form, spaces, point))


def _is_better_certificate(new: Certificate, old: Certificate, tolerance: float) -> bool:
    """Return True if the largest new residual is smaller and the new point is feasible or the old one is not."""
    return new.worst < old.worst and (new.primal <= tolerance or old.primal > tolerance)
