"""What a model is fitted on: scaled bags, the class of each, and what each counts for.

For two classes there is one program, whose y is +1 on the positive class. For k > 2 there are k programs, each of one
class against the rest.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index
from milopt.declaration.arrays import read_only
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights, as_weights
from milopt.errors import BagsError
from milopt.estimator.class_weights import ClassWeight, class_weights
from milopt.estimator.positive_label import positive_place
from milopt.estimator.scaling import Scaling, fitted_scaling


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Bags as the programs see them."""

    bags: Bags
    """Scaled; only those that count for something."""
    classes: npt.NDArray[Any]
    place: Index
    """For each bag, the place of its label among the classes."""
    weight: Weights
    scaling: Scaling
    positive: int | None
    """The place of the positive class among two classes; None for more than two."""

    @property
    def positive_label(self) -> object:
        """The label of the positive class, or None for more than two classes."""
        return None if self.positive is None else self.classes.tolist()[self.positive]

    def signs(self) -> tuple[Signs, ...]:
        """The y of each program."""
        positive = range(self.classes.size) if self.positive is None else (self.positive,)
        return tuple(np.where(self.place == one, 1.0, -1.0) for one in positive)

    def sizes(self) -> dict[str, object]:
        """Counts for people and JSON."""
        sizes, rows = self.bags.sizes, self.bags.instances
        counts = Counter(self.place.tolist())
        return {
            "bags": len(self.bags),
            "instances": int(rows.shape[0]),
            "features": self.bags.dimension,
            "instances_per_bag": [int(sizes.min()), float(np.median(sizes)), int(sizes.max())],
            "classes": {str(label): counts[i] for i, label in enumerate(self.classes.tolist())},
            "sparse": bool(sp.issparse(rows)),
        }


def training_set(
    bags: Bags,
    labels: tuple[npt.NDArray[Any], Index],
    sample_weight: npt.ArrayLike | None,
    class_weight: ClassWeight,
    scale: str,
    positive: object,
) -> TrainingSet:
    """Everything checked, bags of weight 0 left out, the rest scaled."""
    classes, place = labels
    if place.size != len(bags):
        raise BagsError(f"There are {place.size} labels for {len(bags)} bags: give one a bag.")
    weight = as_weights(sample_weight, len(bags))
    counts = weight > 0
    if not counts.all():
        bags, weight = bags[counts], weight[counts]
        kept, place = np.unique(place[counts], return_inverse=True)
        classes = classes[kept]
        if classes.size == 1:
            raise BagsError(
                f"All {len(bags)} bags with a positive weight are of one class, {classes[0]}: "
                "at least two classes are needed."
            )
    weight = weight * class_weights(class_weight, classes, place, weight)[place]
    scaling = fitted_scaling(scale, bags)
    where = positive_place(positive, classes)
    return TrainingSet(scaling(bags), classes, read_only(place), read_only(weight), scaling, where)
