"""Steps of the convex-concave procedure in a session: minorants at the point, solve, repeat.

Each step solves a convex restriction that the last point satisfies, so the objective never increases, apart from
rounding. Ties between witnesses are broken by `witness_choice`; if its choice makes a step worse, the step is repeated
with the argmax of the values. A point at which the function vanishes (is constant on every bag) is accepted only after
a step from the witnesses of a ridge regression.

A point is stationary if the KKT residuals of the program, with the slopes of the atoms at the point, are within the
tolerance. If all atoms on their non-convex side are maxima, that is the case when the witnesses repeat, or when the old
witnesses still attain the maxima. With other atoms, the residuals are computed with the tangents at the point. A small
decrease of the objective alone proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milopt.compilation.minorant import Selections, StandIn, StandIns, one_hot_minorants
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import Atom, SelectionAtom
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Step
from milopt.schemes.scheme import Steps
from milopt.schemes.steps import TIE_TOLERANCE, StepTotals, count_differences
from milopt.schemes.witness_choice import WitnessChooser, WitnessSelection
from milopt.solving.clock import Clock
from milopt.solving.step_session import StepSession


@dataclass(frozen=True)
class DescentResult:
    """Last point of a descent, and how the descent ended."""

    last: Outcome
    """Outcome of the last certified step; of the failed step if no step was certified, or if it is unbounded."""
    chosen: Selections
    """Witnesses at the last point; empty without a point."""
    objective: float
    """Objective of the declared program at the point, with the true maxima; nan without a point."""
    history: tuple[Step, ...]
    ended: Termination
    message: str
    totals: StepTotals
    vanished: bool = False
    """Whether the function is constant on every bag to within its certified error."""


def descend(
    session: StepSession,
    atoms: Sequence[Atom],
    clock: Clock,
    max_steps: int,
    relative_decrease: float,
    totals: StepTotals | None = None,
    choice: WitnessChooser | None = None,
) -> Steps[DescentResult]:
    """Make steps from the session's minorants until the point is stationary, a step fails, or a limit is reached.

    `relative_decrease`: a decrease of the objective up to this fraction of 1 + its size counts as none. The descent
    then ends as stalled if the point is not stationary and, with atoms other than maxima, nothing improves any more.
    `atoms`: all atoms of the session's program on their non-convex side. `choice` chooses the witnesses of maxima; None
    chooses the first of the instances with the largest value. `totals`, if given, is changed in place.
    """
    program = session.program
    maxima = [atom for atom in atoms if isinstance(atom, SelectionAtom)]
    others = [atom for atom in atoms if not isinstance(atom, SelectionAtom)]
    sign = -1.0 if program.maximizes else 1.0
    history: list[Step] = []
    old: Selections | None = None
    chosen: WitnessSelection | None = None
    """Witnesses at the last certified step."""
    tangents: dict[Atom, StandIn] = {}
    """Minorants of other atoms at the last certified step."""
    returned = False
    """Whether a vanishing function was already left for the witnesses of the ridge regression."""
    least_residual = np.inf
    """Smallest KKT residual of a point at which the objective had settled."""
    last: Outcome | None = None
    ended, message = Termination.LIMIT, f"Stopped after {max_steps} steps."
    totals = totals or StepTotals()
    try:
        for _ in range(max_steps):
            outcome = session.solve(clock)
            totals.add(outcome)
            if chosen is not None and not chosen.is_chosen_by_values_alone and not clock.is_over():
                limit = np.inf if chosen.vanished else sign * history[-1].objective
                if _has_failed_or_risen(session, outcome, limit, relative_decrease):
                    old = chosen.plain
                    session.set_witnesses(one_hot_minorants(old) | tangents)
                    outcome = session.solve(clock)
                    totals.add(outcome)
            if outcome.point is None or outcome.status is not PointStatus.CERTIFIED:
                ended, message = outcome.termination, outcome.message
                if ended in (Termination.OPTIMAL, Termination.STATIONARY):
                    ended = Termination.STALLED
                if last is not None and ended is Termination.INFEASIBLE:
                    # The last point satisfies this step's rows up to rounding: the solver has reached its accuracy.
                    ended = Termination.STALLED
                if last is None or ended is Termination.UNBOUNDED:
                    last = outcome
                else:
                    why = clock.end_reason() if clock.is_over() else f"A step is not certified ({outcome.raw_status})"
                    message = f"{why}; the last certified step is kept."
                break
            last = outcome
            values = PointValues(session.lowering, outcome)
            chosen = (
                choice.choose(session, outcome)
                if choice is not None
                else WitnessSelection.choose_by_values(values, maxima)
            )
            new = chosen.witnesses
            changed = count_differences(new, old)
            tangents = {atom: values.tangent(atom) for atom in others}
            objective = values.objective()
            previous = history[-1].objective if history else np.inf * sign
            history.append(Step(objective, None, outcome.certificate, clock.elapsed(), changed))
            yield history[-1]
            fall = sign * (previous - objective)
            leaves = chosen.vanished and changed > 0 and not returned
            returned |= chosen.vanished
            settled = fall <= relative_decrease * (1.0 + abs(objective))
            if not leaves and not others and changed == 0:
                ended, message = Termination.STATIONARY, ""
                break
            if not leaves and (settled or (others and changed == 0)):
                attained = one_hot_minorants(_attaining_witnesses(values, old, new))
                residual = residual_with_minorants(session, outcome, attained | tangents)
                if residual <= session.options.tolerance:
                    ended, message = Termination.STATIONARY, ""
                    break
                # Near the end, the objective changes only by rounding errors while the tangents still change.
                goes_on = bool(others) and (fall > 0.0 or residual < least_residual)
                least_residual = min(least_residual, residual)
                if settled and not goes_on:
                    ended = Termination.STALLED
                    message = (
                        f"The objective no longer decreases, but the point is not stationary: residual {residual:.1e}."
                    )
                    break
            if clock.is_over():
                ended, message = Termination.LIMIT, f"{clock.end_reason()}; the last certified step is kept."
                break
            old = new
            session.set_witnesses(one_hot_minorants(new) | tangents)
    except KeyboardInterrupt:
        if last is None:
            raise
        clock.interrupted = True
        ended, message = Termination.LIMIT, f"{clock.end_reason()}; the last certified step is kept."
    assert last is not None
    if last.point is None:
        return DescentResult(last, {}, float("nan"), tuple(history), ended, message, totals)
    values = PointValues(session.lowering, last)
    if chosen is None:
        chosen = WitnessSelection.choose_by_values(values, maxima)
    objective = values.objective()
    return DescentResult(last, chosen.witnesses, objective, tuple(history), ended, message, totals, chosen.vanished)


def _attaining_witnesses(values: PointValues, old: Selections | None, new: Selections) -> Selections:
    """Return the old witness of each bag if it attains the maximum up to `TIE_TOLERANCE`, otherwise the new one."""
    if old is None:
        return new
    attaining: Selections = {}
    for atom, index in new.items():
        e = values.argument_values(atom)
        slack = TIE_TOLERANCE * (1.0 + float(np.abs(e).max(initial=0.0)))
        is_kept = (old[atom] >= 0) & (e[old[atom]] >= atom.segments.max(e) - slack)
        attaining[atom] = np.where(is_kept, old[atom], index)
    return attaining


def residual_with_minorants(session: StepSession, outcome: Outcome, minorants: StandIns) -> float:
    """Return the largest KKT residual of a step's point if the given minorants replace those of the step."""
    return session.certificate_with_minorants(outcome, minorants).worst


def _has_failed_or_risen(session: StepSession, outcome: Outcome, limit: float, relative_decrease: float) -> bool:
    """Return True if a step failed, or if its objective, of the minimisation, is above `limit`.

    An objective that exceeds `limit` by at most `relative_decrease` (relative to 1 + its size) is not worse.
    """
    if outcome.point is None or outcome.status is not PointStatus.CERTIFIED:
        return True
    objective = PointValues(session.lowering, outcome).objective()
    objective = -objective if session.program.maximizes else objective
    return bool(objective - limit > relative_decrease * (1.0 + abs(objective)))
