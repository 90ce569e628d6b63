"""Kernel of the features that a transformer of scikit-learn computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from milopt.arrays import Points
from milopt.declaration.kernels.feature_kernel import FeatureKernel
from milopt.declaration.kernels.gram import as_point_rows
from milopt.errors import ParameterError


@dataclass(frozen=True, eq=False, repr=False)
class Features(FeatureKernel):
    """Linear kernel of the features that a transformer of scikit-learn computes, K(x, z) = phi(x)'phi(z).

    A model with this kernel cannot be saved, because a model file contains no code.

    Parameters
    ----------
    transformer : object
        Transformer of instances with a method `transform` (an estimator or a pipeline). If it is not fitted, a clone is
        fitted to the training instances, in the scale in which the model sees them. If it is fitted, instances are not
        scaled.

    Raises
    ------
    ParameterError
        If `transformer` is a class, or has no method `transform`.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> points = np.array([[1.0, 2.0], [0.0, 3.0]])
    >>> kernel = milopt.Features(PolynomialFeatures(2)).fitted(points)
    >>> kernel.features(points)
    array([[1., 1., 2., 1., 2., 4.],
           [1., 0., 3., 0., 0., 9.]])
    """

    transformer: Any

    def __post_init__(self) -> None:
        if isinstance(self.transformer, type) or not callable(getattr(self.transformer, "transform", None)):
            raise ParameterError(
                f"The transformer of Features must be an object with a method transform, not {self.transformer!r}."
            )

    @property
    def requires_unscaled_input(self) -> bool:
        """Whether the transformer is fitted, so that it expects instances in their own units."""
        return _is_fitted(self.transformer)

    def fitted(self, instances: Any) -> Features:
        """Return the kernel with a fitted transformer.

        Parameters
        ----------
        instances : array-like or sparse matrix of shape (n_instances, n_features)
            Training instances.

        Returns
        -------
        Features
            The kernel itself if the transformer is fitted already.
        """
        if _is_fitted(self.transformer):
            return self
        from sklearn.base import clone

        return Features(clone(self.transformer).fit(as_point_rows(instances)))

    def latex(self) -> str:
        """Return K(x, z) as LaTeX."""
        return r"\langle\phi(x),\phi(z)\rangle"

    def _features(self, A: Points) -> Points:
        """Return what the transformer makes of the rows of A."""
        if not _is_fitted(self.transformer):
            raise ParameterError(f"{self!r} depends on the data: call kernel.fitted(instances) first.")
        return as_point_rows(self.transformer.transform(A))

    def __repr__(self) -> str:
        return f"Features({self.transformer!r})"


def _is_fitted(transformer: object) -> bool:
    """Return True if a transformer is fitted or has nothing to fit; an object without a method `fit` is fitted."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(transformer, "fit"):
        return True
    try:
        check_is_fitted(transformer)
    except NotFittedError:
        return False
    return True
