"""Kernels equal their formulas entry by entry, for all kinds of arrays and any memory limit."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt.declaration.kernels.gram_blocks import gram_blocks, kernel_times
from milopt.declaration.kernels.kernel import (
    RBF,
    CallableKernel,
    Linear,
    Polynomial,
    Precomputed,
    as_kernel,
)
from milopt.errors import BagsError, ParameterError

quick = settings(max_examples=40, deadline=None)


def laplace(A, B):
    A, B = (x.toarray() if sp.issparse(x) else x for x in (A, B))
    return np.exp(-np.abs(A[:, None] - B[None]).sum(axis=2))


formulas = [
    (RBF(0.7), lambda x, z: np.exp(-0.7 * ((x - z) ** 2).sum())),
    (RBF(), lambda x, z: np.exp(-((x - z) ** 2).sum() / len(x))),
    (RBF.from_sigma(2.0), lambda x, z: np.exp(-((x - z) ** 2).sum() / 4)),
    (RBF.from_bandwidth(2.0), lambda x, z: np.exp(-((x - z) ** 2).sum() / 8)),
    (Linear(), lambda x, z: x @ z),
    (Polynomial(), lambda x, z: (x @ z + 1) ** 3),
    (Polynomial(degree=2, gamma=0.5, coef0=0.0), lambda x, z: (x @ z / 2) ** 2),
    (Polynomial(degree=1), lambda x, z: x @ z + 1),
    (as_kernel(laplace), lambda x, z: np.exp(-np.abs(x - z).sum())),
]
kernels = st.sampled_from([kernel for kernel, _ in formulas])


def points(count, dimension, seed):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((count, dimension)) < 0.3, 0.0, rng.normal(size=(count, dimension)))


@quick
@given(st.sampled_from(formulas), st.integers(1, 9), st.integers(1, 9), st.integers(1, 5), st.integers(0, 99))
def test_gram_equals_the_formula_dense_sparse_and_mixed(pair, n, k, dimension, seed):
    kernel, formula = pair
    A, B = points(n, dimension, seed), points(k, dimension, seed + 1)
    expected = np.array([[formula(x, z) for z in B] for x in A])
    for left in (A, np.asfortranarray(A), sp.csr_array(A), sp.csr_matrix(A)):
        for right in (B, sp.csr_array(B)):
            gram = kernel(left, right)
            assert type(gram) is np.ndarray
            np.testing.assert_allclose(gram, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(kernel.diagonal(left), [formula(x, x) for x in A], rtol=1e-12, atol=1e-12)


@quick
@given(kernels, st.integers(1, 60), st.integers(1, 20), st.integers(0, 99), st.booleans())
def test_gram_of_one_array_is_exactly_symmetric_and_semidefinite(kernel, n, dimension, seed, sparse):
    A = points(n, dimension, seed)
    A[n // 2] = A[0]
    A = sp.csr_array(A) if sparse else A
    gram = kernel(A, A)
    np.testing.assert_array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram)[0] >= -1e-12 * n * max(1, np.abs(gram).max())
    if isinstance(kernel, RBF):
        assert (gram.diagonal() == 1).all()
        assert gram.max() <= 1


def test_rbf_is_accurate_far_from_the_origin():
    A = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_allclose(RBF(1.0)(A + 2.0**20, A + 2.0**20), RBF(1.0)(A, A), atol=1e-9)
    np.testing.assert_allclose(RBF(1.0)(A + 2.0**20, A[:5] + 2.0**20), RBF(1.0)(A, A[:5]), atol=1e-9)


def test_inputs_are_not_changed():
    A = points(6, 3, 0)
    before = A.copy()
    A.flags.writeable = False
    for kernel, _ in formulas:
        kernel(A, A)[0] = 5.0  # the caller may write to the result
        kernel(A, A[:2])
    np.testing.assert_array_equal(A, before)


# Widths that depend on the data


def test_fitted_rbf_has_a_width_from_the_data():
    A = points(30, 4, 0)
    assert RBF().fitted(A) == RBF(0.25)
    pairs = [((A[i] - A[j]) ** 2).sum() for i in range(30) for j in range(i)]
    assert RBF("median").fitted(A).s == pytest.approx(1 / np.median(pairs))
    assert RBF("median").fitted(sp.csr_array(A)).s == pytest.approx(1 / np.median(pairs))
    assert RBF("0.25/median").fitted(A).s == pytest.approx(0.25 / np.median(pairs))
    for kernel in (RBF(0.3), Linear(), Polynomial()):
        assert kernel.fitted(A) is kernel
    np.testing.assert_array_equal(RBF()(A, A), RBF(0.25)(A, A))


def test_median_of_many_instances_uses_a_fixed_random_subset():
    A = np.random.default_rng(1).normal(size=(3000, 2))
    first = RBF("median").fitted(A)
    assert first == RBF("median").fitted(A.copy())
    pairs = np.median(((A[:, None, :] - A[None, ::3, :]) ** 2).sum(axis=2))
    assert first.s == pytest.approx(1 / pairs, rel=0.1)


def test_median_width_of_repeated_points():
    A = np.zeros((9, 4))
    assert RBF("median").fitted(A) == RBF(0.25)
    assert RBF("median").fitted(A[:1]) == RBF(0.25)
    A[0, 0] = 2.0  # most distances are still zero
    assert RBF("median").fitted(A) == RBF(0.25)
    A[0, 0] = 4.0
    assert RBF("median").fitted(A).s == pytest.approx(1 / 16)


def test_median_width_without_data_raises_an_error():
    with pytest.raises(ParameterError, match=r"call kernel.fitted\(instances\) first"):
        RBF("median")(np.eye(2), np.eye(2))


# Precomputed, callables


def test_precomputed_kernel_returns_entries_of_its_matrix():
    A = points(7, 3, 0)
    gram = RBF(1.0)(A, A)
    kernel = as_kernel(Precomputed(gram))
    places, others = np.array([[3], [0], [3]]), np.array([[6.0], [1.0]])
    np.testing.assert_array_equal(kernel(places, others), gram[[3, 0, 3]][:, [6, 1]])
    np.testing.assert_array_equal(kernel(sp.csr_array(places), others), gram[[3, 0, 3]][:, [6, 1]])
    np.testing.assert_array_equal(kernel.diagonal(places), [1, 1, 1])
    np.testing.assert_allclose(kernel_times(kernel, places, others, [1.0, 2.0]), gram[[3, 0, 3]][:, [6, 1]] @ [1, 2])
    assert gram.flags.writeable
    assert not kernel.gram.flags.writeable


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        (np.ones((2, 3)), r"square, not of shape \(2, 3\)"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "NaN or infinite"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), "not symmetric"),
    ],
)
def test_invalid_precomputed_gram_raises_an_error(gram, message):
    with pytest.raises(ParameterError, match=message):
        Precomputed(gram)


@pytest.mark.parametrize(
    ("place", "message"),
    [([[2]], "2 is not a row of the precomputed Gram matrix: give 0 to 1"), ([[-1]], "-1 is not"), ([[0.5]], "0.5 is")],
)
def test_row_numbers_outside_a_precomputed_gram_raise_an_error(place, message):
    with pytest.raises(BagsError, match=message):
        Precomputed(np.eye(2))(place, place)


def test_row_numbers_must_be_one_column():
    with pytest.raises(BagsError, match=r"n x 1 array, not of shape \(2, 2\)"):
        Precomputed(np.eye(2))(np.eye(2), np.eye(2))


def test_invalid_values_of_a_callable_raise_an_error():
    def short(A, B):
        return np.ones(len(A))

    with pytest.raises(ParameterError, match=r"kernel short returned shape \(2,\) instead of \(2, 3\)"):
        as_kernel(short)(np.ones((2, 1)), np.ones((3, 1)))
    with pytest.raises(ParameterError, match="NaN or infinite"):
        as_kernel(lambda A, B: np.full((2, 2), np.nan))(np.eye(2), np.eye(2))
    A = np.eye(2)
    with pytest.raises(ParameterError, match="not symmetric"):
        as_kernel(lambda A, B: np.array([[1.0, 2.0], [3.0, 4.0]]))(A, A)


def test_as_kernel_rejects_everything_but_kernels_and_functions():
    kernel = RBF(1.0)
    assert as_kernel(kernel) is kernel
    assert as_kernel(laplace) == CallableKernel(laplace)
    with pytest.raises(ParameterError, match="not 'rbf'"):
        as_kernel("rbf")
    with pytest.raises(ParameterError, match=r"use Precomputed\(gram\)"):
        as_kernel(np.eye(2))
    with pytest.raises(ParameterError, match=r"RBF is a class, not a kernel: write RBF\(...\)"):
        as_kernel(RBF)


# Blocks


@quick
@given(kernels, st.integers(1, 40), st.integers(1, 40), st.integers(1, 3000), st.integers(0, 99), st.booleans())
def test_blocks_equal_the_gram_matrix_and_respect_the_memory_limit(kernel, n, k, memory, seed, same):
    A = points(n, 3, seed)
    B = A if same else points(k, 3, seed + 1)
    whole = kernel(A, B)
    covered = 0
    for rows, block in gram_blocks(kernel, A, B, memory=memory):
        assert rows.start == covered
        assert block.nbytes <= max(memory, 8 * len(B))
        np.testing.assert_allclose(block, whole[rows], rtol=1e-12, atol=1e-12)
        if same and isinstance(kernel, RBF):
            assert (block[np.arange(len(block)), np.arange(rows.start, rows.stop)] == 1).all()
        covered = rows.stop
    assert covered == n
    for tail in ((), (2,)):
        coefficients = np.random.default_rng(seed).normal(size=(len(B), *tail))
        product = kernel_times(kernel, A, B, coefficients, memory=memory)
        assert product.shape == (n, *tail)
        np.testing.assert_allclose(product, whole @ coefficients, rtol=1e-9, atol=1e-9)
        product = kernel_times(kernel, sp.csr_array(A), sp.csr_array(B), coefficients, memory=memory)
        np.testing.assert_allclose(product, whole @ coefficients, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", [RBF(), Polynomial(), Linear()])
def test_memory_is_bounded(kernel):
    A = points(1500, 10, 0)
    whole = 8 * 1500**2

    def peak(work):
        tracemalloc.start()
        work()
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    assert peak(lambda: kernel(A, A)) < 1.4 * whole
    assert peak(lambda: kernel_times(kernel, A, A, np.ones(1500), memory=whole // 20)) < 0.4 * whole


def test_points_and_coefficients_of_other_sizes_raise_an_error():
    with pytest.raises(BagsError, match="equal dimension, not 2 and 3"):
        RBF()(np.eye(2), np.eye(3))
    with pytest.raises(BagsError, match="equal dimension, not 2 and 3"):
        kernel_times(Linear(), np.eye(2), np.eye(3), np.ones(3))
    with pytest.raises(BagsError, match=r"shape \(4,\) for 3 points"):
        kernel_times(RBF(), np.eye(3), np.eye(3), np.ones(4))
    with pytest.raises(BagsError, match="2-D array, one row per point, not 1-D"):
        RBF()(np.ones(3), np.eye(3))


# Parameters and texts


@pytest.mark.parametrize("s", [0, -1.0, np.nan, np.inf, "mean", "0/median", "x/median", "4/mean", True, [1.0]])
def test_width_out_of_range_raises_an_error(s):
    with pytest.raises(ParameterError, match="s of RBF must be a positive number"):
        RBF(s)


@pytest.mark.parametrize("sigma", [0, -1.0, np.nan, np.inf, "median", 1e-200])
@pytest.mark.parametrize("make", [RBF.from_sigma, RBF.from_bandwidth])
def test_sigma_out_of_range_raises_an_error(make, sigma):
    with pytest.raises(ParameterError, match="must be a positive number"):
        make(sigma)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"degree": 0}, "degree of Polynomial must be an integer of at least 1, not 0"),
        ({"degree": 2.5}, "degree of Polynomial"),
        ({"degree": True}, "degree of Polynomial"),
        ({"gamma": 0.0}, "gamma of Polynomial must be a positive number"),
        ({"coef0": -1.0}, "coef0 of Polynomial must be a number of at least 0"),
        ({"coef0": np.nan}, "coef0 of Polynomial"),
    ],
)
def test_polynomial_parameters_out_of_range_raise_an_error(parameters, message):
    with pytest.raises(ParameterError, match=message):
        Polynomial(**parameters)


def test_kernels_have_a_repr():
    assert [repr(RBF()), repr(RBF(0.5)), repr(RBF("median"))] == ["RBF()", "RBF(s=0.5)", "RBF(s='median')"]
    assert repr(Polynomial(2)) == "Polynomial(degree=2, gamma=1.0, coef0=1.0)"
    assert repr(Precomputed(np.eye(3))) == "Precomputed(3 x 3)"
    assert repr(as_kernel(laplace)) == "CallableKernel(laplace)"
    assert RBF().latex() == r"\exp(-s\|x-z\|^2)"
    assert Linear().latex() == r"\langle x,z\rangle"
    assert Polynomial(2).latex() == r"(\gamma\langle x,z\rangle+c_0)^{2}"
    assert Precomputed(np.eye(3)).latex() == "K_{xz}"
    assert as_kernel(laplace).latex() == "k(x,z)"
    assert RBF(0.5) == RBF(0.5) != RBF(0.6)


def test_importing_bags_and_kernels_does_not_import_heavy_packages():
    code = "import sys, milopt.declaration.kernels.kernel, milopt.declaration.bags.bags; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "scipy.sparse" in loaded
    assert not {"sklearn", "scipy.linalg", "scipy.spatial", "scipy.optimize"} & set(loaded)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial()])
def test_kernel_values_that_overflow_raise_an_error(kernel) -> None:
    x = np.array([[1e200], [2e200]])
    for call in (lambda: kernel(x, x), lambda: kernel.diagonal(x)):
        with (
            np.errstate(over="ignore", invalid="ignore"),
            pytest.raises(BagsError, match="overflow because features are very large"),
        ):
            call()
