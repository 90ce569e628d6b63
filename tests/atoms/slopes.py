"""Hand-written slopes of every kind of atom: one matrix per argument, with one row per entry of the atom.

At a kink, one of the possible slopes is returned: that of the first largest entry for a maximum, and 0 for a norm at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.atoms.kinds import run_slices
from tests.atoms.trees import Array, TreeNode

Slopes = Callable[[TreeNode, Sequence[Array]], list[Array]]


def _entrywise(slope: Callable[[Array, TreeNode], Array]) -> Slopes:
    """Return the slopes of an atom that acts entry by entry."""
    return lambda n, p: [np.diag(slope(p[0], n))]


def _scalar(slope: Callable[[Array, TreeNode], Array]) -> Slopes:
    """Return the slopes of a scalar atom of all entries."""
    return lambda n, p: [slope(p[0], n)[None, :]]


def _per_run(slope: Callable[[Array, TreeNode], Array]) -> Slopes:
    """Return the slopes of an atom with one entry per bag or group."""

    def slopes(n: TreeNode, p: Sequence[Array]) -> list[Array]:
        matrix = np.zeros((len(n.sizes), p[0].size))
        for row, run in enumerate(run_slices(n)):
            matrix[row, run] = slope(p[0][run], n)
        return [matrix]

    return slopes


def _of_several(slope: Callable[[Array], Array]) -> Slopes:
    """Return the slopes of an atom of several arguments that acts entry by entry."""

    def slopes(n: TreeNode, p: Sequence[Array]) -> list[Array]:
        columns = np.array([slope(column) for column in np.array(p).T])
        return [np.diag(columns[:, k]) for k in range(len(p))]

    return slopes


def _first_of_largest(e: Array) -> Array:
    """Return the indicator of the first largest entry."""
    return np.eye(e.size)[int(np.argmax(e))]


def _largest(e: Array, n: TreeNode) -> Array:
    """Return the indicator of the k largest entries."""
    chosen = np.zeros(e.size)
    chosen[np.argsort(-e, kind="stable")[: int(n.number)]] = 1.0
    return chosen


def _unit(e: Array) -> Array:
    """Return e / ||e||, or 0 if e = 0."""
    length = np.sqrt(np.sum(e**2))
    return e / length if length > 0 else np.zeros(e.size)


def _largest_magnitude(e: Array) -> Array:
    """Return the sign of the first entry of largest absolute value, and 0 for all other entries."""
    return np.sign(e) * _first_of_largest(np.abs(e))


def _softmax(e: Array) -> Array:
    """Return exp(e) / sum exp(e)."""
    weights = np.exp(e - e.max())
    return np.asarray(weights / weights.sum())


def _quadratic(e: Array, n: TreeNode) -> Array:
    """Return the gradient of ||R e||^2."""
    assert n.root is not None
    return 2.0 * n.root**2 * e if n.root.ndim == 1 else 2.0 * n.root.T @ (n.root @ e)


def _relative_entropy(n: TreeNode, p: Sequence[Array]) -> list[Array]:
    """Return the slopes of sum x log(x / y) in x and in y."""
    x, y = p
    return [(np.log(x / y) + 1.0)[None, :], (-x / y)[None, :]]


SLOPES: dict[str, Slopes] = {
    "bag_max": _per_run(lambda e, n: _first_of_largest(e)),
    "maximum": _of_several(_first_of_largest),
    "minimum": _of_several(lambda e: _first_of_largest(-e)),
    "positive_part": _entrywise(lambda e, n: np.where(e > 0, 1.0, 0.0)),
    "absolute": _entrywise(lambda e, n: np.sign(e)),
    "norm": _scalar(lambda e, n: _unit(e)),
    "norm1": _scalar(lambda e, n: np.sign(e)),
    "norm_inf": _scalar(lambda e, n: _largest_magnitude(e)),
    "group_norms": _per_run(lambda e, n: _unit(e)),
    "sum_largest": _scalar(_largest),
    "bag_sum_largest": _per_run(_largest),
    "square": _entrywise(lambda e, n: 2.0 * e),
    "sum_squares": _scalar(lambda e, n: 2.0 * e),
    "quad_form": _scalar(_quadratic),
    "huber": _entrywise(lambda e, n: np.clip(e, -n.number, n.number)),
    "logistic": _entrywise(lambda e, n: 1.0 / (1.0 + np.exp(-e))),
    "exp": _entrywise(lambda e, n: np.exp(e)),
    "log_sum_exp": _scalar(lambda e, n: _softmax(e)),
    "log_sum_exp of several": _of_several(_softmax),
    "bag_log_sum_exp": _per_run(lambda e, n: _softmax(e / n.number)),
    "log1mexp": _entrywise(lambda e, n: 1.0 / np.expm1(e)),
    "entropy": _scalar(lambda e, n: -np.log(e) - 1.0),
    "relative_entropy": _relative_entropy,
    "norm of a function": _scalar(lambda e, n: _unit(e)),
    "norm_squared of a function": _scalar(lambda e, n: 2.0 * e),
}
