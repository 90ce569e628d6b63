"""Solve a margin program by proximal steps on lazily held rows, with a duality gap computed by one pass over all rows.

The symbols are those of `margin_program`; sigma is the weight of the proximal terms in `proximal_step`.

1. Hold one row of each group, the one with the largest v_r at the start, or all rows of the last solve with a_r > 0.
2. Make proximal steps (`proximal_step`) with increasing sigma until the duality gap on the held rows reaches the inner
   tolerance.
3. Compute the duality gap on all rows. First balance a, such that e'a = 0. Then w = R'a is stationary by construction,
   and the dual objective D is computed from the held rows. One pass over the data gives R w, the exact bias and the
   primal objective P. P - D >= 0 bounds the error, independently of the solver.
4. Stop if the gap reaches the tolerance. Otherwise hold up to `MAX_ADDED_ROWS_PER_GROUP` more rows of each group, those
   with the largest v_r above all held rows of the group, reduce the inner tolerance and continue with 2.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from milopt.arrays import Index, Vector
from milopt.solvers.native.margin_newton.held_rows import HeldRows
from milopt.solvers.native.margin_newton.margin_program import MarginProgram
from milopt.solvers.native.margin_newton.proximal_step import Iterate, proximal_step

MAX_EAGER_ROWS = 600
"""Number of rows up to which all rows are held from the start."""
MAX_ADDED_ROWS_PER_GROUP = 3
"""Number of rows per group that are added after a pass."""
FIRST_INNER_GAP = 1e-2
"""Relative gap on the held rows at which the first pass ends."""
INNER_GAP_FRACTION = 0.03
"""Gap on the held rows at which a later pass ends, as a fraction of the gap on all rows before the pass."""
FAST_GROWTH, MEDIUM_GROWTH, SLOW_GROWTH = 10.0, 3.0, 1.5
"""Factors of sigma after a proximal step with few, with more and with many Newton steps."""
MAX_FAST_STEPS = 2
"""Largest number of Newton steps after which sigma grows by `FAST_GROWTH`."""
MAX_MEDIUM_STEPS = 6
"""Largest number of Newton steps after which sigma grows by `MEDIUM_GROWTH`."""
MIN_STOP_STEPS = 15
"""Smallest number of Newton steps after which sigma does not grow; after fewer it grows by `SLOW_GROWTH`."""
WARM_SIGMA_FRACTION = 1e-2
"""First sigma of a warm start, as a fraction of the last sigma of the answer that it starts from."""
MAX_WARM_SIGMA_RATIO = 20.0
"""Largest ratio of the first sigma of a warm start to the first sigma of a cold start."""
MAX_SIGMA_RATIO = 1e12
"""Largest sigma, relative to the first."""
MAX_PASSES = 60
"""Maximum number of passes."""
MAX_PROXIMAL_STEPS = 400
"""Maximum number of proximal steps of all passes."""
MAX_STALLED_PROXIMAL_STEPS = 20
"""Number of successive proximal steps without a smaller gap on the held rows after which the method gives up."""
MAX_START_FEATURES = 600
"""Number of features up to which the start is a ridge regression; above it, the difference of the class means."""


@dataclass(frozen=True)
class MarginAnswer:
    """Best point of a margin program, with the duality gap that proves it."""

    a: Vector
    """Multiplier of each row."""
    w: Vector
    """Weights, R'a."""
    b: float
    maxima: Vector
    """Largest v_r of each group."""
    primal: float
    dual: float
    slope_error: float
    """`MarginProgram.slope_error` at the point."""
    sigma: float
    """Last sigma."""
    passes: int
    newton_steps: int
    is_late: bool
    """Whether the time limit ended the solve."""

    @property
    def gap(self) -> float:
        """Duality gap plus the error of the slopes, relative to the objective."""
        return (self.primal - self.dual + self.slope_error) / max(1.0, abs(self.primal))


def solve_margin_program(
    program: MarginProgram,
    tolerance: float,
    accepted: float | None = None,
    start: MarginAnswer | None = None,
    time_limit: float | None = None,
) -> MarginAnswer:
    """Minimise a margin program to a relative duality gap.

    Parameters
    ----------
    program : MarginProgram
        Program to solve.
    tolerance : float
        Relative duality gap at which to stop.
    accepted : float or None, default=None
        Relative duality gap from which the method stops as soon as it makes no progress; None for `tolerance`.
    start : MarginAnswer or None, default=None
        Answer of a similar program with the same number of rows and groups.
    time_limit : float or None, default=None
        Limit in seconds.

    Returns
    -------
    MarginAnswer
        Best point; its gap exceeds `tolerance` if the method stalled or the time was over.
    """
    accepted = tolerance if accepted is None else max(accepted, tolerance)
    deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
    held = HeldRows.from_index(program, _initially_held_rows(program, start))
    at = _initial_iterate(program, held, start)
    first_sigma = _initial_sigma(program, held)
    if start is not None:
        first_sigma = max(first_sigma, min(WARM_SIGMA_FRACTION * start.sigma, MAX_WARM_SIGMA_RATIO * first_sigma))
    sigma, inner = first_sigma, FIRST_INNER_GAP if held.count < program.group.size else tolerance
    best: MarginAnswer | None = None
    newton_steps = proximal_steps = 0
    last_gap = math.inf
    for passes in range(1, MAX_PASSES + 1):
        least, stalled, nearest = math.inf, 0, at
        while True:
            at, count = proximal_step(held, at, sigma, deadline)
            newton_steps, proximal_steps = newton_steps + count, proximal_steps + 1
            gap = _relative_gap_on_held_rows(held, at)
            stalled = 0 if gap < 0.9 * least else stalled + 1
            if gap < least or not np.isfinite(least):
                least, nearest = gap, at
            growth = (
                FAST_GROWTH
                if count <= MAX_FAST_STEPS
                else MEDIUM_GROWTH
                if count <= MAX_MEDIUM_STEPS
                else SLOW_GROWTH
                if count < MIN_STOP_STEPS
                else 1.0
            )
            sigma = min(sigma * growth, MAX_SIGMA_RATIO * first_sigma)
            is_late = time.perf_counter() > deadline
            patience = MAX_STALLED_PROXIMAL_STEPS if least > accepted else 1
            gives_up = stalled >= patience or proximal_steps >= MAX_PROXIMAL_STEPS
            if gap <= inner or is_late or gives_up:
                break
        at = nearest
        answer, violated = _evaluate_all_rows(held, at, sigma, passes, newton_steps, is_late)
        if best is None or answer.gap < best.gap:
            best = answer
        if answer.gap <= tolerance or is_late or (gives_up and not violated.size):
            break
        if best.gap <= accepted and answer.gap > 0.5 * last_gap:
            break
        last_gap = answer.gap
        inner = max(min(INNER_GAP_FRACTION * answer.gap, 0.5 * inner), 0.1 * tolerance)
        if violated.size:
            held, at = _hold_more_rows(held, at, violated)
            sigma = max(sigma / 10.0, first_sigma)
    assert best is not None
    return best


def _initial_sigma(program: MarginProgram, held: HeldRows) -> float:
    """Return the first sigma: half of the typical weight of a loss, or less if the rows are long."""
    weight = float(np.median(np.where(program.cap > 0, program.cap, program.curvature)))
    return min(0.5 * weight, 10.0 / held.spread)


def _initially_held_rows(program: MarginProgram, start: MarginAnswer | None) -> Index:
    """Return the rows to hold at first."""
    if program.group.size <= MAX_EAGER_ROWS or program.group.size == program.cap.size:
        return np.arange(program.group.size)
    w, b = (start.w, start.b) if start is not None else _regression_start(program)
    v = program.offset - program.rows.times(w) - program.bias * b
    chosen = v >= np.maximum.reduceat(v, program.group_starts[:-1])[program.group]
    first = np.flatnonzero(chosen)
    _, place = np.unique(program.group[first], return_index=True)
    chosen[:] = False
    chosen[first[place]] = True
    if start is not None:
        chosen |= start.a > 0
    return np.flatnonzero(chosen)


def _initial_iterate(program: MarginProgram, held: HeldRows, start: MarginAnswer | None) -> Iterate:
    """Return the first iterate: that of the start, or 0."""
    if start is None:
        return Iterate(np.zeros(held.count), np.zeros(program.rows.shape[1]), 0.0)
    return Iterate(start.a[held.index], start.w, start.b)


def _regression_start(program: MarginProgram) -> tuple[Vector, float]:
    """Return (w, b) with R w + e b close to the offsets q: a ridge regression on the means of the groups."""
    groups, size = program.cap.size, program.rows.shape[1]
    sizes = np.diff(program.group_starts)
    q = np.add.reduceat(program.offset, program.group_starts[:-1]) / sizes
    e = np.add.reduceat(program.bias, program.group_starts[:-1]) / sizes
    means = sp.csr_array(
        (1.0 / sizes[program.group], np.arange(program.group.size), program.group_starts),
        shape=(groups, program.group.size),
    )
    if size > MAX_START_FEATURES:
        centred = q - e * float(q @ e) / max(float(e @ e), 1e-300)
        return program.rows.transpose_times(np.asarray(means.T @ centred)), 0.0
    features = program.rows.combine(means)
    dense = features.toarray() if isinstance(features, sp.csr_array) else features
    X = np.column_stack([dense, e])
    H = X.T @ X
    H[np.diag_indices_from(H)] += 1e-3 * max(float(np.trace(H)) / len(H), 1e-300)
    solution = cho_solve(cho_factor(H), X.T @ q)
    return solution[:size], float(solution[size])


def _relative_gap_on_held_rows(held: HeldRows, at: Iterate) -> float:
    """Return the relative duality gap on the held rows."""
    a = held.balance_multipliers(at.a)
    w = np.asarray(held.features.T @ a)
    maxima, _ = held.program.maxima_with_bias(held.values(w), held.group_starts, held.bias)
    primal = 0.5 * float(w @ w) + held.program.loss(maxima)
    error = held.program.slope_error(maxima, held.group_sums(a))
    return (primal - held.dual_value(a, w) + error) / max(1.0, abs(primal))


def _evaluate_all_rows(
    held: HeldRows, at: Iterate, sigma: float, passes: int, newton_steps: int, is_late: bool
) -> tuple[MarginAnswer, Index]:
    """Return the balanced point with its objectives over all rows, and the violated rows to hold next."""
    program = held.program
    balanced = held.balance_multipliers(at.a)
    w = np.asarray(held.features.T @ balanced)
    v = held.values(w) if held.count == program.group.size else program.offset - program.rows.times(w)
    maxima, b = program.maxima_with_bias(v, program.group_starts, program.bias)
    primal = 0.5 * float(w @ w) + program.loss(maxima)
    a = np.zeros(program.group.size)
    a[held.index] = balanced
    error = program.slope_error(maxima, held.group_sums(balanced))
    dual = held.dual_value(balanced, w)
    answer = MarginAnswer(a, w, b, maxima, primal, dual, error, sigma, passes, newton_steps, is_late)
    if held.count == program.group.size:
        return answer, np.zeros(0, dtype=np.intp)
    v -= program.bias * b
    known = np.maximum(np.maximum.reduceat(v[held.index], held.group_starts[:-1]), 0.0)
    known += 1e-12 * (1.0 + np.abs(known))
    wrong = np.flatnonzero(v > known[program.group])
    order = wrong[np.lexsort((-v[wrong], program.group[wrong]))]
    _, first, size = np.unique(program.group[order], return_index=True, return_counts=True)
    place = np.arange(order.size) - np.repeat(first, size)
    return answer, order[place < MAX_ADDED_ROWS_PER_GROUP]


def _hold_more_rows(held: HeldRows, at: Iterate, rows: Index) -> tuple[HeldRows, Iterate]:
    """Hold further rows, with the multiplier 0."""
    index = np.union1d(held.index, rows)
    a = np.zeros(index.size)
    a[np.searchsorted(index, held.index)] = at.a
    return HeldRows.from_index(held.program, index), Iterate(a, at.w, at.b)
