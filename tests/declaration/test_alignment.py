"""Alignment kernels equal their definitions cell by cell, and have the properties of the definitions."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import milopt
from milopt.declaration.kernels import alignment
from milopt.declaration.kernels.alignment import DTW, GlobalAlignment
from milopt.declaration.kernels.gram_blocks import gram_blocks
from milopt.declaration.kernels.kernel import RBF, Kernel
from milopt.errors import BagsError, ParameterError

quick = settings(max_examples=30, deadline=None)
shapes = st.tuples(st.integers(1, 6), st.integers(1, 5), st.integers(1, 8), st.integers(1, 3))
seeds = st.integers(0, 99)


def random_walks(count: int, samples: int, seed: int, channels: int = 1) -> np.ndarray:
    steps = np.random.default_rng(seed).normal(size=(count, samples, channels))
    return steps.cumsum(axis=1).reshape(count, -1)


def plain_dtw(x: np.ndarray, z: np.ndarray, band: int) -> float:
    """Return the DTW cost, computed cell by cell from the definition."""
    ell = len(x)
    best = np.full((ell + 1, ell + 1), np.inf)
    best[0, 0] = 0
    for i, j in product(range(ell), range(ell)):
        if abs(i - j) <= band:
            best[i + 1, j + 1] = ((x[i] - z[j]) ** 2).sum() + min(best[i, j + 1], best[i + 1, j], best[i, j])
    return float(best[ell, ell])


def plain_log_sum(x: np.ndarray, z: np.ndarray, s: float, triangular: int | None) -> float:
    """Return the logarithm of the sum over alignments, computed cell by cell in log space."""
    ell = len(x)
    total = np.full((ell + 1, ell + 1), -np.inf)
    total[0, 0] = 0
    for i, j in product(range(ell), range(ell)):
        weight = 1.0 if triangular is None else 1 - abs(i - j) / triangular
        if weight > 0:
            exponent = np.log(weight) - s * ((x[i] - z[j]) ** 2).sum()
            before = np.logaddexp(np.logaddexp(total[i, j + 1], total[i + 1, j]), total[i, j])
            total[i + 1, j + 1] = before + exponent - np.log(2 - np.exp(exponent))
    return float(total[ell, ell])


def all_alignments(ell: int) -> list[list[tuple[int, int]]]:
    """Return every monotone path from (0, 0) to (ell - 1, ell - 1)."""
    paths, ended = [[(0, 0)]], []
    while paths:
        path = paths.pop()
        i, j = path[-1]
        if (i, j) == (ell - 1, ell - 1):
            ended.append(path)
        paths += [[*path, (a, b)] for a, b in ((i + 1, j), (i, j + 1), (i + 1, j + 1)) if max(a, b) < ell]
    return ended


@quick
@given(shapes, st.none() | st.integers(0, 9), seeds)
def test_dtw_equals_its_definition(shape, band, seed):
    n, k, samples, channels = shape
    A, B = random_walks(n, samples, seed, channels), random_walks(k, samples, seed + 1, channels)
    series = [[row.reshape(samples, channels) for row in rows] for rows in (A, B)]
    widest = samples if band is None else band
    expected = np.array([[np.exp(-0.1 * plain_dtw(x, z, widest)) for z in series[1]] for x in series[0]])
    kernel = DTW(0.1, band, channels)
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel(sp.csr_array(A), B), expected, rtol=1e-12)
    np.testing.assert_array_equal(kernel(A, A), kernel(A, A).T)
    np.testing.assert_array_equal(kernel(A, A).diagonal(), kernel.diagonal(A))


@quick
@given(shapes, st.none() | st.integers(1, 9), st.sampled_from([0.01, 0.3, 40.0]), seeds)
def test_global_alignment_equals_its_definition(shape, triangular, s, seed):
    n, k, samples, channels = shape
    A, B = random_walks(n, samples, seed, channels), random_walks(k, samples, seed + 1, channels)
    left, right = ([row.reshape(samples, channels) for row in rows] for rows in (A, B))

    def normalised(x, z):
        total, *own = (plain_log_sum(*pair, s, triangular) for pair in ((x, z), (x, x), (z, z)))
        return total - sum(own) / 2

    expected = np.exp([[normalised(x, z) for z in right] for x in left])
    np.testing.assert_allclose(GlobalAlignment(s, triangular, channels)(A, B), expected, rtol=1e-9, atol=1e-60)


@given(seeds, st.none() | st.integers(1, 4))
@settings(max_examples=10, deadline=None)
def test_both_kernels_range_over_all_alignments(seed, triangular):
    x, z = random_walks(2, 4, seed)
    gaps = (x[:, None] - z[None]) ** 2
    costs = [sum(gaps[cell] for cell in path) for path in all_alignments(4)]
    assert DTW(1.0)([x], [z])[0, 0] == pytest.approx(np.exp(-min(costs)))
    i, j = np.indices((4, 4))
    weight = 1.0 if triangular is None else np.maximum(0, 1 - abs(i - j) / triangular)

    def total(u, v):
        t = weight * np.exp(-0.2 * (u[:, None] - v[None]) ** 2)
        local = t / (2 - t)
        return sum(np.prod([local[cell] for cell in path]) for path in all_alignments(4))

    value = GlobalAlignment(0.2, triangular)([x], [z])[0, 0]
    assert value == pytest.approx(total(x, z) / np.sqrt(total(x, x) * total(z, z)))


@quick
@given(
    st.integers(1, 25),
    st.integers(1, 9),
    st.none() | st.integers(1, 9),
    st.sampled_from(["0.1/median", "median", "10/median"]),
    seeds,
)
def test_global_alignment_gram_is_semidefinite_with_ones_on_its_diagonal(n, samples, triangular, s, seed):
    A = random_walks(n, samples, seed)
    A[n // 2] = A[0]
    gram = GlobalAlignment(s, triangular).fitted(A)(A, A)
    np.testing.assert_array_equal(gram, gram.T)
    assert (gram.diagonal() == 1).all()
    assert gram.max() <= 1
    assert gram.min() > 0
    assert np.linalg.eigvalsh(gram)[0] >= -1e-12 * n


def test_dtw_is_not_positive_semidefinite():
    A = random_walks(40, 30, 0)
    assert np.linalg.eigvalsh(DTW(0.01)(A, A))[0] < -0.1
    assert not DTW.is_semidefinite
    assert GlobalAlignment.is_semidefinite


@quick
@given(seeds, st.integers(1, 3), st.integers(2, 5))
def test_repeating_samples_has_dtw_cost_zero(seed, channels, repeats):
    short = random_walks(1, 6, seed, channels).reshape(6, channels)
    held = np.concatenate([np.repeat(short[:1], repeats, axis=0), short]).reshape(1, -1)
    late = np.concatenate([short, np.repeat(short[-1:], repeats, axis=0)]).reshape(1, -1)
    assert DTW(1.0, channels=channels)(held, late)[0, 0] == 1
    assert DTW(1.0, repeats - 1, channels)(held, late)[0, 0] < 1


@quick
@given(seeds, st.integers(1, 8), st.floats(-5, 5))
def test_reversing_shifting_or_swapping_the_series_does_not_change_the_value(seed, samples, level):
    A, B = random_walks(3, samples, seed), random_walks(2, samples, seed + 1)
    for kernel in (DTW(0.1), DTW(0.1, 2), GlobalAlignment(0.1), GlobalAlignment(0.1, 3)):
        gram = kernel(A, B)
        np.testing.assert_allclose(kernel(A[:, ::-1], B[:, ::-1]), gram, rtol=1e-9)
        np.testing.assert_allclose(kernel(A + level, B + level), gram, rtol=1e-9)
        np.testing.assert_array_equal(kernel(B, A), gram.T)


@quick
@given(seeds, st.integers(1, 8))
def test_a_wider_band_never_increases_the_cost(seed, samples):
    A, B = random_walks(4, samples, seed), random_walks(4, samples, seed + 1)
    np.testing.assert_allclose(DTW(0.05, 0)(A, B), RBF(0.05)(A, B), rtol=1e-9)
    values = [DTW(0.05, band)(A, B) for band in (*range(samples), None)]
    for narrow, wide in pairwise(values):
        assert (narrow <= wide).all()
    np.testing.assert_array_equal(values[-2], values[-1])


@pytest.mark.parametrize("triangular", [1, 2, 6])
def test_sums_that_underflow_are_computed_in_log_space(triangular):
    ramp = np.arange(430.0)
    A = np.array([ramp, ramp + 0.03])
    total, *own = (plain_log_sum(x[:, None], z[:, None], 10.0, triangular) for x, z in (A, A[[0, 0]], A[[1, 1]]))
    assert total - 858 * np.log(1 + np.sqrt(2)) < -750
    gram = GlobalAlignment(10.0, triangular)(A, A)
    assert 1e-9 < gram[0, 1] < 0.1
    assert np.log(gram[0, 1]) == pytest.approx(total - sum(own) / 2, rel=1e-9)
    np.testing.assert_array_equal(gram.diagonal(), 1)


def test_kernel_value_that_underflows_is_zero():
    A = np.array([[0.0] * 20, [1e3] * 20])
    for kernel in (DTW(1.0), GlobalAlignment(1.0), GlobalAlignment(1.0, 3)):
        np.testing.assert_array_equal(kernel(A, A), np.eye(2))


def test_no_kernel_value_exceeds_one_by_rounding():
    A = random_walks(300, 12, 0)
    assert GlobalAlignment(0.1)(A, A + 1e-10).max() <= 1


def test_long_windows_neither_overflow_nor_underflow():
    A = random_walks(2, 500, 0)
    for kernel in (GlobalAlignment(), GlobalAlignment(triangular=20), DTW()):
        gram = kernel.fitted(A)(A, A)
        assert 0 < gram[0, 1] < 1


@pytest.mark.parametrize("kernel", [DTW(0.01), DTW(0.01, 3), GlobalAlignment(0.01), GlobalAlignment(0.01, 4)])
def test_kernel_value_does_not_depend_on_the_block_of_pairs(kernel: Kernel, monkeypatch: pytest.MonkeyPatch):
    A = random_walks(40, 10, 0)
    whole = kernel(A, A)
    monkeypatch.setattr(alignment, "_MAX_FLOATS_PER_BLOCK", 1)
    np.testing.assert_array_equal(kernel(A, A), whole)
    np.testing.assert_array_equal(np.vstack([block for _, block in gram_blocks(kernel, A, A, memory=5000)]), whole)


def test_memory_is_limited_to_the_gram_matrix_and_one_block():
    A, B = random_walks(1000, 40, 0), random_walks(20, 40, 1)
    for kernel in (DTW(0.01), GlobalAlignment(0.01)):
        tracemalloc.start()
        kernel(A, B)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 12e6  # for all pairs at once, a single antidiagonal would take 6 MB, and ten are in memory


# Widths that depend on the data


def test_median_width_of_dtw_is_the_inverse_median_of_its_costs():
    A = random_walks(20, 6, 0)
    rows = [row[:, None] for row in A]
    median = np.median([plain_dtw(rows[i], rows[j], 6) for i in range(20) for j in range(i)])
    assert DTW().fitted(A).s == pytest.approx(1 / median)
    assert DTW("4/median", 2, 3).fitted(A).band == 2
    assert DTW("4/median").fitted(A).s == pytest.approx(4 / median)
    assert GlobalAlignment("4/median").fitted(A).s == RBF("4/median").fitted(A).s
    assert DTW().fitted(np.zeros((3, 4))) == DTW(0.25)
    for kernel in (DTW(0.5), GlobalAlignment(0.5)):
        assert kernel.fitted(A) is kernel


def test_kernels_have_a_repr_and_latex():
    assert milopt.DTW is DTW
    assert milopt.GlobalAlignment is GlobalAlignment
    assert r"\mathrm{DTW}(x,z)" in DTW().latex()
    assert "|i-j|/7" in GlobalAlignment(triangular=7).latex()
    assert repr(DTW(0.1)) == "DTW(s=0.1)"
    assert repr(GlobalAlignment(triangular=5)) == "GlobalAlignment(s='median', triangular=5)"
    assert repr(DTW(2.0, 3, 2)) == "DTW(s=2.0, band=3, channels=2)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DTW(0), 's of DTW must be a positive number, "median" or "4/median", not 0'),
        (lambda: DTW(None), "s of DTW must be a positive number"),
        (lambda: GlobalAlignment("mean"), "s of GlobalAlignment must be a positive number"),
        (lambda: GlobalAlignment(float("nan")), "s of GlobalAlignment must be a positive number"),
        (lambda: DTW(1.0, -1), "band of DTW must be a whole number of at least 0, or None for no band, not -1"),
        (lambda: DTW(1.0, 2.5), "band of DTW must be a whole number"),
        (lambda: GlobalAlignment(1.0, 0), "triangular of GlobalAlignment must be a whole number of at least 1"),
        (lambda: GlobalAlignment(1.0, True), "triangular of GlobalAlignment must be a whole number"),
        (lambda: DTW(1.0, channels=0), "channels of DTW must be a whole number of at least 1, not 0"),
    ],
)
def test_invalid_parameters_raise_an_error(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_invalid_points_raise_an_error():
    A = random_walks(3, 5, 0)
    with pytest.raises(BagsError, match="5 features are not a multiple of 2 channels"):
        DTW(1.0, channels=2)(A, A)
    with pytest.raises(ParameterError, match=r'DTW\(s="median"\) depends on the data'):
        DTW()(A, A)
    with pytest.raises(BagsError, match="equal dimension"):
        GlobalAlignment(1.0)(A, A[:, :4])
    assert DTW(1.0)(A, A[:0]).shape == (3, 0)
    assert GlobalAlignment(1.0)(A[:0], A[:0]).shape == (0, 0)
