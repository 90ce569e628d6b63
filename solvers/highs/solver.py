"""HiGHS (Hall, Galabova, Feldmeier; MIT): linear, convex quadratic and mixed-integer linear programs.

Linear programs stay alive in one model and start each solve from the last simplex basis; its quadratic solver always
starts cold (see `highs_quadratic`). Its quadratic methods may work for minutes without a look at the clock: large
quadratic programs with a time limit are solved in a process of their own.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from milopt.compilation.answer import Answer
from milopt.compilation.features import Feature
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.solvers.highs.model import HighsModel, check_options
from milopt.solvers.highs.quadratic import UNCONFIRMED, solve_quadratic
from milopt.solving.columnless import answer_without_columns
from milopt.solving.engine import Change, Engine, What
from milopt.solving.engine_process import EngineProcess, is_heavy
from milopt.solving.options import Options
from milopt.solving.solver import Solver

if TYPE_CHECKING:
    from milopt.declaration.bags.bags import Bags
    from milopt.declaration.programs.semi_infinite import Oracle
    from milopt.solving.pricing import Pricing
    from milopt.solving.profile import Profile

STATUS_MAP = {
    "kOptimal": Termination.OPTIMAL,
    "kInfeasible": Termination.INFEASIBLE,
    "kUnbounded": Termination.UNBOUNDED,
    "kUnboundedOrInfeasible": Termination.UNBOUNDED,
    "kTimeLimit": Termination.LIMIT,
    "kIterationLimit": Termination.LIMIT,
    "kSolutionLimit": Termination.LIMIT,
    "kObjectiveBound": Termination.LIMIT,
    "kObjectiveTarget": Termination.LIMIT,
    "kMemoryLimit": Termination.LIMIT,
    "kInterrupt": Termination.LIMIT,
    "kHighsInterrupt": Termination.LIMIT,
    "kUnknown": Termination.STALLED,
    "kOptimal" + UNCONFIRMED: Termination.STALLED,
    "kUnbounded" + UNCONFIRMED: Termination.STALLED,
}
"""Names of HighsModelStatus; any other is an error. `UNBOUNDED` is a claim: the program may be infeasible."""


class HiGHS(Solver):
    """The `highs` solver."""

    name = "highs"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC, Feature.INTEGER})
    package = "highspy"
    licence = "MIT"
    starts_warm = True

    def rank(self, profile: Profile) -> float:
        """First for linear programs; its quadratic methods are slower than Clarabel."""
        return 30.0 if profile.is_linear else 20.0

    def pricing(self, oracle: Oracle, bags: Bags, options: Options) -> Pricing | None:
        """Weak learners over the 1-norm ball, by rows and columns that join as they are needed."""
        from milopt.solvers.highs.l1_ball import l1_ball_pricing_by_highs

        return l1_ball_pricing_by_highs(oracle, bags, options)

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """A live HiGHS model of the form."""
        return HighsEngine(form, options)


class HighsEngine(Engine):
    """A persistent engine: changes are made in place, and `rebuilds` counts the few that cannot be."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        check_options(options.extra, "HiGHS")
        self._built: HighsModel | None = None
        self._process = EngineProcess(HiGHS.name, options)

    @property
    def _model(self) -> HighsModel:
        """HiGHS's model, built when it is first needed."""
        if self._built is None:
            self._built = HighsModel(self.form, self.options)
        return self._built

    def update(self, form: StandardForm, change: Change) -> None:
        """Make the same change in HiGHS's model, if there is one."""
        self.form = form
        in_place = change.what is not What.EVERYTHING if self._built is None else self._built.apply(form, change)
        if not in_place:
            self.rebuilds += 1

    def solve(self, time_limit: float | None) -> Answer:
        """Solve; an optimum of a quadratic program is looked into further."""
        form = self.form
        if form.n == 0:
            return answer_without_columns(form, self.options.tolerance)
        if time_limit is not None and not form.P.is_zero and is_heavy(form) and self._process.can_run():
            return self._process.solve(form, time_limit)
        deadline = None if time_limit is None else time.perf_counter() + time_limit
        self._model.log.clear()
        self._model.interrupted = False
        run = self._model.run(time_limit) if form.P.is_zero else solve_quadratic(self._model, deadline)
        termination = STATUS_MAP.get(run.status, Termination.ERROR)
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
            interrupted=self._model.interrupted,
        )

    def close(self) -> None:
        """End the process, if there is one."""
        self._process.close()
