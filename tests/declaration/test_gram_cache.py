"""The cache returns stored results for equal points, and only for these."""

import numpy as np
import pytest
import scipy.sparse as sp

from milopt import RBF
from milopt.declaration.kernels import gram_cache as module
from milopt.declaration.kernels.dictionary import choose_dictionary
from milopt.declaration.kernels.gram_cache import cached_gram, get_or_compute, result_cache
from milopt.declaration.kernels.kernel import CallableKernel


class CallCountingRBF:
    """RBF kernel that counts its calls."""

    calls = 0

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        self.calls += 1
        return RBF(0.5)(A, B)


@pytest.fixture
def rows() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(7, 3))


def test_gram_of_equal_points_is_computed_once(rows: np.ndarray) -> None:
    counted = CallCountingRBF()
    kernel = CallableKernel(counted)
    with result_cache():
        first = cached_gram(kernel, rows, rows[:2])
        with result_cache():
            assert cached_gram(kernel, rows.copy(), rows[:2].copy()) is first
        assert cached_gram(kernel, rows, rows[:2]) is first  # an inner block does not end the outer one
    assert counted.calls == 1
    cached_gram(kernel, rows, rows[:2])
    assert counted.calls == 2  # after the block, nothing is cached


@pytest.mark.parametrize("sparse", [False, True])
def test_other_points_and_other_kernels_have_other_results(rows: np.ndarray, sparse: bool) -> None:
    moved = rows.copy()
    moved[3, 1] = np.nextafter(moved[3, 1], np.inf)
    given, other = (sp.csr_array(rows), sp.csr_array(moved)) if sparse else (rows, moved)
    with result_cache():
        cached = cached_gram(RBF(0.5), given, given)
        assert cached_gram(RBF(0.5), given, given) is cached
        for kernel, A, B in (
            (RBF(0.25), given, given),
            (RBF(0.5), other, other),
            (RBF(0.5), given, other),
            (RBF(0.5), given, given.copy()),  # its diagonal is not exact
            (RBF(0.5), given[:3], given[:3]),
        ):
            np.testing.assert_array_equal(cached_gram(kernel, A, B), kernel(A, B))
            assert cached_gram(kernel, A, B) is not cached


def test_cached_results_are_read_only(rows: np.ndarray) -> None:
    with result_cache(), pytest.raises(ValueError, match="read-only"):
        cached_gram(RBF(0.5), rows, rows)[0, 0] = 2.0


def test_array_that_belongs_to_the_kernel_stays_writeable(rows: np.ndarray) -> None:
    own = RBF(0.5)(rows, rows)
    with result_cache():
        assert not get_or_compute("own", (rows,), lambda: own).flags.writeable
    own[0, 0] = 2.0


def test_the_least_recently_used_result_is_removed(rows: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CACHE_BYTES", 2 * 8 * 49)
    made: list[int] = []

    def get(k: int) -> None:
        get_or_compute(k, (rows,), lambda: made.append(k) or np.zeros((7, 7)))

    with result_cache():
        for k in (1, 2, 1, 3, 1, 2):
            get(k)
    assert made == [1, 2, 3, 2]


def test_cached_centroids_depend_on_their_number_and_the_seed() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 2))

    def centroids(atoms: int, seed: int) -> np.ndarray:
        return np.asarray(choose_dictionary(rows, "kmeans", atoms, RBF(1.0), seed))

    alone = {asked: centroids(*asked) for asked in ((5, 0), (5, 1), (6, 0))}
    with result_cache():
        for _ in range(2):
            for asked, due in alone.items():
                np.testing.assert_array_equal(centroids(*asked), due)
        assert centroids(5, 0) is centroids(5, 0)
