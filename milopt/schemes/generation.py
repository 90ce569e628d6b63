"""One run of column generation: rows of the master, bounds, and the decision how to continue.

A column is a weak learner, with one value per training bag and one row in the master. The prices are the variables of
the master at whose values the oracles search for columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.programs.expression import Constraint
from milopt.declaration.programs.leaves import Parameter, Variable
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.interrupt import call_on_interrupt
from milopt.jit_time import seconds_without_jit
from milopt.outcome.ensemble import Ensemble
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Step
from milopt.schemes.master_rows import (
    COLUMN_ZERO_TOLERANCE,
    MasterRow,
    ensemble_scores,
    is_same_column,
    largest_column,
    rows_to_drop,
    update_weights,
)
from milopt.schemes.members import join_columns
from milopt.schemes.scheme import Steps
from milopt.schemes.steps import StepTotals
from milopt.solving.clock import Clock
from milopt.solving.pricing import PricedColumn, Pricing, PricingResult
from milopt.solving.step_session import StepSession

if TYPE_CHECKING:
    from milopt.schemes.column_generation import ColumnGeneration

MAX_RELIABLE_RESIDUAL = 1e-4
"""Relative residual above which violations cannot be detected reliably.

The run stops as stalled if  residual > tol * max(|objective|, tol * column_size).
"""

RunEnd = tuple[Termination, str]
"""How a run ended: termination and message."""


@dataclass
class GenerationRun:
    """A run of column generation, with its master, its columns and its bounds."""

    problem: SemiInfinite
    session: StepSession
    pricings: Sequence[Pricing]
    settings: ColumnGeneration
    clock: Clock
    tolerance: float
    """Relative tolerance of violations, of the gap, and of an increase of the objective."""
    rows: list[MasterRow] = field(default_factory=list)
    last_master: Outcome | None = None
    """Outcome of the last certified master; None if there is none."""
    failed_master: Outcome | None = None
    """Outcome of a master that was not certified; None if there is none."""
    upper: float | None = None
    """Smallest upper bound on the optimal value, from bounds of all oracles; None if there is none."""
    best_value: float = np.inf
    """Smallest value, over all prices so far, of the best column that the oracles found at these prices."""
    best_prices: dict[Variable, Vector] = field(default_factory=dict)
    """Prices at which `best_value` was found."""
    last_value: float | None = None
    """Value of the best column in the last pricing."""
    failure: str = ""
    """Why the oracles may have missed a column in the last pricing; empty if there is no reason."""
    residual: float = 0.0
    """Largest certified error of a column in the last pricing, in the unit of the objective."""
    history: list[Step] = field(default_factory=list)
    totals: StepTotals = field(default_factory=StepTotals)
    count: int = 0
    """Number of columns found so far, which numbers the rows."""
    constant_rounds: int = 0
    """Number of rounds since the objective last increased."""

    @property
    def outcome(self) -> Outcome:
        """Outcome of the last certified master, otherwise that of the failed master, otherwise one without a point."""
        outcome = self.last_master or self.failed_master
        if outcome is not None:
            return outcome
        return Outcome.without_point(self.session.form, Termination.STALLED, "", "")

    def run(self) -> Steps[RunEnd]:
        """Run rounds until the run ends; yield a step for each solved master, and return how the run ended."""
        try:
            with call_on_interrupt(self._record_interrupt):
                for _ in range(self.settings.max_rounds):
                    yielded = len(self.history)
                    end = self._run_round()
                    yield from self.history[yielded:]
                    if end is not None:
                        return end
        except KeyboardInterrupt:
            if self.last_master is None:
                raise
            self.clock.interrupted = True
            return self._end_at_limit()
        return (
            Termination.LIMIT,
            f"Stopped after {_format_round_count(self.settings.max_rounds)}; {self._kept_column_clause}",
        )

    def _record_interrupt(self) -> None:
        """Treat Ctrl-C as the end of the time; raise if it is pressed again while there is no column to keep."""
        if self.clock.interrupted and not self.rows:
            raise KeyboardInterrupt
        self.clock.interrupted = True

    def ensemble(self) -> Ensemble | None:
        """Return the columns with a positive weight and the offset of the scores.

        Return None if the first master failed and no column has a weight.
        """
        rows, offset = [row for row in self.rows if row.weight > 0], 0.0
        if not rows and self.last_master is None and self.failed_master is not None:
            return None
        if self.problem.offset is not None:
            offset = self.problem.offset(ensemble_scores(rows) if rows else np.zeros(len(self.problem.bags)))
        weighted = [[(row.priced, row.weight) for row in rows if row.oracle == k] for k in range(len(self.pricings))]
        return Ensemble(tuple(join_columns(columns) for columns in weighted), offset)

    def _run_round(self) -> RunEnd | None:
        """Price columns, add the violated ones and solve the master; return the end of the run, or None to continue."""
        violated = self._violated_rows(self._smoothed_prices(), 1)
        if not violated and self.settings.smoothing and self.best_prices and not self.clock.is_over():
            violated = self._violated_rows(self._master_prices(), 1)
        if not violated and not self.clock.is_over():
            violated = self._violated_rows(self._master_prices(), self.settings.starts)
        if self.last_master is not None and (not violated or self._has_closed_gap()):
            return self._end_without_violation()
        if not violated:
            return self._end_without_column()
        for row in violated:
            self.session.add_rows(row.constraint, row.name)
            self.rows.append(row)
        self._drop_idle_rows()
        return self._solve_master()

    # -- prices ------------------------------------------------------------------------------------------------------

    def _master_prices(self) -> dict[Variable, Vector]:
        """Return the prices at the solution of the last master, or the initial prices before the first master."""
        if self.last_master is None or self.last_master.point is None:
            return self.problem.start
        x = self.last_master.point.x
        spans = {column.name: slice(column.start, column.stop) for column in self.last_master.form.columns}
        # Interior-point solvers exceed bounds by rounding errors, which a parameter with a sign would reject.
        return {v: np.clip(x[spans[v.name]], v.lower, v.upper).reshape(v.shape) for v in self.problem.start}

    def _smoothed_prices(self) -> dict[Variable, Vector]:
        """Return the mixture of the best and the master's prices; without smoothing, the master's prices."""
        current, part = self._master_prices(), self.settings.smoothing
        if not part or not self.best_prices:
            return current
        return {v: part * self.best_prices[v] + (1 - part) * value for v, value in current.items()}

    def _violated_rows(self, prices: dict[Variable, Vector], start_count: int) -> list[MasterRow]:
        """Return a row for each column that the oracles find at these prices and whose row the last master violates.

        The upper bound, the best prices, `failure`, `residual` and `last_value` are updated. `start_count`: number of
        starting points of a local oracle.
        """
        violated: list[MasterRow] = []
        bounds: list[float | None] = []
        reached = -np.inf
        self.failure, self.residual = "", 0.0
        for k, (oracle, pricing) in enumerate(zip(self.problem.oracles, self.pricings, strict=True)):
            answer = self._call_pricing(pricing, {p: prices[v] for p, v in oracle.prices.items()}, start_count)
            bounds.append(answer.bound)
            self.failure, self.residual = (
                self.failure or answer.failure,
                max(self.residual, _largest_column_error(answer)),
            )
            for priced in answer.columns:
                reached = max(reached, priced.value)
                if any(is_same_column(priced, row.priced) for row in violated):
                    continue
                constraint = self.problem.family(priced.column)
                if self._is_violated(constraint, priced):
                    violated.append(MasterRow(f"{self.problem.family.name}[{self.count}]", k, priced, constraint))
                    self.count += 1
            if self.clock.is_over():
                break
        proved = [bound for bound in bounds if bound is not None]
        if len(proved) == len(self.pricings):
            self._update_upper_bound(max(proved))
        self.last_value = reached if np.isfinite(reached) else None
        if reached < self.best_value:
            self.best_value, self.best_prices = reached, dict(prices)
        return violated

    def _call_pricing(self, pricing: Pricing, prices: dict[Parameter, Vector], start_count: int) -> PricingResult:
        """Run a pricing, and count its time as solving; sessions inside it count their time themselves."""
        work, began = self.clock.work, seconds_without_jit()
        counted = work.build + work.solve
        answer = pricing.price(prices, start_count, self.clock)
        work.solve += max(0.0, seconds_without_jit() - began - (work.build + work.solve - counted))
        return answer

    def _update_upper_bound(self, value: float) -> None:
        """Decrease the upper bound on the optimal value to `value`, if that is a smaller and valid bound.

        The oracles have proved that no column requires a master value above `value` at the current prices. If the
        master's own rows hold there too, (prices, value) is feasible for the full semi-infinite program, and `value` is
        an upper bound on its optimum.
        """
        if self.last_master is not None:
            # The prices come from solved masters, so the master's own rows hold for any value that is at least the
            # current master objective.
            value = max(value, self.last_master.objective)
        elif not self._is_value_only_restricted_by_columns():
            return
        self.upper = value if self.upper is None else min(value, self.upper)

    def _is_value_only_restricted_by_columns(self) -> bool:
        """Return True if the objective contains no price, and the master's own rows no variable other than prices.

        Then the prices at the start are feasible with every value that the columns allow.
        """
        master, prices = self.problem.master, self.problem.start
        if any(leaf in prices for leaf, _ in master.objective.terms):
            return False
        return all(leaf in prices for row in master.constraints.values() for leaf, _ in row.expression.terms)

    def _is_violated(self, constraint: Constraint, priced: PricedColumn) -> bool:
        """Return True if the last master violates the row of a column by more than the tolerance.

        Before the first master, return True if the value of the column is not 0 up to rounding.
        """
        if self.last_master is None:
            return abs(priced.value) > COLUMN_ZERO_TOLERANCE * priced.size
        # The master's objective has rounding errors of the size of its columns, also if the new column is zero.
        rounding = COLUMN_ZERO_TOLERANCE * max(priced.size, largest_column(self.rows))
        slack = float(PointValues(self.session.lowering, self.last_master).value(constraint.expression)[0])
        return -slack > max(rounding, self.tolerance * max(abs(priced.value), abs(self.last_master.objective)))

    # -- the master --------------------------------------------------------------------------------------------------

    def _solve_master(self) -> RunEnd | None:
        """Solve the master, update weights and history; return how the run ended, or None if it continues."""
        outcome = self.session.solve(self.clock)
        self.totals.add(outcome)
        if outcome.point is None or outcome.point.z is None or outcome.status is not PointStatus.CERTIFIED:
            self.failed_master = outcome
            if outcome.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
                return outcome.termination, outcome.message
            if self.last_master is None:
                max(self.rows, key=lambda row: row.priced.value).weight = 1.0
            if outcome.termination is Termination.LIMIT:
                return self._end_at_limit()
            size = f"The columns have size {largest_column(self.rows):.0e}, but should have size 1"
            return outcome.termination, f"{outcome.message} {size}; {self._kept_column_clause}"
        self.last_master = outcome
        has_risen = self._objective_has_risen(outcome.objective)
        self.constant_rounds = 0 if has_risen else self.constant_rounds + 1
        update_weights(self.rows, self._multipliers_by_block(), has_risen)
        self.history.append(self._make_step(outcome))
        if self.clock.is_over():
            return self._end_at_limit()
        return self._end_if_stalled()

    def _make_step(self, outcome: Outcome) -> Step:
        """Return the step of a solved master, with objective, bound and value in the declared sense of the master."""
        sign = self._sign
        bound = None if self.upper is None else sign * self.upper
        value = None if self.last_value is None else sign * self.last_value
        return Step(sign * outcome.objective, bound, outcome.certificate, self.clock.elapsed(), len(self.rows), value)

    @property
    def _sign(self) -> float:
        """-1 if the master is maximised, else 1; bounds and values of columns are those of the minimised master."""
        return -1.0 if self.session.program.maximizes else 1.0

    def _objective_has_risen(self, now: float) -> bool:
        """Return True if the objective `now` is the first, or exceeds that of the last master by more than rounding."""
        if not self.history:
            return True
        return now - self._sign * self.history[-1].objective > COLUMN_ZERO_TOLERANCE * largest_column(self.rows)

    def _end_if_stalled(self) -> RunEnd | None:
        """Return the end of the run if the objective did not increase for too many rounds; None to continue."""
        # While the objective is constant, each new row may remove one direction from the set of optimal prices. So
        # there are at most as many such rounds as prices.
        rounds = self.settings.patience + min(self.constant_rounds, sum(price.size for price in self.problem.start))
        now = self.history[-1].objective
        if len(self.history) <= rounds:
            return None
        if self._sign * (now - self.history[-1 - rounds].objective) > self.tolerance * abs(now):
            return None
        change = "increased" if self._sign > 0 else "decreased"
        rise = f"The objective has {change} by less than {self.tolerance:g} (relative) in {_format_round_count(rounds)}"
        return (
            Termination.STALLED,
            f"{self._degenerate_message() or self._residual_message() or rise}; {self._kept_column_clause}",
        )

    def _multipliers_by_block(self) -> dict[str, float]:
        """Return the multiplier of the first row of each block, by block name."""
        form, point = self.outcome.form, self.outcome.point
        z = np.zeros(form.rows.count) if point is None or point.z is None else point.z
        return {block.name: float(z[start]) for block, start in zip(form.blocks, form.block_starts[:-1], strict=True)}

    def _drop_idle_rows(self) -> None:
        """Delete the rows of columns that had no weight for many rounds, if there are enough (see `rows_to_drop`)."""
        idle = rows_to_drop(self.rows, self.settings.idle)
        if idle:
            self.session.delete(*(row.name for row in idle))
            self.rows = [row for row in self.rows if row not in idle]

    # -- the end -----------------------------------------------------------------------------------------------------

    def _has_closed_gap(self) -> bool:
        """Return True if there is an upper bound and it agrees with the lower bound up to the tolerance."""
        assert self.last_master is not None
        if self.upper is None:
            return False
        low, rounding = self.last_master.objective, COLUMN_ZERO_TOLERANCE * largest_column(self.rows)
        return self.upper - low <= max(rounding, self.tolerance * max(abs(low), abs(self.upper)))

    def _end_without_violation(self) -> RunEnd:
        """Return the end of a run in which no further column is violated or the two bounds have met."""
        has_closed = self._has_closed_gap()
        if self.clock.is_over() and not has_closed:
            return self._end_at_limit()
        hidden = self._degenerate_message() or self._residual_message()
        if hidden:
            return Termination.STALLED, f"{hidden}; {self._kept_column_clause}"
        if has_closed:
            return Termination.OPTIMAL, self._rounding_message()
        if self.failure:
            return Termination.STALLED, f"{self.failure}; {self._kept_column_clause}"
        return Termination.STATIONARY, ""

    def _rounding_message(self) -> str:
        """Return a message if the two bounds agree only up to rounding errors of the columns; empty otherwise."""
        assert self.last_master is not None
        assert self.upper is not None
        low, size = self.last_master.objective, max(abs(self.last_master.objective), abs(self.upper))
        if self.upper - low <= self.tolerance * size or size <= COLUMN_ZERO_TOLERANCE * largest_column(self.rows):
            return ""
        return f"The bounds agree up to rounding errors of the columns: relative gap {(self.upper - low) / size:.0e}."

    def _degenerate_message(self) -> str:
        """Return a message if the ensemble gives all bags the same score; empty otherwise."""
        rows = [row for row in self.rows if row.weight > 0]
        rounding = COLUMN_ZERO_TOLERANCE * largest_column(rows) * sum(row.weight for row in rows)
        # If no column has a weight, the solution follows from the master's own rows and is not degenerate.
        distinguishes = not rows or float(np.ptp(ensemble_scores(rows))) > rounding
        return "" if distinguishes else "Degenerate: all bags have the same score"

    def _residual_message(self) -> str:
        """Return a message if residuals are too large to detect violated columns; empty otherwise."""
        assert self.last_master is not None
        proof, size = self.last_master.certificate, largest_column(self.rows)
        residual = max(self.residual, proof.largest_error if proof is not None else 0.0)
        if residual <= MAX_RELIABLE_RESIDUAL * max(abs(self.last_master.objective), MAX_RELIABLE_RESIDUAL * size):
            return ""
        problem = f"Residuals of {residual:.0e} are too large to find violated columns of size {size:.0e}"
        return f"{problem}: scale the data so that columns have size 1"

    def _end_without_column(self) -> RunEnd:
        """Return the end of a run that found no column at its first prices.

        The reason is the time limit, the failure of an oracle, or that there is no column. Ctrl-C was only recorded
        until now. As there is nothing to keep, it is raised here.
        """
        if self.clock.interrupted:
            raise KeyboardInterrupt
        if self.clock.is_over():
            return Termination.LIMIT, "Time limit before any column."
        if self.failure:
            return Termination.STALLED, f"{self.failure}; there is no column yet."
        message = (
            "Degenerate: at the first prices no column distinguishes the classes, and all bags have the same score."
        )
        return Termination.STALLED, message

    def _end_at_limit(self) -> RunEnd:
        """Return the end of a run at the time limit or at Ctrl-C."""
        return Termination.LIMIT, f"{self.clock.end_reason()}; {self._kept_column_clause}"

    @property
    def _kept_column_clause(self) -> str:
        """Last clause of a message: which ensemble or column is kept."""
        kept = "best ensemble" if self.last_master is not None else "best single column found so far"
        return f"the {kept} is kept."


def _largest_column_error(answer: PricingResult) -> float:
    """Return the largest certified error of the columns, in the unit of the objective; 0 without certificates."""
    return max(
        (column.certificate.largest_error for column in answer.columns if column.certificate is not None), default=0.0
    )


def _format_round_count(rounds: int) -> str:
    """Return "1 round" or "N rounds"."""
    return "1 round" if rounds == 1 else f"{rounds} rounds"
