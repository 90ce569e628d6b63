"""Column generation: solve the master over the columns found so far, price new ones at its solution, repeat.

The master over some of its rows gives a lower bound. An oracle's value at some prices is what the master's value would
have to be for its column's row to hold there; where the oracle proves what no column exceeds, that is an upper bound.
It ends when no column is violated by more than a fraction of the value: `optimal` where the bounds meet, `stationary`
where the oracle (a local method, started from several points before it is believed) found none. At a limit the best
ensemble is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from milopt.compilation.sides import on_other_side
from milopt.compilation.status import PointStatus
from milopt.declaration.checks import fraction
from milopt.declaration.programs.problem import Problem
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import ParameterError
from milopt.outcome.assembly import assemble
from milopt.outcome.result import Result
from milopt.schemes.generation import Generation
from milopt.schemes.oracle_pricing import oracle_pricing
from milopt.schemes.scheme import Scheme, Steps, at_least_one
from milopt.schemes.steps import kept_status
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.pricing import Pricing
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession

USUAL = 1e-4
"""Of the value: local oracles leave more than that unseen."""


@dataclass(frozen=True)
class ColumnGeneration(Scheme):
    """Column generation for a semi-infinite program, by any solver of the master and any of the oracles."""

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
    oracle: str | Solver | None = None
    """The solver of the oracles, or its name; None for that of the master."""

    def __post_init__(self) -> None:
        for number in ("max_rounds", "starts", "patience"):
            at_least_one(number, getattr(self, number))
        if not isinstance(self.idle, int) or self.idle < 0:
            raise ParameterError(f"idle must be a number of rounds, or 0 to keep all columns, not {self.idle!r}.")
        if self.tolerance is not None:
            fraction("tolerance", self.tolerance)
        if self.smoothing != 0:
            fraction("smoothing", self.smoothing)

    def refusal(self, problem: Problem) -> str | None:
        """Return why it does not take a problem without oracles."""
        if problem.oracles:
            return None
        return f"{problem.core.name!r} has no oracles: its scheme is {problem.default_scheme}, not {self.name}."

    def steps(self, problem: SemiInfinite, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        """Generate until nothing is violated, or to a limit, with pricings by the solver of the oracles."""
        pricings: list[Pricing] = []
        try:
            for oracle in problem.oracles:
                pricings.append(oracle_pricing(problem, oracle, self.oracle or solver, options))
            result = yield from self._generated(problem, solver, pricings, options, clock)
        finally:
            for one in pricings:
                one.close()
        names = list(dict.fromkeys(name for one in pricings for name in one.solvers))
        shown = result.solver if names == [result.solver] else f"master={result.solver},oracle={'+'.join(names)}"
        message = " ".join(part for part in (result.message, *_fallbacks(pricings)) if part)
        return replace(result, solver=shown, message=message)

    def run_with(
        self,
        problem: SemiInfinite,
        solver: Solver,
        pricings: Sequence[Pricing],
        options: Options,
        clock: Clock | None = None,
    ) -> Result:
        """Generate with given pricings, one for each of the problem's oracles."""
        clock = clock or Clock(options.time_limit)
        return self.completed(self._generated(problem, solver, pricings, options, clock), clock)

    def _generated(
        self, problem: SemiInfinite, solver: Solver, pricings: Sequence[Pricing], options: Options, clock: Clock
    ) -> Steps[Result]:
        problem.forget()
        with StepSession(problem.master, solver, options) as session:
            generation = Generation(problem, session, pricings, self, clock, self._tolerance(problem, options))
            ended, message = yield from generation.run()
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
            )
            # A single column that is kept has a score, and no master's value.
            objective = result.objective if generation.solved is not None else float("nan")
            return replace(result, program=problem, objective=objective, ensemble=generation.ensemble())

    def _tolerance(self, problem: SemiInfinite, options: Options) -> float:
        if self.tolerance is not None:
            return self.tolerance
        is_exact = all(oracle.scheme == "exact" or not on_other_side(oracle.program) for oracle in problem.oracles)
        return min(USUAL, options.tolerance) if is_exact else USUAL


def _fallbacks(pricings: Sequence[Pricing]) -> list[str]:
    """Return a sentence for each pair of solvers of which one left prices to the other."""
    counts: Counter[tuple[str, ...]] = Counter()
    for one in pricings:
        counts[one.solvers] += one.fallbacks
    return [
        f"The oracle's own algorithm ({names[0]}) failed at {_counted(count)}: there {names[-1]} solved its program."
        for names, count in counts.items()
        if count
    ]


def _counted(prices: int) -> str:
    return "1 price" if prices == 1 else f"{prices} prices"
