"""Ends of a solver that milopt must prove: that a program is infeasible or unbounded.

A claim counts only if milopt finds a proof in the flat form (`diagnosis`) and the declared program bears it out
(`outcome.claims`). Programs on which a solver stalls far from an optimum are examined too.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from milopt.compilation.compiled import Compiled
from milopt.compilation.status import Termination
from milopt.outcome.claims import contradiction, falling_ray
from milopt.outcome.outcome import Outcome
from milopt.solving.clock import Clock
from milopt.solving.diagnosis import Diagnosis, diagnose
from milopt.solving.live_form import LiveForm
from milopt.solving.solver import Solver

CLAIMS = (Termination.INFEASIBLE, Termination.UNBOUNDED)
"""Ends of a solver that milopt must prove."""
STALLED_RESIDUAL = 1e-4
"""Largest residual of a point from which on a solver that stalls may have met an infeasible or unbounded program."""
MIN_DIAGNOSIS_SECONDS = 1.0
"""For the confirmation that a program is infeasible or unbounded, if the time is almost up."""


def needs_check(outcome: Outcome) -> bool:
    """Return True if a program may be infeasible or unbounded: a solver says so, or its point is far from optimal."""
    if outcome.termination in CLAIMS:
        return True
    if outcome.termination not in (Termination.STALLED, Termination.ERROR):
        return False
    return outcome.point is None or STALLED_RESIDUAL < largest_residual(outcome) < math.inf


def largest_residual(outcome: Outcome) -> float:
    """Return the largest residual of the point of an outcome; infinity without a point."""
    return math.inf if outcome.point is None or outcome.certificate is None else outcome.certificate.worst


def checked(outcome: Outcome, live: LiveForm, solver: Solver, clock: Clock) -> Outcome:
    """Return the outcome, or that the program is infeasible or unbounded if milopt proves it."""
    compiled = live.coordinates() if live.uses_dual else live.compiled
    is_claim = outcome.termination in CLAIMS
    within = clock.extended(MIN_DIAGNOSIS_SECONDS) if is_claim and not clock.interrupted else clock
    diagnosis = diagnose(compiled.form, solver, live.options, within, has_all_rows=not live.rows.lazy)
    clock.interrupted |= within.interrupted
    if diagnosis.proved is not None:
        proved = _confirmed(diagnosis, live, compiled, outcome.raw_status)
        if proved is not None:
            return proved
        message = f"{diagnosis.proved} by the rows that atoms became, but not by the declared program"
        diagnosis = Diagnosis(None, message)
    if not is_claim:
        return outcome
    if clock.is_over():
        message = f"{clock.why()} before the solver's claim ({outcome.raw_status}) was checked."
        return Outcome.without_point(live.form, Termination.LIMIT, outcome.raw_status, message)
    message = f"The solver said {outcome.raw_status!r}, but this is not confirmed: {diagnosis.message}."
    return Outcome.without_point(live.form, Termination.STALLED, outcome.raw_status, message)


def _confirmed(diagnosis: Diagnosis, live: LiveForm, compiled: Compiled, raw_status: str) -> Outcome | None:
    """Return the outcome with its proof; None if the declared program does not bear out the proof of the flat form."""
    assert diagnosis.proved is not None
    outcome = Outcome.without_point(live.form, diagnosis.proved, raw_status, diagnosis.message)
    if diagnosis.farkas is not None:
        farkas = compiled.recover(np.zeros(compiled.form.n), diagnosis.farkas)
        found = contradiction(live.lowering, live.form, live.spaces, farkas)
        return None if found is None else replace(outcome, contradiction=found)
    if diagnosis.feasible is not None and diagnosis.ray is not None:
        ray = falling_ray(live.lowering, live.spaces, compiled, diagnosis.feasible, diagnosis.ray)
        return None if ray is None else replace(outcome, ray=compiled.recover(ray, None))
    return outcome
