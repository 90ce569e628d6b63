"""One run of column generation: the master's rows so far, the bounds, and what comes next."""

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
from milopt.interrupt import noted_interrupt
from milopt.jit_time import working_seconds
from milopt.outcome.ensemble import Ensemble
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Step
from milopt.schemes.master_rows import NOTHING, Row, idle_rows, is_same, largest, scores, weigh
from milopt.schemes.members import side_by_side
from milopt.schemes.scheme import Steps
from milopt.schemes.steps import Totals
from milopt.solving.clock import Clock
from milopt.solving.pricing import Found, Priced, Pricing
from milopt.solving.step_session import StepSession

if TYPE_CHECKING:
    from milopt.schemes.column_generation import ColumnGeneration

MEANT = 1e-4
"""Residuals this large beside the value, or beside this part of a column, hide whether a column is violated."""

End = tuple[Termination, str]


@dataclass
class Generation:
    """The state of a run."""

    problem: SemiInfinite
    session: StepSession
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
    residual: float = 0.0
    """The largest error of a column then."""
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

    def run(self) -> Steps[End]:
        """Rounds until one is the last; each master that was solved is a step."""
        try:
            with noted_interrupt(self._interrupt):
                for _ in range(self.manners.max_rounds):
                    known = len(self.history)
                    end = self._round()
                    yield from self.history[known:]
                    if end is not None:
                        return end
        except KeyboardInterrupt:
            if self.solved is None:
                raise
            self.clock.interrupted = True
            return self._cut()
        return Termination.LIMIT, f"Stopped after {_counted(self.manners.max_rounds)}; {self._kept}"

    def _interrupt(self) -> None:
        """At Ctrl-C the time is up; who presses it again, with nothing to keep yet, does not want to wait."""
        if self.clock.interrupted and not self.rows:
            raise KeyboardInterrupt
        self.clock.interrupted = True

    def ensemble(self) -> Ensemble | None:
        """The columns with a weight, and the offset of every score; None where the first master has no solution."""
        rows, offset = [row for row in self.rows if row.weight > 0], 0.0
        if not rows and self.solved is None and self.failed is not None:
            return None
        if rows and self.problem.offset is not None:
            offset = self.problem.offset(scores(rows))
        weighted = [[(row.priced, row.weight) for row in rows if row.oracle == k] for k in range(len(self.pricings))]
        return Ensemble(tuple(side_by_side(columns) for columns in weighted), offset)

    def _round(self) -> End | None:
        """Price, add, solve; how it ended where that was the last."""
        found = self._violated(self._prices(), 1)
        if not found and self.manners.smoothing and self.best and not self.clock.is_over():
            found = self._violated(self._master_prices(), 1)
        if not found and not self.clock.is_over():
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
        self.failure, self.residual = "", 0.0
        for k, (oracle, pricing) in enumerate(zip(self.problem.oracles, self.pricings, strict=True)):
            answer = self._priced(pricing, {p: prices[v] for p, v in oracle.prices.items()}, starts)
            bounds.append(answer.bound)
            self.failure, self.residual = self.failure or answer.failure, max(self.residual, _residual(answer))
            for priced in answer.columns:
                reached = max(reached, priced.value)
                if any(is_same(priced, row.priced) for row in found):
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

    def _priced(self, pricing: Pricing, prices: dict[Parameter, Vector], starts: int) -> Found:
        """Ask an oracle; its own algorithm counts as solving, a session inside counts its time itself."""
        work, began = self.clock.work, working_seconds()
        known = work.build + work.solve
        answer = pricing.price(prices, starts, self.clock)
        work.solve += max(0.0, working_seconds() - began - (work.build + work.solve - known))
        return answer

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
            if outcome.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
                return outcome.termination, outcome.message
            if self.solved is None:
                max(self.rows, key=lambda row: row.priced.value).weight = 1.0
            if outcome.termination is Termination.LIMIT:
                return self._cut()
            size = f"The columns are of size {largest(self.rows):.0e}, best about 1"
            return outcome.termination, f"{outcome.message} {size}; {self._kept}"
        self.solved = outcome
        has_risen = self._has_risen(outcome.objective)
        self.still = 0 if has_risen else self.still + 1
        weigh(self.rows, self._multipliers(), has_risen)
        proof, seconds = outcome.certificate, self.clock.elapsed()
        self.history.append(Step(outcome.objective, self.upper, proof, seconds, len(self.rows), self.last))
        if self.clock.is_over():
            return self._cut()
        return self._stalled()

    def _has_risen(self, now: float) -> bool:
        """Whether the master's value is larger than that of the last one, beyond rounding."""
        return not self.history or now - self.history[-1].objective > NOTHING * largest(self.rows)

    def _stalled(self) -> End | None:
        # Where the value stays as it is, a new row may still take a direction from the prices: at most one each.
        rounds = self.manners.patience + min(self.still, sum(price.size for price in self.problem.start))
        now = self.history[-1].objective
        if len(self.history) <= rounds:
            return None
        if now - self.history[-1 - rounds].objective > self.tolerance * abs(now):
            return None
        rise = f"The value has risen by less than {self.tolerance:g} of itself in {_counted(rounds)}"
        return Termination.STALLED, f"{self._degenerate() or self._blurred() or rise}; {self._kept}"

    def _multipliers(self) -> dict[str, float]:
        """Of the blocks that are one row."""
        form, point = self.outcome.form, self.outcome.point
        z = np.zeros(form.rows.count) if point is None or point.z is None else point.z
        return {block.name: float(z[start]) for block, start in zip(form.blocks, form.starts[:-1], strict=True)}

    def _drop(self) -> None:
        idle = idle_rows(self.rows, self.manners.idle)
        if idle:
            self.session.delete(*(row.name for row in idle))
            self.rows = [row for row in self.rows if row not in idle]

    # -- the end -----------------------------------------------------------------------------------------------------

    def _has_closed(self) -> bool:
        """Whether the bounds have met."""
        assert self.solved is not None
        if self.upper is None:
            return False
        low, rounding = self.solved.objective, NOTHING * largest(self.rows)
        return self.upper - low <= max(rounding, self.tolerance * max(abs(low), abs(self.upper)))

    def _finished(self) -> End:
        has_closed = self._has_closed()
        if self.clock.is_over() and not has_closed:
            return self._cut()
        hidden = self._degenerate() or self._blurred()
        if hidden:
            return Termination.STALLED, f"{hidden}; {self._kept}"
        if has_closed:
            return Termination.OPTIMAL, ""
        if self.failure:
            return Termination.STALLED, f"{self.failure}; {self._kept}"
        return Termination.STATIONARY, ""

    def _degenerate(self) -> str:
        """That the ensemble tells no bag from another, in words; nothing where it does."""
        rows = [row for row in self.rows if row.weight > 0]
        rounding = NOTHING * largest(rows) * sum(row.weight for row in rows)
        # Without a weight at all it is the master's own rows that decide.
        tells = not rows or float(np.ptp(scores(rows))) > rounding
        return "" if tells else "Degenerate: every bag scores the same"

    def _blurred(self) -> str:
        """That residuals hide what is left to gain, in words; nothing where they do not."""
        assert self.solved is not None
        proof, size = self.solved.certificate, largest(self.rows)
        residual = max(self.residual, proof.largest_error if proof is not None else 0.0)
        if residual <= MEANT * max(abs(self.solved.objective), MEANT * size):
            return ""
        what = f"Residuals of {residual:.0e} hide what is left to gain over columns of size {size:.0e}"
        return f"{what}: scale the data so that they are about 1"

    def _without_column(self) -> End:
        """The end of a run whose first prices brought nothing: for want of time, of a proof, or of any column.

        Ctrl-C has been noted so far; as there is nothing to keep, it raises after all.
        """
        if self.clock.interrupted:
            raise KeyboardInterrupt
        if self.clock.is_over():
            return Termination.LIMIT, "Time limit before any column."
        if self.failure:
            return Termination.STALLED, f"{self.failure}; there is no column yet."
        what = "at the start no column tells the classes apart, and every bag scores the same"
        return Termination.STALLED, f"Degenerate: {what}."

    def _cut(self) -> End:
        return Termination.LIMIT, f"{self.clock.why()}; {self._kept}"

    @property
    def _kept(self) -> str:
        what = "best ensemble" if self.solved is not None else "best column found so far, alone,"
        return f"the {what} is kept."


def _residual(answer: Found) -> float:
    """Return the largest error of the columns, in the unit of the objective."""
    return max((one.certificate.largest_error for one in answer.columns if one.certificate is not None), default=0.0)


def _counted(rounds: int) -> str:
    return "1 round" if rounds == 1 else f"{rounds} rounds"
