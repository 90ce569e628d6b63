"""Convex quadratic programs by HiGHS, with fallbacks for the cases in which its methods fail.

HiGHS's active-set method solves  min 1/2 x'(P + reg I)x + q'x  with reg = 1e-7; with a smaller reg it has reported
wrong points as optimal. Proximal steps remove the bias: they solve again with the costs  q - reg x_k  until the KKT
conditions hold without reg. If P is singular, the active-set method may cycle, break down, or report a bounded program
as unbounded. Then HiGHS's interior-point method HiPO is tried, if it was installed with `highspy[extras]`, and after it
larger values of reg, with the same proximal steps. The dual tolerance stays at 1e-7: at 1e-9 the active-set method
breaks down for one in four singular P.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from milopt.compilation.recession import RecessionProgram
from milopt.compilation.standard_form import StandardForm
from milopt.solvers.highs.model import HighsModel, HighsRun

REGULARISATION_OPTION = "qp_regularization_value"
"""Name of HiGHS's option for the regularisation reg."""
REGULARISATION_VALUES = (1e-7, 1e-5, 1e-4)
"""Values of reg in order of use: HiGHS's default first."""
HIPO_SOLVER_NAME = "hipo"
"""Name of HiGHS's interior-point method."""
MAX_REFINING_STEPS = 3
"""Maximum number of proximal steps after a regularised optimum."""
UNCONFIRMED_STATUS_SUFFIX = ", unconfirmed"
"""Suffix of a status that neither the KKT conditions nor a direction of descent confirms."""


def solve_quadratic(model: HighsModel, deadline: float | None) -> HighsRun:
    """Run HiGHS's methods in turn until one satisfies the KKT conditions or a direction of unbounded descent is found.

    A run that reports infeasibility, the time limit or Ctrl-C also ends the sequence. If no run satisfies the
    conditions, the run with the smallest KKT residual is returned.
    """
    form, options = model.form, model.options
    user_value = options.extra.get(REGULARISATION_OPTION)
    values = REGULARISATION_VALUES if not isinstance(user_value, int | float) else (float(user_value),)
    methods: tuple[float | str, ...] = values
    if "solver" not in options.extra:
        methods = (HIPO_SOLVER_NAME, *values) if model.starts_with_hipo else (values[0], HIPO_SOLVER_NAME, *values[1:])
    best, iterations = HighsRun("kNotset"), 0
    for method in methods:
        run = _run_hipo(model, deadline) if isinstance(method, str) else _run_active_set(model, method, deadline)
        if run is None:
            continue
        iterations += run.iterations
        if run.status in ("kInfeasible", "kUnboundedOrInfeasible", "kInterrupt", "kTimeLimit"):
            best = run if best.x is None else replace(best, status=run.status)
            break
        if run.status == "kOptimal" and kkt_residual(form, run) <= options.tolerance:
            best = run
            model.starts_with_hipo = method == HIPO_SOLVER_NAME
            break
        if run.status in ("kOptimal", "kUnbounded"):
            if _is_unbounded(model, seconds_left(deadline)):
                best = HighsRun("kUnbounded")
                break
            run = replace(run, status=f"{run.status}{UNCONFIRMED_STATUS_SUFFIX}")
        if best.x is None or kkt_residual(form, run) < kkt_residual(form, best):
            best = run
    model.set_option(REGULARISATION_OPTION, values[0])
    return replace(best, iterations=iterations)


def _run_active_set(model: HighsModel, reg: float, deadline: float | None) -> HighsRun:
    """Run HiGHS's active-set method with regularisation `reg`, followed by proximal steps."""
    model.set_option(REGULARISATION_OPTION, reg)
    return _refine_by_proximal_steps(model, model.run(seconds_left(deadline)), reg, deadline)


def _run_hipo(model: HighsModel, deadline: float | None) -> HighsRun | None:
    """Run HiGHS's interior-point method, which is not regularised; return None if it is not installed."""
    if not model.try_option("solver", HIPO_SOLVER_NAME):
        return None
    run = model.run(seconds_left(deadline))
    model.set_option("solver", "choose")
    return run


def _refine_by_proximal_steps(model: HighsModel, first: HighsRun, reg: float, deadline: float | None) -> HighsRun:
    """Make proximal steps from the optimum `first` of a regularised run; return the run with the smallest KKT residual.

    `reg` is the regularisation of the run `first`. If `first` is not optimal, it is returned unchanged.
    """
    form = model.form
    if first.status != "kOptimal":
        return first
    target = 1e-3 * model.options.tolerance
    best = first
    smallest, iterations = kkt_residual(form, first), first.iterations
    for _ in range(MAX_REFINING_STEPS):
        seconds = seconds_left(deadline)
        if smallest <= target or best.x is None or seconds == 0:
            break
        model.set_costs(form.q - reg * best.x)
        run = model.run(seconds)
        iterations += run.iterations
        if run.status == "kInterrupt":
            best = replace(best, status=run.status)
        if run.status != "kOptimal" or kkt_residual(form, run) >= smallest:
            break
        best, smallest = run, kkt_residual(form, run)
    model.set_costs(form.q)
    return replace(best, iterations=iterations)


def _is_unbounded(model: HighsModel, time_limit: float | None) -> bool:
    """Return True if HiGHS finds, in time, a direction along which the objective decreases without bound."""
    recession = RecessionProgram(model.form)
    run = HighsModel(recession.form, model.options).run(time_limit)
    return run.status == "kOptimal" and recession.verify_ray(run.x) is not None


def kkt_residual(form: StandardForm, run: HighsRun) -> float:
    """Return the largest violation of stationarity and complementarity, or infinity if x or z is missing.

    For each column it is the smaller of two relative quantities: the entry of  P x + q - F'z,  relative to the linear
    costs, and the distance of the column from the bound whose reduced cost would explain that entry, relative to the
    column.
    """
    if run.x is None or run.z is None:
        return np.inf
    reduced_costs = form.P.times(run.x) + form.q - form.F.T @ run.z
    bound_distance = np.where(reduced_costs > 0, run.x - form.lower, form.upper - run.x) / (1.0 + np.abs(run.x))
    bound_distance[bound_distance <= 1e-9] = 0.0
    scale = 1.0 + float(np.abs(form.q).max(initial=0.0))
    return float(np.minimum(np.abs(reduced_costs) / scale, bound_distance).max(initial=0.0))


def seconds_left(deadline: float | None) -> float | None:
    """Return the seconds until the deadline (0 if it has passed), or None if there is no deadline."""
    return None if deadline is None else max(deadline - time.perf_counter(), 0.0)
