"""A scikit-learn transformer from bags to rows of numbers, by a kernel of bags that has explicit features.

make_pipeline(BagFeatures(RandomBoxes(count=5000)), LinearSVC())
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.bag_kernels.random_boxes import RandomBoxes
from milopt.data.windows import Cut
from milopt.errors import BagsError, ParameterError
from milopt.estimator.inputs import new_bags, training_bags
from milopt.estimator.scikit_learn import UNUSED, BaseEstimator, TransformerMixin, UnfittedError


class BagFeatures(TransformerMixin, BaseEstimator):
    """Which of the shared random boxes a bag meets, over the grid of the training bags; labels are not used."""

    n_features_in_: int
    windows_in_: Cut | None

    __metadata_request__fit: ClassVar[Mapping[str, str]] = {"bags": UNUSED}
    __metadata_request__transform: ClassVar[Mapping[str, str]] = {"bags": UNUSED}

    def __init__(self, kernel: RandomBoxes = RandomBoxes()) -> None:  # noqa: B008  # it cannot be written to
        self.kernel = kernel

    def fit(self, bags: object, y: npt.ArrayLike | None = None) -> Self:
        """Find the grid of the training bags, and draw the boxes."""
        if not isinstance(self.kernel, RandomBoxes):
            raise ParameterError(f"kernel must be RandomBoxes, whose features are explicit, not {self.kernel!r}.")
        checked = training_bags(self, bags)
        if y is not None and np.shape(y)[:1] != (len(checked),):
            raise BagsError(f"There are {np.size(y)} labels for {len(checked)} bags: give one a bag.")
        self.kernel_ = self.kernel.fitted_to(checked)
        return self

    def transform(self, bags: object) -> Floats:
        """A row a bag, a column a box."""
        return self._known().features(new_bags(self, bags))

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """`box0`, `box1`, ..."""
        return np.array([f"box{j}" for j in range(self._known().count)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Sparse bags are taken too."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _known(self) -> RandomBoxes:
        if not hasattr(self, "kernel_"):
            raise UnfittedError("This BagFeatures is not fitted yet; call fit first.")
        return self.kernel_
