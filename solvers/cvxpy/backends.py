"""Solvers that milopt calls through cvxpy: supported programs, Python package, and names of settings.

The table `BACKENDS` is available without importing cvxpy. Each tolerance setting gets milopt's tolerance times a factor
(`tolerance_factors`). First-order methods stop as soon as their tolerance is reached, so they get a smaller tolerance
than the certificate requires.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from milopt.compilation.features import Feature
from milopt.compilation.standard_form import StandardForm
from milopt.cones import EXPONENTIAL, SECOND_ORDER
from milopt.errors import ParameterError
from milopt.solvers.family import MIP_GAP_FRACTION
from milopt.solvers.highs.model import iteration_limits
from milopt.solving.installed import installed_version
from milopt.solving.options import Options

LP = frozenset({Feature.LINEAR})
QP = LP | {Feature.QUADRATIC}
MILP = LP | {Feature.INTEGER}
MIQP = MILP | {Feature.INTEGER_QUADRATIC}
SOC = frozenset({SECOND_ORDER.name})
SOC_AND_EXP = SOC | {EXPONENTIAL.name}


@dataclass(frozen=True)
class CvxpyBackend:
    """One solver that is called through cvxpy."""

    features: frozenset[Feature]
    package: str
    licence: str
    tolerance_factors: Mapping[str, float] = field(default_factory=dict)
    """Tolerance settings, each with the factor by which milopt's tolerance is multiplied."""
    fixed_settings: Mapping[str, object] = field(default_factory=dict)
    """Settings with constant values."""
    time_setting: str | None = None
    """Name of the setting for the time limit in seconds, or None if there is none."""
    threads_setting: str | None = None
    """Name of the setting for the number of threads, or None if there is none."""
    settings_keyword: str | None = None
    """Keyword under which cvxpy expects all settings as a dictionary, or None if it expects them as keywords."""
    gap_settings: tuple[str, ...] = ()
    """Names of settings for the gap at which a mixed-integer search stops; they get `MIP_GAP_FRACTION * tolerance`.

    Empty if the solver does not support integers, searches to a gap of 0, or has the gap in `tolerance_factors`.
    """
    limit_settings: Callable[[StandardForm], Mapping[str, object]] | None = None
    """Function that returns iteration limits for a form; None if the solver's own limits end every run."""
    cones: frozenset[str] = frozenset()
    """Names of the supported cones, besides linear rows, for programs without integer variables."""
    integer_cones: frozenset[str] = frozenset()
    """Names of the supported cones, besides linear rows, for programs with integer variables."""
    retry_settings: Mapping[str, object] = field(default_factory=dict)
    """Settings of a second run after the status "optimal_inaccurate"; empty if there is no second run."""
    exponential_retry_factor: float | None = None
    """Further factor of the tolerance settings in a second run after a point that is far from feasible.

    A point that is close to an exponential cone in distance may violate  exp(x) <= t  by exp(x) times as much. None if
    there is no second run.
    """

    def settings(self, form: StandardForm, options: Options, time_limit: float | None) -> dict[str, object]:
        """Return the keywords for `problem.solve`. The user's `extra` overrides all other settings."""
        settings: dict[str, object] = {
            key: factor * options.tolerance for key, factor in self.tolerance_factors.items()
        }
        if form.integer.any():
            settings.update(dict.fromkeys(self.gap_settings, MIP_GAP_FRACTION * options.tolerance))
        settings.update(self.fixed_settings)
        if self.limit_settings is not None:
            settings.update(self.limit_settings(form))
        if self.time_setting and time_limit is not None:
            settings[self.time_setting] = time_limit
        if self.threads_setting:
            settings[self.threads_setting] = options.threads
        settings.update(self.user_settings(options))
        return {self.settings_keyword: settings} if self.settings_keyword else settings

    def user_settings(self, options: Options) -> dict[str, object]:
        """Return the settings in `extra`, including those in the inner dictionary under `settings_keyword`, if any."""
        extra = dict(options.extra)
        inner = extra.pop(self.settings_keyword, {}) if self.settings_keyword else {}
        if not isinstance(inner, Mapping):
            raise ParameterError(f"`extra` must have a dictionary for {self.settings_keyword!r}, not {inner!r}.")
        return {**inner, **extra}

    def find_installation(self) -> str | None:
        """Return the installed version of the package, or None if it is not installed."""
        return installed_version(self.package)


def _equal_factors(factor: float, *keys: str) -> dict[str, float]:
    """Return a dictionary that maps each of these settings to the same factor."""
    return dict.fromkeys(keys, factor)


_HIGHS_TOLERANCE_FACTORS = _equal_factors(1e-2, "primal_feasibility_tolerance", "dual_feasibility_tolerance")
_EPS_TOLERANCE_FACTORS = _equal_factors(1e-3, "eps_abs", "eps_rel")
_ECOS_TOLERANCE_FACTORS = _equal_factors(1e-3, "abstol", "reltol", "feastol")

BACKENDS: dict[str, CvxpyBackend] = {
    "CLARABEL": CvxpyBackend(
        QP,
        "clarabel",
        "Apache-2.0",
        _equal_factors(1e-3, "tol_gap_abs", "tol_gap_rel", "tol_feas"),
        time_setting="time_limit",
        cones=SOC_AND_EXP,
    ),
    "SCS": CvxpyBackend(
        QP,
        "scs",
        "MIT",
        _EPS_TOLERANCE_FACTORS,
        {"max_iters": 200_000},
        time_setting="time_limit_secs",
        cones=SOC_AND_EXP,
        # SCS's scale determines how fast it converges, and the scale that it adapts itself is sometimes poor.
        retry_settings={"adaptive_scale": False, "scale": 1.0},
        exponential_retry_factor=0.03,
    ),
    "OSQP": CvxpyBackend(
        QP,
        "osqp",
        "Apache-2.0",
        _EPS_TOLERANCE_FACTORS,
        {"max_iter": 200_000, "polishing": True},
        time_setting="time_limit",
    ),
    "ECOS": CvxpyBackend(QP, "ecos", "GPL-3.0", _ECOS_TOLERANCE_FACTORS, {"max_iters": 500}, cones=SOC_AND_EXP),
    "HIGHS": CvxpyBackend(
        QP | MILP,
        "highspy",
        "MIT",
        _HIGHS_TOLERANCE_FACTORS,
        time_setting="time_limit",
        threads_setting="threads",
        limit_settings=iteration_limits,
        gap_settings=("mip_rel_gap", "mip_abs_gap"),
    ),
    "SCIPY": CvxpyBackend(
        MILP,
        "scipy",
        "BSD-3-Clause",
        time_setting="time_limit",
        settings_keyword="scipy_options",
        gap_settings=("mip_rel_gap",),
    ),
    "PIQP": CvxpyBackend(
        QP,
        "piqp",
        "BSD-2-Clause",
        _equal_factors(1e-4, "eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"),
    ),
    "PROXQP": CvxpyBackend(QP, "proxsuite", "BSD-2-Clause", {"eps_abs": 1e-3}),
    "DAQP": CvxpyBackend(QP, "daqp", "MIT", _equal_factors(1e-3, "primal_tol", "dual_tol")),
    "QOCO": CvxpyBackend(QP, "qoco", "BSD-3-Clause", _equal_factors(1e-2, "abstol", "reltol"), cones=SOC),
    "CVXOPT": CvxpyBackend(QP, "cvxopt", "GPL-3.0", _ECOS_TOLERANCE_FACTORS, {"max_iters": 500}, cones=SOC),
    "GLPK": CvxpyBackend(LP, "cvxopt", "GPL-3.0"),
    "GLPK_MI": CvxpyBackend(MILP, "cvxopt", "GPL-3.0"),
    # Without integers, only linear programs: SCIP has no multipliers for quadratic and conic programs.
    "SCIP": CvxpyBackend(
        MIQP,
        "pyscipopt",
        "MIT (interface), Apache-2.0 (SCIP)",
        {"numerics/feastol": 0.1},
        time_setting="limits/time",
        settings_keyword="scip_params",
        integer_cones=SOC,
    ),
    "GUROBI": CvxpyBackend(
        QP | MIQP,
        "gurobipy",
        "commercial",
        _equal_factors(1e-2, "FeasibilityTol", "OptimalityTol", "BarConvTol", "BarQCPConvTol"),
        time_setting="TimeLimit",
        threads_setting="Threads",
        cones=SOC,
        integer_cones=SOC,
        gap_settings=("MIPGap", "MIPGapAbs"),
    ),
    "MOSEK": CvxpyBackend(QP | MIQP, "mosek", "commercial", {"eps": 1e-2}, cones=SOC, integer_cones=SOC),
    "COPT": CvxpyBackend(
        QP | MIQP,
        "coptpy",
        "commercial",
        time_setting="TimeLimit",
        cones=SOC,
        integer_cones=SOC,
        gap_settings=("RelGap", "AbsGap"),
    ),
    "CPLEX": CvxpyBackend(
        QP | MIQP,
        "cplex",
        "commercial",
        time_setting="timelimit",
        settings_keyword="cplex_params",
        cones=SOC,
        integer_cones=SOC,
        gap_settings=("mip.tolerances.mipgap", "mip.tolerances.absmipgap"),
    ),
}
"""Backends by the names that cvxpy uses."""
