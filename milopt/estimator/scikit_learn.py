"""The bases that scikit-learn gives an estimator, with the types that it does not declare itself.

Without them every attribute of a model would be `Any` to a type checker, and a misspelt one would pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milopt.errors import ParameterError

if TYPE_CHECKING:
    from typing import Any, Self

    import numpy as np
    import numpy.typing as npt

    class BaseEstimator:
        """Hyper-parameters by name, HTML representation, tags, metadata routing."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """The hyper-parameters by name."""

        def set_params(self, **params: object) -> Self:
            """Set hyper-parameters by name."""

        def __sklearn_tags__(self) -> Any: ...

    class ClassifierMixin:
        """Says that an estimator is a classifier."""

    class TransformerMixin:
        """`fit_transform` from `fit` and `transform`."""

        def fit_transform(self, X: object, y: npt.ArrayLike | None = None) -> Any:
            """Fit, and transform the same data."""

    class NotFittedError(ValueError, AttributeError):
        """A method was called that needs a fit first."""

    class DataConversionWarning(UserWarning):
        """Data were given in another shape than expected."""

    def clone(estimator: Any) -> Any:
        """An unfitted estimator with the same hyper-parameters."""

    def validate_data(estimator: object, X: object, *, reset: bool, skip_check_array: bool) -> None:
        """Keep, or compare, the number and the names of features."""

    UNUSED: str
    """Says of an argument that it is no metadata to be routed."""

    def check_random_state(seed: object) -> np.random.RandomState:
        """A generator from a seed."""
else:
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
    from sklearn.exceptions import DataConversionWarning, NotFittedError
    from sklearn.utils import check_random_state
    from sklearn.utils.metadata_routing import UNUSED
    from sklearn.utils.validation import validate_data


class UnfittedError(ParameterError, NotFittedError):
    """A method was called that needs a fit first: an error of milopt, and the one that scikit-learn looks for."""


__all__ = [
    "UNUSED",
    "BaseEstimator",
    "ClassifierMixin",
    "DataConversionWarning",
    "TransformerMixin",
    "UnfittedError",
    "check_random_state",
    "clone",
    "validate_data",
]
