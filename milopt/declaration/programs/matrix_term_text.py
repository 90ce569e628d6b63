"""Terms with matrix leaves as text: X[0], X[:, 1], X.T, sum(X, axis=1), [2 x 3] @ X and X @ [4]."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Integers
from milopt.declaration.programs.linear_maps import Shape, product_from_left, product_from_right, sum_matrix
from milopt.declaration.programs.sparse import as_csr, have_same_entries, have_same_pattern


def format_grid_index(name: str, entries: Integers, shape: Shape) -> str | None:
    """Return selected entries of an array as text with slices, such as "X[0, 1:3]"; None if slices cannot select them.

    `entries` are positions in the vector of all entries. They must be all combinations of one slice per axis, in the
    order of the array or of its transpose.
    """
    axes = [np.unique(along) for along in np.unravel_index(entries, shape)]
    slices = [_format_slice(chosen, length) for chosen, length in zip(axes, shape, strict=True)]
    if None in slices:
        return None
    grid = np.ravel_multi_index(np.ix_(*axes), shape)
    while slices and slices[-1] == ":":
        slices.pop()
    index = f"[{', '.join(map(str, slices))}]" if slices else ""
    if np.array_equal(entries, grid.ravel()):
        return f"{name}{index}"
    return f"{name}{index}.T" if np.array_equal(entries, grid.T.ravel()) else None


def _format_slice(chosen: Integers, length: int) -> str | None:
    """Return sorted indices along an axis of this length as text, such as "2" or "1:3"; None if their steps differ."""
    first, last = int(chosen[0]), int(chosen[-1])
    if chosen.size == 1:
        return str(first) if length > 1 else ":"
    step = int(chosen[1]) - first
    if (np.diff(chosen) != step).any():
        return None
    start, stop = str(first) if first else "", "" if last + step >= length else str(last + 1)
    return f"{start}:{stop}" + (f":{step}" if step > 1 else "")


def format_matrix_term(name: str, matrix: sp.csr_array, leaf_shape: Shape, shape: Shape) -> tuple[float, str] | None:
    """Return (factor, text) of the term matrix @ entries of a leaf if it is a sum along an axis or a matrix product.

    For any other term, return None. `leaf_shape` is the shape of the leaf, and `shape` that of the expression.
    """
    for axis in range(len(leaf_shape)):
        total, _ = sum_matrix(leaf_shape, axis, keepdims=False)
        if have_same_pattern(matrix, total) and np.ptp(matrix.data) == 0.0:
            return float(matrix.data[0]), f"sum({name}, axis={axis})"
    if len(leaf_shape) != 2 or len(shape) not in (1, 2):
        return None
    m, n = leaf_shape
    columns, rows = shape[-1] if len(shape) == 2 else 1, shape[0]
    if rows == m:
        right = as_csr(matrix[:columns, :n].T)
        product = product_from_right(right if len(shape) == 2 else right.toarray()[:, 0], leaf_shape)
        if product is not None and have_same_entries(product[0], matrix):
            return 1.0, f"{name} @ [{n} x {columns}]" if len(shape) == 2 else f"{name} @ [{n}]"
    if shape[-1] == n:
        left = as_csr(matrix[::n, ::n])
        product = product_from_left(left if len(shape) == 2 else left.toarray()[0], leaf_shape)
        if product is not None and have_same_entries(product[0], matrix):
            return 1.0, f"[{rows} x {m}] @ {name}" if len(shape) == 2 else f"[{m}] @ {name}"
    return None
