"""The slopes of every kind of atom, written by hand: one matrix per part, with a row per entry of the atom.

At a kink, one of the slopes: of the first entry that is largest, and 0 for a norm at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.atoms.kinds import spans
from tests.atoms.trees import Array, Node

Slopes = Callable[[Node, Sequence[Array]], list[Array]]


def _each(slope: Callable[[Array, Node], Array]) -> Slopes:
    """Slopes of an atom that acts entry by entry."""
    return lambda n, p: [np.diag(slope(p[0], n))]


def _whole(slope: Callable[[Array, Node], Array]) -> Slopes:
    """Slopes of an atom of all entries."""
    return lambda n, p: [slope(p[0], n)[None, :]]


def _runs(slope: Callable[[Array, Node], Array]) -> Slopes:
    """Slopes of an atom of each bag or group."""

    def slopes(n: Node, p: Sequence[Array]) -> list[Array]:
        matrix = np.zeros((len(n.sizes), p[0].size))
        for row, run in enumerate(spans(n)):
            matrix[row, run] = slope(p[0][run], n)
        return [matrix]

    return slopes


def _several(slope: Callable[[Array], Array]) -> Slopes:
    """Slopes of an atom of the first entries of all parts, of the second ones, and so on."""

    def slopes(n: Node, p: Sequence[Array]) -> list[Array]:
        columns = np.array([slope(column) for column in np.array(p).T])
        return [np.diag(columns[:, k]) for k in range(len(p))]

    return slopes


def _first_of_largest(e: Array) -> Array:
    return np.eye(e.size)[int(np.argmax(e))]


def _largest(e: Array, n: Node) -> Array:
    chosen = np.zeros(e.size)
    chosen[np.argsort(-e, kind="stable")[: int(n.number)]] = 1.0
    return chosen


def _unit(e: Array) -> Array:
    length = np.sqrt(np.sum(e**2))
    return e / length if length > 0 else np.zeros(e.size)


def _largest_magnitude(e: Array) -> Array:
    return np.sign(e) * _first_of_largest(np.abs(e))


def _shares(e: Array) -> Array:
    grown = np.exp(e - e.max())
    return np.asarray(grown / grown.sum())


def _quadratic(e: Array, n: Node) -> Array:
    assert n.root is not None
    return 2.0 * n.root**2 * e if n.root.ndim == 1 else 2.0 * n.root.T @ (n.root @ e)


def _relative_entropy(n: Node, p: Sequence[Array]) -> list[Array]:
    x, y = p
    return [(np.log(x / y) + 1.0)[None, :], (-x / y)[None, :]]


SLOPES: dict[str, Slopes] = {
    "bag_max": _runs(lambda e, n: _first_of_largest(e)),
    "maximum": _several(_first_of_largest),
    "minimum": _several(lambda e: _first_of_largest(-e)),
    "positive_part": _each(lambda e, n: np.where(e > 0, 1.0, 0.0)),
    "absolute": _each(lambda e, n: np.sign(e)),
    "norm": _whole(lambda e, n: _unit(e)),
    "norm1": _whole(lambda e, n: np.sign(e)),
    "norm_inf": _whole(lambda e, n: _largest_magnitude(e)),
    "group_norms": _runs(lambda e, n: _unit(e)),
    "sum_largest": _whole(_largest),
    "bag_sum_largest": _runs(_largest),
    "square": _each(lambda e, n: 2.0 * e),
    "sum_squares": _whole(lambda e, n: 2.0 * e),
    "quad_form": _whole(_quadratic),
    "huber": _each(lambda e, n: np.clip(e, -n.number, n.number)),
    "logistic": _each(lambda e, n: 1.0 / (1.0 + np.exp(-e))),
    "exp": _each(lambda e, n: np.exp(e)),
    "log_sum_exp": _whole(lambda e, n: _shares(e)),
    "log_sum_exp of several": _several(_shares),
    "bag_log_sum_exp": _runs(lambda e, n: _shares(e / n.number)),
    "log1mexp": _each(lambda e, n: 1.0 / np.expm1(e)),
    "entropy": _whole(lambda e, n: -np.log(e) - 1.0),
    "relative_entropy": _relative_entropy,
    "norm of a function": _whole(lambda e, n: _unit(e)),
    "norm_squared of a function": _whole(lambda e, n: 2.0 * e),
}
