"""Margin bounds: complexities are below the bound, selections are at most the counts, and the arithmetic is right."""

from __future__ import annotations

from itertools import product
from math import exp, gamma, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt import RBF, Bags, as_bags
from milopt.declaration.kernels.kernel import CallableKernel, Kernel, Linear, Polynomial
from milopt.declaration.programs.ball import FunctionBall
from milopt.errors import ConvexityError
from milopt.outcome.generalisation import ensemble_bounds
from milopt.outcome.margin_bounds import (
    bound_at_fixed_rho,
    bound_for_all_rho,
    rademacher_bound,
    rademacher_bound_by_moments,
)
from milopt.outcome.selection_count import count_selections, ln_cell_counts, within_bag_dimension

COUNTED = [(8, 3, 2, 48), (20, 4, 2, 240), (20, 4, 3, 14282), (40, 5, 2, 800)]
"""Number of bags, their size, their dimension, and Cover's count."""


def random_bags(seed: int, sizes: list[int], dimension: int) -> Bags:
    rng = np.random.default_rng(seed)
    return as_bags([rng.normal(size=(size, dimension)) for size in sizes])


def directions(seed: int, count: int, dimension: int) -> np.ndarray:
    u = np.random.default_rng(seed).normal(size=(dimension, count))
    return u / np.linalg.norm(u, axis=0)


def count_chosen(bags: Bags, u: np.ndarray) -> int:
    """Return the number of distinct selections that these functions make."""
    return int(np.unique(bags.argmax(bags.instances @ u), axis=1).shape[1])


def signs(m: int, seed: int = 0) -> np.ndarray:
    """Return all sign vectors, or a sample that is large enough to estimate a mean."""
    if m <= 8:
        return np.array(list(product((-1.0, 1.0), repeat=m)))
    return np.random.default_rng(seed).choice([-1.0, 1.0], size=(1000, m))


@pytest.mark.parametrize(("m", "size", "dimension", "cover"), COUNTED)
def test_covers_count_lies_between_the_observed_selections_and_the_papers_count(
    m: int, size: int, dimension: int, cover: int
) -> None:
    bags = random_bags(0, [size] * m, dimension)
    counted = count_selections(Linear(), bags)
    assert counted.q == dimension
    assert counted.ln_cover is not None
    assert exp(counted.ln_cover) == pytest.approx(cover)
    assert exp(counted.ln_product) == pytest.approx(float(size) ** m)
    assert counted.ln_count == counted.ln_cover
    assert count_chosen(bags, directions(1, 20_000, dimension)) <= cover < (m * size) ** (2 * dimension)


def test_triangles_in_the_plane_have_three_selections_each() -> None:
    """Each triangle changes its selection at three directions of its own, which divide the circle into arcs."""
    assert count_chosen(random_bags(0, [3] * 8, 2), directions(1, 100_000, 2)) == 24


@given(st.integers(0, 1000), st.lists(st.integers(1, 4), min_size=1, max_size=7), st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_observed_selections_are_at_most_either_count(seed: int, sizes: list[int], dimension: int) -> None:
    bags = random_bags(seed, sizes, dimension)
    pairs, q = sum(size * (size - 1) // 2 for size in sizes), min(dimension, sum(sizes) - len(sizes))
    made = count_chosen(bags, directions(seed, 5000, dimension))
    assert made <= np.prod(sizes)
    assert made <= round(exp(ln_cell_counts(pairs, q)[q]))
    assert log(made) <= count_selections(Linear(), bags).ln_count + 1e-9


def test_few_hyperplanes_have_all_combinations_of_sides_as_cells() -> None:
    np.testing.assert_allclose(np.exp(ln_cell_counts(3, 6)), [1, 2, 6, 8, 8, 8, 8])
    assert ln_cell_counts(0, 2).tolist() == [0, 0, 0]
    # Many hyperplanes: 2 sum_{k<3} C(P - 1, k), in integers.
    P = 10**9
    assert ln_cell_counts(P, 3)[3] == pytest.approx(log(2 + 2 * (P - 1) + (P - 1) * (P - 2)), rel=1e-14)


@pytest.mark.parametrize("kernel", [RBF(0.5), Linear(), Polynomial(2), Polynomial(3, coef0=0.0)])
def test_the_dimension_is_the_rank_of_the_gram_matrix_centred_within_bags(kernel: Kernel) -> None:
    bags = random_bags(0, [2, 3, 4, 5] * 5, 2)
    J = bags.membership.toarray()
    C = np.eye(70) - J @ np.diag(1 / bags.sizes) @ J.T
    values = np.linalg.eigvalsh(C @ kernel(bags.instances, bags.instances) @ C)
    rank = int((values > 1e-10 * values[-1]).sum())
    assert within_bag_dimension(kernel, bags, 50) == rank
    assert rank == {RBF: 50, Linear: 2}.get(type(kernel), rank)
    assert within_bag_dimension(kernel, bags, rank - 1) is None


def test_differences_between_bags_add_no_dimension() -> None:
    bags = as_bags([np.array([[float(i), 0.0], [float(i), 1.0]]) for i in range(9)])
    assert within_bag_dimension(Linear(), bags, 2) == 1
    assert count_selections(Linear(), bags).ln_count == pytest.approx(log(2))


def test_a_dimension_above_the_useful_range_is_not_computed() -> None:
    counted = count_selections(RBF(5.0), random_bags(0, [5] * 30, 3))
    assert counted.q is None
    assert counted.ln_cover is None
    assert "above the product" in counted.reason
    assert counted.ln_count == pytest.approx(30 * log(5))


def test_a_dimension_that_is_too_expensive_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    bags = random_bags(0, [5] * 30, 3)
    monkeypatch.setattr("milopt.outcome.selection_count.MAX_MULTIPLICATIONS", 2.0**2 * 150)
    counted = count_selections(Linear(), bags)
    assert (counted.q, counted.ln_cover, counted.ln_count) == (None, None, counted.ln_product)
    assert counted.reason == "q, the dimension of differences within bags, is above 2: finding it would cost much."


@pytest.mark.parametrize(("m", "size", "dimension", "cover"), COUNTED)
def test_rademacher_complexities_are_below_the_bound(m: int, size: int, dimension: int, cover: int) -> None:
    bags = random_bags(0, [size] * m, dimension)
    h = bags.max(bags.instances @ directions(1, 5000, dimension))
    R = np.linalg.norm(bags.instances, axis=1).max()
    complexity = (signs(m) @ h).max(axis=1).mean() / m
    assert 0.1 < complexity < rademacher_bound(1.0, R, m, log(cover))


@given(st.integers(0, 1000), st.lists(st.integers(1, 3), min_size=1, max_size=8), st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_complexities_with_both_signs_and_constants_are_below_the_bound(
    seed: int, sizes: list[int], dimension: int
) -> None:
    """The mean over all signs is exact; the supremum over functions of norm 1.5 is taken over many of them."""
    bags, Lam, m = random_bags(seed, sizes, dimension), 1.5, len(sizes)
    h = bags.max(bags.instances @ (Lam * directions(seed, 2000, dimension)))
    ball = FunctionBall(Linear(), bags, Lam)
    R = float(np.linalg.norm(bags.instances, axis=1).max())
    margins = np.ones(m)
    constants = Lam * R * np.ones((m, 1))
    classes = {
        ensemble_bounds([ball], margins, 0.5): h,
        ensemble_bounds([ball, ball], margins, 0.5): np.hstack([h, -h]),
        ensemble_bounds([ball], margins, 0.5, bias=0.0): np.hstack([h, constants, -constants]),
        ensemble_bounds([ball, ball], margins, 0.5, bias=0.0): np.hstack([h, -h, constants, -constants]),
    }
    for bounds, columns in classes.items():
        complexity = (signs(m) @ columns).max(axis=1).mean() / m
        assert pytest.approx(R) == bounds.R
        assert complexity <= bounds.Rad + 1e-12
        assert complexity <= bounds.Rad_mgf + 1e-12


@pytest.mark.parametrize(
    ("m", "corrected", "printed"), [(5, 0.4255, 0.2878), (50, 0.1407, 0.0910), (500, 0.0447, 0.0288)]
)
def test_the_printed_lemma_is_false_and_the_corrected_one_is_not(m: int, corrected: float, printed: float) -> None:
    """Bags of one instance each, with orthonormal features: the Gaussian complexity is E||g|| / m."""
    half = m / 2
    # Gamma overflows for m = 500, where its ratio is sqrt(m/2) up to 1/(4m).
    norm = sqrt(2) * gamma(half + 0.5) / gamma(half) if m < 300 else sqrt(m) * (1 - 1 / (4 * m))
    assert norm / m == pytest.approx(corrected, abs=1e-4)
    # With |Theta| = 1 the lemma claims sqrt(sqrt(2) - 1) Lam R / sqrt(m).
    assert sqrt(sqrt(2) - 1) / sqrt(m) == pytest.approx(printed, abs=1e-4)
    assert norm / m > printed
    orthonormal = as_bags([row[None] for row in np.eye(m)])
    bounds = ensemble_bounds([FunctionBall(Linear(), orthonormal, 1.0)], np.ones(m), 0.5)
    assert (bounds.ln_Theta, bounds.ln_product, bounds.ln_cover, bounds.q) == (0, 0, 0, 0)
    assert norm / m <= bounds.Rad <= bounds.Rad_mgf
    # Rademacher signs leave the norm at sqrt(m): the corrected bound is attained.
    assert bounds.Rad == pytest.approx(sqrt(m) / m)


def test_bounds_agree_with_values_computed_by_hand() -> None:
    series = rademacher_bound(1.0, 1.0, 50, min(50 * log(121), ln_cell_counts(50 * 121 * 60, 30)[30]))
    assert bound_at_fixed_rho(0.0, 0.1, series, 50) == pytest.approx(65, abs=0.5)
    for m, value in ((100, 2.37), (1000, 0.82), (10_000, 0.28)):
        plane = rademacher_bound(1.0, 1.0, m, ln_cell_counts(10 * m, 2)[2])
        assert bound_at_fixed_rho(0.0, 0.5, plane, m) == pytest.approx(value, abs=5e-3)
    assert rademacher_bound_by_moments(2.0, 3.0, 4, 1.0) == pytest.approx(3 * sqrt(4 * sqrt(2)))
    expected = 0.1 + 4 * 0.3 / 0.25 + sqrt(log(3) / 50) + 3 * sqrt(log(80) / 100)
    assert bound_for_all_rho(0.1, 0.25, 0.3, 1.0, 50) == pytest.approx(expected)


@given(st.floats(0.01, 2.0), st.floats(1.01, 3.0), st.floats(0.0, 5.0), st.integers(2, 1000))
@settings(max_examples=50, deadline=None)
def test_a_larger_margin_with_the_same_error_gives_a_smaller_bound(
    rho: float, factor: float, rad: float, m: int
) -> None:
    assert bound_at_fixed_rho(0.1, factor * rho, rad, m) <= bound_at_fixed_rho(0.1, rho, rad, m)
    assert bound_for_all_rho(0.1, factor * rho, rad, 1.0, m) <= bound_for_all_rho(0.1, rho, rad, 1.0, m)
    assert bound_at_fixed_rho(0.1, rho, rad, m) <= bound_for_all_rho(0.1, rho, rad, 1.0, m)


@given(st.integers(0, 1000), st.sampled_from([0.1, 0.25, 0.5, 1.0]))
@settings(max_examples=20, deadline=None)
def test_the_margin_error_is_at_most_nu_and_the_best_margin_minimises_the_bound(seed: int, nu: float) -> None:
    bags = random_bags(seed, [2] * 40, 2)
    margins = np.random.default_rng(seed).uniform(-0.2, 1.0, size=40)
    bounds = ensemble_bounds([FunctionBall(RBF(1.0), bags, 1.0)], margins, nu)
    assert bounds.E_rho == (margins < bounds.rho).mean() <= nu
    assert (margins <= bounds.rho).mean() > nu or nu == 1
    grid = np.linspace(1e-3, 1.0, 2000)
    tried = [bound_for_all_rho(float((margins < rho).mean()), rho, bounds.Rad, 1.0, 40) for rho in grid]
    assert bounds.B_best <= min(tried) + 1e-12
    assert bounds.B_best <= bounds.B_unif
    assert bounds.B_best == pytest.approx(min(tried), rel=0.05)


@pytest.mark.parametrize("bias", [None, 0.2])
@pytest.mark.parametrize(("m", "size"), [(12, 2), (4000, 1)])
def test_the_report_line_states_the_bound_and_its_margin(m: int, size: int, bias: float | None) -> None:
    """With few bags the best margin is the largest possible one, with many bags it is one of theirs.

    The printed numbers reproduce the bound.
    """
    bags, margins = random_bags(0, [size] * m, 2), np.linspace(-0.1, 0.9, m)
    bounds = ensemble_bounds([FunctionBall(RBF(1.0), bags, 1.0)], margins, 0.3, bias=bias)
    assert bounds.E_best == (margins / bounds.scale < bounds.rho_best).mean() != bounds.E_rho
    assert bounds.B_best == bound_for_all_rho(bounds.E_best, bounds.rho_best, bounds.Rad, bounds.Lam * bounds.R, m)
    assert (bounds.rho_best == 1.0) == (m == 12)
    assert f"at most {bounds.B_best:.4g}" in bounds.line()
    assert bounds.line().endswith(f"by margin error {bounds.E_best:.4g} at rho {bounds.rho_best:.4g}")
    for error, rho, bound in (
        (bounds.E_rho, bounds.rho, bounds.B_unif),
        (bounds.E_best, bounds.rho_best, bounds.B_best),
    ):
        assert f"{rho:.4g}: margin error {error:.4g}, bound {bound:.4g}\n" in f"{bounds}\n"


def test_bags_on_the_margin_are_not_below_it_by_rounding() -> None:
    bags = random_bags(0, [2] * 8, 2)
    margins = np.array([0.1, 0.3 - 1e-15, 0.3 - 1e-12, 0.3, 0.3, 0.4, 0.5, 0.6])
    bounds = ensemble_bounds([FunctionBall(RBF(1.0), bags, 1.0)], margins, 0.5)
    assert bounds.rho == pytest.approx(0.3)
    assert bounds.E_rho == 1 / 8


def test_bounds_depend_only_on_the_ratio_of_radius_and_margin() -> None:
    bags, margins = random_bags(0, [3] * 20, 2), np.linspace(-0.1, 0.8, 20)
    bounds = ensemble_bounds([FunctionBall(Linear(), bags, 1.0)], margins, 0.2, bias=0.3)
    wide = ensemble_bounds([FunctionBall(Linear(), bags, 7.0)], 7 * margins, 0.2, bias=7 * 0.3)
    for name in ("B_fixed", "B_unif", "B_best", "E_rho", "scale"):
        assert getattr(wide, name) == pytest.approx(getattr(bounds, name))
    assert wide.rho == pytest.approx(7 * bounds.rho)


def test_the_l1_ball_lies_in_the_ball_of_its_longest_atom() -> None:
    bags, atoms = random_bags(0, [2, 2], 2), np.array([[3.0, 4.0], [1.0, 0.0]])
    assert FunctionBall(Linear(), bags, 0.5, atoms).norm == pytest.approx(2.5)
    assert FunctionBall(RBF(1.0), bags, 0.5, atoms).norm == 0.5


def test_counts_of_classes_are_summed() -> None:
    short, long = random_bags(0, [5] * 6, 2), random_bags(1, [3] * 6, 4)
    short_ball, long_ball = FunctionBall(RBF(50.0), short, 1.0), FunctionBall(RBF(50.0), long, 2.0)
    bounds = ensemble_bounds([short_ball, short_ball, long_ball, long_ball], np.ones(6), 0.5, bias=0.1)
    assert exp(bounds.ln_Theta) == pytest.approx(2 * 5**6 + 2 * 3**6 + 1)
    assert (bounds.N, bounds.P_S, bounds.Lam, bounds.R) == (48, 48, 2.0, 1.0)


def test_a_non_positive_margin_gives_infinite_bounds_and_valid_json() -> None:
    bounds = ensemble_bounds(
        [FunctionBall(Linear(), random_bags(0, [2] * 4, 2), 1.0)], np.array([-1.0, -0.5, -0.2, 0.0]), 0.25
    )
    assert (bounds.B_fixed, bounds.B_unif) == (inf, inf)
    plain = bounds.as_dict()
    assert (plain["B_fixed"], plain["B_unif"]) == (None, None)
    assert plain["B_best"] > 1
    assert plain["clipped"] == {"B_fixed": 1.0, "B_unif": 1.0, "B_best": 1.0}
    assert "(vacuous)" in str(bounds)


def test_zero_features_give_an_infinite_bound() -> None:
    bounds = ensemble_bounds(
        [FunctionBall(Linear(), as_bags([np.zeros((2, 2))] * 4), 1.0)], np.array([-1.0, 1, 1, 1]), 0.5, bias=1.0
    )
    assert (bounds.rho, bounds.rho_star, bounds.ln_Theta, bounds.B_best) == (0, 1, pytest.approx(log(2)), inf)
    assert bounds.as_dict()["scale"] is None


def test_the_papers_count_is_reported_for_linear_kernels_only() -> None:
    bags = random_bags(0, [3] * 8, 2)
    assert ensemble_bounds([FunctionBall(Linear(), bags, 1.0)], np.ones(8), 0.5).ln_printed == pytest.approx(
        4 * log(24)
    )
    assert ensemble_bounds([FunctionBall(RBF(1.0), bags, 1.0)], np.ones(8), 0.5).ln_printed is None


@pytest.mark.parametrize("size", [4, 600])
def test_an_indefinite_kernel_has_no_bound(size: int) -> None:
    def minus(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.asarray(A @ B.T) - 3.0

    bags = random_bags(0, [size] * 3, 2)
    with pytest.raises(ConvexityError, match="There is no bound: the kernel is not positive semidefinite"):
        ensemble_bounds([FunctionBall(CallableKernel(minus), bags, 1.0)], np.ones(3), 0.5)
    plain = ensemble_bounds([FunctionBall(CallableKernel(lambda A, B: A @ B.T), bags, 1.0)], np.ones(3), 0.5)
    assert plain.ln_Theta == pytest.approx(
        ensemble_bounds([FunctionBall(Linear(), bags, 1.0)], np.ones(3), 0.5).ln_Theta
    )
