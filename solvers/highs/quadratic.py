"""A convex quadratic program by HiGHS, in spite of its regularisation and its bad days.

Its active-set method solves  1/2 x'(P + reg I)x + q'x  with reg = 1e-7, without which it has called wrong points
optimal. The bias is taken out by proximal steps, which solve again with  q - reg x_k  until  P x + q = F'z + reduced
costs. On singular P it may cycle, break down, or call a bounded program unbounded. HiGHS's interior-point method HiPO
is tried then, where `highspy[extras]` brought it; a larger reg, with the same proximal steps, mends some of the rest.
The dual tolerance stays at 1e-7: at 1e-9 the active-set method breaks down on one in four singular P.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from milopt.compilation.recession import Recession
from milopt.compilation.standard_form import StandardForm
from milopt.solvers.highs.model import HighsModel, Run

REGULARISATION = "qp_regularization_value"
VALUES = (1e-7, 1e-5, 1e-4)
"""HiGHS's own default, and what to try when it fails."""
HIPO = "hipo"
PROXIMAL_STEPS = 3
UNCONFIRMED = ", unconfirmed"
"""Added to a status that the KKT conditions, or a direction of descent, do not bear out."""


def solve_quadratic(model: HighsModel, deadline: float | None) -> Run:
    """The first run that satisfies the KKT conditions or is proved unbounded; else the one that comes closest."""
    form, options = model.form, model.options
    chosen = options.extra.get(REGULARISATION)
    values = VALUES if not isinstance(chosen, int | float) else (float(chosen),)
    ways: tuple[float | str, ...] = values
    if "solver" not in options.extra:
        ways = (HIPO, *values) if model.starts_with_hipo else (values[0], HIPO, *values[1:])
    best, iterations = Run("kNotset"), 0
    for way in ways:
        run = _hipo(model, deadline) if isinstance(way, str) else _active_set(model, way, deadline)
        if run is None:
            continue
        iterations += run.iterations
        if run.status in ("kInfeasible", "kUnboundedOrInfeasible", "kInterrupt", "kTimeLimit"):
            best = run if best.x is None else replace(best, status=run.status)
            break
        if run.status == "kOptimal" and residual(form, run) <= options.tolerance:
            best = run
            model.starts_with_hipo = way == HIPO
            break
        if run.status in ("kOptimal", "kUnbounded"):
            if _recedes(model, left(deadline)):
                best = Run("kUnbounded")
                break
            run = replace(run, status=f"{run.status}{UNCONFIRMED}")
        if best.x is None or residual(form, run) < residual(form, best):
            best = run
    model.set_option(REGULARISATION, values[0])
    return replace(best, iterations=iterations)


def _active_set(model: HighsModel, reg: float, deadline: float | None) -> Run:
    """HiGHS's active-set method with this regularisation."""
    model.set_option(REGULARISATION, reg)
    return _proximal(model, model.run(left(deadline)), reg, deadline)


def _hipo(model: HighsModel, deadline: float | None) -> Run | None:
    """HiGHS's interior-point method, which is not regularised; None where it is not installed."""
    if not model.can_set("solver", HIPO):
        return None
    run = model.run(left(deadline))
    model.set_option("solver", "choose")
    return run


def _proximal(model: HighsModel, first: Run, reg: float, deadline: float | None) -> Run:
    """Proximal steps from a regularised optimum; the run with the smallest residual."""
    form = model.form
    if first.status != "kOptimal":
        return first
    target = 1e-3 * model.options.tolerance
    best = first
    smallest, iterations = residual(form, first), first.iterations
    for _ in range(PROXIMAL_STEPS):
        seconds = left(deadline)
        if smallest <= target or best.x is None or seconds == 0:
            break
        model.set_costs(form.q - reg * best.x)
        run = model.run(seconds)
        iterations += run.iterations
        if run.status == "kInterrupt":
            best = replace(best, status=run.status)
        if run.status != "kOptimal" or residual(form, run) >= smallest:
            break
        best, smallest = run, residual(form, run)
    model.set_costs(form.q)
    return replace(best, iterations=iterations)


def _recedes(model: HighsModel, time_limit: float | None) -> bool:
    """Whether the objective falls for ever along some direction."""
    recession = Recession(model.form)
    run = HighsModel(recession.form, model.options).run(time_limit)
    return run.status == "kOptimal" and recession.ray(run.x) is not None


def residual(form: StandardForm, run: Run) -> float:
    """The largest part of P x + q - F'z that no reduced cost accounts for, or its column's distance from the bound.

    Both relative: to the linear costs, and to the column.
    """
    if run.x is None or run.z is None:
        return np.inf
    rest = form.P.times(run.x) + form.q - form.F.T @ run.z
    away = np.where(rest > 0, run.x - form.lower, form.upper - run.x) / (1.0 + np.abs(run.x))
    away[away <= 1e-9] = 0.0
    scale = 1.0 + float(np.abs(form.q).max(initial=0.0))
    return float(np.minimum(np.abs(rest) / scale, away).max(initial=0.0))


def left(deadline: float | None) -> float | None:
    """Seconds until the deadline."""
    return None if deadline is None else max(deadline - time.perf_counter(), 0.0)
