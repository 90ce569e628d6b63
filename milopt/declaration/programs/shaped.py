"""The shape of an expression, and how its entries are chosen, rearranged and added up: as numpy does it."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.declaration.programs.linear_maps import choice, sums
from milopt.declaration.programs.sparse import Index, picked
from milopt.errors import DeclarationError

if TYPE_CHECKING:
    from milopt.declaration.programs.expression import Expression, Shape

Axis = int | tuple[int, ...] | None
Order = Literal["C", "F"]


class Shaped:
    """Entries with a shape; they are kept as one vector, row after row."""

    shape: Shape

    def mapped(self, matrix: sp.csr_array, shape: Shape) -> Expression:
        """Return matrix @ entries, at a shape."""
        raise NotImplementedError

    def describe(self) -> str:
        """Return a name for messages."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """The number of entries."""
        return prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def T(self) -> Expression:
        """The transpose."""
        return self.transpose()

    def transpose(self, *axes: int) -> Expression:
        """Return the expression with its axes reversed, or in the given order."""
        return self.rearranged(lambda entries: entries.transpose(*axes), "transpose")

    def reshape(self, *shape: int | tuple[int, ...], order: Order = "C") -> Expression:
        """Return the same entries at another shape; one dimension may be -1."""
        return self.rearranged(lambda entries: entries.reshape(*shape, order=order), f"reshape to {shape}")

    def ravel(self, order: Order = "C") -> Expression:
        """Return the entries as a vector, row after row, or column after column if `order` is "F"."""
        return self.rearranged(lambda entries: entries.ravel(order), "ravel")

    def flatten(self, order: Order = "C") -> Expression:
        """Return the entries as a vector; `ravel` is the same."""
        return self.ravel(order)

    def sum(self, axis: Axis = None, keepdims: bool = False) -> Expression:
        """Return the sum of all entries, a scalar, or the sums along an axis.

        Parameters
        ----------
        axis : int or tuple of int, optional
            The axis to add up: 0 for the sum of each column of a matrix, 1 for the sum of each row.
        keepdims : bool, default=False
            Whether the result keeps the axis, with length 1.
        """
        try:
            matrix, shape = sums(self.shape, axis, keepdims)
        except (IndexError, TypeError, ValueError):
            raise DeclarationError(f"{axis!r} is not an axis of {self.describe()}, of shape {self.shape}.") from None
        return self.mapped(matrix, shape)

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Expression:
        """Return the mean of all entries, a scalar, or the means along an axis."""
        total = self.sum(axis, keepdims)
        return total * (total.size / self.size) if self.size else total / 0.0

    def trace(self, offset: int = 0) -> Expression:
        """Return the sum of the diagonal of a matrix, a scalar."""
        return self.rearranged(lambda entries: entries.diagonal(offset), "trace").sum(axis=-1)

    def __getitem__(self, index: int | slice | tuple[Any, ...] | npt.ArrayLike | None) -> Expression:
        size = self.size
        try:
            chosen = np.asarray(np.arange(size).reshape(self.shape)[index])  # type: ignore[index]  # checked by numpy
        except (IndexError, TypeError, ValueError):
            if not self.shape:
                raise DeclarationError("A scalar expression has no entries to index.") from None
            raise DeclarationError(
                f"{index!r} is not an index of {self.describe()}, which has shape {self.shape}."
            ) from None
        return self.mapped(picked(chosen.ravel(), size), chosen.shape)

    def rearranged(self, rearrange: Callable[[Index], Any], verb: str) -> Expression:
        """Return the entries as a function of numpy rearranges them; `verb` is for messages."""
        try:
            return self.mapped(*choice(rearrange, self.shape))
        except (IndexError, TypeError, ValueError) as error:
            raise DeclarationError(
                f"{verb} does not apply to {self.describe()}, of shape {self.shape}: {error}."
            ) from None

    def broadcast_to(self, shape: Shape) -> Expression:
        """Return the entries repeated to a shape, as numpy broadcasts."""
        return self.rearranged(lambda entries: np.broadcast_to(entries, shape), f"Broadcasting to {shape}")
