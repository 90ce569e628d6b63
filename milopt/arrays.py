"""Type aliases for arrays."""

from __future__ import annotations

from typing import TypeAlias

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
Mask: TypeAlias = npt.NDArray[np.bool_]
"""Boolean array."""
Points: TypeAlias = Floats | sp.csr_array
"""Points (instances) as the rows of a dense or sparse array of shape (n_points, n_features)."""
