"""`cvxpy:NAME`: any solver that cvxpy has installed, reached through `to_cvxpy`; for cross-checks, not for loops.

cvxpy canonicalises the problem at every solve, which costs 10 to 1000 times the solve itself on small programs. `extra`
goes to the solver behind it, and what that one complains about is a `ParameterError`; an option that a solver drops
without a word cannot be told.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from milopt.compilation.answer import Answer
from milopt.compilation.bridges import centred_exponentials, idle_rows
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.solvers.cvxpy.backends import BACKENDS, Backend
from milopt.solvers.family import VariantEngine, Variants, blame
from milopt.solving.capture import captured
from milopt.solving.engine import Engine
from milopt.solving.engine_process import late_reason
from milopt.solving.installed import installed_version
from milopt.solving.options import Options
from milopt.solving.solver import Availability

if TYPE_CHECKING:
    from milopt.inspection.cvxpy_model import CvxpyModel

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
"""`UNBOUNDED` is a claim: the program may be infeasible. The session checks it."""
LEAST_SECONDS = 1e-9
"""For a solver whose time is up before it begins, so that it says so itself."""


class CVXPY(Variants[Backend]):
    """One solver behind cvxpy: `CVXPY("CLARABEL")` is called `cvxpy:CLARABEL`."""

    package = "cvxpy"
    language = "cvxpy"
    own_licence = "Apache-2.0"

    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        if self.backend.time is None:
            apart = "it runs in a process of its own, which is ended without a point"
            self.time_limit_note = f"cvxpy passes no time limit to {self.variant}: {apart}"

    def may_be_late(self, options: Options) -> str:
        """Return why a solver without a time limit cannot run in a process of its own, if it cannot."""
        return late_reason(self.name, options) if self.backend.time is None else ""

    @classmethod
    def backends(cls) -> Mapping[str, Backend]:
        """Those in `cvxpy_backends`."""
        return BACKENDS

    def availability(self) -> Availability:
        """Both cvxpy and the solver's own package must be there."""
        behind = self.backend.found()
        own = installed_version(self.package)
        if own is None:
            return Availability(False, None, f"pip install {self.package} {self.backend.package}")
        if behind is None:
            return Availability(False, None, f"pip install {self.backend.package}")
        return Availability(True, f"{own} ({self.backend.package} {behind})")

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """The form as a cvxpy problem, built when it is solved."""
        return CvxpyEngine(self, form, options)


class CvxpyEngine(VariantEngine):
    """One cvxpy problem a form; every change builds it again."""

    def __init__(self, solver: CVXPY, form: StandardForm, options: Options) -> None:
        super().__init__(solver.name, solver.backend.time is not None, form, options)
        self._solver = solver

    def solve_form(self, form: StandardForm, time_limit: float | None) -> Answer:
        """One cvxpy problem, built and solved; centred and with other settings once more if the point is inaccurate."""
        backend, start = self._solver.backend, monotonic()
        import_module("cvxpy")  # loading it takes seconds, of which the solver must know
        left = None if time_limit is None else max(time_limit - (monotonic() - start), LEAST_SECONDS)
        answer = self._solve_once(form, backend.settings(form, self.options, left), left)
        left = None if time_limit is None else time_limit - (monotonic() - start)
        if not backend.again or answer.raw_status != "optimal_inaccurate" or (left is not None and left <= 0.0):
            return answer
        settings = backend.settings(form, self.options, left) | dict(backend.again) | backend.given(self.options)
        c = 0.0 if answer.x is None else centred_exponentials.shift(form, answer.x)
        again = self._solve_once(centred_exponentials.apply(form, c), settings, left)
        again = centred_exponentials.invert(form, again, c)
        total = answer.iterations + again.iterations
        better = again if again.termination is Termination.OPTIMAL else answer
        return replace(better, iterations=total, log=answer.log + again.log)

    def _solve_once(self, form: StandardForm, settings: Mapping[str, object], time_limit: float | None) -> Answer:
        import cvxpy as cp

        from milopt.inspection.cvxpy_model import to_cvxpy

        kept = idle_rows.apply(form)
        model = _with_a_constraint(to_cvxpy(kept))
        given = self._solver.backend.given(self.options)
        start = monotonic()
        log = ""
        failure = ""
        try:
            with warnings.catch_warnings():
                # An inaccurate point is the certificate's to judge.
                warnings.simplefilter("ignore")
                if given:
                    # scipy's last word on an option: HiGHS did not know it either.
                    warnings.filterwarnings("error", r"Unrecognized options detected: \{[^}]*\}$")
                _, log = self._run(model, settings)
        except (cp.error.SolverError, ValueError, TypeError, KeyError, Warning) as error:  # some interfaces' refusals
            blamed = blame(self._solver.name, given, error)
            if blamed is not None:
                raise blamed from error
            if isinstance(error, (TypeError, KeyError)):
                raise
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
        answer = Answer(
            termination,
            status,
            x=model.point() if has_point else None,
            z=model.multipliers(kept) if has_point and not form.integer.any() else None,
            bound=_bound(form, stats.extra_stats if stats else None),
            iterations=max(0, int(stats.num_iters or 0)) if stats else 0,
            log=log,
        )
        return idle_rows.invert(form, answer)

    def _run(self, model: CvxpyModel, settings: Mapping[str, object]) -> tuple[object, str]:
        def call() -> object:
            return model.problem.solve(solver=self._solver.variant, verbose=self.options.verbose, **settings)

        return captured(call) if self.options.verbose else (call(), "")


def _with_a_constraint(model: CvxpyModel) -> CvxpyModel:
    """The model, with one constraint on a variable of its own if it has none: some solvers refuse such problems."""
    import cvxpy as cp

    if model.problem.constraints:
        return model
    return replace(model, problem=cp.Problem(model.problem.objective, [cp.Variable(name="unused") >= 0]))


def _bound(form: StandardForm, stats: Any) -> float | None:
    """The bound of a mixed-integer search, where cvxpy passes it on; it leaves the constant out."""
    if not form.integer.any():
        return None
    if isinstance(stats, Mapping) and hasattr(stats.get("model"), "getDualbound"):
        bound = stats["model"].getDualbound()  # SCIP
    elif isinstance(stats, Mapping):
        bound = stats.get("mip_dual_bound")
    else:
        bound = getattr(stats, "mip_dual_bound", None)
    return float(bound) + form.constant if bound is not None and np.isfinite(bound) else None
