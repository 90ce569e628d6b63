"""From a solver's answer to a proved outcome: recover, certify on the whole program, polish where that is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np

from milopt.compilation.compiled import Compiled, Point
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.quadratic import Vector
from milopt.outcome.certificate import Certificate, Evaluated, certify, certify_integer, evaluate
from milopt.outcome.outcome import Outcome
from milopt.outcome.polish import polish
from milopt.solving.engine import Answer
from milopt.solving.options import Options

POLISHES = 3
"""Each polish guesses the active rows from the last one's point."""


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


def proved(
    form: EvaluationForm,
    spaces: Sequence[KernelSpace],
    compiled: Compiled,
    answer: Answer,
    found: Candidate,
    options: Options,
) -> Outcome:
    """The outcome with its certificate; polished when that is wanted, needed and better."""
    if form.integer.any():
        proof = certify_integer(form, found.point, found.worth, answer.bound)
        return Outcome.judged(form, answer, found.point, found.worth, proof, options.tolerance)
    found, proof = _certified(form, spaces, compiled, answer.x, found, options.tolerance)
    before: Certificate | None = None
    wanted = options.polish and found.point.z is not None and not proof.holds(options.tolerance)
    if wanted and not compiled.form.second_order:
        found, proof, before = _polished(form, spaces, compiled, answer, found, proof, options.tolerance)
    outcome = Outcome.judged(form, answer, found.point, found.worth, proof, options.tolerance)
    return replace(outcome, polished=before, inertia=answer.inertia)


def _worth(form: EvaluationForm, spaces: Sequence[KernelSpace], point: Point) -> Candidate:
    return Candidate(point, evaluate(form, spaces, point))


def _certified(
    form: EvaluationForm,
    spaces: Sequence[KernelSpace],
    compiled: Compiled,
    x: Vector | None,
    found: Candidate,
    tolerance: float,
) -> tuple[Candidate, Certificate]:
    """The point with its certificate; completed where that is needed and better."""
    proof = certify(form, spaces, found.point, found.worth)
    whole = None if x is None or proof.holds(tolerance) else compiled.completed(found.point, x)
    if whole is None:
        return found, proof
    other = _worth(form, spaces, whole)
    new = certify(form, spaces, other.point, other.worth)
    return (other, new) if _is_better(new, proof, tolerance) else (found, proof)


def _is_better(new: Certificate, old: Certificate, tolerance: float) -> bool:
    """Nearer to a proof, and no longer outside the constraints than before."""
    return new.worst < old.worst and (new.primal <= tolerance or old.primal > tolerance)


def _polished(
    form: EvaluationForm,
    spaces: Sequence[KernelSpace],
    compiled: Compiled,
    answer: Answer,
    found: Candidate,
    proof: Certificate,
    tolerance: float,
) -> tuple[Candidate, Certificate, Certificate | None]:
    """(point, its certificate, the certificate before if something better was found)."""
    x, z = answer.x, answer.z
    before: Certificate | None = None
    for _ in range(POLISHES):
        if x is None or z is None or proof.holds(tolerance):
            break
        x, z = polish(compiled.form, x, z)
        point = compiled.recover(x, z)
        better, new = _certified(form, spaces, compiled, x, _worth(form, spaces, point), tolerance)
        if _is_better(new, proof, tolerance):
            found, proof, before = better, new, before or proof
    return found, proof, before
