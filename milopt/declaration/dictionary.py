"""Dictionaries: few points that stand for many instances, drawn with a seed."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.declaration.arrays import Points
from milopt.declaration.checks import one_of
from milopt.declaration.kernels import Kernel, Precomputed
from milopt.errors import ParameterError

CHOICES = ("kmeans", "sample", "all")
MOST = 20_000
"""Instances, drawn at random, that k-means looks at: more change its centroids little and its time much."""


def dictionary(instances: Points, choice: str, atoms: int, kernel: Kernel, seed: int) -> Points:
    """`kmeans` centroids, or a k-means++ `sample` of the instances, at most `atoms`; or `all` instances once each.

    Where there are no more different instances than atoms, these are the dictionary.
    """
    one_of("dictionary", choice, CHOICES)
    if not isinstance(atoms, (int, np.integer)) or isinstance(atoms, bool) or atoms < 1:
        raise ParameterError(f"atoms must be a whole number of at least 1, not {atoms!r}.")
    if choice == "kmeans" and isinstance(kernel, Precomputed):
        raise ParameterError('A precomputed kernel has rows and no points between them: give dictionary="sample".')
    if choice == "all" or instances.shape[0] <= atoms:
        return distinct(instances)
    some = _some(instances, max(MOST, 10 * atoms), seed)
    from sklearn.cluster import KMeans, kmeans_plusplus

    if choice == "sample":
        return some[np.unique(kmeans_plusplus(some, atoms, random_state=seed)[1])]
    few = distinct(some)
    if few.shape[0] <= atoms:
        return few
    centres = KMeans(atoms, n_init=1, max_iter=20, random_state=seed).fit(some).cluster_centers_
    return np.ascontiguousarray(centres, dtype=np.float64)


def distinct(instances: Points) -> Points:
    """Every instance once, in order of first occurrence; sparse ones as they are."""
    if sp.issparse(instances):
        return instances
    _, first = np.unique(np.asarray(instances), axis=0, return_index=True)
    return instances if first.size == instances.shape[0] else instances[np.sort(first)]


def _some(instances: Points, most: int, seed: int) -> Points:
    if instances.shape[0] <= most:
        return instances
    return instances[np.sort(np.random.default_rng(seed).choice(instances.shape[0], most, replace=False))]
