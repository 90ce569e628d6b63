"""The kernel of the largest similarity between two bags, and functions over a dictionary of bags."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt import RBF, Program, as_bags, solve
from milopt.declaration.kernels.max_similarity import MaxSimilarity, single_instance_bags
from milopt.declaration.kernels.similarity import similarity

K = RBF(0.5)
RNG = np.random.default_rng(0)
BAGS = as_bags([RNG.normal(size=(count, 3)) for count in (2, 4, 1, 3)])


def test_values_are_the_largest_over_both_bags():
    expected = [[max(K(a[None], b[None])[0, 0] for a in A for b in B) for B in BAGS] for A in BAGS]
    np.testing.assert_allclose(MaxSimilarity(K)(BAGS, BAGS), expected, atol=1e-12)
    np.testing.assert_allclose(MaxSimilarity(K).diagonal(BAGS), np.diag(expected), atol=1e-12)


def test_bags_of_one_point_give_the_similarities_of_bags_to_points():
    points = BAGS.instances[3:8]
    values = MaxSimilarity(K)(BAGS, single_instance_bags(points))
    np.testing.assert_allclose(values, similarity(K, BAGS, points), atol=1e-15)
    sparse = MaxSimilarity(K)(as_bags([sp.csr_array(bag) for bag in BAGS]), single_instance_bags(sp.csr_array(points)))
    np.testing.assert_allclose(sparse, values, atol=1e-12)


def test_a_function_over_a_dictionary_of_bags_is_a_combination_of_similarities():
    program = Program("fit")
    f = program.function("f", MaxSimilarity(K), dictionary=single_instance_bags(BAGS.instances[:4]))
    target = similarity(K, BAGS, BAGS.instances[:4]) @ np.array([1.0, -2.0, 0.5, 3.0])
    t = program.variable("t", len(BAGS), lower=0)
    program.minimize(t.sum())
    program.subject_to(f(BAGS) - target <= t)
    program.subject_to(target - f(BAGS) <= t)
    result = solve(program)
    assert abs(result.objective) <= 1e-8
    np.testing.assert_allclose(result.value(f(BAGS)), target, atol=1e-7)
