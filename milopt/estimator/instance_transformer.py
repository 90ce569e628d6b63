"""A scikit-learn transformer of single instances, lifted to bags: `Pipeline` then works on bags too.

make_pipeline(InstanceTransformer(StandardScaler()), MISVM(scale="none"))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from milopt.data.windows import Cut
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import as_labels
from milopt.errors import BagsError
from milopt.estimator.inputs import new_bags, training_bags
from milopt.estimator.scikit_learn import UNUSED, BaseEstimator, TransformerMixin, UnfittedError, clone


class InstanceTransformer(TransformerMixin, BaseEstimator):
    """Fits a clone of `transformer` on all training instances, and applies it within the bags.

    A transformer that wants labels gets each instance with the label of its bag.
    """

    n_features_in_: int
    windows_in_: Cut | None

    __metadata_request__fit: ClassVar[Mapping[str, str]] = {"bags": UNUSED}
    __metadata_request__transform: ClassVar[Mapping[str, str]] = {"bags": UNUSED}

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, bags: object, y: npt.ArrayLike | None = None) -> Self:
        """Fit on the instances of all bags."""
        checked = training_bags(self, bags)
        labels = None if y is None else as_labels(y)
        if labels is not None and labels.size != len(checked):
            raise BagsError(f"There are {labels.size} labels for {len(checked)} bags: give one a bag.")
        repeated = None if labels is None else np.repeat(labels, checked.sizes)
        self.transformer_ = clone(self.transformer).fit(_writeable(checked), repeated)
        return self

    def transform(self, bags: object) -> Bags:
        """The same bags of transformed instances."""
        if not hasattr(self, "transformer_"):
            raise UnfittedError("This InstanceTransformer is not fitted yet; call fit first.")
        checked = new_bags(self, bags)
        rows = self.transformer_.transform(_writeable(checked))
        count = int(checked.offsets[-1])
        if rows.shape[0] != count:
            name = type(self.transformer).__name__
            raise BagsError(f"{name} made {rows.shape[0]} rows of {count} instances: it must keep every instance.")
        return Bags(rows, checked.offsets)


def _writeable(bags: Bags) -> Any:
    # Some transformers work in place, and bags cannot be written to.
    return bags.instances.copy()
