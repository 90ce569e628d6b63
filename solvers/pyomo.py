"""`pyomo:NAME`: LP, QP and MILP solvers that are installed for Pyomo (Hart and others, Sandia; BSD-3-Clause licence).

Intended for cross-checks, not for loops: Pyomo represents every term as a Python object. There is no warm start.
Problem classes are those of the chosen solver (see `BACKENDS`); Pyomo has no interface to Clarabel or ECOS. Pyomo's
duals equal milopt's multipliers.

Options in `extra` are checked if the solver is HiGHS; other solvers get them unchecked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from shutil import which
from typing import Any

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.features import Feature
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.inspection.pyomo_model import column_components, row_components, to_pyomo
from milopt.solvers.family import MIP_GAP_FRACTION, BackendEngine, BackendSolver, option_error
from milopt.solvers.highs.model import check_options, iteration_limits
from milopt.solving.capture import capture_output
from milopt.solving.engine import Engine
from milopt.solving.installed import installed_version
from milopt.solving.options import Options
from milopt.solving.solver import Availability

STATUS_MAP = {
    "optimal": Termination.OPTIMAL,
    "locallyOptimal": Termination.OPTIMAL,
    "globallyOptimal": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "infeasibleOrUnbounded": Termination.UNBOUNDED,
    "maxTimeLimit": Termination.LIMIT,
    "maxIterations": Termination.LIMIT,
    "maxEvaluations": Termination.LIMIT,
    "minStepLength": Termination.STALLED,
    "feasible": Termination.STALLED,
}
"""Terminations by Pyomo's termination conditions; any other condition is an error.

`UNBOUNDED` is only a claim, which the session checks.
"""

_LP = frozenset({Feature.LINEAR})
_QP = _LP | {Feature.QUADRATIC}
_MILP = _LP | {Feature.INTEGER}
_MIQP = _MILP | {Feature.INTEGER_QUADRATIC}


@dataclass(frozen=True)
class PyomoBackend:
    """One solver that is called through Pyomo: a Python package, or an executable found on the PATH."""

    features: frozenset[Feature]
    licence: str
    package: str | None = None
    executable: str | None = None
    install: str = ""
    """Command that installs the solver."""
    tolerance_settings: tuple[str, ...] = ()
    """Names of tolerance settings; all get a hundredth of milopt's tolerance."""
    has_duals: bool = True
    """Whether the solver returns multipliers."""
    limit_settings: Callable[[StandardForm], Mapping[str, int]] | None = None
    """Function that returns iteration limits for a form; None if the solver's own limits end every run."""
    gap_settings: tuple[str, ...] = ()
    """Settings for the gap at which a mixed-integer search stops; empty if the solver searches to a gap of 0."""
    cones: frozenset[str] = frozenset()
    """Always empty: the Pyomo models that milopt writes have linear rows only."""
    integer_cones: frozenset[str] = frozenset()
    """Always empty: the Pyomo models that milopt writes have linear rows only."""

    def find_installation(self) -> str | None:
        """Return the package's version or the executable's path, or None if the solver is not installed."""
        if self.executable is not None:
            return which(self.executable)
        return installed_version(self.package or "")


_HIGHS_TOLERANCE_SETTINGS = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
_HIGHS_GAP_SETTINGS = ("mip_rel_gap", "mip_abs_gap")

BACKENDS: dict[str, PyomoBackend] = {
    "highs": PyomoBackend(
        _QP | _MILP,
        "MIT",
        "highspy",
        None,
        "pip install highspy",
        _HIGHS_TOLERANCE_SETTINGS,
        limit_settings=iteration_limits,
        gap_settings=_HIGHS_GAP_SETTINGS,
    ),
    "appsi_highs": PyomoBackend(
        _MILP,
        "MIT",
        "highspy",
        None,
        "pip install highspy",
        _HIGHS_TOLERANCE_SETTINGS,
        limit_settings=iteration_limits,
        gap_settings=_HIGHS_GAP_SETTINGS,
    ),
    "ipopt": PyomoBackend(_QP, "EPL-2.0", None, "ipopt", "conda install -c conda-forge ipopt", ("tol",)),
    "glpk": PyomoBackend(_MILP, "GPL-3.0", None, "glpsol", "apt install glpk-utils"),
    "cbc": PyomoBackend(_MILP, "EPL-2.0", None, "cbc", "apt install coinor-cbc"),
    "scip": PyomoBackend(
        _QP | _MIQP, "Apache-2.0", None, "scip", "conda install -c conda-forge scip", (), has_duals=False
    ),
    "gurobi_direct": PyomoBackend(
        _QP | _MIQP,
        "commercial",
        "gurobipy",
        None,
        "pip install gurobipy",
        ("FeasibilityTol", "OptimalityTol"),
        gap_settings=("MIPGap", "MIPGapAbs"),
    ),
    "cplex_direct": PyomoBackend(
        _QP | _MIQP,
        "commercial",
        "cplex",
        None,
        "pip install cplex",
        gap_settings=("mip_tolerances_mipgap", "mip_tolerances_absmipgap"),
    ),
    "xpress_direct": PyomoBackend(
        _QP | _MIQP, "commercial", "xpress", None, "pip install xpress", gap_settings=("miprelstop", "mipabsstop")
    ),
    "mosek_direct": PyomoBackend(
        _QP | _MIQP,
        "commercial",
        "mosek",
        None,
        "pip install mosek",
        gap_settings=("dparam.mio_tol_rel_gap", "dparam.mio_tol_abs_gap"),
    ),
}
"""Backends by the names that Pyomo uses."""


class Pyomo(BackendSolver[PyomoBackend]):
    """Solver family `pyomo`: solvers that are called through Pyomo, for cross-checks.

    Parameters
    ----------
    variant : str
        Name of the solver in Pyomo, such as ``"highs"`` or ``"ipopt"``; case-insensitive. The solver is called
        ``pyomo:NAME``.

    Attributes
    ----------
    variant : str
        Name of the solver in Pyomo, with its usual capital letters.
    backend : PyomoBackend
        Supported programs, package and settings of the solver.

    Raises
    ------
    UnknownNameError
        If milopt does not support a Pyomo solver of this name.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("cover")
    >>> x = program.variable("x", 2, lower=0)
    >>> program.minimize(x[0] + 2 * x[1])
    >>> _ = program.subject_to(x.sum() >= 1, name="cover")
    >>> result = milopt.solve(program, solver="pyomo:highs")
    >>> print(round(result.objective, 4))
    1.0
    """

    package = "pyomo"
    language = "Pyomo"
    own_licence = "BSD-3-Clause"

    @classmethod
    def backends(cls) -> Mapping[str, PyomoBackend]:
        """Return the backends that milopt supports through Pyomo."""
        return BACKENDS

    def availability(self) -> Availability:
        """Return whether Pyomo and the solver are installed, with versions or an installation command."""
        own_version = installed_version(self.package)
        if own_version is None:
            return Availability(False, None, f"pip install {self.package}")
        installation = self.backend.find_installation()
        if installation is None:
            return Availability(False, None, self.backend.install)
        return Availability(
            True, f"{own_version} ({self.backend.package} {installation})" if self.backend.package else own_version
        )

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """Return an engine that builds a Pyomo model for every solve."""
        return PyomoEngine(self, form, options)


class PyomoEngine(BackendEngine):
    """Engine that builds a Pyomo model for every solve."""

    def __init__(self, solver: Pyomo, form: StandardForm, options: Options) -> None:
        super().__init__(solver.name, True, form, options)
        self._solver = solver
        if solver.backend.package == "highspy":
            # Pyomo does not report that HiGHS rejects an option, so the options are checked here.
            check_options(options.extra, solver.name)

    def solve_form(self, form: StandardForm, time_limit: float | None) -> Answer:
        """Build and solve one Pyomo model, with multipliers if the solver has them and the form has no integers."""
        from pyomo.environ import SolverFactory

        backend = self._solver.backend
        model = to_pyomo(form)
        wants_duals = backend.has_duals and not form.integer.any()
        if not wants_duals and model.component("dual") is not None:
            model.del_component("dual")
        solver = SolverFactory(self._solver.variant)
        for key in backend.tolerance_settings:
            solver.options[key] = 1e-2 * self.options.tolerance
        for key, count in (backend.limit_settings(form) if backend.limit_settings is not None else {}).items():
            solver.options[key] = count
        for key in backend.gap_settings if form.integer.any() else ():
            solver.options[key] = MIP_GAP_FRACTION * self.options.tolerance
        for key, value in self.options.extra.items():
            solver.options[key] = value
        results, log = self._call_solver(solver, model, time_limit)
        status = str(results.solver.termination_condition)
        termination = STATUS_MAP.get(status, Termination.ERROR)
        x = z = None
        if termination in (Termination.OPTIMAL, Termination.LIMIT, Termination.STALLED) and len(results.solution):
            with _suppress_warnings():
                model.solutions.load_from(results)
            x = _column_values(form, model)
            z = _multipliers(form, model) if wants_duals else None
        return Answer(termination, status, x, z, bound=_search_bound(form, results), log=log)

    def _call_solver(self, solver: Any, model: Any, time_limit: float | None) -> tuple[Any, str]:
        """Call the solver; return (results, log). The captured log is empty unless `verbose`.

        Raises `ParameterError` if the solver rejects an option in `extra`.
        """
        limit = {} if time_limit is None else {"timelimit": time_limit}

        def call_pyomo() -> Any:
            return solver.solve(model, load_solutions=False, tee=self.options.verbose, **limit)

        try:
            with _suppress_warnings():
                return capture_output(call_pyomo) if self.options.verbose else (call_pyomo(), "")
        except (TypeError, ValueError) as error:
            rejected = option_error(self._solver.name, self.options.extra, error)
            if rejected is None:
                raise
            raise rejected from error


@contextmanager
def _suppress_warnings() -> Iterator[None]:
    """Suppress all warnings of the logger `pyomo.core`. Most report a status, which the answer contains anyway."""
    logger = logging.getLogger("pyomo.core")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _column_values(form: StandardForm, model: Any) -> Vector | None:
    """Return the values of the columns, or None if some have no value."""
    values = [variable.value for variable in column_components(form, model)]
    return None if any(value is None for value in values) else np.array(values, dtype=np.float64)


def _multipliers(form: StandardForm, model: Any) -> Vector | None:
    """Return the multipliers of the rows, or None if the solver returned none.

    Pyomo's dual is the derivative of the objective with respect to the right-hand side -g, which is milopt's
    multiplier.
    """
    rows = row_components(form, model)
    if not len(model.dual) and rows:
        return None
    return np.array([model.dual.get(row, 0.0) for row in rows], dtype=np.float64)


def _search_bound(form: StandardForm, results: Any) -> float | None:
    """Return the lower bound of a mixed-integer search, or None if there are no integers or no finite bound."""
    if not form.integer.any():
        return None
    bound = results.problem.lower_bound
    return float(bound) if isinstance(bound, int | float) and np.isfinite(bound) else None
