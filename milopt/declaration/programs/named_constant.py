"""Arrays of a program that have a name and a meaning, for printing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from milopt.declaration.kernels.kernel import Kernel


@dataclass(frozen=True, eq=False)
class NamedConstant:
    """Vector or matrix of constants that is printed as a symbol with its definition.

    Attributes
    ----------
    values : ndarray of one or two dimensions
        The constants.
    meaning : str
        LaTeX of entry i, or (i, j) of a matrix.
    kernel : Kernel or None
        Kernel K of the meaning.
    """

    values: npt.NDArray[np.float64]
    meaning: str
    kernel: Kernel | None = None
