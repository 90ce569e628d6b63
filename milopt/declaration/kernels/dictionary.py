"""Dictionaries: a small number of points (atoms) that represent many instances, chosen with a random seed."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Floats, Index, Points
from milopt.declaration.array_conversion import first_occurrences
from milopt.declaration.bags.scaled_rows import is_scaled_rows, row_slices
from milopt.declaration.checks import check_choice, check_integer
from milopt.declaration.kernels.gram_cache import get_or_compute
from milopt.declaration.kernels.kernel import Kernel, Precomputed
from milopt.errors import ParameterError

DICTIONARY_CHOICES = ("kmeans", "sample", "uniform", "all")
"""Ways to choose a dictionary."""
MAX_KMEANS_INSTANCES = 20_000
"""Maximum number of instances, drawn at random, for "kmeans" and "sample", or 10 per atom if that is more.

More instances hardly change the centroids. Of `ScaledRows`, at most one block of 4 million values is drawn.
"""
SEEDS_PER_ATOM, KMEANS_ITERATIONS = 10, 10
"""Number of instances per atom among which k-means++ chooses the first centroids, and number of k-means iterations.

With larger values, the distances to the centroids are about one per cent smaller, and the computation takes two to
three times as long.
"""


def choose_dictionary(instances: Points, choice: str, atoms: int, kernel: Kernel, seed: int) -> Points:
    """Return a dictionary: at most `atoms` points, or all distinct instances if `choice` is "all".

    The other choices are "kmeans" (centroids), "sample" (k-means++ sample) and "uniform" (uniform sample). The
    k-means++ sample uses the squared distance K(x, x) - 2 K(x, z) + K(z, z) of the kernel. If there are at most `atoms`
    instances, the dictionary consists of the distinct ones.
    """
    check_choice("dictionary", choice, DICTIONARY_CHOICES)
    check_integer("atoms", atoms, 1)
    if choice == "kmeans" and isinstance(kernel, Precomputed):
        raise ParameterError(
            'Centroids do not exist for a precomputed kernel: use "sample", "uniform" or "all" instead of "kmeans".'
        )
    if choice == "all" or instances.shape[0] <= atoms:
        return distinct_instances(instances)
    if choice == "uniform":
        return distinct_instances(_random_subset(instances, atoms, seed))
    subset = _random_subset(instances, max(_max_instances(instances), 10 * atoms), seed)
    if choice == "sample":
        return subset[_kmeans_plusplus_sample(subset, atoms, kernel, seed)]
    distinct = distinct_instances(subset)
    if distinct.shape[0] <= atoms:
        return distinct
    key = (choose_dictionary, atoms, seed)
    return get_or_compute(key, (subset,), lambda: _kmeans_centroids(subset, distinct, atoms, seed))


def distinct_instances(instances: Points) -> Points:
    """Return every distinct instance once, in the order of first occurrence."""
    rows = np.asarray(instances) if is_scaled_rows(instances) else instances
    first = first_occurrences(rows)
    return rows if first.size == rows.shape[0] else rows[first]


def _max_instances(instances: Points) -> int:
    """Return the maximum number of instances for k-means: if the instances exceed a block, one block of them."""
    if not is_scaled_rows(instances):
        return MAX_KMEANS_INSTANCES
    return min(MAX_KMEANS_INSTANCES, int(next(row_slices(*instances.shape)).stop))


def _kmeans_centroids(instances: Points, distinct: Points, atoms: int, seed: int) -> Floats:
    """Return the k-means centroids of `instances`, with initial centroids chosen among `distinct`."""
    from sklearn.cluster import KMeans, kmeans_plusplus

    seeds = kmeans_plusplus(_random_subset(distinct, SEEDS_PER_ATOM * atoms, seed), atoms, random_state=seed)[0]
    kmeans = KMeans(atoms, init=seeds, n_init=1, max_iter=KMEANS_ITERATIONS, random_state=seed).fit(instances)
    return np.array(kmeans.cluster_centers_, dtype=np.float64, order="C")


def _kmeans_plusplus_sample(instances: Points, atoms: int, kernel: Kernel, seed: int) -> Index:
    """Return the sorted positions of a k-means++ sample of at most `atoms` instances.

    The first position is drawn uniformly. Each other position is drawn with probability proportional to the squared
    distance from the nearest point drawn before, until all distances are 0.
    """
    rng = np.random.default_rng(seed)
    own = kernel.diagonal(instances)
    nearest = np.ones(own.size)
    positions: list[int] = []
    while len(positions) < atoms and nearest.any():
        new = int(rng.choice(own.size, p=nearest / nearest.sum()))
        distances = own - 2 * kernel(instances, instances[[new]])[:, 0] + own[new]
        # Differences of nearly equal numbers are rounding errors up to this size. If the kernel is not positive
        # semidefinite, they may even be negative.
        distances[distances <= 1e-12 * (np.abs(own) + abs(own[new]))] = 0
        nearest = np.minimum(nearest, distances) if positions else distances
        positions.append(new)
        nearest[positions] = 0
    return np.sort(np.array(positions, dtype=np.intp))


def _random_subset(instances: Points, size: int, seed: int) -> Points:
    """Return `size` random instances, drawn without replacement; all instances if there are at most `size`."""
    if instances.shape[0] <= size:
        return np.asarray(instances) if is_scaled_rows(instances) else instances
    return instances[np.sort(np.random.default_rng(seed).choice(instances.shape[0], size, replace=False))]
