"""From the answer of a solver to a certified outcome: recover the point, certify it, and polish it if necessary."""

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
    Factorisation,
    equilibrate,
    factorise_least_squares,
    factorise_regularised,
    polish,
)
from milopt.solving.options import Options

MAX_POLISHES = 3
"""Maximum number of polishing rounds. Each round estimates the active rows from the last point."""
LARGEST_UNREPAIRED_RESIDUAL = 1e-9
"""Dual residuals up to this value are not repaired."""
MAX_REPAIRED_FRACTION = 0.1
"""A repair is used only if it leaves at most this fraction of the dual residual."""


@dataclass(frozen=True)
class PolishMethod:
    """A method of polishing a point."""

    by: Factorisation
    """Factorisation of the KKT matrix."""
    is_equilibrated: bool
    """Whether rows and columns are equilibrated first, instead of using the units of the program."""


POLISH_METHODS = (
    PolishMethod(factorise_regularised, False),
    PolishMethod(factorise_least_squares, True),
    PolishMethod(factorise_least_squares, False),
)
"""Methods, in the order in which they are tried until a certificate holds. The first is fastest and usually enough."""


@dataclass(frozen=True)
class CandidatePoint:
    """A point returned by a solver, and its evaluation in the whole program."""

    point: PrimalDualPoint
    evaluation: PointEvaluation


def recover_candidate(
    form: EvaluationForm, spaces: Sequence[KernelSpace], compiled: CompiledForm, answer: Answer
) -> CandidatePoint | None:
    """Return the point of the program behind an answer; None if the answer has no finite point of the right size."""
    if not _is_finite_of_size(answer.x, compiled.form.n):
        return None
    z = answer.z if _is_finite_of_size(answer.z, compiled.form.m) else None
    return _evaluate(form, spaces, compiled.recover(answer.x, z))


def _is_finite_of_size(values: Vector | None, size: int) -> TypeGuard[Vector]:
    """Return True if `values` is an array of this size without NaN and infinity."""
    return values is not None and values.size == size and bool(np.isfinite(values).all())


@dataclass(frozen=True)
class Prover:
    """Certification of a solver's answers on the whole program."""

    lowering: Lowering
    form: EvaluationForm
    spaces: Sequence[KernelSpace]
    compiled: CompiledForm
    options: Options

    def prove(self, answer: Answer, candidate: CandidatePoint) -> Outcome:
        """Return the outcome of an answer with its certificate; the certificate of an integer program uses its bound.

        With the option `polish`, multipliers are repaired first (see `_repair`). If the certificate does not hold and
        all cones are polyhedral, the point is then polished, and replaced if that gives a better one.
        """
        tolerance = self.options.tolerance
        if self.form.integer.any():
            proof = certify_integer(
                self.form, candidate.point, candidate.evaluation, answer.bound, self._declared(candidate)
            )
            return Outcome.from_answer(self.form, answer, candidate.point, candidate.evaluation, proof, tolerance)
        candidate, proof = self._certify(answer.x, candidate)
        before: Certificate | None = None
        if self.options.polish and candidate.point.z is not None:
            candidate, proof, before = self._repair(candidate, proof)
            if not proof.holds(tolerance) and not self.compiled.form.conic:
                candidate, proof, before = self._polish(answer, candidate, proof, before)
        outcome = Outcome.from_answer(self.form, answer, candidate.point, candidate.evaluation, proof, tolerance)
        return replace(outcome, polished=before, inertia=answer.inertia)

    def _certificate(self, candidate: CandidatePoint) -> Certificate:
        """Return the certificate of a point."""
        declared = self._declared(candidate)
        if not self.lowering.has_epigraphs:
            return certify(self.form, self.spaces, candidate.point, candidate.evaluation, declared)
        return certify_declared(self.lowering, self.form, self.spaces, candidate.point, candidate.evaluation, declared)

    def _declared(self, candidate: CandidatePoint) -> DeclaredResiduals:
        """Return the residuals of the declared constraints and objective at a point."""
        values = LeafValues(self.lowering, candidate.point, candidate.evaluation.function_values, self.spaces)
        return declared_residuals(self.lowering, values, candidate.evaluation.objective)

    def _certify(self, x: Vector | None, candidate: CandidatePoint) -> tuple[CandidatePoint, Certificate]:
        """Return the point with its certificate.

        If the certificate does not hold, components of functions that the flat form omits are added to the point
        (`CompiledForm.complete`), provided that this improves the certificate. `x` is the solution of the flat form.
        """
        proof, tolerance = self._certificate(candidate), self.options.tolerance
        whole = None if x is None or proof.holds(tolerance) else self.compiled.complete(candidate.point, x)
        if whole is None:
            return candidate, proof
        other = _evaluate(self.form, self.spaces, whole)
        new = self._certificate(other)
        return (other, new) if _is_better(new, proof, tolerance) else (candidate, proof)

    def _repair(
        self, candidate: CandidatePoint, proof: Certificate
    ) -> tuple[CandidatePoint, Certificate, Certificate | None]:
        """Replace the multipliers by nearby ones without a dual residual, if there are any.

        The bound that such multipliers prove does not depend on the size of the optimum, so they are preferred even if
        their certificate is worse. Return also the certificate before the repair if it did not hold and the new one
        does, otherwise None.
        """
        if proof.dual <= LARGEST_UNREPAIRED_RESIDUAL or candidate.point.z is None:
            return candidate, proof, None
        left = stationarity_residual(self.form, self.spaces, candidate.point, candidate.evaluation)
        z = repair_multipliers(self.form, candidate.evaluation.rows, candidate.point.z, left)
        if z is None:
            return candidate, proof, None
        other = replace(candidate, point=replace(candidate.point, z=z))
        new = self._certificate(other)
        if not new.dual <= MAX_REPAIRED_FRACTION * proof.dual:
            return candidate, proof, None
        mended = new.holds(self.options.tolerance) and not proof.holds(self.options.tolerance)
        return other, new, proof if mended else None

    def _polish(
        self, answer: Answer, candidate: CandidatePoint, proof: Certificate, before: Certificate | None
    ) -> tuple[CandidatePoint, Certificate, Certificate | None]:
        """Try the polishing methods until the certificate holds.

        Return the best point, its certificate, and the certificate before polishing. The last is `before`, or, if that
        is None and a better point was found, `proof`.
        """
        tolerance = self.options.tolerance
        units = None
        for method in POLISH_METHODS:
            if answer.x is None or answer.z is None or proof.holds(tolerance):
                break
            if method.is_equilibrated:
                units = units or equilibrate(self.compiled.form)
            chosen = units if method.is_equilibrated else None
            candidate, proof, before = self._polish_from(
                (answer.x, answer.z), method.by, chosen, candidate, proof, before
            )
        return candidate, proof, before

    def _polish_from(
        self,
        start: tuple[Vector, Vector],
        by: Factorisation,
        units: EquilibratedProgram | None,
        candidate: CandidatePoint,
        proof: Certificate,
        before: Certificate | None,
    ) -> tuple[CandidatePoint, Certificate, Certificate | None]:
        """Polish the point `start` = (x, z) of the flat form a few times, and return the same three as `_polish`.

        The units are the equilibrated `units` if they are given, otherwise those of the program.
        """
        at = start if units is None else units.to_scaled(*start)
        for _ in range(MAX_POLISHES):
            at = polish(self.compiled.form if units is None else units.form, *at, by)
            x, z = at if units is None else units.to_original(*at)
            # The certificate allows small violations; a polish must not gain from them.
            x = np.clip(x, self.compiled.form.lower, self.compiled.form.upper)
            moved = _evaluate(self.form, self.spaces, self.compiled.recover(x, z))
            if not np.isfinite(moved.evaluation.objective):
                break  # numbers so large that their products overflow
            better, new = self._certify(x, moved)
            better, new, _ = self._repair(better, new)
            if _is_better(new, proof, self.options.tolerance):
                candidate, proof, before = better, new, before or proof
            if proof.holds(self.options.tolerance):
                break
        return candidate, proof, before


def _evaluate(form: EvaluationForm, spaces: Sequence[KernelSpace], point: PrimalDualPoint) -> CandidatePoint:
    """Evaluate a point in the whole program."""
    return CandidatePoint(point, evaluate(form, spaces, point))


def _is_better(new: Certificate, old: Certificate, tolerance: float) -> bool:
    """Return True if the largest new residual is smaller and the new point is feasible or the old one is not."""
    return new.worst < old.worst and (new.primal <= tolerance or old.primal > tolerance)
