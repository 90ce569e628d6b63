"""Base classes and functions of scikit-learn, with type annotations for type checkers.

scikit-learn has no annotations. Without these, every attribute of a model would be `Any`, and a misspelt attribute
would not be detected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milopt.errors import ParameterError

if TYPE_CHECKING:
    from typing import Any, Self

    import numpy as np
    import numpy.typing as npt

    class BaseEstimator:
        """Base class with hyper-parameters by name, HTML representation, tags and metadata routing."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the hyper-parameters by name."""

        def set_params(self, **params: object) -> Self:
            """Set hyper-parameters by name."""

        def __sklearn_tags__(self) -> Any: ...

    class ClassifierMixin:
        """Mixin class that marks an estimator as a classifier."""

    class TransformerMixin:
        """Mixin class that derives `fit_transform` from `fit` and `transform`."""

        def fit_transform(self, X: object, y: npt.ArrayLike | None = None) -> Any:
            """Fit to data, and transform the same data."""

    class NotFittedError(ValueError, AttributeError):
        """Error for a method that needs a fitted estimator."""

    class DataConversionWarning(UserWarning):
        """Warning about data that were given in an unexpected shape."""

    def clone(estimator: Any) -> Any:
        """Return an unfitted estimator with the same hyper-parameters."""

    def validate_data(estimator: object, X: object, *, reset: bool, skip_check_array: bool) -> None:
        """Store or compare the number and the names of the features."""

    UNUSED: str
    """Marker of arguments that are not metadata."""

    def check_random_state(seed: object) -> np.random.RandomState:
        """Return a random generator for a seed."""
else:
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
    from sklearn.exceptions import DataConversionWarning, NotFittedError
    from sklearn.utils import check_random_state
    from sklearn.utils.metadata_routing import UNUSED
    from sklearn.utils.validation import validate_data


class UnfittedError(ParameterError, NotFittedError):
    """Error for a method that needs a fitted model; an error of milopt and of scikit-learn."""


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
