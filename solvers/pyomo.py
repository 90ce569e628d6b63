"""`pyomo:NAME`: the LP, QP and MILP solvers that Pyomo finds on this machine, reached through `to_pyomo`.

A cross-check, not for loops: Pyomo writes every term as a Python object. It has no interface to Clarabel or ECOS.
Options in `extra` are checked by HiGHS where it is HiGHS that gets them; other solvers get them unchecked.
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
from milopt.solvers.family import MIP_GAP, VariantEngine, Variants, blame
from milopt.solvers.highs.model import check_options, iteration_limits
from milopt.solving.capture import captured
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
"""`UNBOUNDED` is a claim: the program may be infeasible. The session checks it."""

_LP = frozenset({Feature.LINEAR})
_QP = _LP | {Feature.QUADRATIC}
_MILP = _LP | {Feature.INTEGER}
_MIQP = _MILP | {Feature.INTEGER_QUADRATIC}


@dataclass(frozen=True)
class Backend:
    """One solver behind Pyomo: a Python package, or an executable on the path."""

    features: frozenset[Feature]
    licence: str
    package: str | None = None
    executable: str | None = None
    install: str = ""
    tolerances: tuple[str, ...] = ()
    """Its tolerance settings, all given a hundredth of milopt's tolerance."""
    duals: bool = True
    limits: Callable[[StandardForm], Mapping[str, int]] | None = None
    """Its settings that limit iterations by the size of the program; None if its own limits end every run."""
    gaps: tuple[str, ...] = ()
    """Its settings for the gap at which a mixed-integer search stops; empty if it searches to a gap of 0."""
    cones: frozenset[str] = frozenset()
    """Always empty: the Pyomo models that milopt writes have linear rows only."""
    integer_cones: frozenset[str] = frozenset()
    """Always empty."""

    def found(self) -> str | None:
        """The package's version or the executable's path; None when it is not there."""
        if self.executable is not None:
            return which(self.executable)
        return installed_version(self.package or "")


_HIGHS_TOLERANCES = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
_HIGHS_GAPS = ("mip_rel_gap", "mip_abs_gap")

BACKENDS: dict[str, Backend] = {
    "highs": Backend(
        _QP | _MILP,
        "MIT",
        "highspy",
        None,
        "pip install highspy",
        _HIGHS_TOLERANCES,
        limits=iteration_limits,
        gaps=_HIGHS_GAPS,
    ),
    "appsi_highs": Backend(
        _MILP,
        "MIT",
        "highspy",
        None,
        "pip install highspy",
        _HIGHS_TOLERANCES,
        limits=iteration_limits,
        gaps=_HIGHS_GAPS,
    ),
    "ipopt": Backend(_QP, "EPL-2.0", None, "ipopt", "conda install -c conda-forge ipopt", ("tol",)),
    "glpk": Backend(_MILP, "GPL-3.0", None, "glpsol", "apt install glpk-utils"),
    "cbc": Backend(_MILP, "EPL-2.0", None, "cbc", "apt install coinor-cbc"),
    "scip": Backend(_QP | _MIQP, "Apache-2.0", None, "scip", "conda install -c conda-forge scip", (), duals=False),
    "gurobi_direct": Backend(
        _QP | _MIQP,
        "commercial",
        "gurobipy",
        None,
        "pip install gurobipy",
        ("FeasibilityTol", "OptimalityTol"),
        gaps=("MIPGap", "MIPGapAbs"),
    ),
    "cplex_direct": Backend(
        _QP | _MIQP,
        "commercial",
        "cplex",
        None,
        "pip install cplex",
        gaps=("mip_tolerances_mipgap", "mip_tolerances_absmipgap"),
    ),
    "xpress_direct": Backend(
        _QP | _MIQP, "commercial", "xpress", None, "pip install xpress", gaps=("miprelstop", "mipabsstop")
    ),
    "mosek_direct": Backend(
        _QP | _MIQP,
        "commercial",
        "mosek",
        None,
        "pip install mosek",
        gaps=("dparam.mio_tol_rel_gap", "dparam.mio_tol_abs_gap"),
    ),
}


class Pyomo(Variants[Backend]):
    """One solver behind Pyomo: `Pyomo("highs")` is called `pyomo:highs`."""

    package = "pyomo"
    language = "Pyomo"
    own_licence = "BSD-3-Clause"

    @classmethod
    def backends(cls) -> Mapping[str, Backend]:
        """Those in `BACKENDS`."""
        return BACKENDS

    def availability(self) -> Availability:
        """Both Pyomo and the solver must be there."""
        own = installed_version(self.package)
        if own is None:
            return Availability(False, None, f"pip install {self.package}")
        behind = self.backend.found()
        if behind is None:
            return Availability(False, None, self.backend.install)
        return Availability(True, f"{own} ({self.backend.package} {behind})" if self.backend.package else own)

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """The form as a Pyomo model, built when it is solved."""
        return PyomoEngine(self, form, options)


class PyomoEngine(VariantEngine):
    """One Pyomo model a form; every change builds it again."""

    def __init__(self, solver: Pyomo, form: StandardForm, options: Options) -> None:
        super().__init__(solver.name, True, form, options)
        self._solver = solver
        if solver.backend.package == "highspy":
            # Pyomo does not look at what HiGHS answers.
            check_options(options.extra, solver.name)

    def solve_form(self, form: StandardForm, time_limit: float | None) -> Answer:
        """One Pyomo model, built and solved."""
        from pyomo.environ import SolverFactory

        backend = self._solver.backend
        model = to_pyomo(form)
        wants_duals = backend.duals and not form.integer.any()
        if not wants_duals and model.component("dual") is not None:
            model.del_component("dual")
        solver = SolverFactory(self._solver.variant)
        for key in backend.tolerances:
            solver.options[key] = 1e-2 * self.options.tolerance
        for key, count in (backend.limits(form) if backend.limits is not None else {}).items():
            solver.options[key] = count
        for key in backend.gaps if form.integer.any() else ():
            solver.options[key] = MIP_GAP * self.options.tolerance
        for key, value in self.options.extra.items():
            solver.options[key] = value
        results, log = self._run(solver, model, time_limit)
        status = str(results.solver.termination_condition)
        termination = STATUS_MAP.get(status, Termination.ERROR)
        x = z = None
        if termination in (Termination.OPTIMAL, Termination.LIMIT, Termination.STALLED) and len(results.solution):
            with _quiet():
                model.solutions.load_from(results)
            x = _point(form, model)
            z = _multipliers(form, model) if wants_duals else None
        return Answer(termination, status, x, z, bound=_bound(form, results), log=log)

    def _run(self, solver: Any, model: Any, time_limit: float | None) -> tuple[Any, str]:
        limit = {} if time_limit is None else {"timelimit": time_limit}

        def call() -> Any:
            return solver.solve(model, load_solutions=False, tee=self.options.verbose, **limit)

        try:
            with _quiet():
                return captured(call) if self.options.verbose else (call(), "")
        except (TypeError, ValueError) as error:
            blamed = blame(self._solver.name, self.options.extra, error)
            if blamed is None:
                raise
            raise blamed from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress Pyomo's warnings about every status but "optimal": the answer says it already."""
    logger = logging.getLogger("pyomo.core")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _point(form: StandardForm, model: Any) -> Vector | None:
    values = [variable.value for variable in column_components(form, model)]
    return None if any(value is None for value in values) else np.array(values, dtype=np.float64)


def _multipliers(form: StandardForm, model: Any) -> Vector | None:
    """Pyomo's dual is the objective's derivative by the right-hand side -g, which is the multiplier itself."""
    rows = row_components(form, model)
    if not len(model.dual) and rows:
        return None
    return np.array([model.dual.get(row, 0.0) for row in rows], dtype=np.float64)


def _bound(form: StandardForm, results: Any) -> float | None:
    if not form.integer.any():
        return None
    bound = results.problem.lower_bound
    return float(bound) if isinstance(bound, int | float) and np.isfinite(bound) else None
