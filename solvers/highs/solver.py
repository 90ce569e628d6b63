"""HiGHS, by Hall, Galabova, Feldmeier and others (MIT licence).

Problem classes: linear, convex quadratic and mixed-integer linear programs.

Multipliers: rows are passed as  -g <= F x <= -g  (zero cone) or  -g <= F x  (non-negative cone), so that HiGHS's
`row_dual` equals milopt's z, with the same sign.

Warm start: yes for linear programs. Their model stays in HiGHS and each solve starts from the last simplex basis. The
quadratic methods always start cold (see `quadratic`). They may run for minutes without checking the clock, so large
quadratic programs with a time limit are solved in a child process.
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
from milopt.solvers.highs.quadratic import UNCONFIRMED_STATUS_SUFFIX, solve_quadratic
from milopt.solving.columnless import answer_without_columns
from milopt.solving.engine import Change, ChangeKind, Engine
from milopt.solving.engine_process import EngineProcess, has_slow_iterations
from milopt.solving.options import Options
from milopt.solving.solver import Solver

if TYPE_CHECKING:
    from milopt.compilation.evaluation_form import EvaluationForm
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
    "kOptimal" + UNCONFIRMED_STATUS_SUFFIX: Termination.STALLED,
    "kUnbounded" + UNCONFIRMED_STATUS_SUFFIX: Termination.STALLED,
}
"""Terminations by the names of HighsModelStatus; any other status is an error.

`UNBOUNDED` is only a claim: the program may be infeasible.
"""


class HiGHS(Solver):
    """Solver `highs`: linear, convex quadratic and mixed-integer linear programs.

    Linear programs are warm-started from the last simplex basis. HiGHS also prices the oracles of weak learners over
    the 1-norm ball in column generation.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("cover")
    >>> x = program.variable("x", 2, lower=0)
    >>> program.minimize(x[0] + 2 * x[1])
    >>> _ = program.subject_to(x.sum() >= 1, name="cover")
    >>> result = milopt.solve(program, solver="highs")
    >>> print(round(result.objective, 6))
    1.0
    """

    name = "highs"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC, Feature.INTEGER})
    package = "highspy"
    licence = "MIT"
    supports_warm_start = True

    def requires_dual(self, form: EvaluationForm) -> bool:
        """Return True: the methods of HiGHS for quadratic programs take long if there are many rows."""
        return True

    def rank(self, profile: Profile) -> float:
        """Return 30 for linear programs (before Clarabel) and 20 for quadratic ones, which Clarabel solves faster."""
        return 30.0 if profile.is_linear else 20.0

    def pricing(self, oracle: Oracle, bags: Bags, options: Options) -> Pricing | None:
        """Return the pricing algorithm for weak learners over the 1-norm ball, or None for other oracles."""
        from milopt.solvers.highs.l1_ball import l1_ball_pricing_by_highs

        return l1_ball_pricing_by_highs(oracle, bags, options)

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """Return an engine that keeps a HiGHS model of the form between solves."""
        return HighsEngine(form, options)


class HighsEngine(Engine):
    """Engine with a persistent HiGHS model.

    Changes are made in place if possible; `rebuilds` counts the other changes.
    """

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        check_options(options.extra, "HiGHS")
        self._built: HighsModel | None = None
        self._process = EngineProcess(HiGHS.name, options)

    @property
    def _model(self) -> HighsModel:
        """HiGHS's model of the current form, built on first use."""
        if self._built is None:
            self._built = HighsModel(self.form, self.options)
        return self._built

    def update(self, form: StandardForm, change: Change) -> None:
        """Change to a new form. HiGHS's model, if it has been built, is edited in place or built again."""
        self.form = form
        in_place = change.kind is not ChangeKind.EVERYTHING if self._built is None else self._built.apply(form, change)
        if not in_place:
            self.rebuilds += 1

    def solve(self, time_limit: float | None) -> Answer:
        """Solve the current form. Quadratic programs are solved by several methods in turn, if needed.

        Large quadratic programs with a time limit are solved in a child process.
        """
        form = self.form
        if form.n == 0:
            return answer_without_columns(form, self.options.tolerance)
        if time_limit is not None and not form.P.is_zero and has_slow_iterations(form) and self._process.can_run():
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
        """Stop the child process, if one is running."""
        self._process.close()
