"""Compiled number of boxes that contain a pair of points, for all pairs of points of two bags, in log space.

    |B(p, q)| = prod_k (min(p_k, q_k) + 1)(s_k - max(p_k, q_k) + 1),      |U| = sum_{p, q} |B(p, q)|

s_k is the largest code of coordinate k, and logs[v] = log v. For a bag with itself, the universe U consists of single
points instead of pairs. The pure Python reference is `estimators.log_volumes`.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Codes, Floats
from milopt.jit import njit_inner


@njit_inner
def log_volumes(P: Codes, Q: Codes, s: Codes, logs: Floats) -> Floats:
    """Return log |B(p, q)| of every pair of points (columns of P and Q), as a 1-D array in row-major order.

    The logarithm of a minimum is the minimum of the logarithms, so that the innermost loop needs no table lookup.
    """
    n, m, d = P.shape[1], Q.shape[1], P.shape[0]
    below_q, above_q = np.empty((d, m)), np.empty((d, m))
    for k in range(d):
        for j in range(m):
            below_q[k, j] = logs[Q[k, j] + 1]
            above_q[k, j] = logs[s[k] + 1 - Q[k, j]]
    out = np.zeros((n, m))
    for i in range(n):
        for k in range(d):
            below_p, above_p = logs[P[k, i] + 1], logs[s[k] + 1 - P[k, i]]
            for j in range(m):
                out[i, j] += min(below_p, below_q[k, j]) + min(above_p, above_q[k, j])
    return out.ravel()


@njit_inner
def fill_running_sums(volumes: Floats, sums: Floats) -> float:
    """Write the running sums of exp(volumes - max(volumes)) to `sums`, and return log(sum(exp(volumes)))."""
    top = volumes.max()
    total = 0.0
    for r in range(volumes.size):
        total += np.exp(volumes[r] - top)
        sums[r] = total
    return float(top + np.log(total))


@njit_inner
def log_universe_volumes(P: Codes, Q: Codes, alone: bool, s: Codes, logs: Floats) -> Floats:
    """Return log |B(p, q)| of all pairs of points (rows of P and Q), or log |B(p, p)| of each p if `alone` (Q is P)."""
    if not alone:
        return log_volumes(np.ascontiguousarray(P.T), np.ascontiguousarray(Q.T), s, logs)
    volumes = np.zeros(P.shape[0])
    for i in range(P.shape[0]):
        for k in range(s.size):
            volumes[i] += logs[P[i, k] + 1] + logs[s[k] - P[i, k] + 1]
    return volumes
