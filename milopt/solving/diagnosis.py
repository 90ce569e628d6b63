"""Decide whether a flat program is infeasible or unbounded, by vectors that milopt checks itself.

    infeasible:  a Farkas vector, the multipliers of the elastic relaxation (`compilation.elastic_relaxation`); for an
                 integer program also the proved bound of a mixed-integer search over the relaxation
    unbounded:   a feasible point, and a direction along which the objective decreases without limit
                 (`compilation.recession`)

A claim of a solver is never accepted without such vectors. Any installed solver may compute them, because they are
checked afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.elastic_relaxation import ElasticRelaxation
from milopt.compilation.recession import RecessionProgram
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.errors import SolverError
from milopt.solving import registry
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.solver_failure import wrap_solver_errors
from milopt.solving.solver_support import unsupported_reason

PROOF_SOLVERS = ("highs", "clarabel", "native", "ecos")
"""Solvers that compute the vectors, in this order. If none of them can, the solver that made the claim is used."""
PROOF_TOLERANCE = 1e-8
"""Tolerance of the solves that compute the vectors."""
INTEGER_MARGIN = 1e-6
"""An integer program counts as infeasible if the proved bound of its scaled relaxation is larger than this."""
MAX_NEGLIGIBLE_DECREASE = 1e-9
"""If no direction decreases the scaled objective by more than this, there is no direction of descent."""
SMALLEST_RAY_ENTRY = 1e-6
"""A block is named in the message if an entry of the ray exceeds this fraction of the largest entry."""


@dataclass(frozen=True)
class Diagnosis:
    """Result of a diagnosis: a proof that the program is infeasible or unbounded, if there is one, and a message."""

    proved: Termination | None
    """INFEASIBLE or UNBOUNDED if that is proved, otherwise None."""
    message: str
    farkas: Vector | None = None
    """Multipliers of the rows that prove infeasibility; None if there is another proof."""
    feasible: Vector | None = None
    """A feasible point, if the program is unbounded."""
    ray: Vector | None = None
    """A direction along which the objective decreases without limit."""


@dataclass(frozen=True)
class _FeasibilityVerdict:
    """Verdict on whether a program has a feasible point."""

    infeasible: str | None
    """Message if the program is infeasible, empty if it has a feasible point, None if neither is known."""
    farkas: Vector | None = None
    feasible: Vector | None = None


def diagnose(form: StandardForm, solver: Solver, options: Options, clock: Clock, *, has_all_rows: bool) -> Diagnosis:
    """Decide whether a program is infeasible or unbounded; `Diagnosis.proved` is None if neither is proved.

    `has_all_rows`: whether `form` has all rows of the program; otherwise it is not examined for a ray. `solver` is used
    only if no installed solver of `PROOF_SOLVERS` supports the form.
    """
    empty = _empty_columns_message(form)
    if empty:
        return Diagnosis(Termination.INFEASIBLE, empty)
    proof_solvers = _ProofSolvers(solver, replace(options, extra={}, verbose=False, tolerance=PROOF_TOLERANCE), clock)
    verdict = _find_feasibility_verdict(form, proof_solvers)
    if verdict.infeasible is None:
        return Diagnosis(None, "neither a feasible point nor a proof that there is none was found")
    if verdict.infeasible:
        return Diagnosis(Termination.INFEASIBLE, verdict.infeasible, farkas=verdict.farkas)
    ray = _find_ray(form, proof_solvers) if has_all_rows else None
    if ray is None:
        return Diagnosis(
            None, "a point satisfies all constraints, and no direction was found in which the objective falls"
        )
    size = float(np.abs(ray).max())
    names = [b.name for b in form.columns if np.abs(ray[b.start : b.stop]).max(initial=0.0) > SMALLEST_RAY_ENTRY * size]
    runaways = ", ".join(repr(name) for name in names)
    message = f"The objective falls without limit along {runaways}; bound or penalise them."
    return Diagnosis(Termination.UNBOUNDED, message, feasible=verdict.feasible, ray=ray)


class _ProofSolvers:
    """Solvers that may compute a proof, within the time that is left."""

    def __init__(self, solver: Solver, options: Options, clock: Clock) -> None:
        installed = {solver.name: solver for solver in registry.installed_solvers()}
        self._preferred = [installed[name] for name in PROOF_SOLVERS if name in installed]
        self._solver = solver
        self._options, self._clock = options, clock

    def answers(self, form: StandardForm) -> Iterator[Answer]:
        """Yield the answers of the solvers to a form one by one, until the time is over.

        Solvers that do not support the form or raise an error are skipped.
        """
        able = [solver for solver in self._preferred if unsupported_reason(solver, form) is None]
        if not able and unsupported_reason(self._solver, form) is None:
            able = [self._solver]
        for solver in able:
            if self._clock.is_over():
                return
            try:
                with wrap_solver_errors(solver.name), closing(solver.engine(form, self._options)) as engine:
                    answer = engine.solve(self._clock.left())
            except SolverError:
                continue  # The next solver may find a vector.
            self._clock.interrupted |= answer.interrupted
            yield answer


def _find_feasibility_verdict(form: StandardForm, proof_solvers: _ProofSolvers) -> _FeasibilityVerdict:
    """Return a proof that the program is infeasible, or a feasible point (none for an integer program), or neither."""
    relaxation = ElasticRelaxation(replace(form, integer=np.zeros(form.n, dtype=bool)))
    point: Vector | None = None
    for answer in proof_solvers.answers(relaxation.form):
        if answer.z is not None and relaxation.proves_infeasibility(answer.z):
            return _FeasibilityVerdict(
                _infeasibility_message(relaxation, answer.x), farkas=relaxation.unscaled_multipliers(answer.z)
            )
        if answer.x is not None and relaxation.proves_feasibility(answer.x):
            point = relaxation.unscaled_point(answer.x)
            break
    if point is None or not form.integer.any():
        return _FeasibilityVerdict(None if point is None else "", feasible=point)
    return _FeasibilityVerdict(_find_integer_infeasibility(form, proof_solvers))


def _find_integer_infeasibility(form: StandardForm, proof_solvers: _ProofSolvers) -> str | None:
    """Return a message if an integer program is infeasible, "" if it is feasible, None if neither is known.

    A solver's bound cannot be checked. So infeasibility is reported only if a search for a feasible point failed too.
    """
    relaxation = ElasticRelaxation(form)
    for answer in proof_solvers.answers(relaxation.unrelaxed_form):
        if relaxation.proves_feasibility(answer.x):
            return ""
    for answer in proof_solvers.answers(relaxation.form):
        if relaxation.proves_feasibility(answer.x):
            return ""
        if answer.bound is not None and answer.bound > INTEGER_MARGIN:
            return _infeasibility_message(relaxation, answer.x)
    return None


def _infeasibility_message(relaxation: ElasticRelaxation, x: Vector | None) -> str:
    """Return a sentence that names the blocks which the cheapest relaxation violates."""
    blamed = relaxation.describe_violations(x)
    cheapest = f"; the cheapest relaxation violates {blamed}" if blamed else ""
    return f"No point satisfies all constraints{cheapest}."


def _find_ray(form: StandardForm, proof_solvers: _ProofSolvers) -> Vector | None:
    """Return a direction along which the objective decreases without limit; None if none was found."""
    recession = RecessionProgram(form)
    for answer in proof_solvers.answers(recession.form):
        ray = recession.verify_ray(answer.x)
        if ray is not None:
            return ray
        lowest = -np.inf if answer.x is None else recession.form.value(answer.x)
        if answer.termination is Termination.OPTIMAL and lowest > -MAX_NEGLIGIBLE_DECREASE:
            return None
    return None


def _empty_columns_message(form: StandardForm) -> str:
    """Return a sentence that names columns with no value between their bounds; empty if there are none."""
    lower = np.where(form.integer, np.ceil(form.lower), form.lower)
    upper = np.where(form.integer, np.floor(form.upper), form.upper)
    empty = (lower > upper) | (lower == np.inf) | (upper == -np.inf)
    if not empty.any():
        return ""
    names = [block.name for block in form.columns if empty[block.start : block.stop].any()]
    what = "integer" if (empty & form.integer).any() else "value"
    return f"No {what} lies between the bounds of {', '.join(repr(name) for name in names)}."
