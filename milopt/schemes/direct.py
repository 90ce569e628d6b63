"""Direct: one convex (or mixed-integer) solve."""

from __future__ import annotations

from dataclasses import dataclass

from milopt.compilation.analysis import witnessed
from milopt.declaration.program import Program
from milopt.errors import ConvexityError
from milopt.outcome.assembly import assemble
from milopt.outcome.result import Result, Step
from milopt.schemes.scheme import Scheme
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.session import Session
from milopt.solving.solver import Solver


@dataclass(frozen=True)
class Direct(Scheme):
    """One solve of a program that is convex as declared."""

    name = "direct"

    def run(self, program: Program, solver: Solver, options: Options, clock: Clock | None = None) -> Result:
        """Solve once."""
        needy = witnessed(program)
        if needy:
            raise ConvexityError(
                f"{program.name!r} is a DC program: {needy[0].describe()} needs a witness a bag; "
                'solve it with scheme="ccp", "representatives" or "exact".'
            )
        clock = clock or Clock(options.time_limit)
        with Session(program, solver, options) as session:
            outcome = session.solve(clock)
            sign = -1.0 if program.maximizes else 1.0
            bound = None if outcome.bound is None else sign * outcome.bound
            step = Step(sign * outcome.objective, bound, outcome.certificate, clock.elapsed())
            return assemble(
                session.lowering,
                session.spaces,
                outcome,
                solver=solver.name,
                scheme=self.name,
                seconds=clock.elapsed(),
                history=(step,),
            )
