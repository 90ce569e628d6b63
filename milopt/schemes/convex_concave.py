"""The convex-concave procedure: linearise each maximum on its other side at its current witness, solve, repeat.

Each step solves a convex restriction that the last point satisfies, so the objective never rises. It ends at a fixed
point (`stationary`: the last step is certified and the witnesses repeat), when the decrease is below tolerance, or at a
limit; the best point is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from milopt.compilation.analysis import witnessed
from milopt.compilation.evaluation_form import Index
from milopt.compilation.selection import Selections, one_hot
from milopt.declaration.leaves import BagMax
from milopt.declaration.program import Program
from milopt.outcome.assembly import assemble
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Result, Step
from milopt.outcome.status import PointStatus, Termination
from milopt.schemes.direct import Direct
from milopt.schemes.scheme import Scheme
from milopt.schemes.start import Start, starting_witness
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.session import Session
from milopt.solving.solver import Solver


def selections(values: PointValues, atoms: list[BagMax]) -> Selections:
    """The argmax of each maximum at a point, smallest flat index first."""
    return {atom: atom.over.argmax(values.inner(atom)) for atom in atoms}


def kept_status(outcome: Outcome, ended: Termination) -> PointStatus:
    """A point is certified only where the scheme came to its end: a fixed point, or a proved optimum."""
    settled = ended in (Termination.STATIONARY, Termination.OPTIMAL)
    return PointStatus.FEASIBLE if outcome.status is PointStatus.CERTIFIED and not settled else outcome.status


def differences(new: Selections, old: Selections | None) -> int:
    """How many witnesses changed."""
    if old is None:
        return sum(len(atom.over) for atom in new)
    return int(sum((new[atom] != old[atom]).sum() for atom in new))


@dataclass(frozen=True)
class ConvexConcave(Scheme):
    """CCP; `start` as in DESIGN: means by default, or a selection, function values, points."""

    name = "ccp"
    start: Start = None
    max_steps: int = 100
    relative_decrease: float = 1e-9
    """A step that lowers the objective by no more than this fraction ends it: its start was stationary already."""

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
                message=message,
                seconds=clock.elapsed(),
                history=tuple(history),
                witnesses=named(chosen),
            )


def named(chosen: Selections) -> dict[str, Index]:
    """Selections by what their maxima are called; equal names are numbered."""
    result: dict[str, Index] = {}
    for atom, index in chosen.items():
        name, number = atom.describe(), 2
        while name in result:
            name, number = f"{atom.describe()} ({number})", number + 1
        result[name] = index
    return result


class Totals:
    """Iterations and seconds over all steps."""

    def __init__(self) -> None:
        self.iterations, self.build, self.solve, self.log = 0, 0.0, 0.0, ""

    def add(self, outcome: Outcome) -> None:
        """Count a step."""
        self.iterations += outcome.iterations
        self.build += outcome.build_seconds
        self.solve += outcome.solve_seconds
        self.log += outcome.log

    def into(self, outcome: Outcome) -> Outcome:
        """The outcome with the totals of the whole scheme; its bound is the last step's alone, so it goes."""
        return replace(
            outcome,
            iterations=self.iterations,
            build_seconds=self.build,
            solve_seconds=self.solve,
            log=self.log,
            bound=None,
        )
