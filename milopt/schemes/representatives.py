"""Alternation with one representative per bag: solve, take the argmax of each bag as its representative, repeat.

The value of the representative replaces the maximum of the bag wherever it occurs, on its convex and on its non-convex
side. The solve and the choice of representatives do not improve a common objective, so the alternation may cycle: it
ends with termination `cycle` at a choice of representatives that occurred before. The iterate that has the best
objective of the declared program, after its slacks are re-optimised (`completion`), is kept.

A subproblem restricts maxima on their non-convex side and relaxes those on their convex side, so its status is not that
of the program. If no iterate is feasible for the declared program, the convex-concave procedure is used instead, and
the message states that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from milopt.compilation.minorant import Selections, StandIn, one_hot_minorants
from milopt.compilation.sides import check_maxima_not_nested
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.program import Program
from milopt.outcome.assembly import assemble_result
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Result, Step
from milopt.schemes.completion import Completion, complete_point
from milopt.schemes.convex_concave import ConvexConcave
from milopt.schemes.direct import Direct
from milopt.schemes.scheme import Scheme, Steps, check_at_least_one
from milopt.schemes.start import Start, starting_stand_in
from milopt.schemes.steps import StepTotals, count_differences, final_status, witnesses_by_name
from milopt.schemes.witness_choice import WitnessChooser
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession


@dataclass(frozen=True)
class Representatives(Scheme):
    """Alternation with one representative per bag, as in many papers on multiple-instance learning.

    Cycles are detected, and the best iterate is kept. Values and objective of the result belong to the declared
    program; its certificate and multipliers belong to the subproblem of the iterate, with one representative per bag.

    Parameters
    ----------
    start : array or None, default=None
        Where the representatives start: one instance index per bag, one function value per instance, or one point per
        bag (2-D). None uses `program.start`, or the mean over each bag.
    max_steps : int, default=50
        Maximum number of steps.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> bags = milopt.as_bags([[[2.0], [0.0]], [[-1.0], [-2.0]]])
    >>> y = np.array([1.0, -1.0])
    >>> program = milopt.Program("small MI-SVM")
    >>> f, b = program.function("f", milopt.Linear()), program.variable("b")
    >>> _ = program.subject_to(y * (milopt.bag_max(f(bags)) + b) >= 1)
    >>> program.minimize(0.5 * f.norm_squared())
    >>> result = milopt.solve(program, scheme=milopt.Representatives())
    >>> print(result.termination, round(result.objective, 4))
    stationary 0.2222
    """

    name = "representatives"
    start: Start = None
    max_steps: int = 50

    def __post_init__(self) -> None:
        check_at_least_one("max_steps", self.max_steps)

    def reached_limit(self, result: Result) -> bool:
        """Return True if the maximum number of steps was made.

        Parameters
        ----------
        result : Result
            Result of the scheme.

        Returns
        -------
        bool
            Whether the scheme's own limit was reached.
        """
        return len(result.history) >= self.max_steps

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        """Alternate to a fixed point, a cycle or a limit; yield one step per subproblem.

        Parameters
        ----------
        problem : Program
            Program to solve.
        solver : Solver
            Solver of the subproblems.
        options : Options
            Options of the solver.
        clock : Clock
            Time that is left.

        Returns
        -------
        Result
            Result with the representatives at its point.
        """
        program = problem
        atoms = program.maxima()
        if not atoms:
            return (yield from Direct().steps(program, solver, options, clock))
        check_maxima_not_nested(program, atoms, self.name)
        sign = -1.0 if program.maximizes else 1.0
        history: list[Step] = []
        seen: dict[bytes, int] = {}
        """Step at which each selection occurred."""
        old: Selections | None = None
        best: tuple[float, Outcome, Completion | None] | None = None
        used: Selections = {}
        """Representatives with which the best iterate was solved; empty if these were the starting ones."""
        ended, message = Termination.LIMIT, f"Stopped after {self.max_steps} steps; the best iterate is kept."
        start = program.start if self.start is None else self.start
        witnesses: dict[Atom, StandIn] = {atom: starting_stand_in(atom, start) for atom in atoms}
        failed = False
        with StepSession(program, solver, options, witnesses=witnesses, both_sides=True) as session:
            totals, choice = StepTotals(), WitnessChooser(program, atoms, options.tolerance)
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
                            why = (
                                clock.end_reason()
                                if clock.is_over()
                                else f"A step is not certified ({outcome.raw_status})"
                            )
                            message = f"{why}; the best iterate is kept."
                        if best is None:
                            best = (np.inf, outcome, None)
                            if outcome.point is not None:
                                values = PointValues(session.lowering, outcome)
                                best = (np.inf, outcome, complete_point(program, values, options, clock))
                                if best[-1] is None:
                                    message = outcome.message
                        break
                    values = PointValues(session.lowering, outcome)
                    completed = complete_point(program, values, options, clock)
                    objective = completed.objective if completed is not None else sign * np.inf
                    new = choice.choose(session, outcome).witnesses
                    changed = count_differences(new, old)
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
                        ended, message = Termination.LIMIT, f"{clock.end_reason()}; the best iterate is kept."
                        break
                    seen[key] = len(history)
                    old = new
                    session.set_witnesses(one_hot_minorants(new))
            except KeyboardInterrupt:
                if best is None:
                    raise
                clock.interrupted = True
                ended, message = Termination.LIMIT, f"{clock.end_reason()}; the best iterate is kept."
            assert best is not None
            _, outcome, completed = best
            failed |= completed is None and bool(history)
            status = final_status(outcome, ended)
            if completed is None:
                # The status refers to the subproblem with fixed representatives. For the declared program, which
                # contains the maxima over all instances, the point is feasible only if `complete_point` found values of
                # the other variables for it, and here it found none.
                status = PointStatus.NONE
            elif outcome.status is not PointStatus.CERTIFIED:
                status = PointStatus.FEASIBLE
            result = assemble_result(
                session.lowering,
                session.spaces,
                totals.apply_to(outcome),
                solver=solver.name,
                scheme=self.name,
                termination=ended,
                point=status,
                message=totals.with_notes(message),
                seconds=clock.elapsed(),
                history=tuple(history),
                witnesses=witnesses_by_name(used),
            )
        if failed and not clock.is_over():
            return (yield from self._run_convex_concave(program, solver, options, clock))
        if completed is None:
            return result
        return replace(result, objective=completed.objective, values={**result.values, **completed.values})

    def _run_convex_concave(self, program: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        """Run the convex-concave procedure; called if no iterate is feasible for the declared program."""
        result = yield from ConvexConcave(self.start).steps(program, solver, options, clock)
        message = result.message
        if result.point is not PointStatus.NONE:
            message = (
                f"No iterate of the alternation is feasible; the convex-concave procedure found this point. {message}"
            )
        return replace(result, scheme=self.name, message=message.strip())
