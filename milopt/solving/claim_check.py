"""Check a solver's claim that a program is infeasible or unbounded.

A claim is accepted only if `diagnosis` finds a proof for the flat form (the vectors and matrices that the solver gets),
and the proof is also valid for the declared program (`outcome.claims`). There is one exception: the proof that an
integer program is infeasible may be the bound of a solver's search, which milopt cannot check. A program is examined
without a claim, too, if a solver stalls or fails on it far from an optimum.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from milopt.compilation.compiled_form import CompiledForm
from milopt.compilation.status import Termination
from milopt.outcome.claims import find_contradiction, find_decreasing_ray
from milopt.outcome.outcome import Outcome
from milopt.solving.clock import Clock
from milopt.solving.diagnosis import Diagnosis, diagnose
from milopt.solving.live_form import LiveForm
from milopt.solving.solver import Solver

CLAIMED_TERMINATIONS = (Termination.INFEASIBLE, Termination.UNBOUNDED)
"""Terminations that count as a claim of the solver, which milopt accepts only with a proof."""
MIN_EXAMINED_RESIDUAL = 1e-4
"""A stalled or failed solve is examined if its largest residual exceeds this: there may be no optimum."""
MIN_DIAGNOSIS_SECONDS = 1.0
"""Minimum number of seconds for checking a claim, even if the time limit has almost been reached."""


def needs_check(outcome: Outcome) -> bool:
    """Return True if the program may be infeasible or unbounded.

    That is the case if the solver claims it, or if the solver stalled or failed without a point or far from an optimum.
    """
    if outcome.termination in CLAIMED_TERMINATIONS:
        return True
    if outcome.termination not in (Termination.STALLED, Termination.ERROR):
        return False
    return outcome.point is None or MIN_EXAMINED_RESIDUAL < largest_residual(outcome) < math.inf


def largest_residual(outcome: Outcome) -> float:
    """Return the largest residual of the certificate; infinity if there is no point or no certificate."""
    return math.inf if outcome.point is None or outcome.certificate is None else outcome.certificate.worst


def check_claim(outcome: Outcome, live: LiveForm, solver: Solver, clock: Clock) -> Outcome:
    """Return the outcome "infeasible" or "unbounded" if that is proved (see the module docstring for the exception).

    An unproved claim becomes "stalled", or "limit" if the time is over. An outcome that makes no claim is returned
    unchanged if nothing is proved.
    """
    compiled = live.primal_form() if live.uses_dual else live.compiled
    is_claim = outcome.termination in CLAIMED_TERMINATIONS
    within = clock.with_at_least(MIN_DIAGNOSIS_SECONDS) if is_claim and not clock.interrupted else clock
    diagnosis = diagnose(compiled.form, solver, live.options, within, has_all_rows=not live.rows.is_lazy)
    clock.interrupted |= within.interrupted
    if diagnosis.proved is not None:
        proved = _confirm_for_declared_program(diagnosis, live, compiled, outcome.raw_status)
        if proved is not None:
            return proved
        message = f"{diagnosis.proved} according to the rows of the epigraphs, but not for the declared program"
        diagnosis = Diagnosis(None, message)
    if not is_claim:
        return outcome
    if clock.is_over():
        message = f"{clock.end_reason()} before the solver's claim ({outcome.raw_status}) was checked."
        return Outcome.without_point(live.form, Termination.LIMIT, outcome.raw_status, message)
    message = f"The solver reported {outcome.raw_status!r}, but this is not confirmed: {diagnosis.message}."
    return Outcome.without_point(live.form, Termination.STALLED, outcome.raw_status, message)


def _confirm_for_declared_program(
    diagnosis: Diagnosis, live: LiveForm, compiled: CompiledForm, raw_status: str
) -> Outcome | None:
    """Return the outcome of a proved diagnosis; None if its proof is not valid for the declared program.

    `compiled`: the flat form to which the vectors of the diagnosis belong. A proof without vectors, as by an integer
    search, is accepted as it is.
    """
    assert diagnosis.proved is not None
    outcome = Outcome.without_point(live.form, diagnosis.proved, raw_status, diagnosis.message)
    if diagnosis.farkas is not None:
        farkas = compiled.recover(np.zeros(compiled.form.n), diagnosis.farkas)
        proof = find_contradiction(live.lowering, live.form, live.spaces, farkas)
        return None if proof is None else replace(outcome, contradiction=proof)
    if diagnosis.feasible is not None and diagnosis.ray is not None:
        ray = find_decreasing_ray(live.lowering, live.spaces, compiled, diagnosis.feasible, diagnosis.ray)
        return None if ray is None else replace(outcome, ray=compiled.recover(ray, None))
    return outcome
