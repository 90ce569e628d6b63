"""Generated bags: labels follow from the sites that a bag hits, and equal seeds give equal bags."""

from __future__ import annotations

import numpy as np
import pytest

from milopt.data.generated import _draw_centres, conjunctive, multi_site_binding
from milopt.errors import ParameterError


def hits(bags, centres, radius):
    """Return, for each bag, which sites it hits."""
    inside = [np.abs(np.asarray(bag)[:, None] - centres).max(axis=2) <= radius for bag in bags]
    return np.array([hits_of_instances.any(axis=0) for hits_of_instances in inside])


@pytest.mark.parametrize("dimension", [2, 5, 20])
def test_binding_needs_enough_sites(dimension):
    bags, y = multi_site_binding(60, dimension, sites=5, needed=4, seed=3, concept=2)
    hit_counts = hits(bags, _draw_centres(5, dimension, 0.1, 2), 0.1).sum(axis=1)
    np.testing.assert_array_equal(hit_counts, np.where(y == 1, 4, 3))
    assert y.sum() == 30
    assert set(bags.sizes.tolist()) == {8}


def test_bags_hit_the_requested_number_of_sites():
    bags, y = multi_site_binding(200, 5, sites=5, needed=4, hits=(0, 5))
    hit_counts = hits(bags, _draw_centres(5, 5, 0.1, 0), 0.1).sum(axis=1)
    np.testing.assert_array_equal(hit_counts >= 4, y == 1)
    counts = np.bincount(hit_counts)
    assert (counts[:4] > 10).all()
    assert (counts[4:] > 30).all()


def test_a_conjunction_needs_every_attracting_site_and_no_repelling_one():
    bags, y = conjunctive(80, 3, attracting=3, repelling=2, seed=1)
    is_hit = hits(bags, _draw_centres(5, 3, 0.1, 0), 0.1)
    np.testing.assert_array_equal(is_hit[:, :3].all(axis=1) & ~is_hit[:, 3:].any(axis=1), y == 1)
    negative = is_hit[y == 0]
    assert (~negative[:, :3].all(axis=1)).mean() == pytest.approx(0.5)


def test_seeds_draw_bags_and_concepts_draw_sites():
    first, again, other = (multi_site_binding(10, seed=seed)[0].digest() for seed in (0, 0, 1))
    assert first == again != other
    assert multi_site_binding(10, concept=1)[0].digest() != first


@pytest.mark.parametrize(
    ("make", "wrong", "message"),
    [
        (multi_site_binding, {"bags": 0}, "bags must be a whole number of at least 1, not 0"),
        (multi_site_binding, {"needed": 6}, r"needed must be at most sites \(5\) and size \(8\), not 6"),
        (multi_site_binding, {"radius": 0.6}, "radius must be above 0 and below 0.5 \\(0.5 fills the cube\\)"),
        (multi_site_binding, {"radius": 0.4999, "dimension": 1, "sites": 1, "needed": 1}, "leave hardly any room"),
        (
            multi_site_binding,
            {"hits": (4, 5)},
            r"hits must reach from below needed \(4\) to at least that.*not \(4, 5\)",
        ),
        (multi_site_binding, {"hits": (0, 6)}, r"and to at most sites \(5\) and size \(8\), not \(0, 6\)"),
        (conjunctive, {"radius": float("nan")}, "radius must be above 0 and below 0.5"),
        (multi_site_binding, {"radius": 0.4, "dimension": 1}, "do not fit into 1 dimensions"),
        (multi_site_binding, {"radius": "x"}, "radius must be above 0 and below 0.5 .* not 'x'"),
        (multi_site_binding, {"seed": -1}, "seed must be a whole number of at least 0, not -1"),
        (multi_site_binding, {"hits": 3}, "hits must be two whole numbers, the minimum and the maximum, not 3"),
        (multi_site_binding, {"hits": (1, "x")}, r"hits\[1\] must be a whole number of at least 0, not 'x'"),
        (conjunctive, {"concept": "a"}, "concept must be a whole number of at least 0, not 'a'"),
        (conjunctive, {"size": 2}, r"size must be above the number of attracting sites \(2\), not 2"),
    ],
)
def test_invalid_parameters_are_rejected(make, wrong, message):
    with pytest.raises(ParameterError, match=message):
        make(**wrong)
