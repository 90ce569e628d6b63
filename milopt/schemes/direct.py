"""Direct: a single convex (or mixed-integer) solve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from milopt.compilation.lowered_program import LoweredProgram
from milopt.compilation.sides import other_side_atoms
from milopt.declaration.programs.program import Program
from milopt.errors import ConvexityError
from milopt.outcome.assembly import assemble_result
from milopt.outcome.outcome import Outcome
from milopt.outcome.result import Attempt, Result, Step
from milopt.schemes.scheme import Scheme, Steps
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession


@dataclass(frozen=True)
class Direct(Scheme):
    """A single solve of a program that is convex as declared, possibly with integer variables.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("smallest")
    >>> x = program.variable("x", 2, lower=1)
    >>> program.minimize(x.sum())
    >>> result = milopt.solve(program, scheme=milopt.Direct())
    >>> result.objective
    2.0
    """

    name = "direct"

    def reached_limit(self, result: Result) -> bool:
        """Return False: a limit is always one of the solver.

        Parameters
        ----------
        result : Result
            Result of the scheme.

        Returns
        -------
        bool
            Always False.
        """
        return False

    def steps(
        self,
        problem: Program,
        solver: Solver,
        options: Options,
        clock: Clock,
        lowered: LoweredProgram | None = None,
    ) -> Steps[Result]:
        """Solve the program once; yield one step.

        Parameters
        ----------
        problem : Program
            Program to solve.
        solver : Solver
            Solver of the program.
        options : Options
            Options of the solver.
        clock : Clock
            Time that is left.
        lowered : LoweredProgram or None, default=None
            The lowered program, if it was lowered before.

        Returns
        -------
        Result
            Result of the solve.

        Raises
        ------
        ConvexityError
            If an atom is on its non-convex side; it is not checked here if `lowered` is given.
        """
        if lowered is None:
            check_no_minorants_needed(problem)
        with StepSession(problem, solver, options, lowered=lowered) as session:
            result = self.solve_session(session, clock)
        yield from result.history
        return result

    def run_in_one_session(
        self,
        programs: Sequence[Program],
        solver: Solver,
        options: Options,
        lowered: Sequence[LoweredProgram | None],
    ) -> Iterator[tuple[Result, Clock]]:
        """Solve programs one after another in one session, each within the time limit of its own clock.

        Parameters
        ----------
        programs : sequence of Program
            Programs to solve.
        solver : Solver
            Solver of all programs.
        options : Options
            Options of the solver.
        lowered : sequence of LoweredProgram or None
            For each program, the lowered program if it was lowered before, otherwise None.

        Yields
        ------
        tuple of Result and Clock
            Result of a program, and the clock of its solve.
        """
        for program in programs:
            check_no_minorants_needed(program)
        clock = Clock(options.time_limit)
        with StepSession(programs[0], solver, options, lowered=lowered[0]) as session:
            yield self.solve_session(session, clock), clock
            for program, known in zip(programs[1:], lowered[1:], strict=True):
                clock = Clock(options.time_limit)
                session.switch_program(program, known)
                yield self.solve_session(session, clock), clock

    def solve_session(self, session: StepSession, clock: Clock, program: Program | None = None) -> Result:
        """Solve a session once.

        Parameters
        ----------
        session : StepSession
            Session to solve.
        clock : Clock
            Time that is left.
        program : Program or None, default=None
            Program of the result; None selects that of the session.

        Returns
        -------
        Result
            Result of the solve.
        """
        outcome = session.solve(clock)
        sign = -1.0 if session.program.maximizes else 1.0
        bound = None if outcome.bound is None else sign * outcome.bound
        step = Step(sign * outcome.objective, bound, outcome.certificate, clock.elapsed())
        return assemble_result(
            session.lowering,
            session.spaces,
            outcome,
            solver=session.solver.name,
            scheme=self.name,
            seconds=clock.elapsed(),
            history=(step,),
            program=program,
            attempts=(_make_attempt(session.solver.name, outcome, clock.elapsed()),),
        )


def _make_attempt(solver: str, outcome: Outcome, seconds: float) -> Attempt:
    """Return the record of an attempt that ended with an outcome."""
    ended, status, proof = outcome.termination, outcome.status, outcome.certificate
    return Attempt(solver, ended, status, proof, outcome.raw_status, seconds, outcome.message)


def check_no_minorants_needed(program: Program) -> None:
    """Raise `ConvexityError` if an atom is on its non-convex side, where it would need a minorant."""
    nonconvex_atoms = other_side_atoms(program)
    if nonconvex_atoms:
        raise ConvexityError(
            f"{program.name!r} is a DC program: {nonconvex_atoms[0].describe()} is on its non-convex side and needs a "
            'minorant (for a maximum: one witness per bag). Solve the program with scheme="ccp", or, if only maxima '
            'need a minorant, with "representatives" or "exact".'
        )
