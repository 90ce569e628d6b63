"""The convex-concave procedure: replace each atom on its other side by a minorant at the point, solve, repeat.

The minorant of a maximum is its witness, that of any other atom its tangent.

The objective never rises but for rounding (see `descent`). It ends at a fixed point (`stationary`: the last step is
certified and the witnesses repeat), when the decrease is below tolerance, or at a limit; the best point is kept.

If the first step is infeasible, `feasibility` searches for other witnesses. The result is `infeasible` only with a
proof and `stalled`, without a point, if no feasible point was found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from milopt.compilation.minorant import StandIn, mean_selection, one_hot
from milopt.compilation.sides import on_other_side
from milopt.compilation.status import Termination
from milopt.declaration.atoms.atom import Atom, Selecting
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.program import Program
from milopt.outcome.assembly import assemble
from milopt.outcome.result import Result
from milopt.schemes.descent import Descended, descend
from milopt.schemes.direct import Direct
from milopt.schemes.feasibility import NOT_FOUND, Feasibility, find_feasible
from milopt.schemes.scheme import Scheme, Steps, at_least_one
from milopt.schemes.start import Start, starting_witness
from milopt.schemes.steps import Totals, kept_status, named
from milopt.schemes.tangents import check_slopes, flat_minorants, starting_tangents
from milopt.schemes.witness_choice import WitnessChoice
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession

VANISHED = "The function is constant on every bag"


@dataclass(frozen=True)
class ConvexConcave(Scheme):
    """CCP from a `start`: the program's by default, or a selection, function values, points (see `schemes.start`)."""

    name = "ccp"
    descends = True
    linearises_quadratics = True
    start: Start = None
    max_steps: int = 100
    relative_decrease: float = 1e-9
    """A step that lowers the objective by no more than this fraction ends it: its start was stationary already."""

    def __post_init__(self) -> None:
        at_least_one("max_steps", self.max_steps)

    def reached_limit(self, result: Result) -> bool:
        """Whether all steps were made."""
        return len(result.history) >= self.max_steps

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        """Iterate to a fixed point."""
        program = problem
        atoms = on_other_side(program)
        if not atoms:
            return (yield from Direct().steps(program, solver, options, clock))
        maxima = [atom for atom in atoms if isinstance(atom, Selecting)]
        others = [atom for atom in atoms if not isinstance(atom, Selecting)]
        check_slopes(others)
        start = program.start if self.start is None else self.start
        witnesses: dict[Atom, StandIn] = {atom: starting_witness(atom, start) for atom in maxima}
        with StepSession(program, solver, options, witnesses=witnesses | flat_minorants(program, others)) as session:
            totals, choice = Totals(), WitnessChoice(program, maxima, options.tolerance)
            starts = starting_tangents(session, others, clock)
            if others:
                session.set_witnesses(next(starts, {}))
            if any(isinstance(witness, Expression) for witness in witnesses.values()):
                _enter_bags(session, maxima, clock, totals, choice)
            found = yield from self._descended(session, atoms, starts, clock, totals, choice)
            return assemble(
                session.lowering,
                session.spaces,
                found.totals.into(found.last),
                solver=solver.name,
                scheme=self.name,
                termination=found.ended,
                point=kept_status(found.last, found.ended),
                message=found.totals.noted(_told(found)),
                seconds=clock.elapsed(),
                history=found.history,
                witnesses=named(found.chosen),
            )

    def _descended(
        self,
        session: StepSession,
        atoms: list[Atom],
        starts: Iterator[dict[Atom, StandIn]],
        clock: Clock,
        totals: Totals,
        choice: WitnessChoice,
    ) -> Steps[Descended]:
        """Descend from the start; if its step is infeasible, from minorants with which a step is feasible.

        The verdict is `infeasible` only if a relaxation of the program proves it, otherwise `stalled`.
        """
        found = yield from self._descend(session, atoms, clock, totals, choice)
        if _has_point(found):
            return found
        for tangents in starts:
            if clock.is_over():
                break
            session.set_witnesses(tangents)
            again = yield from self._descend(session, atoms, clock, totals, choice)
            if _has_point(again):
                return again
        maxima = [atom for atom in atoms if isinstance(atom, Selecting)]
        search = Feasibility() if len(maxima) < len(atoms) else find_feasible(session, maxima, clock, totals)
        if search.witnesses is not None:
            session.set_witnesses(one_hot(search.witnesses))
            return (yield from self._descend(session, atoms, clock, totals, choice))
        if search.infeasible:
            return replace(found, ended=Termination.INFEASIBLE, message=search.infeasible)
        if clock.is_over():
            return replace(found, ended=Termination.LIMIT, message=f"{clock.why()} before a feasible point was found.")
        return replace(found, ended=Termination.STALLED, message=NOT_FOUND)

    def _descend(
        self, session: StepSession, atoms: list[Atom], clock: Clock, totals: Totals, choice: WitnessChoice
    ) -> Steps[Descended]:
        return descend(session, atoms, clock, self.max_steps, self.relative_decrease, totals, choice)


def _has_point(found: Descended) -> bool:
    """Return True unless the first step was infeasible, or a solver broke down on it."""
    return found.last.point is not None or found.ended not in (Termination.INFEASIBLE, Termination.STALLED)


def _enter_bags(
    session: StepSession, atoms: list[Selecting], clock: Clock, totals: Totals, choice: WitnessChoice
) -> None:
    """From points that are no instances to the witnesses that their function has.

    At such a point a function may be larger than anywhere in the bag: what is solved there is no restriction of the
    program, so its value is none to descend from.
    """
    outcome = session.solve(clock)
    totals.add(outcome)
    if outcome.point is None:
        session.set_witnesses({atom: mean_selection(atom) for atom in atoms})
    else:
        session.set_witnesses(one_hot(choice.at(session, outcome).witnesses))


def _told(found: Descended) -> str:
    """Return the message of a descent, and whether its function vanished; from ridge witnesses if there was time."""
    if not found.vanished:
        return found.message
    tried = ", also from the witnesses of a ridge regression" if len(found.history) > 1 else ""
    return f"{found.message} {VANISHED}{tried}.".strip()
