"""Dictionaries: few points that stand for many instances, drawn with a seed."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Floats, Index, Points
from milopt.declaration.arrays import first_of_each
from milopt.declaration.checks import one_of, whole
from milopt.declaration.kernels.kernel import Kernel, Precomputed
from milopt.declaration.kernels.recollection import recalled
from milopt.errors import ParameterError

CHOICES = ("kmeans", "sample", "uniform", "all")
MOST = 20_000
"""Instances, drawn at random, that k-means looks at: more change its centroids little and its time much."""
SEEDS, ITERATIONS = 10, 10
"""Instances an atom among which its first centroids are chosen, and how often these move: more of either lessens the
distances to the centroids by a hundredth and takes two to three times as long."""


def dictionary(instances: Points, choice: str, atoms: int, kernel: Kernel, seed: int) -> Points:
    """At most `atoms` points: `kmeans` centroids, a k-means++ `sample`, a `uniform` one; or `all` instances once each.

    The k-means++ sample is spread by the distances of the kernel, K(x, x) - 2 K(x, z) + K(z, z).
    Where there are no more different instances than atoms, these are the dictionary.
    """
    one_of("dictionary", choice, CHOICES)
    whole("atoms", atoms, 1)
    if choice == "kmeans" and isinstance(kernel, Precomputed):
        raise ParameterError(
            'A precomputed kernel has rows and no points between them: give "sample", "uniform" or "all".'
        )
    if choice == "all" or instances.shape[0] <= atoms:
        return distinct(instances)
    if choice == "uniform":
        return distinct(_some(instances, atoms, seed))
    some = _some(instances, max(MOST, 10 * atoms), seed)
    if choice == "sample":
        return some[_spread(some, atoms, kernel, seed)]
    few = distinct(some)
    if few.shape[0] <= atoms:
        return few
    return recalled((dictionary, atoms, seed), (some,), lambda: _centroids(some, few, atoms, seed))


def distinct(instances: Points) -> Points:
    """Every instance once, in order of first occurrence."""
    first = first_of_each(instances)
    return instances if first.size == instances.shape[0] else instances[first]


def _centroids(instances: Points, few: Points, atoms: int, seed: int) -> Floats:
    """Those of k-means over instances, which begins among the different ones."""
    from sklearn.cluster import KMeans, kmeans_plusplus

    seeds = kmeans_plusplus(_some(few, SEEDS * atoms, seed), atoms, random_state=seed)[0]
    found = KMeans(atoms, init=seeds, n_init=1, max_iter=ITERATIONS, random_state=seed).fit(instances)
    return np.array(found.cluster_centers_, dtype=np.float64, order="C")


def _spread(instances: Points, atoms: int, kernel: Kernel, seed: int) -> Index:
    """Places drawn one after another, each with probability in proportion to the squared distance from those before."""
    rng = np.random.default_rng(seed)
    own = kernel.diagonal(instances)
    nearest = np.ones(own.size)
    places: list[int] = []
    while len(places) < atoms and nearest.any():
        new = int(rng.choice(own.size, p=nearest / nearest.sum()))
        apart = own - 2 * kernel(instances, instances[[new]])[:, 0] + own[new]
        # Of what a difference of like numbers leaves, that much is rounding; a similarity may even go below 0.
        apart[apart <= 1e-12 * (np.abs(own) + abs(own[new]))] = 0
        nearest = np.minimum(nearest, apart) if places else apart
        places.append(new)
        nearest[places] = 0
    return np.sort(np.array(places, dtype=np.intp))


def _some(instances: Points, most: int, seed: int) -> Points:
    if instances.shape[0] <= most:
        return instances
    return instances[np.sort(np.random.default_rng(seed).choice(instances.shape[0], most, replace=False))]
