"""Sums and products of kernels, whose features are the features of the parts one after another, or their products."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Floats, Points
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.declaration.kernels.gram import as_point_rows
from milopt.declaration.kernels.kernel import RBF, Kernel, Linear, as_kernel
from milopt.errors import ParameterError

MAX_PRODUCT_FEATURES = 1000
"""Maximum number of features of a product of kernels; a product with more has no features."""
_DEFAULT_PARTS: tuple[Kernel, ...] = (Linear(), RBF("median"))


class _CombinedKernel(Kernel):
    """Base class of kernels that consist of other kernels of instances."""

    parts: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        name = type(self).__name__
        given: object = self.parts
        if not isinstance(given, (tuple, list)) or len(given) < 2:
            raise ParameterError(
                f"{name} needs at least two kernels, such as {name}((Linear(), RBF())), not {given!r}."
            )
        parts = tuple(as_kernel(part) for part in given)
        for part in parts:
            if isinstance(part, BagKernel):
                raise ParameterError(f"{name} needs kernels of instances, and {part!r} is a kernel of bags.")
        object.__setattr__(self, "parts", parts)
        # Sums and products of positive semidefinite kernels are positive semidefinite.
        object.__setattr__(self, "is_semidefinite", all(part.is_semidefinite for part in parts))

    @property
    def requires_unscaled_input(self) -> bool:
        """Whether one of the kernels requires unscaled features."""
        return any(part.requires_unscaled_input for part in self.parts)

    def _part_features(self, A: Any) -> list[Points] | None:
        """Return the features of each part; None if one has none."""
        rows = as_point_rows(A)
        part_features = [part.features(rows) for part in self.parts]
        features = [part for part in part_features if part is not None]
        return features if len(features) == len(part_features) else None


@dataclass(frozen=True)
class KernelSum(_CombinedKernel):
    """Sum of kernels.

    If all of them have features, the features of the sum are those of the parts, one after another.

    Parameters
    ----------
    parts : tuple of Kernel, default=(Linear(), RBF("median"))
        Kernels of instances, at least two.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> points = np.array([[0.0, 0.0], [1.0, 2.0]])
    >>> milopt.KernelSum((milopt.Linear(), milopt.RBF(s=0.5)))(points, points).round(4)
    array([[1.    , 0.0821],
           [0.0821, 6.    ]])
    """

    parts: tuple[Kernel, ...] = _DEFAULT_PARTS

    @property
    def has_features(self) -> bool:
        """Whether all parts have features."""
        return all(part.has_features for part in self.parts)

    def features(self, A: Any) -> Points | None:
        """Return the features of all parts, one after another.

        Parameters
        ----------
        A : array-like or sparse matrix of shape (n_points, n_features)
            Points as rows.

        Returns
        -------
        array, csr_array or None
            One row of features per point, sparse if the features of all parts are; None if a part has no features.
        """
        if not self.has_features:
            return None
        features = self._part_features(A)
        if features is None:
            return None
        if all(sp.issparse(part) for part in features):
            return sp.csr_array(sp.hstack([sp.csr_array(part) for part in features], format="csr"))
        return np.hstack([part.toarray() if isinstance(part, sp.csr_array) else part for part in features])

    def fitted(self, instances: Any) -> KernelSum:
        """Return the sum of the fitted parts.

        Parameters
        ----------
        instances : array-like or sparse matrix of shape (n_instances, n_features)
            Training instances.

        Returns
        -------
        KernelSum
            Sum whose parts have no open parameters.
        """
        return replace(self, parts=tuple(part.fitted(instances) for part in self.parts))

    def latex(self) -> str:
        """Return K(x, z) as LaTeX."""
        return " + ".join(part.latex() for part in self.parts)

    def _gram(self, A: Points, B: Points) -> Floats:
        """Return the sum of the kernel values."""
        return np.asarray(sum(part(A, B) for part in self.parts))

    def _diagonal(self, A: Points) -> Floats:
        """Return the sum of the diagonals."""
        return np.asarray(sum(part.diagonal(A) for part in self.parts))


@dataclass(frozen=True)
class KernelProduct(_CombinedKernel):
    """Product of kernels.

    If all of them have features, the features of the product are all products of a feature of each part, provided that
    there are at most 1000 and that the kernel is fitted.

    Parameters
    ----------
    parts : tuple of Kernel, default=(Linear(), RBF("median"))
        Kernels of instances, at least two.
    n_features_out : int or None, default=None
        Number of features, which `fitted` computes; None if there are too many, or if a part has none.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> points = np.array([[1.0, 2.0], [0.0, 3.0]])
    >>> kernel = milopt.KernelProduct((milopt.Linear(), milopt.Linear())).fitted(points)
    >>> kernel(points, points)
    array([[25., 36.],
           [36., 81.]])
    >>> kernel.features(points).shape
    (2, 4)
    """

    parts: tuple[Kernel, ...] = _DEFAULT_PARTS
    n_features_out: int | None = None

    @property
    def has_features(self) -> bool:
        """Whether the kernel is fitted, and there are at most 1000 products of features."""
        return self.n_features_out is not None

    def features(self, A: Any) -> Points | None:
        """Return all products of a feature of each part.

        Parameters
        ----------
        A : array-like or sparse matrix of shape (n_points, n_features)
            Points as rows.

        Returns
        -------
        ndarray or None
            One row of features per point; None if there are too many (see the class docstring).
        """
        if not self.has_features:
            return None
        features = self._part_features(A)
        assert features is not None
        dense = [part.toarray() if isinstance(part, sp.csr_array) else part for part in features]
        product = dense[0]
        for other in dense[1:]:
            product = (product[:, :, None] * other[:, None, :]).reshape(product.shape[0], -1)
        return product

    def fitted(self, instances: Any) -> KernelProduct:
        """Return the product of the fitted parts, with explicit features if at most `MAX_PRODUCT_FEATURES`.

        Parameters
        ----------
        instances : array-like or sparse matrix of shape (n_instances, n_features)
            Training instances.

        Returns
        -------
        KernelProduct
            Product whose parts have no open parameters.
        """
        rows = as_point_rows(instances)
        parts = tuple(part.fitted(rows) for part in self.parts)
        count = None
        if all(part.has_features for part in parts):
            first = replace(self, parts=parts)._part_features(rows[:1])
            count = None if first is None else prod(int(part.shape[1]) for part in first)
        return replace(self, parts=parts, n_features_out=count if count and count <= MAX_PRODUCT_FEATURES else None)

    def latex(self) -> str:
        """Return K(x, z) as LaTeX."""
        return r"\,".join(rf"\left({part.latex()}\right)" for part in self.parts)

    def _gram(self, A: Points, B: Points) -> Floats:
        """Return the product of the kernel values."""
        return np.asarray(prod((part(A, B) for part in self.parts), start=np.ones(())))

    def _diagonal(self, A: Points) -> Floats:
        """Return the product of the diagonals."""
        return np.asarray(prod((part.diagonal(A) for part in self.parts), start=np.ones(())))
