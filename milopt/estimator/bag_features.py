"""scikit-learn transformer from bags to feature vectors: the explicit features of a kernel between bags.

make_pipeline(BagFeatures(RandomBoxes(count=5000)), LinearSVC())
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.bag_kernels.random_boxes import RandomBoxes
from milopt.data.windows import WindowSettings
from milopt.errors import BagsError, ParameterError
from milopt.estimator.inputs import check_new_bags, check_training_bags
from milopt.estimator.scikit_learn import UNUSED, BaseEstimator, TransformerMixin, UnfittedError


class BagFeatures(TransformerMixin, BaseEstimator):
    """Transformer from bags to explicit features of random boxes.

    Each feature belongs to one random box of the grid of the training bags, and depends on whether an instance of the
    bag lies in the box. Labels are not used.

    Parameters
    ----------
    kernel : RandomBoxes, default=RandomBoxes()
        Kernel whose explicit features are computed. It sets the number of boxes, the grid and the random seed.

    Attributes
    ----------
    kernel_ : RandomBoxes
        Kernel with the grid of the training bags.
    n_features_in_ : int
        Number of features of an instance.
    windows_in_ : WindowSettings or None
        Length and stride of the windows, if the training bags are windows of time series.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> bags = np.random.default_rng(0).normal(size=(6, 4, 2))
    >>> features = milopt.BagFeatures(milopt.RandomBoxes(count=50)).fit_transform(bags)
    >>> features.shape
    (6, 50)
    """

    n_features_in_: int
    windows_in_: WindowSettings | None

    __metadata_request__fit: ClassVar[Mapping[str, str]] = {"bags": UNUSED}
    __metadata_request__transform: ClassVar[Mapping[str, str]] = {"bags": UNUSED}

    def __init__(self, kernel: RandomBoxes = RandomBoxes()) -> None:  # noqa: B008  # it is immutable
        self.kernel = kernel

    def fit(self, bags: object, y: npt.ArrayLike | None = None) -> Self:
        """Fit the grid to the training bags, and draw the boxes.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Training bags, each of shape (n_instances, n_features).
        y : array-like of shape (n_bags,) or None, default=None
            Ignored, except that its length is checked.

        Returns
        -------
        Self
            The fitted transformer.

        Raises
        ------
        ParameterError
            If `kernel` is not `RandomBoxes`.
        BagsError
            If the bags are invalid, or there is not one label per bag.
        """
        if not isinstance(self.kernel, RandomBoxes):
            raise ParameterError(f"kernel must be RandomBoxes, whose features are explicit, not {self.kernel!r}.")
        checked = check_training_bags(self, bags)
        if y is not None and np.shape(y)[:1] != (len(checked),):
            raise BagsError(f"There are {np.size(y)} labels for {len(checked)} bags: give one label per bag.")
        self.kernel_ = self.kernel.fitted_to(checked)
        return self

    def transform(self, bags: object) -> Floats:
        """Compute one feature per random box for each bag.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Bags with the features of the training bags.

        Returns
        -------
        ndarray of shape (n_bags, n_boxes)
            One row per bag, one column per box.
        """
        return self._fitted_state().features(check_new_bags(self, bags))

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return the names of the features: `box0`, `box1`, ....

        Parameters
        ----------
        input_features : object, default=None
            Ignored; for compatibility with scikit-learn.

        Returns
        -------
        ndarray of str
            One name per box.
        """
        return np.array([f"box{j}" for j in range(self._fitted_state().count)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Return the scikit-learn tags; sparse bags are supported."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fitted_state(self) -> RandomBoxes:
        """Return the fitted kernel, or raise `UnfittedError`."""
        if not hasattr(self, "kernel_"):
            raise UnfittedError("This BagFeatures is not fitted yet; call fit first.")
        return self.kernel_
