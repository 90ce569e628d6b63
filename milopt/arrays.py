"""Type aliases for arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Floats: TypeAlias = npt.NDArray[np.float64]
"""Array of floats of any shape."""
Vector: TypeAlias = npt.NDArray[np.float64]
"""One-dimensional array of floats (by convention; numpy's types do not state the number of dimensions)."""
Matrix: TypeAlias = npt.NDArray[np.float64]
"""Two-dimensional array of floats (by convention)."""
Index: TypeAlias = npt.NDArray[np.intp]
"""Array of integers that index another array."""
Integers: TypeAlias = npt.NDArray[np.integer[Any]]
"""Array of integers of any type."""
Codes: TypeAlias = npt.NDArray[np.int32]
"""Integer codes of points on a grid, one row (or column) per point."""
Words: TypeAlias = npt.NDArray[np.uint64]
"""Array of 64-bit words: digests of bags, seeds, or the state of a random stream (one word)."""
Directions: TypeAlias = npt.NDArray[np.int8]
"""Array of directions: +1, -1, or 0 if neither is known."""
Labels: TypeAlias = npt.NDArray[Any]
"""Labels of bags, of any type."""
Weight: TypeAlias = npt.NDArray[np.float64]
"""Symmetric matrix, or the diagonal of a diagonal matrix as a vector."""
Mask: TypeAlias = npt.NDArray[np.bool_]
"""Boolean array."""
Points: TypeAlias = Floats | sp.csr_array
"""Points (instances) as the rows of a dense or sparse array of shape (n_points, n_features)."""
