"""The convex-concave procedure: replace each atom on its non-convex side by a minorant at the point, solve, repeat.

The minorant of a maximum is the value at its witness; the minorant of any other atom is its tangent.

The objective never increases, apart from rounding (see `descent`), and the point of the last certified step is kept.
The procedure ends as

    stationary  if the last step is certified and its point is stationary. If all atoms on their non-convex side are
                maxima, it is enough that the witnesses repeat. Otherwise, and if the objective no longer decreases, the
                KKT residual with the minorants at the point must be within the tolerance.
    stalled     if the objective no longer decreases, but this residual is too large; or if a step is not certified
    limit       after `max_steps` steps, or when the time is over

If the first step has no point, it is repeated with tangents at other points. If all atoms on their non-convex side are
maxima, `feasibility` searches for other witnesses instead. The result is `infeasible` only with a proof, and `stalled`
without a point if no feasible point was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from milopt.compilation.lowered_program import LoweredProgram, lower_program
from milopt.compilation.minorant import StandIn, mean_minorant, one_hot_minorants
from milopt.compilation.sides import other_side_atoms
from milopt.compilation.status import Termination
from milopt.declaration.atoms.atom import Atom, SelectionAtom
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.program import Program
from milopt.outcome.assembly import assemble_result
from milopt.outcome.result import Result
from milopt.schemes.descent import DescentResult, descend
from milopt.schemes.direct import Direct
from milopt.schemes.feasibility import NO_FEASIBLE_POINT_MESSAGE, FeasibilityResult, find_feasible_witnesses
from milopt.schemes.scheme import Scheme, Steps, check_at_least_one
from milopt.schemes.start import Start, starting_stand_in
from milopt.schemes.steps import StepTotals, final_status, witnesses_by_name
from milopt.schemes.tangents import check_slopes, starting_tangents, zero_placeholders
from milopt.schemes.witness_choice import WitnessChooser
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession

VANISHED_MESSAGE = "The function is constant on every bag"
"""Message if the function does not distinguish the instances of any bag."""


@dataclass(frozen=True)
class ConvexConcave(Scheme):
    """The convex-concave procedure (CCP) for DC programs.

    Each step replaces the atoms on their non-convex side by minorants at the last point, and solves the convex program.

    Parameters
    ----------
    start : array or None, default=None
        Where the witnesses of maxima start: one instance index per bag, one function value per instance, or one point
        per bag (2-D). None uses `program.start`, or the mean over each bag.
    max_steps : int, default=100
        Maximum number of steps.
    relative_decrease : float, default=1e-9
        The objective counts as settled when a step decreases it by no more than this fraction of 1 + its size. The
        procedure then ends; if not only maxima are replaced, it ends only if the point is stationary or neither the
        objective nor the KKT residual decreases any more.

    Examples
    --------
    Maximise the largest of two variables, a convex function:

    >>> import numpy as np
    >>> import milopt
    >>> program = milopt.Program("largest entry")
    >>> x = program.variable("x", 2, lower=0, upper=[1, 2])
    >>> program.maximize(milopt.maximum(x[0], x[1]))
    >>> result = milopt.solve(program, scheme=milopt.ConvexConcave(max_steps=10))
    >>> print(result.termination)
    stationary
    """

    name = "ccp"
    descends = True
    linearises_quadratics = True
    start: Start = None
    max_steps: int = 100
    relative_decrease: float = 1e-9

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
        """Iterate to a fixed point; yield one step per convex program.

        Parameters
        ----------
        problem : Program
            Program to solve.
        solver : Solver
            Solver of the convex steps.
        options : Options
            Options of the solver.
        clock : Clock
            Time that is left.

        Returns
        -------
        Result
            Result with the witnesses at its point.
        """
        if not other_side_atoms(problem):
            return (yield from Direct().steps(problem, solver, options, clock))
        with StepSession(problem, solver, options, witnesses=self._starting_stand_ins(problem)) as session:
            return (yield from self._steps_in_session(session, clock))

    def run_in_one_session(
        self,
        programs: Sequence[Program],
        solver: Solver,
        options: Options,
        lowered: Sequence[LoweredProgram | None],
    ) -> Iterator[tuple[Result, Clock]]:
        """Solve DC programs one after another in one session, each from its own starting minorants.

        Parameters
        ----------
        programs : sequence of Program
            Programs to solve, each with an atom on its non-convex side.
        solver : Solver
            Solver of all convex steps.
        options : Options
            Options of the solver.
        lowered : sequence of LoweredProgram or None
            Not used, because programs are lowered with their starting minorants.

        Yields
        ------
        tuple of Result and Clock
            Result of a program, and the clock of its solve.
        """
        clock = Clock(options.time_limit)
        with StepSession(programs[0], solver, options, witnesses=self._starting_stand_ins(programs[0])) as session:
            yield self.result_of_steps(self._steps_in_session(session, clock), clock), clock
            for program in programs[1:]:
                clock = Clock(options.time_limit)
                session.switch_program(program, lower_program(program, self._starting_stand_ins(program)))
                yield self.result_of_steps(self._steps_in_session(session, clock), clock), clock

    def _starting_stand_ins(self, program: Program) -> dict[Atom, StandIn]:
        """Return the minorants of the first step: witnesses of maxima, and placeholders for the tangents of others."""
        maxima, others = _split_atoms(program)
        check_slopes(others)
        start = program.start if self.start is None else self.start
        return {atom: starting_stand_in(atom, start) for atom in maxima} | zero_placeholders(program, others)

    def _steps_in_session(self, session: StepSession, clock: Clock) -> Steps[Result]:
        """Iterate to a fixed point in a session with starting minorants; yield one step per convex program."""
        program = session.program
        maxima, others = _split_atoms(program)
        totals, choice = StepTotals(), WitnessChooser(program, maxima, session.options.tolerance)
        tangent_starts = starting_tangents(session, others, clock)
        stand_ins = session.lowering.other_side.stand_ins
        if others:
            session.set_witnesses(next(tangent_starts, {}))
        if any(isinstance(stand_ins[atom], Expression) for atom in maxima):
            _replace_points_by_witnesses(session, maxima, clock, totals, choice)
        atoms = other_side_atoms(program)
        descent = yield from self._descend_from_feasible(session, atoms, tangent_starts, clock, totals, choice)
        return assemble_result(
            session.lowering,
            session.spaces,
            descent.totals.apply_to(descent.last),
            solver=session.solver.name,
            scheme=self.name,
            termination=descent.ended,
            point=final_status(descent.last, descent.ended),
            message=descent.totals.with_notes(_final_message(descent)),
            seconds=clock.elapsed(),
            history=descent.history,
            witnesses=witnesses_by_name(descent.chosen),
        )

    def _descend_from_feasible(
        self,
        session: StepSession,
        atoms: list[Atom],
        tangent_starts: Iterator[dict[Atom, StandIn]],
        clock: Clock,
        totals: StepTotals,
        choice: WitnessChooser,
    ) -> Steps[DescentResult]:
        """Descend from the start; if its first step has no point, from other minorants with which a step is feasible.

        `tangent_starts` yields further tangents for the atoms other than maxima. Without a feasible step, the result is
        `infeasible` only if a relaxation of the program proves it, otherwise `limit` or `stalled`.
        """
        descent = yield from self._descend(session, atoms, clock, totals, choice)
        if _is_conclusive(descent):
            return descent
        for tangents in tangent_starts:
            if clock.is_over():
                break
            session.set_witnesses(tangents)
            again = yield from self._descend(session, atoms, clock, totals, choice)
            if _is_conclusive(again):
                return again
        maxima = [atom for atom in atoms if isinstance(atom, SelectionAtom)]
        search = (
            FeasibilityResult() if len(maxima) < len(atoms) else find_feasible_witnesses(session, maxima, clock, totals)
        )
        if search.witnesses is not None:
            session.set_witnesses(one_hot_minorants(search.witnesses))
            return (yield from self._descend(session, atoms, clock, totals, choice))
        if search.infeasible:
            return replace(descent, ended=Termination.INFEASIBLE, message=search.infeasible)
        if clock.is_over():
            return replace(
                descent, ended=Termination.LIMIT, message=f"{clock.end_reason()} before a feasible point was found."
            )
        return replace(descent, ended=Termination.STALLED, message=NO_FEASIBLE_POINT_MESSAGE)

    def _descend(
        self, session: StepSession, atoms: list[Atom], clock: Clock, totals: StepTotals, choice: WitnessChooser
    ) -> Steps[DescentResult]:
        """Descend from the current minorants of the session."""
        return descend(session, atoms, clock, self.max_steps, self.relative_decrease, totals, choice)


def _split_atoms(program: Program) -> tuple[list[SelectionAtom], list[Atom]]:
    """Return the maxima and the other atoms on their non-convex side."""
    atoms = other_side_atoms(program)
    maxima = [atom for atom in atoms if isinstance(atom, SelectionAtom)]
    return maxima, [atom for atom in atoms if not isinstance(atom, SelectionAtom)]


def _is_conclusive(descent: DescentResult) -> bool:
    """Return True unless the descent has no point because its first step was infeasible or stalled."""
    return descent.last.point is not None or descent.ended not in (Termination.INFEASIBLE, Termination.STALLED)


def _replace_points_by_witnesses(
    session: StepSession, atoms: list[SelectionAtom], clock: Clock, totals: StepTotals, choice: WitnessChooser
) -> None:
    """Replace starting points that are not instances by witnesses, and set the witnesses in the session.

    The program is solved once with the starting points, and the witnesses are chosen at its solution; without a
    solution, the mean over each bag replaces its maximum. Descent cannot begin at the starting points themselves: a
    function may be larger there than anywhere in the bag, so the program with them is not a restriction of the declared
    program, and its optimum is not an upper bound.
    """
    outcome = session.solve(clock)
    totals.add(outcome)
    if outcome.point is None:
        session.set_witnesses({atom: mean_minorant(atom) for atom in atoms})
    else:
        session.set_witnesses(one_hot_minorants(choice.choose(session, outcome).witnesses))


def _final_message(descent: DescentResult) -> str:
    """Return the message of a descent, with a note if the function vanished (is constant on every bag).

    The note mentions the witnesses of a ridge regression if a step was made from them.
    """
    if not descent.vanished:
        return descent.message
    tried = ", also from the witnesses of a ridge regression" if len(descent.history) > 1 else ""
    return f"{descent.message} {VANISHED_MESSAGE}{tried}.".strip()
