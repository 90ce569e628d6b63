"""Column generation: solve the master over the columns found so far, price new columns at its solution, repeat.

A column is a weak learner, with one value per training bag and one row in the master. The prices are the variables of
the master at whose values the oracles search for columns. The optimum of the master over the rows so far is a lower
bound. The value of a column at given prices is the objective value that the master needs so that the row of the column
holds at these prices. An oracle searches for the column with the largest value. If it proves a bound on the values of
all columns, that bound is an upper bound on the optimum. The run ends when no column is violated by more than a
fraction of the objective: as `optimal` if the two bounds meet, as `stationary` if the oracles found no violated column
(local oracles are first run from several starting points). At a limit the last ensemble is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from milopt.compilation.sides import other_side_atoms
from milopt.compilation.status import PointStatus
from milopt.declaration.checks import check_open_fraction
from milopt.declaration.programs.problem import Problem
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import ParameterError
from milopt.outcome.assembly import assemble_result
from milopt.outcome.result import Result
from milopt.schemes.generation import GenerationRun
from milopt.schemes.oracle_pricing import choose_oracle_pricing
from milopt.schemes.scheme import Scheme, Steps, check_at_least_one
from milopt.schemes.steps import final_status
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.pricing import Pricing
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession

DEFAULT_TOLERANCE = 1e-4
"""Default relative violation below which a column is not added; local oracles miss larger violations than this."""


@dataclass(frozen=True)
class ColumnGeneration(Scheme):
    """Column generation for semi-infinite programs.

    Each round solves the master over the columns found so far, runs the pricing oracles at the master's solution, and
    adds the violated columns. The run ends when no column is violated by more than `tolerance` times the objective.

    Parameters
    ----------
    tolerance : float or None, default=None
        Relative violation below which a column is not added. None selects 1e-4, or, if all oracles are exact, the
        smaller of 1e-4 and the tolerance of the certificate.
    max_rounds : int, default=1000
        Maximum number of rounds.
    starts : int, default=20
        Number of starting points from which a local oracle is run before the scheme concludes that no column is
        violated.
    idle : int, default=10
        Number of rounds with zero weight after which a column may be removed. Only rounds in which the objective
        increased are counted. 0 keeps all columns.
    smoothing : float, default=0.0
        Price smoothing in [0, 1): the oracles are called at
        ``smoothing * best_prices + (1 - smoothing) * master_prices``.
    patience : int, default=50
        The run stops as stalled if the objective has not increased by more than `tolerance` (relative) within this
        many rounds. While the objective is constant, the window grows by one round per round, up to the number of
        prices.
    oracle : str, Solver or None, default=None
        Solver of the oracles, or its name. None selects the solver of the master.

    Raises
    ------
    ParameterError
        If a parameter is invalid, such as `smoothing` outside [0, 1).

    Examples
    --------
    >>> import milopt
    >>> from milopt.models import ShapeletBoost
    >>> data = milopt.load_data("musk1")
    >>> model = ShapeletBoost(scheme=milopt.ColumnGeneration(max_rounds=3))
    >>> program = model.program(data.bags, data.labels)
    >>> result = milopt.solve(program, scheme=milopt.ColumnGeneration(max_rounds=3))
    >>> print(result.termination, len(result.history))
    limit 3
    """

    name = "column-generation"
    tolerance: float | None = None
    max_rounds: int = 1000
    starts: int = 20
    idle: int = 10
    smoothing: float = 0.0
    patience: int = 50
    oracle: str | Solver | None = None

    def __post_init__(self) -> None:
        for number in ("max_rounds", "starts", "patience"):
            check_at_least_one(number, getattr(self, number))
        if not isinstance(self.idle, int) or self.idle < 0:
            raise ParameterError(f"idle must be a number of rounds, or 0 to keep all columns, not {self.idle!r}.")
        if self.tolerance is not None:
            check_open_fraction("tolerance", self.tolerance)
        if self.smoothing != 0:
            check_open_fraction("smoothing", self.smoothing)

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Return why the scheme does not support a problem without oracles.

        Parameters
        ----------
        problem : Program or SemiInfinite
            Problem to check.

        Returns
        -------
        str or None
            Reason in words; None if the problem is supported.
        """
        if problem.oracles:
            return None
        return f"{problem.core.name!r} has no oracles: its scheme is {problem.default_scheme}, not {self.name}."

    def steps(self, problem: SemiInfinite, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        """Generate columns until none is violated, the run stalls or a limit is reached; yield a step per master.

        Parameters
        ----------
        problem : SemiInfinite
            Problem to solve.
        solver : Solver
            Solver of the master, and of the oracles unless `oracle` is set.
        options : Options
            Options of the solvers.
        clock : Clock
            Time that is left.

        Returns
        -------
        Result
            Result with the ensemble of weighted columns.
        """
        pricings: list[Pricing] = []
        try:
            for oracle in problem.oracles:
                pricings.append(choose_oracle_pricing(problem, oracle, self.oracle or solver, options))
            result = yield from self._generate(problem, solver, pricings, options, clock)
        finally:
            for pricing in pricings:
                pricing.close()
        names = list(dict.fromkeys(name for pricing in pricings for name in pricing.solvers))
        shown = result.solver if names == [result.solver] else f"master={result.solver},oracle={'+'.join(names)}"
        message = " ".join(part for part in (result.message, *_fallback_messages(pricings)) if part)
        return replace(result, solver=shown, message=message)

    def run_with_pricings(
        self,
        problem: SemiInfinite,
        solver: Solver,
        pricings: Sequence[Pricing],
        options: Options,
        clock: Clock | None = None,
    ) -> Result:
        """Generate columns with given pricings.

        Parameters
        ----------
        problem : SemiInfinite
            Problem to solve.
        solver : Solver
            Solver of the master.
        pricings : sequence of Pricing
            One pricing per oracle of the problem.
        options : Options
            Options of the solver.
        clock : Clock or None, default=None
            Time that is left. None starts a clock with the time limit of the options.

        Returns
        -------
        Result
            Result with the ensemble of weighted columns.
        """
        clock = clock or Clock(options.time_limit)
        return self.result_of_steps(self._generate(problem, solver, pricings, options, clock), clock)

    def _generate(
        self, problem: SemiInfinite, solver: Solver, pricings: Sequence[Pricing], options: Options, clock: Clock
    ) -> Steps[Result]:
        """Generate columns in a session of the master, and return the result."""
        problem.remove_rows()
        with StepSession(problem.master, solver, options) as session:
            generation = GenerationRun(
                problem, session, pricings, self, clock, self._violation_tolerance(problem, options)
            )
            ended, message = yield from generation.run()
            last = generation.outcome
            result = assemble_result(
                session.lowering,
                session.spaces,
                generation.totals.apply_to(last),
                solver=solver.name,
                scheme=self.name,
                termination=ended,
                point=final_status(last, ended) if generation.rows else PointStatus.NONE,
                message=generation.totals.with_notes(message),
                bound=generation.upper,
                seconds=clock.elapsed(),
            )
            # Without a solved master there is at most a single column, and no objective of a master.
            objective = result.objective if generation.last_master is not None else float("nan")
            return replace(result, program=problem, objective=objective, ensemble=generation.ensemble())

    def _violation_tolerance(self, problem: SemiInfinite, options: Options) -> float:
        """Return the tolerance of violations: the one that was set, or the default for the problem's oracles."""
        if self.tolerance is not None:
            return self.tolerance
        is_exact = all(oracle.scheme == "exact" or not other_side_atoms(oracle.program) for oracle in problem.oracles)
        return min(DEFAULT_TOLERANCE, options.tolerance) if is_exact else DEFAULT_TOLERANCE


def _fallback_messages(pricings: Sequence[Pricing]) -> list[str]:
    """Return a sentence for each pricing solver that failed at some prices, with the solver that replaced it there."""
    counts: Counter[tuple[str, ...]] = Counter()
    for pricing in pricings:
        counts[pricing.solvers] += pricing.fallbacks
    return [
        f"The oracle's own algorithm ({names[0]}) failed at {_format_price_count(count)}; "
        f"{names[-1]} solved its program."
        for names, count in counts.items()
        if count
    ]


def _format_price_count(prices: int) -> str:
    """Return "1 price" or "N prices"."""
    return "1 price" if prices == 1 else f"{prices} prices"
