"""Terms of matrices as text: X[0], X[:, 1], X.T, sum(X, axis=1), [2 x 3] @ X and X @ [4]."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.declaration.programs.linear_maps import Shape, product_from_left, product_from_right, sums
from milopt.declaration.programs.sparse import Index, csr, same_entries, same_pattern


def grid_index(name: str, entries: Index, shape: Shape) -> str | None:
    """Return some entries of an array as slices of it; None if they are not a grid.

    `entries` are their numbers in the vector of all entries.
    """
    axes = [np.unique(along) for along in np.unravel_index(entries, shape)]
    slices = [_as_slice(chosen, length) for chosen, length in zip(axes, shape, strict=True)]
    if None in slices:
        return None
    grid = np.ravel_multi_index(np.ix_(*axes), shape)
    while slices and slices[-1] == ":":
        slices.pop()
    index = f"[{', '.join(map(str, slices))}]" if slices else ""
    if np.array_equal(entries, grid.ravel()):
        return f"{name}{index}"
    return f"{name}{index}.T" if np.array_equal(entries, grid.T.ravel()) else None


def _as_slice(chosen: Index, length: int) -> str | None:
    """Return sorted indices along an axis as a number or a slice; None if their steps differ."""
    first, last = int(chosen[0]), int(chosen[-1])
    if chosen.size == 1:
        return str(first) if length > 1 else ":"
    step = int(chosen[1]) - first
    if (np.diff(chosen) != step).any():
        return None
    start, stop = str(first) if first else "", "" if last + step >= length else str(last + 1)
    return f"{start}:{stop}" + (f":{step}" if step > 1 else "")


def matrix_term(name: str, matrix: sp.csr_array, leaf_shape: Shape, shape: Shape) -> tuple[float, str] | None:
    """Return a number and a text for matrix @ entries of an array, if it is a sum or a product of matrices."""
    for axis in range(len(leaf_shape)):
        total, _ = sums(leaf_shape, axis, keepdims=False)
        if same_pattern(matrix, total) and np.ptp(matrix.data) == 0.0:
            return float(matrix.data[0]), f"sum({name}, axis={axis})"
    if len(leaf_shape) != 2 or len(shape) not in (1, 2):
        return None
    m, n = leaf_shape
    columns, rows = shape[-1] if len(shape) == 2 else 1, shape[0]
    if rows == m:
        right = csr(matrix[:columns, :n].T)
        found = product_from_right(right if len(shape) == 2 else right.toarray()[:, 0], leaf_shape)
        if found is not None and same_entries(found[0], matrix):
            return 1.0, f"{name} @ [{n} x {columns}]" if len(shape) == 2 else f"{name} @ [{n}]"
    if shape[-1] == n:
        left = csr(matrix[::n, ::n])
        found = product_from_left(left if len(shape) == 2 else left.toarray()[0], leaf_shape)
        if found is not None and same_entries(found[0], matrix):
            return 1.0, f"[{rows} x {m}] @ {name}" if len(shape) == 2 else f"[{m}] @ {name}"
    return None
