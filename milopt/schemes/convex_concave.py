"""The convex-concave procedure: linearise each maximum on its other side at its current witness, solve, repeat.

Each step solves a convex restriction that the last point satisfies, so the objective never rises. It ends at a fixed
point (`stationary`: the last step is certified and the witnesses repeat), when the decrease is below tolerance, or at a
limit; the best point is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.compilation.analysis import witnessed
from milopt.compilation.selection import Selections, one_hot
from milopt.declaration.program import Program
from milopt.outcome.assembly import assemble
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Result, Step
from milopt.outcome.status import PointStatus, Termination
from milopt.schemes.direct import Direct
from milopt.schemes.scheme import Scheme, at_least_one
from milopt.schemes.start import Start, starting_witness
from milopt.schemes.steps import Totals, differences, kept_status, named, selections
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.session import Session
from milopt.solving.solver import Solver


@dataclass(frozen=True)
class ConvexConcave(Scheme):
    """CCP from a `start`: means by default, or a selection, function values, points (see `schemes.start`)."""

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
        sign = -1.0 if program.maximizes else 1.0
        history: list[Step] = []
        old: Selections | None = None
        last: Outcome | None = None
        ended, message = Termination.LIMIT, f"Stopped after {self.max_steps} steps."
        witnesses = {atom: starting_witness(atom, self.start) for atom in atoms}
        with Session(program, solver, options, witnesses=witnesses) as session:
            totals = Totals()
            try:
                for _ in range(self.max_steps):
                    outcome = session.solve(clock)
                    totals.add(outcome)
                    if outcome.point is None or outcome.status is not PointStatus.CERTIFIED:
                        if last is None or outcome.termination is not Termination.LIMIT:
                            last, ended, message = outcome, outcome.termination, outcome.message
                        else:
                            ended, message = Termination.LIMIT, f"{clock.why()}; the last certified step is kept."
                        break
                    last = outcome
                    values = PointValues(session.lowering, outcome)
                    new = selections(values, atoms)
                    changed = differences(new, old)
                    objective = values.objective()
                    previous = history[-1].objective if history else np.inf * sign
                    history.append(Step(objective, None, outcome.certificate, clock.elapsed(), changed))
                    fall = sign * (previous - objective)
                    if changed == 0 or fall <= self.relative_decrease * (1.0 + abs(objective)):
                        ended, message = Termination.STATIONARY, ""
                        break
                    if clock.is_over():
                        ended, message = Termination.LIMIT, f"{clock.why()}; the last certified step is kept."
                        break
                    old = new
                    session.set_witnesses(one_hot(new))
            except KeyboardInterrupt:
                if last is None:
                    raise
                clock.interrupted = True
                ended, message = Termination.LIMIT, f"{clock.why()}; the last certified step is kept."
            assert last is not None
            chosen = selections(PointValues(session.lowering, last), atoms) if last.point is not None else {}
            return assemble(
                session.lowering,
                session.spaces,
                totals.into(last),
                solver=solver.name,
                scheme=self.name,
                termination=ended,
                point=kept_status(last, ended),
                message=totals.noted(message),
                seconds=clock.elapsed(),
                history=tuple(history),
                witnesses=named(chosen),
            )
