"""The convex-concave procedure: linearise each maximum on its other side at its current witness, solve, repeat.

The objective never rises (see `descent`). It ends at a fixed point (`stationary`: the last step is certified and the
witnesses repeat), when the decrease is below tolerance, or at a limit; the best point is kept.

If the first step is infeasible, `feasibility` searches for other witnesses. The result is `infeasible` only with a
proof and `stalled`, without a point, if no feasible point was found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from milopt.compilation.analysis import witnessed
from milopt.compilation.selection import mean_selection, one_hot
from milopt.declaration.expression import Expression
from milopt.declaration.leaves import BagMax
from milopt.declaration.program import Program
from milopt.outcome.assembly import assemble
from milopt.outcome.result import Result
from milopt.outcome.status import Termination
from milopt.schemes.descent import Descended, descend
from milopt.schemes.direct import Direct
from milopt.schemes.feasibility import NOT_FOUND, find_feasible
from milopt.schemes.scheme import Scheme, at_least_one
from milopt.schemes.start import Start, starting_witness
from milopt.schemes.steps import Totals, kept_status, named
from milopt.schemes.witness_choice import WitnessChoice
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.session import Session
from milopt.solving.solver import Solver

VANISHED = "The function is constant on every bag"


@dataclass(frozen=True)
class ConvexConcave(Scheme):
    """CCP from a `start`: the program's by default, or a selection, function values, points (see `schemes.start`)."""

    name = "ccp"
    start: Start = None
    max_steps: int = 100
    relative_decrease: float = 1e-9
    """A step that lowers the objective by no more than this fraction ends it: its start was stationary already."""

    def __post_init__(self) -> None:
        at_least_one("max_steps", self.max_steps)

    def run(self, program: Program, solver: Solver, options: Options, clock: Clock | None = None) -> Result:
        """Iterate to a fixed point."""
        atoms = witnessed(program)
        if not atoms:
            return Direct().run(program, solver, options, clock)
        clock = clock or Clock(options.time_limit)
        start = program.start if self.start is None else self.start
        witnesses = {atom: starting_witness(atom, start) for atom in atoms}
        with Session(program, solver, options, witnesses=witnesses) as session:
            totals, choice = Totals(), WitnessChoice(program, atoms, options.tolerance)
            if any(isinstance(witness, Expression) for witness in witnesses.values()):
                _enter_bags(session, atoms, clock, totals, choice)
            found = self._descended(session, atoms, clock, totals, choice)
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
        self, session: Session, atoms: list[BagMax], clock: Clock, totals: Totals, choice: WitnessChoice
    ) -> Descended:
        """Descend from the start; if its step is infeasible, from witnesses with which a step is feasible.

        The verdict is `infeasible` only if a relaxation of the program proves it, otherwise `stalled`.
        """
        found = descend(session, atoms, clock, self.max_steps, self.relative_decrease, totals, choice)
        if found.last.point is not None or found.ended not in (Termination.INFEASIBLE, Termination.STALLED):
            return found
        search = find_feasible(session, atoms, clock, totals)
        if search.witnesses is not None:
            session.set_witnesses(one_hot(search.witnesses))
            return descend(session, atoms, clock, self.max_steps, self.relative_decrease, totals, choice)
        if search.infeasible:
            return replace(found, ended=Termination.INFEASIBLE, message=search.infeasible)
        if clock.is_over():
            return replace(found, ended=Termination.LIMIT, message=f"{clock.why()} before a feasible point was found.")
        return replace(found, ended=Termination.STALLED, message=NOT_FOUND)


def _enter_bags(session: Session, atoms: list[BagMax], clock: Clock, totals: Totals, choice: WitnessChoice) -> None:
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
