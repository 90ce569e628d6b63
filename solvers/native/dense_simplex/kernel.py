"""The simplex method on a dense dictionary, compiled by numba: from any basis, after any change, to the optimum.

Each round makes values and prices exact, and then, whichever is not yet so,

    outside some bounds    suits the prices to the nonbasic variables (for the time being, where costs forbid it) and
                           takes dual steps: a row whose violation nothing can mend shows that the program is infeasible
    else                   takes primal steps: a direction that nothing blocks shows that it is unbounded.

A new row or offset leaves the prices suitable, a new column or cost the values: then one round is all.
"""

from __future__ import annotations

from milopt.compiled import njit, njit_inner
from milopt.solvers.native.dense_simplex.changes import reset
from milopt.solvers.native.dense_simplex.dual import dual_steps, suit_prices
from milopt.solvers.native.dense_simplex.primal import primal_steps
from milopt.solvers.native.dense_simplex.tableau import (
    AGE,
    BLOCKED,
    COLUMNS,
    DONE,
    METHOD,
    MORE,
    PERTURBED,
    ROUNDS,
    ROWS,
    STALLED,
    TOLERANCE,
    Tableau,
    is_wrong,
    reprice,
    revalue,
    violation,
)

OPTIMAL, INFEASIBLE, UNBOUNDED, UNFINISHED, INACCURATE = range(5)
"""Ends of `advance`."""
NONE, DUAL, PRIMAL = range(3)
"""Methods in the midst of which a solve may be."""
EXACT, ACCURATE = 1e-12, 1e-9
"""Residuals over the size of the numbers: those not worth another correction, and the largest that are accepted."""
MOST_ROUNDS = 40
CORRECTIONS = 5
LIFETIME = 100
"""Exchanges after which residuals are looked at."""


@njit
def start(t: Tableau) -> None:
    """Forget the counts of the last solve."""
    size = t.size
    size[STALLED] = size[PERTURBED] = size[ROUNDS] = size[METHOD] = 0


@njit_inner
def go_on(t: Tableau) -> None:
    """The same after an optimum that rows or columns were appended to: values and prices are as exact as they were."""
    start(t)
    _choose(t)


@njit
def advance(t: Tableau, most: int) -> tuple[int, int]:
    """(end, steps) after at most so many steps; where it is unfinished, call it again. `start` comes first."""
    size = t.size
    steps = 0
    while size[ROUNDS] < MOST_ROUNDS:
        if size[METHOD] == NONE:
            size[ROUNDS] += 1
            if not correct(t):
                if size[AGE] == 0:
                    return INACCURATE, steps
                reset(t)
                continue
            if _choose(t) == NONE:
                return OPTIMAL, steps
        primal = size[METHOD] == PRIMAL
        allowed = min(LIFETIME, most - steps)
        end, taken = primal_steps(t, allowed) if primal else dual_steps(t, allowed)
        steps += taken
        if end == MORE and revalue(t) <= ACCURATE:
            if steps >= most:
                return UNFINISHED, steps
            continue
        if end == BLOCKED and size[AGE] == 0:
            return (UNBOUNDED if primal else INFEASIBLE), steps
        if end != DONE:
            reset(t)
        size[METHOD] = NONE
    return INACCURATE, steps


@njit_inner
def _choose(t: Tableau) -> int:
    """The method that has something to do; the dual one gets the prices it needs."""
    size = t.size
    size[METHOD] = NONE
    for j in range(size[COLUMNS]):
        if is_wrong(t, j, TOLERANCE):
            size[METHOD] = PRIMAL
            break
    for i in range(size[ROWS]):
        if violation(t, i) != 0.0:
            size[METHOD] = DUAL
            suit_prices(t)
            break
    return int(size[METHOD])


@njit_inner
def correct(t: Tableau) -> bool:
    """Make values and prices exact, as far as the dictionary allows; whether that is far enough."""
    off = wrong = 1.0
    for _ in range(CORRECTIONS):
        if off > EXACT:
            off = revalue(t)
        if wrong > EXACT:
            wrong = reprice(t)
    return off <= ACCURATE and wrong <= ACCURATE
