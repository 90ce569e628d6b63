"""Limit of the size of matrices of kernel values, with the remedy for kernels without features."""

from __future__ import annotations

from milopt.declaration.kernels.kernel import Kernel
from milopt.errors import UnsupportedError

MAX_MATRIX_BYTES = 8 * 2**30
"""Size of the largest matrix of kernel values, or of their combinations, that is computed."""


def check_matrix_size(kernel: Kernel, rows: int, columns: int, purpose: str) -> None:
    """Raise `UnsupportedError` if a matrix of this shape, which `purpose` needs, exceeds `MAX_MATRIX_BYTES`."""
    if 8 * rows * columns <= MAX_MATRIX_BYTES:
        return
    size, limit = 8e-9 * rows * columns, 1e-9 * MAX_MATRIX_BYTES
    raise UnsupportedError(
        f"The kernel {kernel} has no features, or too many, so that {purpose} needs a matrix of {rows} x {columns} "
        f"numbers ({size:.1f} GB; the limit is {limit:.1f} GB). Use a kernel with fewer features than instances, "
        "such as Nystrom(kernel, rank=300), or fewer instances."
    )
