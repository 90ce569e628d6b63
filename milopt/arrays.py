"""Names for the types of arrays."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Floats: TypeAlias = npt.NDArray[np.float64]
Vector: TypeAlias = npt.NDArray[np.float64]
"""One-dimensional by convention, which numpy's types do not state."""
Matrix: TypeAlias = npt.NDArray[np.float64]
"""Two-dimensional by convention."""
Index: TypeAlias = npt.NDArray[np.intp]
Mask: TypeAlias = npt.NDArray[np.bool_]
Points: TypeAlias = Floats | sp.csr_array
"""Instances as rows, n x D, dense or sparse."""
