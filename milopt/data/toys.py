"""Two toy sets in the plane: bags of a few instances from two Gaussian clusters, drawn with a seed.

`clusters`: the cluster is the class, and each bag lies in one. `spanning`: every class spans both clusters, a little
more of one than of the other, and within each of them the instances of the two classes lie apart across: who looks at
clusters alone learns little. How much is not told in print; it is set such that the two clusters alone tell two bags in
three, and all of the plane 99 in 100.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Index
from milopt.data.data_set import DataSet
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import non_negative, one_of, whole
from milopt.errors import ParameterError

APART = 4.0
"""Half the distance of the clusters, whose deviation is 1."""
ACROSS = 1.05
"""Half the distance of the classes within a cluster: a bag of five is on the right side in 99 of 100 cases."""

SHARE = 0.587
"""Of the instances of a spanning class in a cluster of its own: most of five are there in 66 of 100 bags."""


def toy_bags(
    kind: str, bags: int = 100, size: int = 5, seed: int = 0, across: float = ACROSS, share: float = SHARE
) -> DataSet:
    """So many bags of so many instances, half of them of class 1; `across` and `share` set spanning classes apart."""
    one_of("kind", kind, ("clusters", "spanning"))
    whole("bags", bags, 2)
    whole("size", size, 1)
    non_negative("across", across)
    if not 0 <= non_negative("share", share) <= 1:
        raise ParameterError(f"share must lie between 0 and 1, not {share!r}.")
    rng = np.random.default_rng(whole("seed", seed, 0))
    labels = np.where(np.arange(bags) % 2 == 0, -1, 1)
    points = rng.standard_normal((bags * size, 2))
    points += toy_clusters(kind, labels, size, share, rng)[:, None] * np.array([APART, 0.0])
    if kind == "spanning":
        points += np.repeat(labels, size)[:, None] * np.array([0.0, across])
    ids = tuple(f"toy{i}" for i in range(bags))
    return DataSet(f"toy, {kind}", Bags(points, np.arange(bags + 1) * size), labels, ids, source="drawn")


def toy_clusters(kind: str, labels: Index, size: int, share: float, rng: np.random.Generator) -> Index:
    """The cluster of each instance, -1 or 1."""
    own = np.repeat(labels, size)
    return own if kind == "clusters" else np.where(rng.random(own.size) < share, own, -own)
