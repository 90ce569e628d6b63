"""Base class of kernels that are defined by their features: K(x, z) = phi(x)'phi(z)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from milopt.arrays import Floats, Points
from milopt.declaration.kernels.gram import as_point_rows, inner_products, squared_norms
from milopt.declaration.kernels.kernel import Kernel, check_finite


class FeatureKernel(Kernel):
    """Base class of kernels that are defined by a feature map phi, K(x, z) = phi(x)'phi(z).

    Subclasses are frozen dataclasses, and implement `latex` and `_features`. Two kernels are equal if all their fields
    are.
    """

    is_semidefinite: ClassVar[bool] = True

    def features(self, A: Any) -> Points:
        """Return the feature map phi(x) of each row x of A.

        Parameters
        ----------
        A : array-like or sparse matrix of shape (n_points, n_features)
            Points as rows.

        Returns
        -------
        array or csr_array of shape (n_points, n_features_out)
            One row of features per point.
        """
        return self._features(as_point_rows(A))

    @abstractmethod
    def _features(self, A: Points) -> Points:
        """Return the features of the rows of A, one row per point."""

    def _gram(self, A: Points, B: Points) -> Floats:
        """Return the inner products of the features of all pairs of rows."""
        left = self._features(A)
        return check_finite(inner_products(left, left if B is A else self._features(B)))

    def _diagonal(self, A: Points) -> Floats:
        """Return ||phi(x)||^2 for each row x."""
        return check_finite(squared_norms(self._features(A)))

    def __eq__(self, other: object) -> bool:
        """Return True if the other kernel has the same type and equal fields."""
        if type(other) is not type(self):
            return NotImplemented
        return all(
            _are_equal(getattr(self, field.name), getattr(other, field.name))
            for field in fields(self)  # type: ignore[arg-type]  # subclasses are dataclasses
        )

    def __hash__(self) -> int:
        """Return a hash of the type alone, because fields may be arrays."""
        return hash(type(self))


def _are_equal(a: object, b: object) -> bool:
    """Return True if two values of a field are equal; arrays are compared entry by entry."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    return bool(a is b or a == b)
