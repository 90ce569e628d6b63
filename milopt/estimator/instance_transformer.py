"""scikit-learn transformer that applies a transformer of instances to bags, for use in a `Pipeline`.

make_pipeline(InstanceTransformer(StandardScaler()), MISVM(scale="none"))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from milopt.data.windows import WindowSettings
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import as_labels
from milopt.errors import BagsError
from milopt.estimator.inputs import check_new_bags, check_training_bags
from milopt.estimator.scikit_learn import UNUSED, BaseEstimator, TransformerMixin, UnfittedError, clone


class InstanceTransformer(TransformerMixin, BaseEstimator):
    """Transformer of bags that applies a scikit-learn transformer to their instances.

    A clone of the transformer is fitted to all training instances together. If labels are given, every instance has the
    label of its bag.

    Parameters
    ----------
    transformer : transformer
        scikit-learn transformer of instances. It must return one row per instance.

    Attributes
    ----------
    transformer_ : transformer
        Fitted clone of `transformer`.
    n_features_in_ : int
        Number of features of an instance.
    windows_in_ : WindowSettings or None
        Length and stride of the windows, if the training bags are windows of time series.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> bags = [np.array([[0.0, 10.0], [2.0, 20.0]]), np.array([[4.0, 60.0]])]
    >>> scaled = milopt.InstanceTransformer(MinMaxScaler()).fit_transform(bags)
    >>> len(scaled), scaled.instances.max(axis=0)
    (2, array([1., 1.]))
    """

    n_features_in_: int
    windows_in_: WindowSettings | None

    __metadata_request__fit: ClassVar[Mapping[str, str]] = {"bags": UNUSED}
    __metadata_request__transform: ClassVar[Mapping[str, str]] = {"bags": UNUSED}

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, bags: object, y: npt.ArrayLike | None = None) -> Self:
        """Fit a clone of the transformer to the instances of all bags.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Training bags, each of shape (n_instances, n_features).
        y : array-like of shape (n_bags,) or None, default=None
            Label of each bag, for transformers that use labels.

        Returns
        -------
        Self
            The fitted transformer.

        Raises
        ------
        BagsError
            If the bags are invalid, or there is not one label per bag.
        """
        checked = check_training_bags(self, bags, allow_nan=True)
        labels = None if y is None else as_labels(y)
        if labels is not None and labels.size != len(checked):
            raise BagsError(f"There are {labels.size} labels for {len(checked)} bags: give one label per bag.")
        instance_labels = None if labels is None else np.repeat(labels, checked.sizes)
        self.transformer_ = clone(self.transformer).fit(_writable_copy(checked), instance_labels)
        return self

    def transform(self, bags: object) -> Bags:
        """Transform the instances of bags.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Bags with the features of the training bags.

        Returns
        -------
        Bags
            The same bags with transformed instances.

        Raises
        ------
        BagsError
            If the transformer does not return one row per instance.
        """
        if not hasattr(self, "transformer_"):
            raise UnfittedError("This InstanceTransformer is not fitted yet; call fit first.")
        checked = check_new_bags(self, bags, allow_nan=True)
        rows = self.transformer_.transform(_writable_copy(checked))
        count = int(checked.offsets[-1])
        if rows.shape[0] != count:
            name = type(self.transformer).__name__
            raise BagsError(
                f"{name} returned {rows.shape[0]} rows for {count} instances: it must return one row per instance."
            )
        return Bags(rows, checked.offsets)


def _writable_copy(bags: Bags) -> Any:
    """Return a copy of the instances; some transformers work in place, and bags are read-only."""
    return bags.instances.copy()
