"""Whether a flat program is infeasible or unbounded, decided by vectors that milopt checks itself.

    infeasible:  a Farkas vector, the multipliers of the elastic relaxation (`compilation.relaxation`); for an integer
                 program also the proved bound of a mixed-integer search over the relaxation
    unbounded:   a feasible point, and a direction along which the objective falls without limit
                 (`compilation.recession`)

A claim of a solver is never believed without them. Any installed solver may find the vectors, because none is trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.recession import Recession
from milopt.compilation.relaxation import Relaxation
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.errors import SolverError
from milopt.solving import registry
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.refusal import refusal
from milopt.solving.solver import Solver
from milopt.solving.solver_failure import solver_errors

FINDERS = ("highs", "clarabel", "native", "ecos")
"""Solvers that look for the vectors, in this order; the solver whose claim is checked does if none of them can."""
FINDER_TOLERANCE = 1e-8
INTEGER_MARGIN = 1e-6
"""Smallest proved relaxation, in scaled units, from which on an integer program counts as infeasible."""
NEGLIGIBLE_FALL = 1e-9
"""Fall of the scaled objective over all directions up to which there is no direction of descent."""
SMALLEST_RAY_ENTRY = 1e-6
"""Share of the largest entry of a direction from which on a block is named."""


@dataclass(frozen=True)
class Diagnosis:
    """INFEASIBLE or UNBOUNDED if that is proved, otherwise None; and a sentence about what was found."""

    proved: Termination | None
    message: str
    farkas: Vector | None = None
    """Multipliers of the rows that prove infeasibility; None if something else does."""
    feasible: Vector | None = None
    """A feasible point, if the program is unbounded."""
    ray: Vector | None = None
    """A direction along which the objective falls without limit."""


@dataclass(frozen=True)
class _Verdict:
    """Whether there is a feasible point: a sentence if there is none, None if that is not known."""

    infeasible: str | None
    farkas: Vector | None = None
    feasible: Vector | None = None


def diagnose(form: StandardForm, solver: Solver, options: Options, clock: Clock, *, has_all_rows: bool) -> Diagnosis:
    """Decide whether a program is infeasible or, if `form` has all its rows, unbounded."""
    empty = _empty_columns(form)
    if empty:
        return Diagnosis(Termination.INFEASIBLE, empty)
    finders = _Finders(solver, replace(options, extra={}, verbose=False, tolerance=FINDER_TOLERANCE), clock)
    verdict = _infeasibility(form, finders)
    if verdict.infeasible is None:
        return Diagnosis(None, "neither a feasible point nor a proof that there is none was found")
    if verdict.infeasible:
        return Diagnosis(Termination.INFEASIBLE, verdict.infeasible, farkas=verdict.farkas)
    ray = _ray(form, finders) if has_all_rows else None
    if ray is None:
        return Diagnosis(
            None, "a point satisfies all constraints, and no direction was found in which the objective falls"
        )
    size = float(np.abs(ray).max())
    names = [b.name for b in form.columns if np.abs(ray[b.start : b.stop]).max(initial=0.0) > SMALLEST_RAY_ENTRY * size]
    runaways = ", ".join(repr(name) for name in names)
    message = f"The objective falls without limit along {runaways}; bound or penalise them."
    return Diagnosis(Termination.UNBOUNDED, message, feasible=verdict.feasible, ray=ray)


class _Finders:
    """The solvers that may find a vector, within the time that is left."""

    def __init__(self, solver: Solver, options: Options, clock: Clock) -> None:
        known = {one.name: one for one in registry.plain_solvers()}
        self._finders = [known[name] for name in FINDERS if name in known]
        self._solver = solver
        self._options, self._clock = options, clock

    def answers(self, form: StandardForm) -> Iterator[Answer]:
        """One answer after the other, until the caller is content or the time is up."""
        able = [finder for finder in self._finders if refusal(finder, form) is None]
        if not able and refusal(self._solver, form) is None:
            able = [self._solver]
        for solver in able:
            if self._clock.is_over():
                return
            try:
                with solver_errors(solver.name), closing(solver.engine(form, self._options)) as engine:
                    answer = engine.solve(self._clock.left())
            except SolverError:
                continue  # A solver that fails has found no vector; the next one may.
            self._clock.interrupted |= answer.interrupted
            yield answer


def _infeasibility(form: StandardForm, finders: _Finders) -> _Verdict:
    """Return why no point is feasible, with a Farkas vector, or a feasible point."""
    relaxation = Relaxation(replace(form, integer=np.zeros(form.n, dtype=bool)))
    point: Vector | None = None
    for answer in finders.answers(relaxation.form):
        if answer.z is not None and relaxation.is_infeasible(answer.z):
            return _Verdict(_blame(relaxation, answer.x), farkas=relaxation.multipliers(answer.z))
        if answer.x is not None and relaxation.is_feasible(answer.x):
            point = relaxation.point(answer.x)
            break
    if point is None or not form.integer.any():
        return _Verdict(None if point is None else "", feasible=point)
    return _Verdict(_integer_infeasibility(form, finders))


def _integer_infeasibility(form: StandardForm, finders: _Finders) -> str | None:
    """The same for integers. A bound cannot be checked, so a search for a point must have failed as well."""
    relaxation = Relaxation(form)
    for answer in finders.answers(relaxation.rigid_form):
        if relaxation.is_feasible(answer.x):
            return ""
    for answer in finders.answers(relaxation.form):
        if relaxation.is_feasible(answer.x):
            return ""
        if answer.bound is not None and answer.bound > INTEGER_MARGIN:
            return _blame(relaxation, answer.x)
    return None


def _blame(relaxation: Relaxation, x: Vector | None) -> str:
    blamed = relaxation.blamed(x)
    cheapest = f"; the cheapest relaxation violates {blamed}" if blamed else ""
    return f"No point satisfies all constraints{cheapest}."


def _ray(form: StandardForm, finders: _Finders) -> Vector | None:
    recession = Recession(form)
    for answer in finders.answers(recession.form):
        ray = recession.ray(answer.x)
        if ray is not None:
            return ray
        lowest = -np.inf if answer.x is None else recession.form.value(answer.x)
        if answer.termination is Termination.OPTIMAL and lowest > -NEGLIGIBLE_FALL:
            return None
    return None


def _empty_columns(form: StandardForm) -> str:
    """A sentence that names the columns without a value between their bounds; empty if there are none."""
    lower = np.where(form.integer, np.ceil(form.lower), form.lower)
    upper = np.where(form.integer, np.floor(form.upper), form.upper)
    empty = (lower > upper) | (lower == np.inf) | (upper == -np.inf)
    if not empty.any():
        return ""
    names = [block.name for block in form.columns if empty[block.start : block.stop].any()]
    what = "integer" if (empty & form.integer).any() else "value"
    return f"No {what} lies between the bounds of {', '.join(repr(name) for name in names)}."
