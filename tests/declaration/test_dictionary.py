"""Dictionaries: k-means centroids are nearly as good as those of a longer search, and depend only on the seed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

from milopt import RBF, as_bags
from milopt.declaration.kernels import dictionary as module
from milopt.declaration.kernels.dictionary import choose_dictionary, distinct_instances

RNG = np.random.default_rng(0)
CLUSTERED = (RNG.normal(size=(30, 1, 4)) * 3 + 0.3 * RNG.normal(size=(30, 50, 4))).reshape(-1, 4)


def distortion(points, atoms):
    return float((((points[:, None] - atoms) ** 2).sum(axis=2).min(axis=1)).sum())


def test_few_seeds_and_iterations_give_nearly_optimal_centroids():
    long = KMeans(20, n_init=1, max_iter=300, random_state=0).fit(CLUSTERED).inertia_
    assert distortion(CLUSTERED, choose_dictionary(CLUSTERED, "kmeans", 20, RBF(1.0), 0)) <= 1.2 * long


@pytest.mark.parametrize("choice", ["kmeans", "sample"])
def test_the_same_seed_gives_the_same_atoms(choice, monkeypatch):
    monkeypatch.setattr(module, "MAX_KMEANS_INSTANCES", 300)
    first, again, other = (choose_dictionary(CLUSTERED, choice, 20, RBF(1.0), seed) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_repeated_instances_give_at_most_as_many_atoms_as_distinct_instances():
    repeated = np.repeat(CLUSTERED[:25], 40, axis=0)
    atoms = choose_dictionary(repeated, "kmeans", 20, RBF(1.0), 0)
    assert np.unique(atoms, axis=0).shape == (20, 4)
    assert choose_dictionary(repeated, "kmeans", 30, RBF(1.0), 0).shape == (25, 4)


def test_repeated_sparse_instances_count_once():
    rows = np.where(RNG.random((30, 6)) < 0.6, 0.0, RNG.integers(1, 3, size=(30, 6)))
    rows[:3] = 0.0
    repeated = np.vstack([rows, rows[::-1]])
    sparse = as_bags([sp.csr_array(repeated)]).instances
    assert distinct_instances(sparse).shape[0] < 30
    np.testing.assert_array_equal(distinct_instances(sparse).toarray(), distinct_instances(repeated))
    for choice, atoms in (("all", 5), ("sample", 60), ("kmeans", 30)):
        few = choose_dictionary(sparse, choice, atoms, RBF(1.0), 0)
        np.testing.assert_array_equal(few.toarray(), choose_dictionary(repeated, choice, atoms, RBF(1.0), 0))
    assert distinct_instances(few) is few


def test_zero_and_minus_zero_are_the_same_instance() -> None:
    np.testing.assert_array_equal(
        distinct_instances(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]])), [[0.0, 1.0], [0.0, 2.0]]
    )
