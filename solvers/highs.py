"""HiGHS (Hall, Galabova, Feldmeier; MIT): linear, convex quadratic and mixed-integer linear programs.

Linear programs stay alive in one model and start each solve from the last simplex basis. Its quadratic solver always
starts cold, and solves  1/2 x'(P + reg I)x + q'x  with reg = 1e-7, without which it has called wrong points optimal;
the bias is taken out by proximal steps, which solve again with  q - reg x_k  until  P x + q = F'z + reduced costs.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from milopt.compilation.recession import falls, feasibility_form, recession_form
from milopt.compilation.standard_form import StandardForm
from milopt.outcome.status import Termination
from milopt.solvers.highs_model import HighsModel, Run
from milopt.solving.columnless import answer_without_columns
from milopt.solving.engine import Answer, Change, Engine
from milopt.solving.options import Options
from milopt.solving.solver import Feature, Solver

STATUS_MAP = {
    "kOptimal": Termination.OPTIMAL,
    "kInfeasible": Termination.INFEASIBLE,
    "kUnbounded": Termination.UNBOUNDED,
    "kTimeLimit": Termination.LIMIT,
    "kIterationLimit": Termination.LIMIT,
    "kSolutionLimit": Termination.LIMIT,
    "kObjectiveBound": Termination.LIMIT,
    "kObjectiveTarget": Termination.LIMIT,
    "kMemoryLimit": Termination.LIMIT,
    "kInterrupt": Termination.LIMIT,
    "kHighsInterrupt": Termination.LIMIT,
    "kUnknown": Termination.STALLED,
}
"""Names of HighsModelStatus; `kUnboundedOrInfeasible` is told apart by a second run, and any other is an error."""

REGULARISATION = 1e-7
"""HiGHS's own default for `qp_regularization_value`."""
PROXIMAL_STEPS = 3


class HiGHS(Solver):
    """The `highs` solver."""

    name = "highs"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC, Feature.INTEGER})
    package = "highspy"
    licence = "MIT"

    def refusal(self, form: StandardForm) -> str | None:
        """HiGHS takes integers and quadratics, but not together."""
        if form.integer.any() and not form.P.is_zero:
            return "HiGHS refuses mixed-integer quadratic programs"
        return None

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """A live HiGHS model of the form."""
        return HighsEngine(form, options)


class HighsEngine(Engine):
    """A persistent engine: changes are made in place, and `rebuilds` counts the few that cannot be."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        self._model = HighsModel(form, options)

    def update(self, form: StandardForm, change: Change) -> None:
        """Make the same change in HiGHS's model."""
        self.form = form
        if not self._model.apply(form, change):
            self.rebuilds += 1

    def solve(self, time_limit: float | None) -> Answer:
        """Solve, and take HiGHS at its word but for the two cases it leaves open (see the module)."""
        form = self.form
        if form.n == 0:
            return answer_without_columns(form, self.options.tolerance)
        deadline = None if time_limit is None else time.perf_counter() + time_limit
        self._model.log.clear()
        run = self._model.run(time_limit)
        if run.status == "kUnboundedOrInfeasible":
            run = replace(run, status=self._tell_apart(_left(deadline)))
        unbounded = False
        if not form.P.is_zero and run.status == "kOptimal":
            run = self._remove_bias(run, deadline)
            unbounded = self._residual(run) > self.options.tolerance * self._scale() and self._recedes(_left(deadline))
        termination = Termination.UNBOUNDED if unbounded else STATUS_MAP.get(run.status, Termination.ERROR)
        no_point = termination in (Termination.INFEASIBLE, Termination.UNBOUNDED, Termination.ERROR)
        integer = bool(form.integer.any())
        return Answer(
            termination,
            run.status,
            x=None if no_point else run.x,
            z=None if no_point or integer else run.z,
            bound=run.bound + form.constant if integer and np.isfinite(run.bound) and not no_point else None,
            iterations=run.iterations,
            log="".join(self._model.log),
        )

    def _remove_bias(self, first: Run, deadline: float | None) -> Run:
        """Proximal steps from a regularised optimum; the run with the smallest residual."""
        form, target = self.form, 1e-3 * self.options.tolerance * self._scale()
        value = self.options.extra.get("qp_regularization_value", REGULARISATION)
        reg = float(value) if isinstance(value, int | float) else REGULARISATION
        best = last = first
        residual, iterations = self._residual(first), first.iterations
        for _ in range(PROXIMAL_STEPS):
            left = _left(deadline)
            if residual <= target or last.x is None or (left is not None and left <= 0):
                break
            self._model.set_costs(form.q - reg * last.x)
            last = self._model.run(left)
            iterations += last.iterations
            if last.status != "kOptimal" or self._residual(last) >= residual:
                break
            best, residual = last, self._residual(last)
        self._model.set_costs(form.q)
        return replace(best, iterations=iterations)

    def _scale(self) -> float:
        return 1.0 + float(np.abs(self.form.q).max(initial=0.0))

    def _residual(self, run: Run) -> float:
        """The largest part of P x + q - F'z that no reduced cost of the right sign accounts for."""
        form = self.form
        if run.x is None or run.z is None:
            return np.inf
        rest = form.P.times(run.x) + form.q - form.F.T @ run.z
        slack = 1e-9 * (1.0 + np.abs(run.x))
        at_lower, at_upper = run.x - form.lower <= slack, form.upper - run.x <= slack
        rest = np.where(at_lower, np.minimum(rest, 0.0), rest)
        rest = np.where(at_upper, np.maximum(rest, 0.0), rest)
        return float(np.abs(rest).max(initial=0.0))

    def _tell_apart(self, time_limit: float | None) -> str:
        """Infeasible or unbounded: unbounded if a point exists at all."""
        found = HighsModel(feasibility_form(self.form), self.options).run(time_limit).status
        return "kUnbounded" if found == "kOptimal" else found

    def _recedes(self, time_limit: float | None) -> bool:
        """Whether the objective falls for ever along some direction, which the regularisation hides."""
        run = HighsModel(recession_form(self.form), self.options).run(time_limit)
        return run.status == "kOptimal" and run.x is not None and falls(self.form, run.x)


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(deadline - time.perf_counter(), 0.0)
