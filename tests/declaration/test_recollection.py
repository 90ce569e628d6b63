"""What a comparison over the same points keeps, and what it must not."""

import numpy as np
import pytest
import scipy.sparse as sp

from milopt import RBF
from milopt.declaration.kernels import recollection as module
from milopt.declaration.kernels.dictionary import dictionary
from milopt.declaration.kernels.kernel import CallableKernel
from milopt.declaration.kernels.recollection import gram_of, recalled, recollection


class Counted:
    """An RBF kernel that knows how often it was called."""

    calls = 0

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        self.calls += 1
        return RBF(0.5)(A, B)


@pytest.fixture
def rows() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(7, 3))


def test_equal_points_are_computed_once(rows: np.ndarray) -> None:
    counted = Counted()
    kernel = CallableKernel(counted)
    with recollection():
        first = gram_of(kernel, rows, rows[:2])
        with recollection():
            assert gram_of(kernel, rows.copy(), rows[:2].copy()) is first
        assert gram_of(kernel, rows, rows[:2]) is first  # an inner block does not end the outer one
    assert counted.calls == 1
    gram_of(kernel, rows, rows[:2])
    assert counted.calls == 2  # and afterwards nothing is kept


@pytest.mark.parametrize("sparse", [False, True])
def test_other_points_and_other_kernels_are_others(rows: np.ndarray, sparse: bool) -> None:
    moved = rows.copy()
    moved[3, 1] = np.nextafter(moved[3, 1], np.inf)
    given, other = (sp.csr_array(rows), sp.csr_array(moved)) if sparse else (rows, moved)
    with recollection():
        kept = gram_of(RBF(0.5), given, given)
        assert gram_of(RBF(0.5), given, given) is kept
        for kernel, A, B in (
            (RBF(0.25), given, given),
            (RBF(0.5), other, other),
            (RBF(0.5), given, other),
            (RBF(0.5), given, given.copy()),  # whose diagonal is not exact
            (RBF(0.5), given[:3], given[:3]),
        ):
            np.testing.assert_array_equal(gram_of(kernel, A, B), kernel(A, B))
            assert gram_of(kernel, A, B) is not kept


def test_what_is_kept_cannot_be_written_to(rows: np.ndarray) -> None:
    with recollection(), pytest.raises(ValueError, match="read-only"):
        gram_of(RBF(0.5), rows, rows)[0, 0] = 2.0


def test_an_array_that_a_kernel_keeps_stays_its_own(rows: np.ndarray) -> None:
    own = RBF(0.5)(rows, rows)
    with recollection():
        assert not recalled("own", (rows,), lambda: own).flags.writeable
    own[0, 0] = 2.0


def test_the_least_recently_used_is_forgotten(rows: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2 * 8 * 49)
    made: list[int] = []

    def get(k: int) -> None:
        recalled(k, (rows,), lambda: made.append(k) or np.zeros((7, 7)))

    with recollection():
        for k in (1, 2, 1, 3, 1, 2):
            get(k)
    assert made == [1, 2, 3, 2]


def test_centroids_are_those_of_their_number_and_seed() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 2))

    def centroids(atoms: int, seed: int) -> np.ndarray:
        return np.asarray(dictionary(rows, "kmeans", atoms, RBF(1.0), seed))

    alone = {asked: centroids(*asked) for asked in ((5, 0), (5, 1), (6, 0))}
    with recollection():
        for _ in range(2):
            for asked, due in alone.items():
                np.testing.assert_array_equal(centroids(*asked), due)
        assert centroids(5, 0) is centroids(5, 0)
