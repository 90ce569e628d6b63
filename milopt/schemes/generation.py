"""One run of column generation: the master's rows so far, the bounds, and what comes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from milopt.compilation.quadratic import Vector
from milopt.declaration.expression import Constraint
from milopt.declaration.leaves import Variable
from milopt.declaration.semi_infinite import SemiInfinite
from milopt.outcome.ensemble import Ensemble
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Step
from milopt.outcome.status import PointStatus, Termination
from milopt.schemes.members import side_by_side
from milopt.schemes.steps import Totals
from milopt.solving.clock import Clock
from milopt.solving.interrupt import is_interrupt
from milopt.solving.pricing import Priced, Pricing
from milopt.solving.session import Session

if TYPE_CHECKING:
    from milopt.schemes.column_generation import ColumnGeneration

NOTHING = 1e-9
"""A value this small beside the entries of its column is none: what rounding leaves where entries cancel."""

WEIGHTLESS = 1e-7
"""A multiplier this small beside the largest is what an interior-point solver leaves of 0."""

IDLE_SHARE = 0.25
"""Of the rows, how many must be idle before they are dropped."""

End = tuple[Termination, str]


@dataclass(eq=False)
class Row:
    """A column, and its row in the master."""

    name: str
    oracle: int
    priced: Priced
    constraint: Constraint
    weight: float = 0.0
    idle: int = 0
    """Rounds without a weight in which the value rose."""


@dataclass
class Generation:
    """The state of a run."""

    problem: SemiInfinite
    session: Session
    pricings: Sequence[Pricing]
    manners: ColumnGeneration
    clock: Clock
    tolerance: float
    """Of violations, of the gap, and of what counts as a rise of the value, beside that value."""
    rows: list[Row] = field(default_factory=list)
    solved: Outcome | None = None
    """The last certified master."""
    failed: Outcome | None = None
    upper: float | None = None
    """The smallest value that an oracle proved enough."""
    reached: float = np.inf
    best: dict[Variable, Vector] = field(default_factory=dict)
    """The smallest value that an oracle found, and the prices there."""
    last: float | None = None
    """The value that the oracles found last."""
    failure: str = ""
    """Why the oracles may have missed a column when they were asked last."""
    history: list[Step] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    count: int = 0
    still: int = 0
    """Rounds since the value last rose."""

    @property
    def outcome(self) -> Outcome:
        """Of the best master; of the failed one where there is none, or of no master at all."""
        known = self.solved or self.failed
        if known is not None:
            return known
        return Outcome.without_point(self.session.form, Termination.STALLED, "", "")

    def run(self) -> End:
        """Rounds until one is the last."""
        try:
            for _ in range(self.manners.max_rounds):
                end = self._round()
                if end is not None:
                    return end
        except (KeyboardInterrupt, SystemError) as error:
            if self.solved is None or not is_interrupt(error):
                raise
            self.clock.interrupted = True
            return self._cut()
        return Termination.LIMIT, f"Stopped after {self.manners.max_rounds} rounds; the best ensemble is kept."

    def ensemble(self) -> Ensemble | None:
        """The columns with a weight, and the offset of every score; None without a master."""
        if self.solved is None and self.failed is not None:
            return None
        rows, offset = [row for row in self.rows if row.weight > 0], 0.0
        if rows and self.problem.offset is not None:
            offset = self.problem.offset(np.sum([row.weight * row.priced.column for row in rows], axis=0))
        weighted = [[(row.priced, row.weight) for row in rows if row.oracle == k] for k in range(len(self.pricings))]
        return Ensemble(tuple(side_by_side(columns) for columns in weighted), offset)

    def _round(self) -> End | None:
        """Price, add, solve; how it ended where that was the last."""
        found = self._violated(self._prices(), 1)
        if not found and self.manners.smoothing and self.best and not self.clock.is_over():
            found = self._violated(self._master_prices(), 1)
        if not found and self.solved is not None and not self.clock.is_over():
            found = self._violated(self._master_prices(), self.manners.starts)
        if self.solved is not None and (not found or self._has_closed()):
            return self._finished()
        if not found:
            return self._without_column()
        for row in found:
            self.session.add_rows(row.constraint, row.name)
            self.rows.append(row)
        self._drop()
        return self._solve()

    # -- prices ------------------------------------------------------------------------------------------------------

    def _master_prices(self) -> dict[Variable, Vector]:
        if self.solved is None or self.solved.point is None:
            return self.problem.start
        x = self.solved.point.x
        spans = {column.name: slice(column.start, column.stop) for column in self.solved.form.columns}
        # Interior-point solvers leave their bounds by a rounding error, which a parameter's sign would refuse.
        return {v: np.clip(x[spans[v.name]], v.lower, v.upper).reshape(v.shape) for v in self.problem.start}

    def _prices(self) -> dict[Variable, Vector]:
        current, part = self._master_prices(), self.manners.smoothing
        if not part or not self.best:
            return current
        return {v: part * self.best[v] + (1 - part) * value for v, value in current.items()}

    def _violated(self, prices: dict[Variable, Vector], starts: int) -> list[Row]:
        """What the oracles find at these prices and the master's own solution violates."""
        found: list[Row] = []
        bounds: list[float | None] = []
        reached = -np.inf
        self.failure = ""
        for k, (oracle, pricing) in enumerate(zip(self.problem.oracles, self.pricings, strict=True)):
            began = perf_counter()
            answer = pricing.price({p: prices[v] for p, v in oracle.prices.items()}, starts, self.clock)
            self.totals.solve += perf_counter() - began
            bounds.append(answer.bound)
            self.failure = self.failure or answer.failure
            for priced in answer.columns:
                reached = max(reached, priced.value)
                if any(_is_same(priced, row.priced) for row in found):
                    continue
                constraint = self.problem.family(priced.column)
                if self._is_violated(constraint, priced):
                    found.append(Row(f"{self.problem.family.name}[{self.count}]", k, priced, constraint))
                    self.count += 1
            if self.clock.is_over():
                break
        known = [bound for bound in bounds if bound is not None]
        if len(known) == len(self.pricings):
            self._bound(max(known))
        self.last = reached if np.isfinite(reached) else None
        if reached < self.reached:
            self.reached, self.best = reached, dict(prices)
        return found

    def _bound(self, enough: float) -> None:
        """Take note of what is enough for every column at some prices, and for the master's own rows there."""
        if self.solved is not None:
            # Those need no more than the masters so far, at whose solutions the prices are.
            enough = max(enough, self.solved.objective)
        elif not self._is_about_prices():
            return
        self.upper = enough if self.upper is None else min(enough, self.upper)

    def _is_about_prices(self) -> bool:
        """Whether the master's own rows leave what is not a price alone."""
        rows = self.problem.master.constraints.values()
        return all(leaf in self.problem.start for row in rows for leaf, _ in row.expression.terms)

    def _is_violated(self, constraint: Constraint, priced: Priced) -> bool:
        rounding = NOTHING * priced.size
        if self.solved is None:
            return abs(priced.value) > rounding
        slack = float(PointValues(self.session.lowering, self.solved).value(constraint.expression)[0])
        return -slack > max(rounding, self.tolerance * max(abs(priced.value), abs(self.solved.objective)))

    # -- the master --------------------------------------------------------------------------------------------------

    def _solve(self) -> End | None:
        outcome = self.session.solve(self.clock)
        self.totals.add(outcome)
        if outcome.point is None or outcome.point.z is None or outcome.status is not PointStatus.CERTIFIED:
            self.failed = outcome
            kept = " The best ensemble is kept." if self.solved is not None else ""
            return outcome.termination, f"{outcome.message}{kept}"
        self.solved = outcome
        has_risen = self._has_risen(outcome.objective)
        self.still = 0 if has_risen else self.still + 1
        self._weigh(has_risen)
        proof, seconds = outcome.certificate, self.clock.elapsed()
        self.history.append(Step(outcome.objective, self.upper, proof, seconds, len(self.rows), self.last))
        if self.clock.is_over():
            return self._cut()
        return self._stalled()

    def _has_risen(self, now: float) -> bool:
        """Whether the master's value is larger than that of the last one, beyond rounding."""
        return not self.history or now - self.history[-1].objective > NOTHING * self._size()

    def _size(self) -> float:
        """Of the largest column."""
        return max((row.priced.size for row in self.rows), default=0.0)

    def _stalled(self) -> End | None:
        # Where the value stays as it is, a new row may still take a direction from the prices: at most one each.
        rounds = self.manners.patience + min(self.still, sum(price.size for price in self.problem.start))
        now = self.history[-1].objective
        if len(self.history) <= rounds:
            return None
        if now - self.history[-1 - rounds].objective > self.tolerance * abs(now):
            return None
        return Termination.STALLED, f"The value has not risen in {rounds} rounds; the best ensemble is kept."

    def _multipliers(self) -> dict[str, float]:
        """Of the blocks that are one row."""
        form, point = self.outcome.form, self.outcome.point
        z = np.zeros(form.rows.count) if point is None or point.z is None else point.z
        return {block.name: float(z[start]) for block, start in zip(form.blocks, form.starts[:-1], strict=True)}

    def _weigh(self, has_risen: bool) -> None:
        """A row's multiplier in the last master is its column's weight; those of no weight leave theirs to the rest.

        Where the value did not rise, rows without a weight may be what keeps earlier prices from coming back: that
        round does not count against them.
        """
        multipliers = self._multipliers()
        given = np.array([max(0.0, multipliers[row.name]) for row in self.rows])
        kept = np.where(given > WEIGHTLESS * given.max(initial=0.0), given, 0.0)
        if kept.any():
            kept *= given.sum() / kept.sum()
        for row, weight in zip(self.rows, kept.tolist(), strict=True):
            row.weight = weight
            row.idle = 0 if weight > 0 else row.idle + has_risen

    def _drop(self) -> None:
        idle = [row for row in self.rows if self.manners.idle and row.idle >= self.manners.idle]
        # A few idle rows cost the solver less than taking them out does.
        if len(idle) > IDLE_SHARE * len(self.rows):
            self.session.delete(*(row.name for row in idle))
            self.rows = [row for row in self.rows if row not in idle]

    # -- the end -----------------------------------------------------------------------------------------------------

    def _has_closed(self) -> bool:
        """Whether the bounds have met."""
        assert self.solved is not None
        if self.upper is None:
            return False
        low, rounding = self.solved.objective, NOTHING * self._size()
        return self.upper - low <= max(rounding, self.tolerance * max(abs(low), abs(self.upper)))

    def _finished(self) -> End:
        if self._has_closed():
            return Termination.OPTIMAL, ""
        if self.clock.is_over():
            return self._cut()
        if self.failure:
            return Termination.STALLED, f"{self.failure}; the best ensemble is kept."
        return Termination.STATIONARY, ""

    def _without_column(self) -> End:
        """The end of a run whose first prices brought nothing: for want of time, of a proof, or of any column."""
        if self.clock.is_over():
            return Termination.LIMIT, f"{self.clock.why()} before any column."
        if self.failure:
            return Termination.STALLED, f"{self.failure}; there is no column yet."
        what = "at the start no column tells the classes apart, and every bag scores the same"
        return Termination.STALLED, f"Degenerate: {what}."

    def _cut(self) -> End:
        return Termination.LIMIT, f"{self.clock.why()}; the best ensemble is kept."


def _is_same(one: Priced, other: Priced) -> bool:
    """Whether two columns are one, but for rounding: descents from several starts may end alike."""
    return bool(np.abs(one.column - other.column).max() <= NOTHING * one.size)
