"""What milopt knows of each solver that cvxpy reaches: what it takes, what brings it, and the names of its settings.

Known without importing cvxpy. Settings marked by a factor are `factor * tolerance`: first-order methods stop at what
they are asked for, so they are asked for more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from milopt.compilation.features import Feature
from milopt.compilation.standard_form import StandardForm
from milopt.cones import EXPONENTIAL, SECOND_ORDER
from milopt.errors import ParameterError
from milopt.solvers.family import MIP_GAP
from milopt.solvers.highs.model import iteration_limits
from milopt.solving.installed import installed_version
from milopt.solving.options import Options

LP = frozenset({Feature.LINEAR})
QP = LP | {Feature.QUADRATIC}
MILP = LP | {Feature.INTEGER}
MIQP = MILP | {Feature.INTEGER_QUADRATIC}
SOC = frozenset({SECOND_ORDER.name})
EXP = SOC | {EXPONENTIAL.name}


@dataclass(frozen=True)
class Backend:
    """One solver behind cvxpy."""

    features: frozenset[Feature]
    package: str
    licence: str
    tolerances: Mapping[str, float] = field(default_factory=dict)
    """Its tolerance settings, each with the factor on milopt's tolerance."""
    fixed: Mapping[str, object] = field(default_factory=dict)
    """Settings that never change."""
    time: str | None = None
    """Its setting for seconds, if it has one."""
    threads: str | None = None
    inside: str | None = None
    """The one keyword under which cvxpy wants all its settings, as a dictionary."""
    gaps: tuple[str, ...] = ()
    """Its settings for the gap at which a mixed-integer search stops, all given `MIP_GAP * tolerance`.

    Empty if it has no integers, or if it searches to a gap of 0 or `tolerances` cover the gap anyway.
    """
    limits: Callable[[StandardForm], Mapping[str, object]] | None = None
    """Its settings that limit iterations by the size of the program; None if its own limits end every run."""
    cones: frozenset[str] = frozenset()
    """The names of the cones that it takes besides linear rows, if no variable is integer."""
    integer_cones: frozenset[str] = frozenset()
    """The same if some variables are integer."""
    again: Mapping[str, object] = field(default_factory=dict)
    """Settings with which it runs once more if its point is inaccurate; empty if one run is enough."""

    def settings(self, form: StandardForm, options: Options, time_limit: float | None) -> dict[str, object]:
        """The keywords for `problem.solve`; a person's `extra` comes last and wins."""
        settings: dict[str, object] = {key: factor * options.tolerance for key, factor in self.tolerances.items()}
        if form.integer.any():
            settings.update(dict.fromkeys(self.gaps, MIP_GAP * options.tolerance))
        settings.update(self.fixed)
        if self.limits is not None:
            settings.update(self.limits(form))
        if self.time and time_limit is not None:
            settings[self.time] = time_limit
        if self.threads:
            settings[self.threads] = options.threads
        settings.update(self.given(options))
        return {self.inside: settings} if self.inside else settings

    def given(self, options: Options) -> dict[str, object]:
        """The settings in `extra`, those in cvxpy's own dictionary for this solver beside the others."""
        extra = dict(options.extra)
        inner = extra.pop(self.inside, {}) if self.inside else {}
        if not isinstance(inner, Mapping):
            raise ParameterError(f"`extra` must have a dictionary for {self.inside!r}, not {inner!r}.")
        return {**inner, **extra}

    def found(self) -> str | None:
        """The installed version of its package, None if it is not there."""
        return installed_version(self.package)


def _same(factor: float, *keys: str) -> dict[str, float]:
    return dict.fromkeys(keys, factor)


_HIGHS = _same(1e-2, "primal_feasibility_tolerance", "dual_feasibility_tolerance")
_EPS = _same(1e-3, "eps_abs", "eps_rel")
_ECOS = _same(1e-3, "abstol", "reltol", "feastol")

BACKENDS: dict[str, Backend] = {
    "CLARABEL": Backend(
        QP,
        "clarabel",
        "Apache-2.0",
        _same(1e-3, "tol_gap_abs", "tol_gap_rel", "tol_feas"),
        time="time_limit",
        cones=EXP,
    ),
    "SCS": Backend(
        QP,
        "scs",
        "MIT",
        _EPS,
        {"max_iters": 200_000},
        time="time_limit_secs",
        cones=EXP,
        # The scale decides how fast it converges, and the one that it adapts to is sometimes poor.
        again={"adaptive_scale": False, "scale": 1.0},
    ),
    "OSQP": Backend(QP, "osqp", "Apache-2.0", _EPS, {"max_iter": 200_000, "polishing": True}, time="time_limit"),
    "ECOS": Backend(QP, "ecos", "GPL-3.0", _ECOS, {"max_iters": 500}, cones=EXP),
    "HIGHS": Backend(
        QP | MILP,
        "highspy",
        "MIT",
        _HIGHS,
        time="time_limit",
        threads="threads",
        limits=iteration_limits,
        gaps=("mip_rel_gap", "mip_abs_gap"),
    ),
    "SCIPY": Backend(MILP, "scipy", "BSD-3-Clause", time="time_limit", inside="scipy_options", gaps=("mip_rel_gap",)),
    "PIQP": Backend(
        QP,
        "piqp",
        "BSD-2-Clause",
        _same(1e-4, "eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"),
    ),
    "PROXQP": Backend(QP, "proxsuite", "BSD-2-Clause", {"eps_abs": 1e-3}),
    "DAQP": Backend(QP, "daqp", "MIT", _same(1e-3, "primal_tol", "dual_tol")),
    "QOCO": Backend(QP, "qoco", "BSD-3-Clause", _same(1e-2, "abstol", "reltol"), cones=SOC),
    "CVXOPT": Backend(QP, "cvxopt", "GPL-3.0", _ECOS, {"max_iters": 500}, cones=SOC),
    "GLPK": Backend(LP, "cvxopt", "GPL-3.0"),
    "GLPK_MI": Backend(MILP, "cvxopt", "GPL-3.0"),
    # Quadratic objectives and cones with integers only: it has multipliers of linear programs alone.
    "SCIP": Backend(
        MIQP,
        "pyscipopt",
        "MIT (interface), Apache-2.0 (SCIP)",
        {"numerics/feastol": 0.1},
        time="limits/time",
        inside="scip_params",
        integer_cones=SOC,
    ),
    "GUROBI": Backend(
        QP | MIQP,
        "gurobipy",
        "commercial",
        _same(1e-2, "FeasibilityTol", "OptimalityTol", "BarConvTol", "BarQCPConvTol"),
        time="TimeLimit",
        threads="Threads",
        cones=SOC,
        integer_cones=SOC,
        gaps=("MIPGap", "MIPGapAbs"),
    ),
    "MOSEK": Backend(QP | MIQP, "mosek", "commercial", {"eps": 1e-2}, cones=SOC, integer_cones=SOC),
    "COPT": Backend(
        QP | MIQP,
        "coptpy",
        "commercial",
        time="TimeLimit",
        cones=SOC,
        integer_cones=SOC,
        gaps=("RelGap", "AbsGap"),
    ),
    "CPLEX": Backend(
        QP | MIQP,
        "cplex",
        "commercial",
        time="timelimit",
        inside="cplex_params",
        cones=SOC,
        integer_cones=SOC,
        gaps=("mip.tolerances.mipgap", "mip.tolerances.absmipgap"),
    ),
}
