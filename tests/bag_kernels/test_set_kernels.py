"""Set kernels: sums of an instance kernel over pairs of instances, and feature_extremes."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import RBF, Linear, Polynomial, as_bags, solve
from milopt.bag_kernels.set_kernels import Minimax, SetKernel
from milopt.errors import ParameterError
from milopt.models import BoxCountingSVM, SetKernelSVM
from tests.models.test_set_kernel_svm import random_bags, set_gram


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("normalise", ["mean", "sum", "feature"])
def test_grams_agree_with_the_definition(normalise, power):
    bags, _ = random_bags(0)
    others, _ = random_bags(1)
    base = Polynomial(2, 0.5, 1.0)
    kernel = SetKernel(base, normalise, power)

    def powered(a, b):
        return base(a, b) ** power

    whole = set_gram(powered, [*bags, *others], normalise)
    np.testing.assert_allclose(kernel(bags, bags), whole[:12, :12], rtol=1e-10)
    np.testing.assert_allclose(kernel(bags, others), whole[:12, 12:], rtol=1e-10)
    gram = kernel(as_bags(bags), as_bags(bags))
    assert (gram == kernel(bags, bags).T).all() or np.allclose(gram, gram.T)
    np.testing.assert_allclose(kernel.diagonal(bags), whole.diagonal()[:12], rtol=1e-10)


def test_the_set_kernel_gives_the_golden_row(golden_bags):
    bags, _ = golden_bags
    expected = [2.036631, 1.377231, 1.296650, 1.760936, 0.608034, 0.982651]
    np.testing.assert_allclose(SetKernel(RBF(0.5), "sum")(bags, bags)[0], expected, atol=1e-5)


def test_bags_of_one_give_the_kernel_of_instances():
    x = np.random.default_rng(0).normal(size=(9, 3))
    bags = list(x[:, None])
    for normalise in ("sum", "mean", "feature"):
        np.testing.assert_allclose(SetKernel(RBF(0.7), normalise)(bags, bags), RBF(0.7)(x, x), rtol=1e-12)


def test_a_function_of_bags_has_the_optimum_of_a_sum_over_instances():
    bags, y = random_bags(3)
    by_bags = BoxCountingSVM(C=2.0, kernel=SetKernel(RBF(0.5), "feature"), gram="plain", scale="none").program(bags, y)
    by_instances = SetKernelSVM(C=2.0, kernel=RBF(0.5), normalise="feature", scale="none").program(bags, y)
    values = [solve(program, "highs").require_certified().objective for program in (by_bags, by_instances)]
    assert values[0] == pytest.approx(values[1], rel=1e-7)


def test_minimax_compares_extremes():
    bags, _ = random_bags(2)
    s = np.array([np.concatenate([bag.min(axis=0), bag.max(axis=0)]) for bag in bags])
    np.testing.assert_allclose(Minimax(3)(bags, bags), (s @ s.T + 1) ** 3, rtol=1e-10)


def test_fitting_fits_the_inner_kernel():
    bags = as_bags(random_bags(4)[0])
    assert SetKernel(RBF("median")).fitted_to(bags).kernel == RBF("median").fitted(bags.instances)
    assert SetKernel(RBF("median")).fitted_to(random_bags(4)[0]) == SetKernel(RBF("median")).fitted_to(bags)
    assert SetKernel(RBF(1.0)).is_semidefinite
    assert Minimax().fitted_to(bags) == Minimax()


@pytest.mark.parametrize("make", [lambda: SetKernel(Linear(), "mean", 0), lambda: Minimax(0)])
def test_powers_are_whole_numbers(make):
    with pytest.raises(ParameterError, match="A kernel is RBF"):
        SetKernel(3)
    with pytest.raises(ParameterError, match=r"a kernel of instances, and Minimax\(power=1\) is a kernel of bags"):
        SetKernel(Minimax())
    with pytest.raises(ParameterError, match="power must be a whole number of at least 1, not 0"):
        make()
