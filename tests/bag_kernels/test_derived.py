"""Derived kernels: powers of counts, and features over reference bags, by their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import RBF, BagKernel
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.derived import ClippedKernel, EmpiricalMap, PowerKernel
from milopt.bag_kernels.exact import number_of_boxes
from milopt.bag_kernels.set_kernels import SetKernel
from tests.bag_kernels.test_box_counting import FIVE, GOLDEN


def cosine(gram):
    return gram / np.sqrt(np.outer(gram.diagonal(), gram.diagonal()))


@pytest.mark.parametrize("tau", [0.02, 0.5, 1.0])
def test_a_power_kernel_is_normalised_by_all_boxes_or_by_the_diagonal(golden_bags, tau):
    bags, _ = golden_bags
    boxes = number_of_boxes(tuple(int(size) for size in FIVE.s))
    for normalise, expected in (("constant", GOLDEN / boxes), ("cosine", cosine(GOLDEN))):
        damped = PowerKernel(BoxCounting(grid=FIVE), tau, normalise)
        np.testing.assert_allclose(damped(bags, bags), expected**tau, rtol=1e-12)
        np.testing.assert_allclose(damped(bags[:2], bags[1:]), expected[:2, 1:] ** tau, rtol=1e-12)


def test_any_nonnegative_kernel_has_a_power_kernel(golden_bags):
    bags, _ = golden_bags
    kernel = SetKernel(RBF(0.5), "sum")
    gram = kernel(bags, bags)
    np.testing.assert_allclose(PowerKernel(kernel, 0.3)(bags, bags), gram**0.3, rtol=1e-12)
    np.testing.assert_allclose(PowerKernel(kernel, 0.3, "cosine")(bags, bags), cosine(gram) ** 0.3, rtol=1e-12)


class SizeKernel(BagKernel):
    """Kernel (n - 1)(n' - 1) of bag sizes, which is 0 for bags of one instance."""

    is_semidefinite = True

    def latex(self):
        return "n"

    def _bag_gram(self, A, B):
        return np.outer(A.sizes - 1.0, B.sizes - 1.0)


@pytest.mark.parametrize("normalise", ["constant", "cosine"])
def test_zero_stays_zero_under_every_power(normalise):
    bags = [np.zeros((1, 2)), np.zeros((3, 2))]
    gram = PowerKernel(SizeKernel(), 0.5, normalise)(bags, bags)
    np.testing.assert_allclose(gram, [[0, 0], [0, 1 if normalise == "cosine" else 2]], rtol=1e-12)


@pytest.mark.parametrize("made", [EmpiricalMap, ClippedKernel])
def test_features_are_centred_and_in_units_of_their_spread_over_the_reference_bags(golden_bags, made):
    bags, _ = golden_bags
    damped = PowerKernel(BoxCounting(grid=FIVE), 0.5, "cosine")
    reference = bags[:4]
    kernel = made(damped, reference)
    phi = kernel.features(reference)
    np.testing.assert_allclose(phi.mean(axis=0), 0, atol=1e-12)
    assert (phi**2).sum() / 4 == pytest.approx(1.0)
    raw = damped(bags, reference)
    if made is ClippedKernel:
        values, vectors = np.linalg.eigh(damped(reference, reference))
        raw = raw @ (vectors / np.sqrt(values))
    centred = raw - raw[:4].mean(axis=0)
    expected = centred @ centred.T / ((centred[:4] ** 2).sum() / 4)
    np.testing.assert_allclose(kernel(bags, bags), expected, atol=1e-10)
    np.testing.assert_allclose(kernel.diagonal(bags), expected.diagonal(), atol=1e-10)
