"""The papers' alternation: one representative a bag on both sides; solve, choose every bag's argmax anew, repeat.

The two half-steps share no objective, so it may cycle: selections are remembered, and a repeat of an earlier one ends
it with status `cycle`. The iterate with the best objective of the declared program, slacks completed, is kept.

A subproblem restricts one side and relaxes the other, so that its status is not that of the program. If no iterate is
feasible for the declared program, the convex-concave procedure decides instead, and the message says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from milopt.compilation.minorant import Selections, StandIn, one_hot
from milopt.compilation.sides import check_plain_maxima
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.program import Program
from milopt.outcome.assembly import assemble
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Result, Step
from milopt.schemes.completion import Completed, complete
from milopt.schemes.convex_concave import ConvexConcave
from milopt.schemes.direct import Direct
from milopt.schemes.scheme import Scheme, Steps, at_least_one
from milopt.schemes.start import Start, starting_witness
from milopt.schemes.steps import Totals, differences, kept_status, named
from milopt.schemes.witness_choice import WitnessChoice
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession


@dataclass(frozen=True)
class Representatives(Scheme):
    """Alternation with cycles detected and the best iterate kept.

    The result's values and objective are the completed ones; its certificate and multipliers are of the iterate's own
    subproblem, one representative a bag.
    """

    name = "representatives"
    start: Start = None
    max_steps: int = 50

    def __post_init__(self) -> None:
        at_least_one("max_steps", self.max_steps)

    def reached_limit(self, result: Result) -> bool:
        """Whether all steps were made."""
        return len(result.history) >= self.max_steps

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        """Alternate to a fixed point, a cycle or a limit."""
        program = problem
        atoms = program.maxima()
        if not atoms:
            return (yield from Direct().steps(program, solver, options, clock))
        check_plain_maxima(program, atoms, self.name)
        sign = -1.0 if program.maximizes else 1.0
        history: list[Step] = []
        seen: dict[bytes, int] = {}
        """The step at which a selection occurred."""
        old: Selections | None = None
        best: tuple[float, Outcome, Completed | None] | None = None
        used: Selections = {}
        """The representatives of the best iterate's own solve; none while they are the start's."""
        ended, message = Termination.LIMIT, f"Stopped after {self.max_steps} steps; the best iterate is kept."
        start = program.start if self.start is None else self.start
        witnesses: dict[Atom, StandIn] = {atom: starting_witness(atom, start) for atom in atoms}
        failed = False
        with StepSession(program, solver, options, witnesses=witnesses, both_sides=True) as session:
            totals, choice = Totals(), WitnessChoice(program, atoms, options.tolerance)
            try:
                for _ in range(self.max_steps):
                    outcome = session.solve(clock)
                    totals.add(outcome)
                    if outcome.point is None or outcome.status is not PointStatus.CERTIFIED:
                        ended, message = outcome.termination, outcome.message
                        if ended in (Termination.INFEASIBLE, Termination.UNBOUNDED):
                            failed, ended = best is None, Termination.STALLED
                            message = f"A step is {outcome.termination}; the best iterate is kept."
                        elif best is not None or outcome.point is not None:
                            why = clock.why() if clock.is_over() else f"A step is not certified ({outcome.raw_status})"
                            message = f"{why}; the best iterate is kept."
                        if best is None:
                            best = (np.inf, outcome, None)
                            if outcome.point is not None:
                                values = PointValues(session.lowering, outcome)
                                best = (np.inf, outcome, complete(program, values, options, clock))
                                if best[-1] is None:
                                    message = outcome.message
                        break
                    values = PointValues(session.lowering, outcome)
                    completed = complete(program, values, options, clock)
                    objective = completed.objective if completed is not None else sign * np.inf
                    new = choice.at(session, outcome).witnesses
                    changed = differences(new, old)
                    history.append(Step(objective, None, outcome.certificate, clock.elapsed(), changed))
                    yield history[-1]
                    if best is None or sign * objective < best[0]:
                        best, used = (sign * objective, outcome, completed), old or {}
                    if changed == 0 and completed is not None:
                        ended, message = Termination.STATIONARY, ""
                        best, used = (sign * objective, outcome, completed), new
                        break
                    key = b"".join(np.asarray(new[atom]).tobytes() for atom in atoms)
                    if key in seen:
                        ended = Termination.CYCLE
                        period = len(history) - seen[key]
                        message = f"The selection of step {len(history)} occurred {period} steps before: a cycle; "
                        message += "the best iterate is kept."
                        break
                    if clock.is_over():
                        ended, message = Termination.LIMIT, f"{clock.why()}; the best iterate is kept."
                        break
                    seen[key] = len(history)
                    old = new
                    session.set_witnesses(one_hot(new))
            except KeyboardInterrupt:
                if best is None:
                    raise
                clock.interrupted = True
                ended, message = Termination.LIMIT, f"{clock.why()}; the best iterate is kept."
            assert best is not None
            _, outcome, completed = best
            failed |= completed is None and bool(history)
            status = kept_status(outcome, ended)
            if completed is None:
                # Whatever it is to its own subproblem: the declared program has the maxima.
                status = PointStatus.NONE
            elif outcome.status is not PointStatus.CERTIFIED:
                status = PointStatus.FEASIBLE
            result = assemble(
                session.lowering,
                session.spaces,
                totals.into(outcome),
                solver=solver.name,
                scheme=self.name,
                termination=ended,
                point=status,
                message=totals.noted(message),
                seconds=clock.elapsed(),
                history=tuple(history),
                witnesses=named(used),
            )
        if failed and not clock.is_over():
            return (yield from self._by_descent(program, solver, options, clock))
        if completed is None:
            return result
        return replace(result, objective=completed.objective, values={**result.values, **completed.values})

    def _by_descent(self, program: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        """Run the convex-concave procedure where no iterate of the alternation is feasible for the declared program."""
        found = yield from ConvexConcave(self.start).steps(program, solver, options, clock)
        message = found.message
        if found.point is not PointStatus.NONE:
            message = (
                f"No iterate of the alternation is feasible; the convex-concave procedure found this point. {message}"
            )
        return replace(found, scheme=self.name, message=message.strip())
