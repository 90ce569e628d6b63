"""Shape of an expression, and selecting, rearranging and summing its entries as in numpy."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Integers
from milopt.declaration.programs.linear_maps import rearrangement_matrix, sum_matrix
from milopt.declaration.programs.sparse import selection_matrix
from milopt.errors import DeclarationError

if TYPE_CHECKING:
    from milopt.declaration.programs.expression import Expression, Shape

Axis = int | tuple[int, ...] | None
"""Axis argument of numpy."""
Order = Literal["C", "F"]
"""Order of entries: row after row ("C"), or column after column ("F")."""


class ShapeMixin:
    """Mixin class with the array interface of expressions; entries are stored as one vector, row after row."""

    shape: Shape

    def apply_matrix(self, matrix: sp.csr_array, shape: Shape) -> Expression:
        """Return the expression of the given shape whose vector of entries is matrix @ entries."""
        raise NotImplementedError  # `Expression` defines it

    def describe(self) -> str:
        """Return the expression as text, for messages."""
        raise NotImplementedError  # `Expression` defines it

    @property
    def size(self) -> int:
        """Number of entries."""
        return prod(self.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        """Return the length of the first axis, as in numpy; raise `DeclarationError` for a scalar."""
        if not self.shape:
            raise DeclarationError(f"{self.describe()} is a scalar and has no length: write e.size for 1.")
        return self.shape[0]

    def __bool__(self) -> bool:
        """Return True, also for an expression without entries, whose length is 0."""
        return True

    @property
    def T(self) -> Expression:
        """Expression with its axes reversed, such as the transpose of a matrix."""
        return self.transpose()

    def transpose(self, *axes: int) -> Expression:
        """Return the expression with its axes reversed, or in the given order."""
        return self.rearrange(lambda entries: entries.transpose(*axes), "transpose")

    def reshape(self, *shape: int | tuple[int, ...], order: Order = "C") -> Expression:
        """Return the entries with another shape; one dimension may be -1, as in numpy."""
        return self.rearrange(lambda entries: entries.reshape(*shape, order=order), f"reshape to {shape}")

    def ravel(self, order: Order = "C") -> Expression:
        """Return the entries as a vector, row after row, or column after column if `order` is "F"."""
        return self.rearrange(lambda entries: entries.ravel(order), "ravel")

    def flatten(self, order: Order = "C") -> Expression:
        """Return the entries as a vector, like `ravel`."""
        return self.ravel(order)

    def sum(self, axis: Axis = None, keepdims: bool = False) -> Expression:
        """Return the sum of all entries, or the sums along an axis.

        Parameters
        ----------
        axis : int or tuple of int, optional
            Axis to sum over: 0 for the sum of each column of a matrix, 1 for the sum of each row.
        keepdims : bool, default=False
            Whether the result keeps the axis, with length 1.

        Returns
        -------
        Expression
            A scalar if `axis` is None.
        """
        try:
            matrix, shape = sum_matrix(self.shape, axis, keepdims)
        except (IndexError, TypeError, ValueError):
            raise DeclarationError(f"{axis!r} is not an axis of {self.describe()}, of shape {self.shape}.") from None
        return self.apply_matrix(matrix, shape)

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Expression:
        """Return the mean of all entries, or the means along an axis; the arguments are those of `sum`."""
        total = self.sum(axis, keepdims)
        return total * (total.size / self.size) if self.size else total / 0.0

    def trace(self, offset: int = 0) -> Expression:
        """Return the sum of the diagonal of a matrix; `offset` selects another diagonal, as in numpy."""
        return self.rearrange(lambda entries: entries.diagonal(offset), "trace").sum(axis=-1)

    def __getitem__(self, index: int | slice | tuple[Any, ...] | npt.ArrayLike | None) -> Expression:
        """Return the entries selected by an index as in numpy; raise `DeclarationError` if the index is invalid."""
        size = self.size
        try:
            chosen = np.asarray(np.arange(size).reshape(self.shape)[index])  # type: ignore[index]  # checked by numpy
        except (IndexError, TypeError, ValueError):
            if not self.shape:
                raise DeclarationError("A scalar expression has no entries to index.") from None
            raise DeclarationError(
                f"{index!r} is not an index of {self.describe()}, which has shape {self.shape}."
            ) from None
        return self.apply_matrix(selection_matrix(chosen.ravel(), size), chosen.shape)

    def rearrange(self, rearrange: Callable[[Integers], Any], verb: str) -> Expression:
        """Return the entries rearranged by the numpy function `rearrange`; `verb` names the operation in messages."""
        try:
            return self.apply_matrix(*rearrangement_matrix(rearrange, self.shape))
        except (IndexError, TypeError, ValueError) as error:
            raise DeclarationError(
                f"{verb} does not apply to {self.describe()}, of shape {self.shape}: {error}."
            ) from None

    def broadcast_to(self, shape: Shape) -> Expression:
        """Return the entries broadcast to a shape, as in numpy."""
        return self.rearrange(lambda entries: np.broadcast_to(entries, shape), f"Broadcasting to {shape}")
