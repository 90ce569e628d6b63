"""The simplex method on a dense dictionary, compiled by numba: from any basis, after any change, to the optimum.

Each round corrects the values and the prices (see `tableau`), and then chooses a method:

    some bounds violated   make the prices feasible, temporarily changing costs if necessary, and take dual steps; a
                           violated row without an entering column shows that the program is infeasible
    otherwise              take primal steps; a direction that no variable blocks shows that the program is unbounded

A new row or offset keeps the prices feasible, and a new column or cost keeps the values feasible: one round is then
enough.
"""

from __future__ import annotations

from milopt.jit import njit, njit_inner
from milopt.solvers.native.dense_simplex.changes import refactorise
from milopt.solvers.native.dense_simplex.dual import make_dual_steps, make_prices_feasible
from milopt.solvers.native.dense_simplex.primal import make_primal_steps
from milopt.solvers.native.dense_simplex.tableau import (
    AGE,
    BLOCKED,
    COLUMNS,
    DONE,
    FEASIBILITY_TOLERANCE,
    METHOD,
    PERTURBED,
    ROUNDS,
    ROWS,
    STALLED_STEPS,
    STEP_LIMIT,
    Tableau,
    bound_violation,
    has_attractive_price,
    refine_prices,
    refine_values,
)

OPTIMAL, INFEASIBLE, UNBOUNDED, UNFINISHED, INACCURATE = range(5)
"""Results of `make_simplex_steps`."""
NO_METHOD, DUAL, PRIMAL = range(3)
"""Method that is in progress between two calls of `make_simplex_steps`."""
NEGLIGIBLE_RESIDUAL, MAX_RESIDUAL = 1e-12, 1e-9
"""Relative residual up to which values and prices are not corrected further, and largest accepted residual."""
MAX_SOLVE_ROUNDS = 40
"""Maximum number of rounds of one solve."""
MAX_CORRECTIONS_PER_ROUND = 5
"""Maximum number of corrections of the values, and of the prices, per round."""
STEPS_BETWEEN_CHECKS = 100
"""Number of pivots after which the residuals of the values are checked."""


@njit
def reset_solve_counters(t: Tableau) -> None:
    """Reset the counters and the method of the last solve. Call it before the first `make_simplex_steps` of a solve."""
    size = t.size
    size[STALLED_STEPS] = size[PERTURBED] = size[ROUNDS] = size[METHOD] = 0


@njit_inner
def prepare_solve_after_append(t: Tableau) -> None:
    """Prepare a solve after rows or columns were appended at an optimum; call it instead of `reset_solve_counters`.

    The first round does not correct values and prices, because appending does not change their accuracy.
    """
    reset_solve_counters(t)
    _choose_method(t)


@njit
def make_simplex_steps(t: Tableau, max_steps: int) -> tuple[int, int]:
    """Make at most `max_steps` simplex steps in place; return (result, number of steps).

    The result is OPTIMAL, INFEASIBLE, UNBOUNDED, UNFINISHED (call `make_simplex_steps` again) or INACCURATE (the
    residuals stay too large, or MAX_SOLVE_ROUNDS rounds were not enough).
    """
    size = t.size
    steps = 0
    while size[ROUNDS] < MAX_SOLVE_ROUNDS:
        if size[METHOD] == NO_METHOD:
            size[ROUNDS] += 1
            if not correct_values_and_prices(t):
                if size[AGE] == 0:
                    return INACCURATE, steps
                refactorise(t)
                continue
            if _choose_method(t) == NO_METHOD:
                return OPTIMAL, steps
        primal = size[METHOD] == PRIMAL
        step_budget = min(STEPS_BETWEEN_CHECKS, max_steps - steps)
        end, steps_taken = make_primal_steps(t, step_budget) if primal else make_dual_steps(t, step_budget)
        steps += steps_taken
        if end == STEP_LIMIT and refine_values(t) <= MAX_RESIDUAL:
            if steps >= max_steps:
                return UNFINISHED, steps
            continue
        if end == BLOCKED and size[AGE] == 0:
            return (UNBOUNDED if primal else INFEASIBLE), steps
        if end != DONE:
            refactorise(t)
        size[METHOD] = NO_METHOD
    return INACCURATE, steps


@njit_inner
def _choose_method(t: Tableau) -> int:
    """Choose the next method, store it in `size[METHOD]` and return it.

    It is DUAL if a bound is violated, else PRIMAL if a price is attractive, else NO_METHOD. Before the dual method, the
    prices are made feasible.
    """
    size = t.size
    size[METHOD] = NO_METHOD
    for j in range(size[COLUMNS]):
        if has_attractive_price(t, j, FEASIBILITY_TOLERANCE):
            size[METHOD] = PRIMAL
            break
    for i in range(size[ROWS]):
        if bound_violation(t, i) != 0.0:
            size[METHOD] = DUAL
            make_prices_feasible(t)
            break
    return int(size[METHOD])


@njit_inner
def correct_values_and_prices(t: Tableau) -> bool:
    """Correct values and prices from their residuals; return True if no relative residual exceeds MAX_RESIDUAL."""
    value_residual = price_residual = 1.0
    for _ in range(MAX_CORRECTIONS_PER_ROUND):
        if value_residual > NEGLIGIBLE_RESIDUAL:
            value_residual = refine_values(t)
        if price_residual > NEGLIGIBLE_RESIDUAL:
            price_residual = refine_prices(t)
    return value_residual <= MAX_RESIDUAL and price_residual <= MAX_RESIDUAL
