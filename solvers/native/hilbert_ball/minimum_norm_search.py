"""The search loop for a minimum-norm point (see `minimum_norm`), compiled by numba: one call per solve."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milopt.arrays import Index, Mask, Matrix, Vector
from milopt.jit import njit, njit_inner
from milopt.solvers.native.hilbert_ball.face import (
    Face,
    add_column,
    axpy,
    dot,
    minimise_on_face,
    remove_column,
    update_point,
    update_projection,
)
from milopt.solvers.native.hilbert_ball.instance_bounds import InstanceBounds, largest_in_bag, set_direction

SEARCH_SOLVED = 0
"""Result: the bounds have met, or the point is 0."""
SEARCH_NEEDS_COORDINATES = 1
"""Result: some instances need exact coordinates before they can be added to the face."""
SEARCH_STALLED = 2
"""Result: the bounds have not met, but no instance can be added or MAX_ROUNDS rounds were made."""

MIN_ROUND_GAIN_FRACTION = 0.05
"""A round ends, and all bags are searched again, if the best gain falls to this fraction of the round's largest."""
MAX_ROUNDS = 1000
"""Maximum number of rounds. Each searches all bags for candidates and adds the best of them."""


class NormSearchResult(NamedTuple):
    """Result of a search (symbols as in `minimum_norm`)."""

    end: int
    """SEARCH_SOLVED, SEARCH_NEEDS_COORDINATES or SEARCH_STALLED."""
    squared: float
    """Squared norm ||w||^2."""
    inner_product: float
    """Inner product <c, w>."""
    support_value: float
    """Support value  sum_r d_r max_{x in B_r} <x, w>."""
    n_entered: int
    """Number of columns (instances) that were added to the face."""
    rounds: int
    """Number of completed rounds; MAX_ROUNDS if the result is SEARCH_STALLED."""


@njit
def search_minimum_norm_point(
    f: Face,
    bounds: InstanceBounds,
    table: Matrix,
    n: int,
    offsets: Index,
    bag_weights: Vector,
    c: Vector,
    is_exact: Mask,
    requested: Index,
    tolerance: float,
    zero: float,
) -> NormSearchResult:
    """Search for the minimum-norm point of  c - sum_r bag_weights[r] conv(B_r),  starting from the face `f`.

    `f` and `bounds` are updated in place. `table` has one row of n coordinates per instance, exact if marked in
    `is_exact`. w is the current point. The search stops if the bounds on the minimum norm (see `minimum_norm`) differ
    by at most `tolerance` times the upper bound ||w||, or if ||w||^2 is at most `zero`. If the result is
    SEARCH_NEEDS_COORDINATES, `requested` contains the instances, followed by -1.
    """
    m = bag_weights.size
    candidate, candidate_value, base_value = np.zeros(m, dtype=np.intp), np.zeros(m), np.zeros(m)
    z, bag_sums, bag_changes = np.zeros(f.weight.size), np.zeros(m), np.zeros(m)
    n_entered = 0
    if not _start_from_face(f, bounds, table, n, offsets, bag_weights, c, is_exact, requested):
        return NormSearchResult(SEARCH_NEEDS_COORDINATES, 0.0, 0.0, 0.0, n_entered, 0)
    minimise_on_face(f, n, bag_weights, z, bag_sums, bag_changes)
    squared, inner_product, support_value = 0.0, 0.0, 0.0
    for rounds in range(MAX_ROUNDS):
        _set_point_from_weights(f, table, n, bag_weights, c, bag_sums)
        squared = dot(f.w, f.w, n)
        if squared <= zero:
            return NormSearchResult(SEARCH_SOLVED, squared, 0.0, 0.0, n_entered, rounds)
        inner_product, support_value = dot(c, f.w, n), 0.0
        set_direction(bounds, f.w, n)
        for r in range(m):
            if bag_weights[r] > 0.0:
                candidate[r], candidate_value[r] = largest_in_bag(bounds, table, n, offsets, r, f.w)
                base_value[r] = dot(table[f.base[r]], f.w, n)
                support_value += bag_weights[r] * candidate_value[r]
        if squared - (inner_product - support_value) <= tolerance * squared:
            return NormSearchResult(SEARCH_SOLVED, squared, inner_product, support_value, n_entered, rounds)
        min_gain = 0.1 * tolerance * squared / m
        if _request_coordinates(bag_weights, candidate_value, base_value, candidate, is_exact, requested, min_gain):
            return NormSearchResult(SEARCH_NEEDS_COORDINATES, squared, inner_product, support_value, n_entered, rounds)
        new = _add_candidates(
            f, table, n, bag_weights, candidate, candidate_value, base_value, min_gain, z, bag_sums, bag_changes
        )
        n_entered += new
        if new == 0:
            break
    return NormSearchResult(SEARCH_STALLED, squared, inner_product, support_value, n_entered, MAX_ROUNDS)


@njit_inner
def _start_from_face(
    f: Face,
    bounds: InstanceBounds,
    table: Matrix,
    n: int,
    offsets: Index,
    bag_weights: Vector,
    c: Vector,
    is_exact: Mask,
    requested: Index,
) -> bool:
    """Adapt the face to new bag weights and a new c, in place; return True if this was possible.

    The base instance of a bag is the instance to which the hull of the bag is shifted (see `face`). A bag without one
    gets one. Bags whose weight is positive again get back their columns, with the former shares of the bag weight. If
    the coordinates of some of these instances are only projections (not marked in `is_exact`), the instances are
    written to `requested`, followed by -1, and the result is False.
    """
    count = 0
    set_direction(bounds, c, n)
    for r in range(bag_weights.size):
        if bag_weights[r] > 0.0:
            if f.base[r] < 0:
                f.base[r] = largest_in_bag(bounds, table, n, offsets, r, c)[0]
            if not is_exact[f.base[r]]:
                requested[count] = f.base[r]
                count += 1
            if f.last_bag_weight[r] <= 0.0:
                for x in range(offsets[r], offsets[r + 1]):
                    if f.share[x] > 0.0 and not is_exact[x]:
                        requested[count] = x
                        count += 1
    if count:
        requested[count] = -1
        return False
    for j in range(f.used[0] - 1, -1, -1):
        r = f.bag[j]
        if bag_weights[r] > 0.0:
            f.weight[j] *= bag_weights[r] / f.last_bag_weight[r]
        else:
            f.share[f.instance[j]] = f.weight[j] / f.last_bag_weight[r]
            remove_column(f, n, j)
    for k in range(n):
        f.s[k] = c[k]
    for r in range(bag_weights.size):
        if bag_weights[r] > 0.0:
            axpy(f.s, -bag_weights[r], table[f.base[r]], n)
            if f.last_bag_weight[r] <= 0.0:
                for x in range(offsets[r], offsets[r + 1]):
                    if f.share[x] > 0.0:
                        add_column(f, table, n, x, r, f.share[x] * bag_weights[r])
                    f.share[x] = 0.0
        f.last_bag_weight[r] = bag_weights[r]
    update_projection(f, n)
    return True


@njit_inner
def _set_point_from_weights(f: Face, table: Matrix, n: int, bag_weights: Vector, c: Vector, bag_sums: Vector) -> None:
    """Clip the weights to be >= 0 and to sum to at most the bag weight in each bag, and compute w from them.

    The base instance of each bag gets the rest of the bag weight. `bag_sums` is workspace: 0 before and after the call.
    """
    for k in range(n):
        f.w[k] = c[k]
    for j in range(f.used[0]):
        f.weight[j] = min(max(f.weight[j], 0.0), bag_weights[f.bag[j]] - bag_sums[f.bag[j]])
        bag_sums[f.bag[j]] += f.weight[j]
        axpy(f.w, -f.weight[j], table[f.instance[j]], n)
    for r in range(bag_weights.size):
        if bag_weights[r] > 0.0:
            axpy(f.w, bag_sums[r] - bag_weights[r], table[f.base[r]], n)
        bag_sums[r] = 0.0


@njit_inner
def _request_coordinates(
    bag_weights: Vector,
    candidate_value: Vector,
    base_value: Vector,
    candidate: Index,
    is_exact: Mask,
    requested: Index,
    min_gain: float,
) -> bool:
    """Write candidates with a large gain but inexact coordinates to `requested`; return True if there are any.

    `candidate` has one instance per bag; its gain is the bag weight times `candidate_value` - `base_value`. Candidates
    with inexact coordinates are set to -1 in `candidate`, because a projection must not be added to the face.
    """
    largest_gain = 0.0
    for r in range(bag_weights.size):
        if bag_weights[r] > 0.0:
            largest_gain = max(largest_gain, bag_weights[r] * (candidate_value[r] - base_value[r]))
    count = 0
    for r in range(bag_weights.size):
        if bag_weights[r] > 0.0 and not is_exact[candidate[r]]:
            if bag_weights[r] * (candidate_value[r] - base_value[r]) > max(
                min_gain, MIN_ROUND_GAIN_FRACTION * largest_gain
            ):
                requested[count] = candidate[r]
                count += 1
            # The candidate's coordinates are only a projection onto the span: do not add the candidate yet.
            candidate[r] = -1
    requested[count] = -1
    return count > 0


@njit_inner
def _add_candidates(
    f: Face,
    table: Matrix,
    n: int,
    bag_weights: Vector,
    candidate: Index,
    candidate_value: Vector,
    base_value: Vector,
    min_gain: float,
    z: Vector,
    bag_sums: Vector,
    bag_changes: Vector,
) -> int:
    """Add the candidates of the bags (-1: none) to the face, largest gain first, while the gain is large enough.

    After each addition the weights are minimised on the face. `candidate` is changed in place. Returns the number of
    added columns.
    """
    n_entered, largest_gain = 0, 0.0
    while True:
        chosen, gain = bag_weights.size, max(min_gain, MIN_ROUND_GAIN_FRACTION * largest_gain)
        for r in range(bag_weights.size):
            if bag_weights[r] > 0.0 and candidate[r] >= 0:
                if n_entered:
                    candidate_value[r] = dot(table[candidate[r]], f.w, n)
                    base_value[r] = dot(table[f.base[r]], f.w, n)
                if bag_weights[r] * (candidate_value[r] - base_value[r]) > gain:
                    chosen, gain = r, bag_weights[r] * (candidate_value[r] - base_value[r])
        if chosen == bag_weights.size:
            return n_entered
        largest_gain = max(largest_gain, gain)
        if add_column(f, table, n, candidate[chosen], chosen, 0.0):
            n_entered += 1
            minimise_on_face(f, n, bag_weights, z, bag_sums, bag_changes)
            update_point(f, n)
        candidate[chosen] = -1
