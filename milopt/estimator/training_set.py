"""Training set of a model: scaled bags, the class of each bag, and its weight.

For two classes there is one program, with y = +1 on the positive class. For k > 2 classes there are k programs, each of
one class against the others.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index
from milopt.declaration.array_conversion import make_read_only
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights, as_weights
from milopt.errors import BagsError
from milopt.estimator.class_weights import ClassWeight, class_weights
from milopt.estimator.positive_label import positive_class_index
from milopt.estimator.scaling import Scaling, fit_scaling


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Scaled training bags with their classes and weights."""

    bags: Bags
    """Scaled bags of positive weight."""
    classes: npt.NDArray[Any]
    """Labels of the classes, sorted."""
    class_indices: Index
    """Index of each bag's label among the classes."""
    weight: Weights
    """Weight of each bag: its sample weight times the weight of its class."""
    scaling: Scaling
    positive: int | None
    """Index of the positive class among two classes; None for more than two."""

    @property
    def positive_label(self) -> object:
        """Label of the positive class, or None for more than two classes."""
        return None if self.positive is None else self.classes.tolist()[self.positive]

    def signs(self) -> tuple[Signs, ...]:
        """Return the labels y (-1 or +1) of the bags in each program."""
        positive = range(self.classes.size) if self.positive is None else (self.positive,)
        return tuple(np.where(self.class_indices == index, 1.0, -1.0) for index in positive)

    def describe_sizes(self) -> dict[str, object]:
        """Return the numbers of bags, instances, features and classes as JSON data."""
        sizes, rows = self.bags.sizes, self.bags.instances
        counts = Counter(self.class_indices.tolist())
        return {
            "bags": len(self.bags),
            "instances": int(rows.shape[0]),
            "features": self.bags.dimension,
            "instances_per_bag": [int(sizes.min()), float(np.median(sizes)), int(sizes.max())],
            "classes": {str(label): counts[i] for i, label in enumerate(self.classes.tolist())},
            "sparse": bool(sp.issparse(rows)),
        }


def build_training_set(
    bags: Bags,
    labels: tuple[npt.NDArray[Any], Index],
    sample_weight: npt.ArrayLike | None,
    class_weight: ClassWeight,
    scale: str,
    positive: object,
) -> TrainingSet:
    """Check the training data, remove bags of weight 0, and scale the other bags.

    `labels` is a pair: the sorted classes, and the index of each bag's class. `scale` is the kind of scaling, and
    `positive` the label of the positive class or None.
    """
    classes, class_indices = labels
    if class_indices.size != len(bags):
        raise BagsError(f"There are {class_indices.size} labels for {len(bags)} bags: give one label per bag.")
    weight = as_weights(sample_weight, len(bags))
    is_used = weight > 0
    if not is_used.all():
        bags, weight = bags[is_used], weight[is_used]
        used_classes, class_indices = np.unique(class_indices[is_used], return_inverse=True)
        classes = classes[used_classes]
        if classes.size == 1:
            raise BagsError(
                f"All {len(bags)} bags with a positive weight belong to one class, {classes[0]}: "
                "at least two classes are needed."
            )
    weight = weight * class_weights(class_weight, classes, class_indices, weight)[class_indices]
    scaling = fit_scaling(scale, bags)
    positive_index = positive_class_index(positive, classes)
    return TrainingSet(
        scaling(bags), classes, make_read_only(class_indices), make_read_only(weight), scaling, positive_index
    )
