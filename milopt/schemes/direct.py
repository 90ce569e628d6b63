"""Direct: one convex (or mixed-integer) solve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from milopt.compilation.lowered_program import LoweredProgram
from milopt.compilation.sides import on_other_side
from milopt.declaration.programs.program import Program
from milopt.errors import ConvexityError
from milopt.outcome.assembly import assemble
from milopt.outcome.outcome import Outcome
from milopt.outcome.result import Attempt, Result, Step
from milopt.schemes.scheme import Scheme, Steps
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession


@dataclass(frozen=True)
class Direct(Scheme):
    """One solve of a program that is convex as declared."""

    name = "direct"

    def reached_limit(self, result: Result) -> bool:
        """Return False: a limit is one of the solver."""
        return False

    def steps(
        self,
        problem: Program,
        solver: Solver,
        options: Options,
        clock: Clock,
        lowered: LoweredProgram | None = None,
    ) -> Steps[Result]:
        """Solve once; `lowered` is the program, if it was lowered before."""
        if lowered is None:
            refuse_witnesses(problem)
        with StepSession(problem, solver, options, lowered=lowered) as session:
            result = self.solved(session, clock)
        yield from result.history
        return result

    def run_each(
        self,
        programs: Sequence[Program],
        solver: Solver,
        options: Options,
        lowered: Sequence[LoweredProgram | None],
    ) -> Iterator[tuple[Result, Clock]]:
        """Solve programs one after another in one session, each within the time limit of its own clock.

        `lowered` has the programs that were lowered before, and None for the others.
        """
        for program in programs:
            refuse_witnesses(program)
        clock = Clock(options.time_limit)
        with StepSession(programs[0], solver, options, lowered=lowered[0]) as session:
            yield self.solved(session, clock), clock
            for program, known in zip(programs[1:], lowered[1:], strict=True):
                clock = Clock(options.time_limit)
                session.adopt(program, known)
                yield self.solved(session, clock), clock

    def solved(self, session: StepSession, clock: Clock, program: Program | None = None) -> Result:
        """Return the result of one solve of a session, of the session's program unless one is given."""
        outcome = session.solve(clock)
        sign = -1.0 if session.program.maximizes else 1.0
        bound = None if outcome.bound is None else sign * outcome.bound
        step = Step(sign * outcome.objective, bound, outcome.certificate, clock.elapsed())
        return assemble(
            session.lowering,
            session.spaces,
            outcome,
            solver=session.solver.name,
            scheme=self.name,
            seconds=clock.elapsed(),
            history=(step,),
            program=program,
            attempts=(_attempt(session.solver.name, outcome, clock.elapsed()),),
        )


def _attempt(solver: str, outcome: Outcome, seconds: float) -> Attempt:
    ended, status, proof = outcome.termination, outcome.status, outcome.certificate
    return Attempt(solver, ended, status, proof, outcome.raw_status, seconds, outcome.message)


def refuse_witnesses(program: Program) -> None:
    """Raise an error if an atom stands on its other side."""
    needy = on_other_side(program)
    if needy:
        raise ConvexityError(
            f"{program.name!r} is a DC program: {needy[0].describe()} stands on its other side, where it needs a "
            'minorant (a maximum: one witness per bag). Solve it with scheme="ccp"; "representatives" and "exact" take '
            "maxima."
        )
