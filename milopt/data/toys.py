"""Two toy sets in the plane: bags of a few instances from two Gaussian clusters, drawn with a seed.

`clusters`: the cluster is the class, and each bag lies in one. `spanning`: every class spans both clusters, and within
each of them the instances of the two classes lie apart only across: who looks at clusters alone learns nothing.
"""

from __future__ import annotations

import numpy as np

from milopt.data.data_set import DataSet
from milopt.declaration.arrays import Indices
from milopt.declaration.bags import Bags
from milopt.declaration.checks import one_of
from milopt.errors import ParameterError

APART = 4.0
"""Half the distance of the clusters, whose deviation is 1."""
ACROSS = 1.05
"""Half the distance of the classes within a cluster: a bag of five is on the right side in 99 of 100 cases."""


def toy_bags(kind: str, bags: int = 100, size: int = 5, seed: int = 0, across: float = ACROSS) -> DataSet:
    """So many bags of so many instances, half of them of class 1; `across` sets spanning classes apart."""
    one_of("kind", kind, ("clusters", "spanning"))
    if bags < 2 or size < 1:
        raise ParameterError(f"A toy set needs at least 2 bags of at least 1 instance, not {bags} of {size}.")
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(bags) % 2 == 0, -1, 1)
    points = rng.standard_normal((bags * size, 2))
    points += toy_clusters(kind, labels, size, rng)[:, None] * np.array([APART, 0.0])
    if kind == "spanning":
        points += np.repeat(labels, size)[:, None] * np.array([0.0, across])
    ids = tuple(f"toy{i}" for i in range(bags))
    return DataSet(f"toy, {kind}", Bags(points, np.arange(bags + 1) * size), labels, ids, source="drawn")


def toy_clusters(kind: str, labels: Indices, size: int, rng: np.random.Generator) -> Indices:
    """The cluster of each instance, -1 or 1."""
    if kind == "clusters":
        return np.repeat(labels, size)
    return np.where(rng.random(labels.size * size) < 0.5, -1, 1)
