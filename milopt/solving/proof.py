"""From a solver's answer to a proved outcome: recover, certify on the whole program, polish where that is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.compiled import Compiled, Point
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.outcome.certificate import (
    Certificate,
    DeclaredResiduals,
    Evaluated,
    certify,
    certify_integer,
    evaluate,
    remainder,
)
from milopt.outcome.declared import declared_residuals
from milopt.outcome.declared_proof import certify_declared
from milopt.outcome.dual_repair import repaired
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import LeafValues
from milopt.outcome.polish import Equilibrated, Factorisation, equilibrated, least_squares, polish, regularised
from milopt.solving.options import Options

MAX_POLISHES = 3
"""Each polish guesses the active rows from the last one's point."""
LARGEST_UNREPAIRED_RESIDUAL = 1e-9
"""Dual residuals up to this are left as they are."""
LARGEST_REPAIRED_SHARE = 0.1
"""Share of the dual residual that a repair must leave at most to count."""


@dataclass(frozen=True)
class PolishingWay:
    """How a point is polished."""

    by: Factorisation
    is_equilibrated: bool
    """Whether in equilibrated units, instead of those of the program."""


WAYS = (PolishingWay(regularised, False), PolishingWay(least_squares, True), PolishingWay(least_squares, False))
"""Tried in this order until a certificate holds: the first is fastest, and mends most points."""


@dataclass(frozen=True)
class Candidate:
    """A point that a solver gave, and what it is worth in the whole program."""

    point: Point
    worth: Evaluated


def candidate(
    form: EvaluationForm, spaces: Sequence[KernelSpace], compiled: Compiled, answer: Answer
) -> Candidate | None:
    """The answer's point in the program's own terms; None without a finite one of the right size."""
    if not _is_whole(answer.x, compiled.form.n):
        return None
    z = answer.z if _is_whole(answer.z, compiled.form.m) else None
    return _worth(form, spaces, compiled.recover(answer.x, z))


def _is_whole(values: Vector | None, size: int) -> TypeGuard[Vector]:
    return values is not None and values.size == size and bool(np.isfinite(values).all())


@dataclass(frozen=True)
class Prover:
    """Proves answers of a solver on the whole program."""

    lowering: Lowering
    form: EvaluationForm
    spaces: Sequence[KernelSpace]
    compiled: Compiled
    options: Options

    def proved(self, answer: Answer, found: Candidate) -> Outcome:
        """Return the outcome with its certificate; the point is polished if that is wanted, needed and better."""
        tolerance = self.options.tolerance
        if self.form.integer.any():
            proof = certify_integer(self.form, found.point, found.worth, answer.bound, self._declared(found))
            return Outcome.judged(self.form, answer, found.point, found.worth, proof, tolerance)
        found, proof = self._certified(answer.x, found)
        before: Certificate | None = None
        if self.options.polish and found.point.z is not None:
            found, proof, before = self._repaired(found, proof)
            if not proof.holds(tolerance) and not self.compiled.form.conic:
                found, proof, before = self._polished(answer, found, proof, before)
        outcome = Outcome.judged(self.form, answer, found.point, found.worth, proof, tolerance)
        return replace(outcome, polished=before, inertia=answer.inertia)

    def _certificate(self, found: Candidate) -> Certificate:
        declared = self._declared(found)
        if not self.lowering.has_epigraphs:
            return certify(self.form, self.spaces, found.point, found.worth, declared)
        return certify_declared(self.lowering, self.form, self.spaces, found.point, found.worth, declared)

    def _declared(self, found: Candidate) -> DeclaredResiduals:
        values = LeafValues(self.lowering, found.point, found.worth.evaluations)
        return declared_residuals(self.lowering, values, found.worth.objective)

    def _certified(self, x: Vector | None, found: Candidate) -> tuple[Candidate, Certificate]:
        """Return the point with its certificate; the point is completed if that is needed and better."""
        proof, tolerance = self._certificate(found), self.options.tolerance
        whole = None if x is None or proof.holds(tolerance) else self.compiled.completed(found.point, x)
        if whole is None:
            return found, proof
        other = _worth(self.form, self.spaces, whole)
        new = self._certificate(other)
        return (other, new) if _is_better(new, proof, tolerance) else (found, proof)

    def _repaired(self, found: Candidate, proof: Certificate) -> tuple[Candidate, Certificate, Certificate | None]:
        """Give the point multipliers without a dual residual, if there are such near by.

        The bound that they prove does not depend on the size of the optimum, so it counts even if it is the worse one.
        Return also the certificate before, if it did not hold.
        """
        if proof.dual <= LARGEST_UNREPAIRED_RESIDUAL or found.point.z is None:
            return found, proof, None
        left = remainder(self.form, self.spaces, found.point, found.worth)
        z = repaired(self.form, found.worth.rows, found.point.z, left)
        if z is None:
            return found, proof, None
        other = replace(found, point=replace(found.point, z=z))
        new = self._certificate(other)
        if not new.dual <= LARGEST_REPAIRED_SHARE * proof.dual:
            return found, proof, None
        mended = new.holds(self.options.tolerance) and not proof.holds(self.options.tolerance)
        return other, new, proof if mended else None

    def _polished(
        self, answer: Answer, found: Candidate, proof: Certificate, before: Certificate | None
    ) -> tuple[Candidate, Certificate, Certificate | None]:
        """Return the point, its certificate, and the certificate before if something better was found."""
        tolerance = self.options.tolerance
        units = None
        for way in WAYS:
            if answer.x is None or answer.z is None or proof.holds(tolerance):
                break
            if way.is_equilibrated:
                units = units or equilibrated(self.compiled.form)
            chosen = units if way.is_equilibrated else None
            found, proof, before = self._polished_from((answer.x, answer.z), way.by, chosen, found, proof, before)
        return found, proof, before

    def _polished_from(
        self,
        start: tuple[Vector, Vector],
        by: Factorisation,
        units: Equilibrated | None,
        found: Candidate,
        proof: Certificate,
        before: Certificate | None,
    ) -> tuple[Candidate, Certificate, Certificate | None]:
        """Polish a few times, in the given units or in those of the program."""
        at = start if units is None else units.inwards(*start)
        for _ in range(MAX_POLISHES):
            at = polish(self.compiled.form if units is None else units.form, *at, by)
            x, z = at if units is None else units.outwards(*at)
            # The certificate allows small violations; a polish must not gain from them.
            x = np.clip(x, self.compiled.form.lower, self.compiled.form.upper)
            moved = _worth(self.form, self.spaces, self.compiled.recover(x, z))
            if not np.isfinite(moved.worth.objective):
                break  # numbers so large that their products overflow
            better, new = self._certified(x, moved)
            better, new, _ = self._repaired(better, new)
            if _is_better(new, proof, self.options.tolerance):
                found, proof, before = better, new, before or proof
            if proof.holds(self.options.tolerance):
                break
        return found, proof, before


def _worth(form: EvaluationForm, spaces: Sequence[KernelSpace], point: Point) -> Candidate:
    return Candidate(point, evaluate(form, spaces, point))


def _is_better(new: Certificate, old: Certificate, tolerance: float) -> bool:
    """Return True if a certificate is nearer to a proof; a feasible point is never replaced by an infeasible one."""
    return new.worst < old.worst and (new.primal <= tolerance or old.primal > tolerance)
