"""Column generation: solve the master over the columns found so far, price new ones at its solution, repeat.

The master over some of its rows gives a lower bound. An oracle's value at some prices is what the master's value would
have to be for its column's row to hold there; where the oracle proves what no column exceeds, that is an upper bound.
It ends when no column is violated by more than a fraction of the value: `optimal` where the bounds meet, `stationary`
where the oracle (a local method, started from several points before it is believed) found none. At a limit the best
ensemble is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from milopt.compilation.sides import on_other_side
from milopt.declaration.checks import fraction
from milopt.declaration.semi_infinite import SemiInfinite
from milopt.errors import ParameterError
from milopt.outcome.assembly import assemble
from milopt.outcome.result import Result
from milopt.outcome.status import PointStatus
from milopt.schemes.generation import Generation
from milopt.schemes.scheme import at_least_one
from milopt.schemes.steps import kept_status
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.pricing import Pricing
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession

USUAL = 1e-4
"""Of the value: local oracles leave more than that unseen."""


@dataclass(frozen=True)
class ColumnGeneration:
    """Its limits and its manners."""

    name = "column-generation"
    tolerance: float | None = None
    """A column counts as violated by more than this fraction of the value; None for 1e-4, or, where all oracles are
    exact, for the certificate's tolerance if that is smaller: their bounds are worth closing."""
    max_rounds: int = 1000
    starts: int = 20
    """From how many points the oracle starts before it is believed that no column is violated."""
    idle: int = 10
    """Rounds without weight, of those in which the value rose, after which a column is dropped; 0 keeps all."""
    smoothing: float = 0.0
    """Stabilisation: prices are this part the best ones so far and the rest the master's."""
    patience: int = 50
    """Rounds in which the value must rise by more than `tolerance`; where it stays as it is, one more a price."""

    def __post_init__(self) -> None:
        for number in ("max_rounds", "starts", "patience"):
            at_least_one(number, getattr(self, number))
        if not isinstance(self.idle, int) or self.idle < 0:
            raise ParameterError(f"idle must be a number of rounds, or 0 to keep all columns, not {self.idle!r}.")
        if self.tolerance is not None:
            fraction("tolerance", self.tolerance)
        if self.smoothing != 0:
            fraction("smoothing", self.smoothing)

    def run(
        self,
        problem: SemiInfinite,
        solver: Solver,
        pricings: Sequence[Pricing],
        options: Options,
        clock: Clock | None = None,
    ) -> Result:
        """Generate until nothing is violated, or to a limit; a `pricing` for each of the problem's oracles."""
        clock = clock or Clock(options.time_limit)
        problem.forget()
        with StepSession(problem.master, solver, options) as session:
            generation = Generation(problem, session, pricings, self, clock, self._tolerance(problem, options))
            ended, message = generation.run()
            last = generation.outcome
            result = assemble(
                session.lowering,
                session.spaces,
                generation.totals.into(last),
                solver=solver.name,
                scheme=self.name,
                termination=ended,
                point=kept_status(last, ended) if generation.rows else PointStatus.NONE,
                message=generation.totals.noted(message),
                bound=generation.upper,
                seconds=clock.elapsed(),
                history=tuple(generation.history),
            )
            # A single column that is kept has a score, and no master's value.
            objective = result.objective if generation.solved is not None else float("nan")
            return replace(result, program=problem, objective=objective, ensemble=generation.ensemble())

    def _tolerance(self, problem: SemiInfinite, options: Options) -> float:
        if self.tolerance is not None:
            return self.tolerance
        is_exact = all(oracle.scheme == "exact" or not on_other_side(oracle.program) for oracle in problem.oracles)
        return min(USUAL, options.tolerance) if is_exact else USUAL
