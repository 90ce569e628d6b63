"""`cvxpy:NAME`: any solver that cvxpy has installed, reached through `to_cvxpy`; for cross-checks, not for loops.

cvxpy canonicalises the problem at every solve, which costs 10 to 1000 times the solve itself on small programs.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from time import monotonic
from typing import Any

import numpy as np

from milopt.compilation.quadratic import Quadratic
from milopt.compilation.standard_form import StandardForm
from milopt.inspection.cvxpy_model import CvxpyModel, to_cvxpy
from milopt.outcome.status import Termination
from milopt.solvers.cvxpy_backends import BACKENDS
from milopt.solving.capture import captured
from milopt.solving.columnless import answer_without_columns
from milopt.solving.engine import Answer, Engine
from milopt.solving.names import unknown
from milopt.solving.options import Options
from milopt.solving.solver import Availability, Solver

STATUS_MAP = {
    "optimal": Termination.OPTIMAL,
    "optimal_inaccurate": Termination.STALLED,
    "infeasible": Termination.INFEASIBLE,
    "infeasible_inaccurate": Termination.STALLED,
    "unbounded": Termination.UNBOUNDED,
    "unbounded_inaccurate": Termination.STALLED,
    "infeasible_or_unbounded": Termination.UNBOUNDED,
    "user_limit": Termination.LIMIT,
}
"""`UNBOUNDED` is what remains to be settled: a ray says nothing unless the program has a point."""


class CVXPY(Solver):
    """One solver behind cvxpy: `CVXPY("CLARABEL")` is called `cvxpy:CLARABEL`."""

    family = True
    package = "cvxpy"

    def __init__(self, variant: str) -> None:
        name = variant.upper()
        if name not in BACKENDS:
            raise unknown("cvxpy solver", variant, list(BACKENDS))
        self.variant = name
        self.backend = BACKENDS[name]
        self.name = f"cvxpy:{name}"
        self.features = self.backend.features
        self.licence = f"Apache-2.0, {self.backend.licence}"

    @classmethod
    def variants(cls) -> list[str]:
        """The solvers whose package is installed, by metadata alone."""
        return [name for name, backend in BACKENDS.items() if backend.version() is not None]

    def availability(self) -> Availability:
        """Both cvxpy and the solver's own package must be there."""
        behind = self.backend.version()
        try:
            own = version(self.package)
        except PackageNotFoundError:
            return Availability(False, None, f"pip install {self.package} {self.backend.package}")
        if behind is None:
            return Availability(False, None, f"pip install {self.backend.package}")
        return Availability(True, f"{own} ({self.backend.package} {behind})")

    def refusal(self, form: StandardForm) -> str | None:
        """Integer columns beside a quadratic objective or cones need a solver that branches over such programs."""
        curved = not form.P.is_zero or bool(form.second_order)
        if form.integer.any() and curved and not self.backend.mixed_integer_quadratic:
            return "it takes integer variables in linear programs only, and this one is not linear"
        return None

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """The form as a cvxpy problem, built when it is solved."""
        return CvxpyEngine(self, form, options)


class CvxpyEngine(Engine):
    """One cvxpy problem a form; every change builds it again."""

    def __init__(self, solver: CVXPY, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        self._solver = solver

    def solve(self, time_limit: float | None) -> Answer:
        """Build and solve; a claim of unboundedness is settled by a search for any feasible point."""
        answer = self._solve(self.form, time_limit)
        if answer.termination is not Termination.UNBOUNDED:
            return answer
        point = self._solve(replace(self.form, P=Quadratic(self.form.n), q=np.zeros(self.form.n)), time_limit)
        return replace(answer, termination=_unbounded_if_feasible(point.termination))

    def _solve(self, form: StandardForm, time_limit: float | None) -> Answer:
        if form.n == 0:
            return answer_without_columns(form, self.options.tolerance)
        import cvxpy as cp

        model = to_cvxpy(form)
        settings = self._solver.backend.settings(self.options, time_limit)
        start = monotonic()
        log = ""
        failure = ""
        try:
            with warnings.catch_warnings():
                # An inaccurate point is the certificate's to judge.
                warnings.simplefilter("ignore")
                _, log = self._run(model, settings)
        except (
            cp.error.SolverError,
            ValueError,
        ) as error:  # ValueError: some interfaces' refusal
            failure = str(error)
        late = time_limit is not None and monotonic() - start >= time_limit
        if failure:
            return Answer(Termination.LIMIT if late else Termination.ERROR, failure, log=log)
        status = str(model.problem.status)
        termination = STATUS_MAP.get(status, Termination.ERROR)
        if termination is Termination.STALLED and late:
            termination = Termination.LIMIT
        has_point = status in ("optimal", "optimal_inaccurate", "user_limit")
        stats = model.problem.solver_stats
        return Answer(
            termination,
            status,
            x=model.point() if has_point else None,
            z=model.multipliers(form) if has_point and not form.integer.any() else None,
            bound=_bound(form, stats.extra_stats if stats else None),
            iterations=max(0, int(stats.num_iters or 0)) if stats else 0,
            log=log,
        )

    def _run(self, model: CvxpyModel, settings: Mapping[str, object]) -> tuple[object, str]:
        def call() -> object:
            return model.problem.solve(solver=self._solver.variant, verbose=self.options.verbose, **settings)

        return captured(call) if self.options.verbose else (call(), "")


def _unbounded_if_feasible(point: Termination) -> Termination:
    if point is Termination.OPTIMAL:
        return Termination.UNBOUNDED
    return Termination.INFEASIBLE if point is Termination.INFEASIBLE else Termination.STALLED


def _bound(form: StandardForm, stats: Any) -> float | None:
    """The bound of a mixed-integer search, where cvxpy passes it on; it leaves the constant out."""
    if not form.integer.any() or not form.P.is_zero:
        return None
    bound = stats.get("mip_dual_bound") if isinstance(stats, Mapping) else getattr(stats, "mip_dual_bound", None)
    return float(bound) + form.constant if bound is not None and np.isfinite(bound) else None
