"""`cvxpy:NAME`: any solver that is installed for cvxpy (Diamond, Agrawal, Boyd and others; Apache-2.0 licence).

Intended for cross-checks, not for loops: cvxpy canonicalises the problem at every solve, which takes 10 to 1000 times
as long as solving a small program. There is no warm start. Problem classes are those of the chosen solver (see
`backends`). cvxpy's dual values are converted to milopt's signs by `to_cvxpy`'s model.

Options in `extra` are passed to the solver. If it rejects one, `ParameterError` is raised. An option that a solver
silently ignores cannot be detected.
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
from milopt.cones import EXPONENTIAL
from milopt.solvers.cvxpy.backends import BACKENDS, CvxpyBackend
from milopt.solvers.family import BackendEngine, BackendSolver, option_error
from milopt.solving.capture import capture_output
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
"""Terminations by cvxpy's statuses; any other status is an error. `UNBOUNDED` is a claim, which the session checks."""
MIN_TIME_LIMIT_SECONDS = 1e-9
"""Smallest time limit that is passed on, so that the solver itself reports that its time is up."""


class CVXPY(BackendSolver[CvxpyBackend]):
    """Solver family `cvxpy`: solvers that are called through cvxpy, for cross-checks.

    Parameters
    ----------
    variant : str
        Name of the solver in cvxpy, such as ``"CLARABEL"`` or ``"SCS"``; case-insensitive. The solver is called
        ``cvxpy:NAME``.

    Attributes
    ----------
    variant : str
        Name of the solver in cvxpy, with its usual capital letters.
    backend : CvxpyBackend
        Supported programs, package and settings of the solver.

    Raises
    ------
    UnknownNameError
        If milopt does not support a cvxpy solver of this name.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("cover")
    >>> x = program.variable("x", 2, lower=0)
    >>> program.minimize(x[0] + 2 * x[1])
    >>> _ = program.subject_to(x.sum() >= 1, name="cover")
    >>> result = milopt.solve(program, solver="cvxpy:CLARABEL")
    >>> print(round(result.objective, 4))
    1.0
    """

    package = "cvxpy"
    language = "cvxpy"
    own_licence = "Apache-2.0"

    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        if self.backend.time_setting is None:
            note = "it runs in a child process, which is stopped without a point"
            self.time_limit_note = f"cvxpy passes no time limit to {self.variant}: {note}"

    def late_reason(self, options: Options) -> str:
        """Return why a solve may exceed its time limit, or an empty string.

        A solver to which cvxpy passes no time limit must run in a child process to be stopped. The string states why
        that solver cannot run in a child process. It is empty in all other cases.
        """
        return late_reason(self.name, options) if self.backend.time_setting is None else ""

    @classmethod
    def backends(cls) -> Mapping[str, CvxpyBackend]:
        """Return the backends that milopt supports through cvxpy."""
        return BACKENDS

    def availability(self) -> Availability:
        """Return whether cvxpy and the solver's package are installed, with versions or an installation command."""
        version = self.backend.find_installation()
        own_version = installed_version(self.package)
        if own_version is None:
            return Availability(False, None, f"pip install {self.package} {self.backend.package}")
        if version is None:
            return Availability(False, None, f"pip install {self.backend.package}")
        return Availability(True, f"{own_version} ({self.backend.package} {version})")

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """Return an engine that builds a cvxpy problem for every solve."""
        return CvxpyEngine(self, form, options)


class CvxpyEngine(BackendEngine):
    """Engine that builds a cvxpy problem for every solve."""

    def __init__(self, solver: CVXPY, form: StandardForm, options: Options) -> None:
        super().__init__(solver.name, solver.backend.time_setting is not None, form, options)
        self._solver = solver

    def solve_form(self, form: StandardForm, time_limit: float | None) -> Answer:
        """Build and solve one cvxpy problem.

        If there is time left, and the backend has settings for it, the program is solved again: after the status
        "optimal_inaccurate" with `retry_settings` and with its exponential cones centred at the first point, and after
        a point that violates exponential cones with a smaller tolerance. The second answer is used only if its status
        is optimal.
        """
        backend, start = self._solver.backend, monotonic()
        import_module("cvxpy")  # the import takes seconds, which are subtracted from the time limit
        seconds_left = None if time_limit is None else max(time_limit - (monotonic() - start), MIN_TIME_LIMIT_SECONDS)
        answer = self._solve_once(form, backend.settings(form, self.options, seconds_left), seconds_left)
        seconds_left = None if time_limit is None else time_limit - (monotonic() - start)
        if seconds_left is not None and seconds_left <= 0.0:
            return answer
        if backend.retry_settings and answer.raw_status == "optimal_inaccurate":
            settings = (
                backend.settings(form, self.options, seconds_left)
                | dict(backend.retry_settings)
                | backend.user_settings(self.options)
            )
            c = 0.0 if answer.x is None else centred_exponentials.choose_shift(form, answer.x)
            retry = self._solve_once(centred_exponentials.apply(form, c), settings, seconds_left)
            retry = centred_exponentials.invert(form, retry, c)
        elif backend.exponential_retry_factor is not None and self._violates_exponentials(form, answer):
            smaller = replace(self.options, tolerance=backend.exponential_retry_factor * self.options.tolerance)
            retry = self._solve_once(form, backend.settings(form, smaller, seconds_left), seconds_left)
        else:
            return answer
        total = answer.iterations + retry.iterations
        better = retry if retry.termination is Termination.OPTIMAL else answer
        return replace(better, iterations=total, log=answer.log + retry.log)

    def _violates_exponentials(self, form: StandardForm, answer: Answer) -> bool:
        """Return True if an optimal point violates the rows  y exp(x/y) <= z  of a block by more than the tolerance.

        The violations of a block are added up, since their sum often occurs in another row.
        """
        if answer.termination is not Termination.OPTIMAL or answer.x is None:
            return False
        for block in form.rows:
            if block.cone is EXPONENTIAL:
                values = form.F[block.start : block.stop] @ answer.x + form.g[block.start : block.stop]
                x, y, z = values.reshape(-1, 3).T
                inner = y > 0.0
                with np.errstate(over="ignore"):
                    excess = y[inner] * np.exp(x[inner] / y[inner]) - z[inner]
                if np.maximum(excess, 0.0).sum() > self.options.tolerance * (1.0 + np.abs(z).max(initial=0.0)):
                    return True
        return False

    def _solve_once(self, form: StandardForm, settings: Mapping[str, object], time_limit: float | None) -> Answer:
        """Build and solve one cvxpy problem without idle rows, with these settings; return the answer for `form`.

        Raises `ParameterError` if the solver rejects an option in `extra`. Another `SolverError` or `ValueError`
        becomes the status of the answer.
        """
        import cvxpy as cp

        from milopt.inspection.cvxpy_model import to_cvxpy

        reduced_form = idle_rows.apply(form)
        model = _ensure_constraint(to_cvxpy(reduced_form))
        user_settings = self._solver.backend.user_settings(self.options)
        start = monotonic()
        log = ""
        failure = ""
        try:
            with warnings.catch_warnings():
                # Ignore all warnings: most report that a point is inaccurate, and the certificate checks that.
                warnings.simplefilter("ignore")
                if user_settings:
                    # One warning becomes an error: scipy's last one, which lists options that HiGHS does not support.
                    warnings.filterwarnings("error", r"Unrecognized options detected: \{[^}]*\}$")
                _, log = self._call_solver(model, settings)
        except (
            cp.error.SolverError,
            ValueError,
            TypeError,
            KeyError,
            Warning,
        ) as error:  # raised by some interfaces for unsupported options
            rejected = option_error(self._solver.name, user_settings, error)
            if rejected is not None:
                raise rejected from error
            if isinstance(error, (TypeError, KeyError)):
                raise
            failure = str(error)
        is_late = time_limit is not None and monotonic() - start >= time_limit
        if failure:
            return Answer(Termination.LIMIT if is_late else Termination.ERROR, failure, log=log)
        status = str(model.problem.status)
        termination = STATUS_MAP.get(status, Termination.ERROR)
        if termination is Termination.STALLED and is_late:
            termination = Termination.LIMIT
        has_point = status in ("optimal", "optimal_inaccurate", "user_limit")
        stats = model.problem.solver_stats
        answer = Answer(
            termination,
            status,
            x=model.point() if has_point else None,
            z=model.multipliers(reduced_form) if has_point and not form.integer.any() else None,
            bound=_search_bound(form, stats.extra_stats if stats else None),
            iterations=max(0, int(stats.num_iters or 0)) if stats else 0,
            log=log,
        )
        return idle_rows.invert(form, answer)

    def _call_solver(self, model: CvxpyModel, settings: Mapping[str, object]) -> tuple[object, str]:
        """Call cvxpy; return (optimal value, log). The captured log is empty unless `verbose`."""

        def call_cvxpy() -> object:
            return model.problem.solve(solver=self._solver.variant, verbose=self.options.verbose, **settings)

        return capture_output(call_cvxpy) if self.options.verbose else (call_cvxpy(), "")


def _ensure_constraint(model: CvxpyModel) -> CvxpyModel:
    """Return the model, with a constraint on an extra variable if it has none, because some solvers require one."""
    import cvxpy as cp

    if model.problem.constraints:
        return model
    return replace(model, problem=cp.Problem(model.problem.objective, [cp.Variable(name="unused") >= 0]))


def _search_bound(form: StandardForm, stats: Any) -> float | None:
    """Return the bound of a mixed-integer search, including the constant of the objective.

    Returns None if the form has no integers or `stats`, the extra statistics of cvxpy, contain no finite bound.
    """
    if not form.integer.any():
        return None
    if isinstance(stats, Mapping) and hasattr(stats.get("model"), "getDualbound"):
        bound = stats["model"].getDualbound()  # SCIP
    elif isinstance(stats, Mapping):
        bound = stats.get("mip_dual_bound")
    else:
        bound = getattr(stats, "mip_dual_bound", None)
    return float(bound) + form.constant if bound is not None and np.isfinite(bound) else None
