"""Dictionaries of few points: k-means centroids that fit as well as a longer search's, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

from milopt import RBF, as_bags
from milopt.declaration.kernels import dictionary as module
from milopt.declaration.kernels.dictionary import dictionary, distinct

RNG = np.random.default_rng(0)
CLUSTERED = (RNG.normal(size=(30, 1, 4)) * 3 + 0.3 * RNG.normal(size=(30, 50, 4))).reshape(-1, 4)


def distortion(points, atoms):
    return float((((points[:, None] - atoms) ** 2).sum(axis=2).min(axis=1)).sum())


def test_few_seeds_and_few_iterations_find_centroids_nearly_as_good():
    long = KMeans(20, n_init=1, max_iter=300, random_state=0).fit(CLUSTERED).inertia_
    assert distortion(CLUSTERED, dictionary(CLUSTERED, "kmeans", 20, RBF(1.0), 0)) <= 1.2 * long


@pytest.mark.parametrize("choice", ["kmeans", "sample"])
def test_the_same_seed_draws_the_same_atoms(choice, monkeypatch):
    monkeypatch.setattr(module, "MOST", 300)
    first, again, other = (dictionary(CLUSTERED, choice, 20, RBF(1.0), seed) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_instances_that_repeat_leave_as_many_atoms_as_there_are_places():
    repeated = np.repeat(CLUSTERED[:25], 40, axis=0)
    atoms = dictionary(repeated, "kmeans", 20, RBF(1.0), 0)
    assert np.unique(atoms, axis=0).shape == (20, 4)
    assert dictionary(repeated, "kmeans", 30, RBF(1.0), 0).shape == (25, 4)


def test_sparse_instances_count_once_as_dense_ones_do():
    rows = np.where(RNG.random((30, 6)) < 0.6, 0.0, RNG.integers(1, 3, size=(30, 6)))
    rows[:3] = 0.0
    repeated = np.vstack([rows, rows[::-1]])
    sparse = as_bags([sp.csr_array(repeated)]).instances
    assert distinct(sparse).shape[0] < 30
    np.testing.assert_array_equal(distinct(sparse).toarray(), distinct(repeated))
    for choice, atoms in (("all", 5), ("sample", 60), ("kmeans", 30)):
        few = dictionary(sparse, choice, atoms, RBF(1.0), 0)
        np.testing.assert_array_equal(few.toarray(), dictionary(repeated, choice, atoms, RBF(1.0), 0))
    assert distinct(few) is few


def test_zero_and_minus_zero_are_one_instance() -> None:
    np.testing.assert_array_equal(distinct(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]])), [[0.0, 1.0], [0.0, 2.0]])
