"""Two synthetic data sets in the plane: bags of a few instances from two Gaussian clusters.

`clusters`: each class is one cluster, and each bag lies in one cluster. `spanning`: every class spans both clusters,
with slightly more instances in one of them, and within each cluster the classes are shifted in the orthogonal
direction. A method that only uses the clusters learns little. No publication states the parameters; they are chosen
such that the best rule that only uses the clusters classifies two of three bags correctly, and the optimal rule 99 of
100.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Index
from milopt.data.data_set import DataSet
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import check_choice, check_integer, check_non_negative
from milopt.errors import ParameterError

CLUSTER_HALF_DISTANCE = 4.0
"""Half the distance between the clusters, which have standard deviation 1."""
CLASS_HALF_DISTANCE = 1.05
"""Half the distance between the classes within a cluster: a bag of five is on the correct side in 99 % of cases."""

OWN_CLUSTER_FRACTION = 0.587
"""Fraction of the instances of a spanning class in its own cluster. The majority of five is there in 66 % of bags."""


def toy_bags(
    kind: str,
    bags: int = 100,
    size: int = 5,
    seed: int = 0,
    across: float = CLASS_HALF_DISTANCE,
    share: float = OWN_CLUSTER_FRACTION,
) -> DataSet:
    """Generate one of the two synthetic data sets.

    Parameters
    ----------
    kind : {"clusters", "spanning"}
        Which data set.
    bags : int, default=100
        Number of bags. Classes -1 and 1 alternate.
    size : int, default=5
        Number of instances per bag.
    seed : int, default=0
        Random seed.
    across : float, default=1.05
        Half the distance between the classes within a cluster (`spanning` only).
    share : float, default=0.587
        Fraction of the instances of a class in its own cluster (`spanning` only).

    Returns
    -------
    DataSet
        Bags with labels -1 and 1.

    Examples
    --------
    >>> from milopt.data import toy_bags
    >>> toy_bags("clusters", bags=4)
    DataSet('toy, clusters', Bags(4 bags, 20 instances, 2 features))
    """
    check_choice("kind", kind, ("clusters", "spanning"))
    check_integer("bags", bags, 2)
    check_integer("size", size, 1)
    check_non_negative("across", across)
    if not 0 <= check_non_negative("share", share) <= 1:
        raise ParameterError(f"share must lie between 0 and 1, not {share!r}.")
    rng = np.random.default_rng(check_integer("seed", seed, 0))
    labels = np.where(np.arange(bags) % 2 == 0, -1, 1)
    points = rng.standard_normal((bags * size, 2))
    points += draw_clusters(kind, labels, size, share, rng)[:, None] * np.array([CLUSTER_HALF_DISTANCE, 0.0])
    if kind == "spanning":
        points += np.repeat(labels, size)[:, None] * np.array([0.0, across])
    ids = tuple(f"toy{i}" for i in range(bags))
    return DataSet(f"toy, {kind}", Bags(points, np.arange(bags + 1) * size), labels, ids, source="drawn")


def draw_clusters(kind: str, labels: Index, size: int, share: float, rng: np.random.Generator) -> Index:
    """Draw the cluster (-1 or 1) of each instance: its label, or, with probability 1 - share, the other cluster.

    In the data set `clusters`, the cluster is always the label.
    """
    own = np.repeat(labels, size)
    return own if kind == "clusters" else np.where(rng.random(own.size) < share, own, -own)
