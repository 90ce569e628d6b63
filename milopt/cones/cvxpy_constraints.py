"""Create conic constraints of cvxpy, and read their multipliers with the signs and the row order of milopt.

cvxpy is imported only when a constraint is created.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.cones import EXPONENTIAL, NONNEGATIVE, SECOND_ORDER, ZERO, Cone
from milopt.cones.cone import factor_starts
from milopt.errors import UnsupportedError


def write_constraint(cone: Cone, rows: Any, sizes: Index) -> Any:
    """Return the cvxpy constraint that `rows`, a cvxpy expression, lies in a product of cones of one kind.

    `sizes` are the numbers of rows of the cones.
    """
    import cvxpy as cp

    if cone is ZERO:
        return rows == 0
    if cone is NONNEGATIVE or (cone is SECOND_ORDER and sizes.max() == 1):
        return rows >= 0
    if cone is SECOND_ORDER and sizes.size == 1:
        return cp.SOC(rows[0], rows[1:])
    if cone is SECOND_ORDER:
        width = int(sizes.max()) - 1
        # The rows of a cone, except its first row, fill one column of a matrix. Columns of shorter cones end in zeros.
        tails = np.setdiff1d(np.arange(int(sizes.sum())), factor_starts(sizes))
        entries = (np.ones(tails.size), (_padded_positions(sizes), tails))
        padded = sp.csr_array(entries, shape=(width * sizes.size, int(sizes.sum())))
        return cp.SOC(rows[factor_starts(sizes)], cp.reshape(padded @ rows, (width, sizes.size), order="F"), axis=0)
    if cone is EXPONENTIAL:
        return cp.ExpCone(rows[0::3], rows[1::3], rows[2::3])
    raise UnsupportedError(f"milopt does not write {cone.display_name}s for cvxpy.")


def read_multipliers(cone: Cone, constraint: Any, sizes: Index) -> Vector | None:
    """Return the multipliers of a constraint that `write_constraint` returned; None if the solver returned none.

    The multipliers are those of milopt, which lie in the dual cone K*. cvxpy adds `dual * expression` to its Lagrangian
    for an equation, whereas milopt subtracts it, so the signs of the multipliers of equations are reversed.
    """
    dual = constraint.dual_value
    if dual is None:
        return None
    parts = [np.asarray(part, dtype=np.float64) for part in (dual if isinstance(dual, list) else [dual])]
    if cone is ZERO:
        return -parts[0].ravel()
    if cone is EXPONENTIAL:
        return np.column_stack([part.ravel() for part in parts]).ravel()
    if cone is SECOND_ORDER and sizes.size > 1 and len(parts) == 2:
        z = np.zeros(int(sizes.sum()))
        heads = factor_starts(sizes)
        z[heads] = parts[0].ravel()
        z[np.setdiff1d(np.arange(z.size), heads)] = parts[1].ravel(order="F")[_padded_positions(sizes)]
        return z
    return np.concatenate([part.ravel() for part in parts])


def _padded_positions(sizes: Index) -> Index:
    """Return the positions, in a matrix with one column per cone, of all rows that are not the first of their cone.

    Positions are counted column by column. Every column has one entry less than the longest cone has rows.
    """
    width = int(sizes.max()) - 1
    return np.concatenate([cone * width + np.arange(size - 1) for cone, size in enumerate(sizes.tolist())])
