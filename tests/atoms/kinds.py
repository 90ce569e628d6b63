"""Definitions of every kind of atom, three times and independently: in numpy, in cvxpy and in milopt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.special import rel_entr, xlogy

import milopt
from tests.atoms.trees import Array, TreeNode

NumpyFunction = Callable[[TreeNode, Sequence[Array]], Any]
ExpressionFunction = Callable[[TreeNode, Sequence[Any]], Any]


@dataclass(frozen=True)
class Kind:
    """Kind of atom."""

    value: NumpyFunction
    """Value of the atom from the values of its arguments, in numpy."""
    model: ExpressionFunction
    """cvxpy expression of the atom from those of its arguments."""
    declare: ExpressionFunction
    """milopt expression of the atom from those of its arguments."""
    rule: str
    """Arguments that the atom allows: "increasing" for the curvature of the atom, "even" for non-negative convex ones.

    The other rules are "affine", "positive" (affine and positive), "relative" (two positive ones) and "function".
    """
    curvature: int = 1
    is_non_negative: bool = False
    is_polyhedral: bool = False


def run_slices(node: TreeNode) -> list[slice]:
    """Return the slices of the entries of each bag or group."""
    offsets = np.concatenate([[0], np.cumsum(node.sizes)])
    return [slice(int(a), int(b)) for a, b in pairwise(offsets)]


def make_bags(node: TreeNode) -> milopt.Bags:
    """Return bags of the sizes of a node, with arbitrary instances."""
    offsets = np.concatenate([[0], np.cumsum(node.sizes)])
    return milopt.Bags(np.arange(float(offsets[-1]))[:, None], offsets.tolist())


def _sum_largest(e: Array, k: float) -> float:
    """Return the sum of the k largest entries in numpy."""
    return float(np.sort(e)[::-1][: int(k)].sum())


def _cvxpy_sum_largest(e: Any, k: float) -> Any:
    """Return the sum of the k largest entries in cvxpy."""
    return cp.sum(e) if int(k) >= e.size else cp.sum_largest(e, int(k))


def _entrywise_log_sum_exp(parts: Sequence[Any]) -> Any:
    """Return log(exp a + exp b + ...) entry by entry in cvxpy."""
    return cp.hstack([cp.log_sum_exp(cp.hstack([part[i] for part in parts])) for i in range(parts[0].size)])


def _huber(e: Array, M: float) -> Array:
    """Return the Huber function in numpy."""
    return np.where(np.abs(e) <= M, 0.5 * e**2, M * np.abs(e) - 0.5 * M**2)


def _log_sum_exp(e: Array) -> float:
    """Return log sum exp(e) in numpy, without overflow."""
    top = float(e.max())
    return top + float(np.log(np.sum(np.exp(e - top))))


def _root_times(root: Array, e: Any) -> Any:
    """Return root @ e in cvxpy; a vector stands for a diagonal matrix."""
    return cp.multiply(root, e) if root.ndim == 1 else root @ e


def _weight(root: Array) -> Array:
    """Return root' root; a vector stands for a diagonal matrix."""
    return root**2 if root.ndim == 1 else root.T @ root


KINDS: dict[str, Kind] = {
    "bag_max": Kind(
        lambda n, p: [p[0][s].max() for s in run_slices(n)],
        lambda n, p: cp.hstack([cp.max(p[0][s]) for s in run_slices(n)]),
        lambda n, p: milopt.bag_max(p[0], make_bags(n)),
        "increasing",
        is_polyhedral=True,
    ),
    "maximum": Kind(
        lambda n, p: np.max(p, axis=0),
        lambda n, p: cp.maximum(*p),
        lambda n, p: milopt.maximum(*p),
        "increasing",
        is_polyhedral=True,
    ),
    "minimum": Kind(
        lambda n, p: np.min(p, axis=0),
        lambda n, p: cp.minimum(*p),
        lambda n, p: milopt.minimum(*p),
        "increasing",
        curvature=-1,
        is_polyhedral=True,
    ),
    "positive_part": Kind(
        lambda n, p: np.maximum(p[0], 0.0),
        lambda n, p: cp.pos(p[0]),
        lambda n, p: milopt.positive_part(p[0]),
        "increasing",
        is_non_negative=True,
        is_polyhedral=True,
    ),
    "absolute": Kind(
        lambda n, p: np.abs(p[0]),
        lambda n, p: cp.abs(p[0]),
        lambda n, p: abs(p[0]),
        "even",
        is_non_negative=True,
        is_polyhedral=True,
    ),
    "norm": Kind(
        lambda n, p: np.sqrt(np.sum(p[0] ** 2)),
        lambda n, p: cp.norm(p[0], 2),
        lambda n, p: milopt.norm(p[0]),
        "even",
        is_non_negative=True,
    ),
    "norm1": Kind(
        lambda n, p: np.sum(np.abs(p[0])),
        lambda n, p: cp.norm1(p[0]),
        lambda n, p: milopt.norm1(p[0]),
        "even",
        is_non_negative=True,
        is_polyhedral=True,
    ),
    "norm_inf": Kind(
        lambda n, p: np.max(np.abs(p[0])),
        lambda n, p: cp.norm_inf(p[0]),
        lambda n, p: milopt.norm_inf(p[0]),
        "even",
        is_non_negative=True,
        is_polyhedral=True,
    ),
    "group_norms": Kind(
        lambda n, p: [np.sqrt(np.sum(p[0][s] ** 2)) for s in run_slices(n)],
        lambda n, p: cp.hstack([cp.norm(p[0][s], 2) for s in run_slices(n)]),
        lambda n, p: milopt.group_norms(p[0], list(n.sizes)),
        "even",
        is_non_negative=True,
    ),
    "sum_largest": Kind(
        lambda n, p: _sum_largest(p[0], n.number),
        lambda n, p: _cvxpy_sum_largest(p[0], n.number),
        lambda n, p: milopt.sum_largest(p[0], int(n.number)),
        "increasing",
        is_polyhedral=True,
    ),
    "bag_sum_largest": Kind(
        lambda n, p: [_sum_largest(p[0][s], n.number) for s in run_slices(n)],
        lambda n, p: cp.hstack([_cvxpy_sum_largest(p[0][s], n.number) for s in run_slices(n)]),
        lambda n, p: milopt.bag_sum_largest(p[0], make_bags(n), k=int(n.number)),
        "increasing",
        is_polyhedral=True,
    ),
    "square": Kind(
        lambda n, p: p[0] ** 2,
        lambda n, p: cp.square(p[0]),
        lambda n, p: milopt.square(p[0]),
        "even",
        is_non_negative=True,
    ),
    "sum_squares": Kind(
        lambda n, p: np.sum(p[0] ** 2),
        lambda n, p: cp.sum_squares(p[0]),
        lambda n, p: milopt.sum_squares(p[0]),
        "even",
        is_non_negative=True,
    ),
    "quad_form": Kind(
        lambda n, p: np.sum((n.root * p[0] if n.root.ndim == 1 else n.root @ p[0]) ** 2),  # type: ignore[union-attr]
        lambda n, p: cp.sum_squares(_root_times(n.root, p[0])),  # type: ignore[arg-type]
        lambda n, p: milopt.quad_form(p[0], _weight(n.root)),  # type: ignore[arg-type]
        "affine",
        is_non_negative=True,
    ),
    "huber": Kind(
        lambda n, p: _huber(p[0], n.number),
        lambda n, p: 0.5 * cp.huber(p[0], n.number),
        lambda n, p: milopt.huber(p[0], n.number),
        "even",
        is_non_negative=True,
    ),
    "logistic": Kind(
        lambda n, p: np.log1p(np.exp(-np.abs(p[0]))) + np.maximum(p[0], 0.0),
        lambda n, p: cp.logistic(p[0]),
        lambda n, p: milopt.logistic(p[0]),
        "increasing",
        is_non_negative=True,
    ),
    "exp": Kind(
        lambda n, p: np.exp(p[0]),
        lambda n, p: cp.exp(p[0]),
        lambda n, p: milopt.exp(p[0]),
        "increasing",
        is_non_negative=True,
    ),
    "log_sum_exp": Kind(
        lambda n, p: _log_sum_exp(p[0]),
        lambda n, p: cp.log_sum_exp(p[0]),
        lambda n, p: milopt.log_sum_exp(p[0]),
        "increasing",
    ),
    "log_sum_exp of several": Kind(
        lambda n, p: [_log_sum_exp(column) for column in np.array(p).T],
        lambda n, p: _entrywise_log_sum_exp(p),
        lambda n, p: milopt.log_sum_exp(*p),
        "increasing",
    ),
    "bag_log_sum_exp": Kind(
        lambda n, p: [n.number * _log_sum_exp(p[0][s] / n.number) for s in run_slices(n)],
        lambda n, p: cp.hstack([n.number * cp.log_sum_exp(p[0][s] / n.number) for s in run_slices(n)]),
        lambda n, p: milopt.bag_log_sum_exp(p[0], make_bags(n), n.number),
        "increasing",
    ),
    "log1mexp": Kind(
        lambda n, p: np.log(-np.expm1(-np.maximum(p[0], 1e-100))),
        lambda n, p: cp.log1p(-cp.exp(-p[0])),
        lambda n, p: milopt.log1mexp(p[0]),
        "positive",
        curvature=-1,
    ),
    "entropy": Kind(
        lambda n, p: -np.sum(xlogy(np.maximum(p[0], 0.0), np.maximum(p[0], 0.0))),
        lambda n, p: cp.sum(cp.entr(p[0])),
        lambda n, p: milopt.entropy(p[0]),
        "positive",
        curvature=-1,
    ),
    "relative_entropy": Kind(
        lambda n, p: np.sum(rel_entr(np.maximum(p[0], 0.0), np.maximum(p[1], 1e-300))),
        lambda n, p: cp.sum(cp.rel_entr(p[0], p[1])),
        lambda n, p: milopt.relative_entropy(p[0], p[1]),
        "relative",
    ),
    "norm of a function": Kind(
        lambda n, p: np.sqrt(np.sum(p[0] ** 2)),
        lambda n, p: cp.norm(p[0], 2),
        lambda n, p: p[0].norm(),
        "function",
        is_non_negative=True,
    ),
    "norm_squared of a function": Kind(
        lambda n, p: np.sum(p[0] ** 2),
        lambda n, p: cp.sum_squares(p[0]),
        lambda n, p: p[0].norm_squared(),
        "function",
        is_non_negative=True,
    ),
}
OF_FUNCTIONS = tuple(name for name, kind in KINDS.items() if kind.rule == "function")
NON_NEGATIVE = tuple(name for name, kind in KINDS.items() if kind.is_non_negative and kind.rule != "function")


def directions(kind: str) -> tuple[int, ...]:
    """Return, for each argument of an atom that need not be affine, +1 if the atom increases in it and -1 otherwise."""
    return (1, -1) if kind == "relative_entropy" else (1,) * 9
