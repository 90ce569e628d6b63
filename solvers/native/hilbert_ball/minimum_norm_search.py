"""The search for a minimum-norm point, one compiled call a solve; see `minimum_norm`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milopt.arrays import Index, Mask, Matrix, Vector
from milopt.compiled import njit, njit_inner
from milopt.solvers.native.hilbert_ball.bag_ceilings import Ceilings, largest, move
from milopt.solvers.native.hilbert_ball.corral import Corral, add, descend, dot, enter, leave, project, stand

FOUND = 0
"""The bounds have met, or the point is 0."""
WANTED = 1
"""Instances need their coordinates before they can enter."""
STUCK = 2
"""Nothing can enter although the bounds are apart."""

FRACTION = 0.05
"""All bags are priced again once the best of those at hand has fallen to this part of its first promise."""
MOST_ROUNDS = 1000


class Search(NamedTuple):
    """Where a search ended."""

    end: int
    squared: float
    """||w||^2."""
    pull: float
    """<c, w>."""
    drag: float
    """sum_r d_r max_{x in B_r} <x, w>."""
    entered: int
    rounds: int


@njit
def search(
    f: Corral,
    ceilings: Ceilings,
    table: Matrix,
    n: int,
    offsets: Index,
    demand: Vector,
    c: Vector,
    known: Mask,
    wanted: Index,
    tolerance: float,
    zero: float,
) -> Search:
    """From the face as it is; `wanted` takes the instances (-1 after the last) when it ends so."""
    m = demand.size
    best, top, at_base = np.zeros(m, dtype=np.intp), np.zeros(m), np.zeros(m)
    z, held, moved = np.zeros(f.weight.size), np.zeros(m), np.zeros(m)
    entered = 0
    if not _take_up(f, ceilings, table, n, offsets, demand, c, known, wanted):
        return Search(WANTED, 0.0, 0.0, 0.0, entered, 0)
    descend(f, n, demand, z, held, moved)
    squared, pull, drag = 0.0, 0.0, 0.0
    for rounds in range(MOST_ROUNDS):
        _stand_on_weights(f, table, n, demand, c, held)
        squared = dot(f.w, f.w, n)
        if squared <= zero:
            return Search(FOUND, squared, 0.0, 0.0, entered, rounds)
        pull, drag = dot(c, f.w, n), 0.0
        move(ceilings, f.w, n)
        for r in range(m):
            if demand[r] > 0.0:
                best[r], top[r] = largest(ceilings, table, n, offsets, r, f.w)
                at_base[r] = dot(table[f.base[r]], f.w, n)
                drag += demand[r] * top[r]
        if squared - (pull - drag) <= tolerance * squared:
            return Search(FOUND, squared, pull, drag, entered, rounds)
        floor = 0.1 * tolerance * squared / m
        if _want(demand, top, at_base, best, known, wanted, floor):
            return Search(WANTED, squared, pull, drag, entered, rounds)
        new = _use(f, table, n, demand, best, top, at_base, floor, z, held, moved)
        entered += new
        if new == 0:
            break
    return Search(STUCK, squared, pull, drag, entered, MOST_ROUNDS)


@njit_inner
def _take_up(
    f: Corral,
    ceilings: Ceilings,
    table: Matrix,
    n: int,
    offsets: Index,
    demand: Vector,
    c: Vector,
    known: Mask,
    wanted: Index,
) -> bool:
    """Bring the face to these demands and this c; False where instances must be known first."""
    count = 0
    move(ceilings, c, n)
    for r in range(demand.size):
        if demand[r] > 0.0:
            if f.base[r] < 0:
                f.base[r] = largest(ceilings, table, n, offsets, r, c)[0]
            if not known[f.base[r]]:
                wanted[count] = f.base[r]
                count += 1
            if f.last[r] <= 0.0:
                for x in range(offsets[r], offsets[r + 1]):
                    if f.share[x] > 0.0 and not known[x]:
                        wanted[count] = x
                        count += 1
    if count:
        wanted[count] = -1
        return False
    for j in range(f.used[0] - 1, -1, -1):
        r = f.bag[j]
        if demand[r] > 0.0:
            f.weight[j] *= demand[r] / f.last[r]
        else:
            f.share[f.instance[j]] = f.weight[j] / f.last[r]
            leave(f, n, j)
    for k in range(n):
        f.s[k] = c[k]
    for r in range(demand.size):
        if demand[r] > 0.0:
            add(f.s, -demand[r], table[f.base[r]], n)
            if f.last[r] <= 0.0:
                for x in range(offsets[r], offsets[r + 1]):
                    if f.share[x] > 0.0:
                        enter(f, table, n, x, r, f.share[x] * demand[r])
                    f.share[x] = 0.0
        f.last[r] = demand[r]
    project(f, n)
    return True


@njit_inner
def _stand_on_weights(f: Corral, table: Matrix, n: int, demand: Vector, c: Vector, held: Vector) -> None:
    """w from the weights themselves, none negative and each bag's summing to its demand."""
    for k in range(n):
        f.w[k] = c[k]
    for j in range(f.used[0]):
        f.weight[j] = min(max(f.weight[j], 0.0), demand[f.bag[j]] - held[f.bag[j]])
        held[f.bag[j]] += f.weight[j]
        add(f.w, -f.weight[j], table[f.instance[j]], n)
    for r in range(demand.size):
        if demand[r] > 0.0:
            add(f.w, held[r] - demand[r], table[f.base[r]], n)
        held[r] = 0.0


@njit_inner
def _want(demand: Vector, top: Vector, at_base: Vector, best: Index, known: Mask, wanted: Index, floor: float) -> bool:
    """Whether an instance that promises much is not known yet; those are written down."""
    first = 0.0
    for r in range(demand.size):
        if demand[r] > 0.0:
            first = max(first, demand[r] * (top[r] - at_base[r]))
    count = 0
    for r in range(demand.size):
        if demand[r] > 0.0 and not known[best[r]]:
            if demand[r] * (top[r] - at_base[r]) > max(floor, FRACTION * first):
                wanted[count] = best[r]
                count += 1
            # What is not known has no coordinates in full, and must not enter with a part of them.
            best[r] = -1
    wanted[count] = -1
    return count > 0


@njit_inner
def _use(
    f: Corral,
    table: Matrix,
    n: int,
    demand: Vector,
    best: Index,
    top: Vector,
    at_base: Vector,
    floor: float,
    z: Vector,
    held: Vector,
    moved: Vector,
) -> int:
    """Let the largest instances of the bags enter, most promising first, while they promise enough; how many did."""
    entered, first = 0, 0.0
    while True:
        chosen, promise = demand.size, max(floor, FRACTION * first)
        for r in range(demand.size):
            if demand[r] > 0.0 and best[r] >= 0:
                if entered:
                    top[r] = dot(table[best[r]], f.w, n)
                    at_base[r] = dot(table[f.base[r]], f.w, n)
                if demand[r] * (top[r] - at_base[r]) > promise:
                    chosen, promise = r, demand[r] * (top[r] - at_base[r])
        if chosen == demand.size:
            return entered
        first = max(first, promise)
        if enter(f, table, n, best[chosen], chosen, 0.0):
            entered += 1
            descend(f, n, demand, z, held, moved)
            stand(f, n)
        best[chosen] = -1
