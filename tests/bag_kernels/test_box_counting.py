"""Box-counting kernel: golden matrix, grid, invalid input, and independence of other bags."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from math import log

import numpy as np
import pytest

from milopt import Bags, Options, Program, as_bags, solve
from milopt.bag_kernels import exact
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.count_cache import cached_counts, clear_count_cache
from milopt.bag_kernels.grid import Grid, fit_grid
from milopt.bag_kernels.random_boxes import RandomBoxes
from milopt.compilation.status import Termination
from milopt.deadline import deadline
from milopt.declaration.bags.bag_rows import as_bag_rows
from milopt.declaration.kernels.gram_cache import cached_gram, result_cache
from milopt.errors import BagsError, ParameterError, TimeLimitError
from milopt.models.box_svm import BoxCountingSVM

GOLDEN = np.array(
    [
        [112, 76, 76, 68, 32, 48],
        [76, 108, 66, 72, 16, 54],
        [76, 66, 100, 54, 24, 46],
        [68, 72, 54, 91, 10, 54],
        [32, 16, 24, 10, 40, 8],
        [48, 54, 46, 54, 8, 73],
    ]
)
FIVE = Grid(np.full(2, -1.0), np.full(2, 3.0), np.tile(np.arange(4) - 0.5, 2), np.array([0, 4, 8]))
"""Grid in the plane with codes 0 to 4 for the values -1 to 3."""


@pytest.fixture(autouse=True)
def _forgetful():
    clear_count_cache()


def random_bags(seed=0, m=10, D=4, most=5):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(rng.integers(1, most), D)) for _ in range(m)]


def test_box_counting_gives_the_golden_matrix(golden_bags):
    bags, _ = golden_bags
    kernel = BoxCounting(grid=FIVE)
    np.testing.assert_allclose(kernel(bags, bags), GOLDEN, rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(bags), GOLDEN.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(kernel.log_diagonal(bags), np.log(GOLDEN.diagonal()), rtol=1e-12)
    assert kernel.count_details(bags, bags).exact == 1.0


def test_explicit_features_have_the_kernel_as_inner_product(golden_bags):
    bags, _ = golden_bags
    points = [exact.as_grid_points(np.asarray(bag) + 1) for bag in bags]
    features = np.array([[exact.box_meets(P, *box) for box in exact.all_boxes((4, 4))] for P in points], dtype=float)
    np.testing.assert_array_equal(features @ features.T, GOLDEN)


@pytest.mark.parametrize("rule", ["guaranteed", "fast"])
def test_estimates_are_symmetric_and_depend_on_the_two_bags_alone(rule):
    bags = as_bags(random_bags(m=12))
    kernel = BoxCounting(rule=rule, exact_below=0, bins=10, epsilon=0.3).fitted_to(bags)
    gram = kernel.log(bags, bags)
    assert (gram == gram.T).all()
    assert (kernel.count_details(bags, bags).draws > 0).all()
    clear_count_cache()
    np.testing.assert_array_equal(kernel.log(bags[3:7], bags[5:]), gram[3:7, 5:])
    clear_count_cache()
    reversed_bags = as_bags([np.asarray(bag)[::-1] for bag in bags])
    np.testing.assert_array_equal(kernel.log(reversed_bags, bags), gram)
    clear_count_cache()
    assert (replace(kernel, seed=1).log(bags, bags) != gram).mean() > 0.5


@pytest.mark.parametrize("exact_below", [0, 30])
def test_any_number_of_workers_gives_the_same_numbers(exact_below):
    bags = as_bags(random_bags(m=20))
    grams = []
    for jobs in (None, 1, 2, 3):
        clear_count_cache()
        kernel = BoxCounting(exact_below=exact_below, bins=10, epsilon=0.3, jobs=jobs).fitted_to(bags)
        grams.append(kernel.log(bags, bags))
    for gram in grams[1:]:
        np.testing.assert_array_equal(gram, grams[0])


def test_an_exact_count_may_cost_as_much_as_the_draws_it_replaces():
    proved, fast = BoxCounting().counting_settings.max_volumes, BoxCounting(rule="fast").counting_settings.max_volumes
    assert 5_000 < proved < 20_000
    assert 20 * fast < proved < 10 * BoxCounting(epsilon=0.3).counting_settings.max_volumes
    assert BoxCounting(rule="fast", exact_below=7).counting_settings.max_volumes == 7
    bags = as_bags(random_bags(m=6, D=9, most=9))
    shares = [BoxCounting(rule=rule).fitted_to(bags).count_details(bags, bags).exact for rule in ("guaranteed", "fast")]
    assert shares[0] > shares[1]


def test_cached_counts_are_not_computed_again(monkeypatch):
    from milopt.bag_kernels import box_counting

    bags = as_bags(random_bags())
    kernel = BoxCounting().fitted_to(bags)
    gram = kernel.log(bags, bags)
    monkeypatch.setattr(box_counting, "count_pairs", None)
    np.testing.assert_array_equal(kernel.log(bags[2:5], bags), gram[2:5])
    np.testing.assert_array_equal(BoxCounting().fitted_to(bags).log(bags, bags), gram)


def test_repeated_instances_and_their_order_change_nothing():
    bags = random_bags()
    again = [np.vstack([bag[::-1], bag[:1]]) for bag in bags]
    kernel = BoxCounting(exact_below=0).fitted_to(as_bags(bags))
    np.testing.assert_array_equal(kernel.log(bags, bags), kernel.log(again, bags))


def test_166_features_neither_overflow_nor_lose_precision(data_set):
    bags = as_bags(data_set("musk1")[0][:6])
    kernel = BoxCounting().fitted_to(bags)
    logs = kernel.log(bags, bags)
    assert np.isfinite(logs).all()
    assert logs.max() > 1000
    grid = kernel.grid
    points = [exact.as_grid_points(codes) for codes in np.split(grid.codes(bags), bags.offsets[1:-1])]
    s = tuple(int(v) for v in grid.s)
    small = min(range(6), key=lambda i: len(points[i]))
    other = min((i for i in range(6) if i != small), key=lambda i: len(points[i]))
    assert logs[small, other] == pytest.approx(
        log(exact.count_by_recursion(points[small], points[other], s)), abs=1e-10
    )
    with pytest.raises(ParameterError, match=re.escape("which overflow: use kernel.log(A, B)")):
        kernel(bags, bags)


def test_a_constant_feature_changes_nothing():
    bags = random_bags()
    more = [np.hstack([bag, np.full((len(bag), 1), 7.0)]) for bag in bags]
    logs, longer_logs = (BoxCounting().fitted_to(as_bags(some)).log(some, some) for some in (bags, more))
    np.testing.assert_allclose(logs, longer_logs, rtol=1e-13)
    elsewhere = BoxCounting().fitted_to(as_bags(more))
    moved = [np.hstack([bag, np.full((len(bag), 1), 9.0)]) for bag in bags]
    np.testing.assert_allclose(elsewhere.log(moved, more), logs, rtol=1e-13)


@pytest.mark.parametrize("binning", ["uniform", "quantile", "rank"])
def test_a_grid_is_fitted_to_training_bags_and_clips_other_values(binning):
    train = Bags(np.array([[0.0], [1.0], [2.0], [10.0]]), [0, 2, 4])
    grid = fit_grid(train, binning, 4)
    expected = {"uniform": [0, 0, 0, 3], "quantile": [0, 1, 2, 3], "rank": [0, 1, 2, 3]}[binning]
    assert grid.codes(train)[:, 0].tolist() == expected
    new = Bags(np.array([[-5.0], [99.0], [1.5]]), [0, 3])
    codes = grid.codes(new)[:, 0].tolist()
    assert codes[0] == 0
    assert codes[1] == int(grid.s[0]) == 3
    assert grid.count_values_outside_grid(new) == 2
    assert BoxCounting(binning=binning, bins=4).fitted_to(train).count_values_outside_grid(new) == 2


def test_unseen_values_get_the_number_of_smaller_training_values():
    grid = fit_grid(Bags(np.array([[3.0], [1.0], [7.0]]), [0, 3]), "rank", 100)
    new = Bags(np.array([[0.0], [1.0], [2.0], [3.0], [6.0], [7.0], [8.0]]), [0, 7])
    assert grid.codes(new)[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 2]


def test_a_range_that_overflows_is_still_divided():
    huge = Bags(np.array([[-1e308], [1e308], [0.4e308], [-0.2e308]]), [0, 2, 4])
    small = Bags(huge.instances / 2.0**8, huge.offsets)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for binning in ("uniform", "quantile", "rank"):
            grids = [fit_grid(bags, binning, 10) for bags in (huge, small)]
            np.testing.assert_array_equal(grids[0].cuts, grids[1].cuts * 2.0**8)
            np.testing.assert_array_equal(grids[0].codes(huge), grids[1].codes(small))
        huge_logs, small_logs = (BoxCounting().fitted_to(bags).log(bags, bags) for bags in (huge, small))
    np.testing.assert_array_equal(huge_logs, small_logs)


@pytest.mark.parametrize("kind", [BoxCounting, RandomBoxes])
def test_kernels_are_equal_if_their_grids_are(kind):
    bags = random_bags()
    kernel, same, other = (
        kind().fitted_to(some) for some in (bags, [b.copy() for b in bags], [7 * bag for bag in bags])
    )
    assert kernel == same
    assert hash(kernel) == hash(same)
    assert kernel != other
    assert kernel != kind()
    assert repr(kernel) == f"{kind.__name__}()"
    points = as_bag_rows(as_bags(bags))
    alone = cached_gram(other, points, points)
    with result_cache():
        first = cached_gram(kernel, points, points)
        np.testing.assert_array_equal(cached_gram(other, points, points), alone)
        assert cached_gram(same, points, points) is first
    assert (first != alone).any()


def test_many_distinct_values_become_quantiles():
    rng = np.random.default_rng(0)
    grid = fit_grid(Bags(rng.exponential(size=(500, 1)), [0, 500]), "rank", 10)
    assert grid.s.tolist() == [9]
    counts = np.bincount(grid.codes(Bags(rng.exponential(size=(5000, 1)), [0, 5000]))[:, 0])
    assert counts.min() > 300


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must lie strictly between 0 and 1, not 0.0."),
        ({"epsilon": 1.0}, "epsilon must lie strictly between 0 and 1, not 1.0."),
        ({"delta": 1.5}, "delta must lie strictly between 0 and 1, not 1.5."),
        (
            {"epsilon": 1e-9},
            "epsilon = 1e-09 with delta = 0.01 needs 2e+19 draws per pair, and the maximum is 1e+09: choose a larger "
            "epsilon or delta.",
        ),
        (
            {"epsilon": 1e-200, "rule": "fast"},
            "epsilon = 1e-200 with delta = 0.01 needs inf draws per pair, and the maximum is 1e+09: choose a larger "
            "epsilon or delta.",
        ),
        ({"bins": 1}, "bins must be a whole number of at least 2, not 1."),
        ({"bins": 10**9}, "bins must be at most 65536, not 1000000000: every feature stores as many cuts."),
        ({"binning": "log"}, 'binning must be one of "uniform", "quantile", "rank", not \'log\'.'),
        ({"rule": "best"}, 'rule must be one of "guaranteed", "fast", "karp-luby", "self-adjusting", not \'best\'.'),
        ({"exact_below": -1}, "exact_below must be a whole number of at least 0, not -1."),
        ({"seed": 0.5}, "seed must be a whole number of at least 0, not 0.5."),
        ({"jobs": 0}, "jobs must be a whole number of at least 1, or -1 for one per processor, not 0."),
        ({"jobs": "two"}, "jobs must be a whole number of at least 1, or -1 for one per processor, not 'two'."),
        ({"grid": 3}, "grid must be a Grid, or None to fit one to the training bags, not 3."),
    ],
)
def test_invalid_parameters_are_rejected_with_one_sentence(wrong, message):
    with pytest.raises(ParameterError) as caught:
        BoxCounting(**wrong)
    assert str(caught.value) == message


INTERRUPTED = """
import os, signal
from threading import Timer
import numpy as np
from milopt import BoxCounting, as_bags
from milopt.bag_kernels.count_cache import cached_counts

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
few, many = (as_bags([rng.normal(size=(n, 30)) for _ in range(12)]) for n in (3, 100))
ways = [("guaranteed", 0), ("fast", 0), ("karp-luby", 0), ("self-adjusting", 0), ("guaranteed", 10**14)]
for rule, exact_below in ways:
    BoxCounting(rule=rule, exact_below=exact_below, epsilon=0.5).fitted_to(few).log(few, few)  # compiled by now
    kernel = BoxCounting(rule=rule, exact_below=exact_below, epsilon=1e-3, jobs=JOBS).fitted_to(many)
    Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        kernel.log(many, many)
    except KeyboardInterrupt:
        print(rule, cached_counts(kernel.cache_key).seeds.size)
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a process of its own")
@pytest.mark.parametrize("jobs", [None, 2])
def test_ctrl_c_ends_counts_that_would_take_long(jobs: int | None) -> None:
    script = INTERRUPTED.replace("JOBS", str(jobs))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n") == ["guaranteed 0", "fast 0", "karp-luby 0", "self-adjusting 0", "guaranteed 0", ""]


def _endless() -> tuple[BoxCounting, Bags]:
    """Return a count that takes hours, by functions that are already compiled."""
    rng = np.random.default_rng(0)
    few, many = (as_bags([rng.normal(size=(n, 30)) for _ in range(8)]) for n in (3, 100))
    BoxCounting(exact_below=0, epsilon=0.5).fitted_to(few).log(few, few)
    return BoxCounting(exact_below=0, epsilon=1e-4, delta=0.1).fitted_to(many), many


def test_a_deadline_ends_counts_that_would_take_long():
    kernel, bags = _endless()
    with pytest.raises(TimeLimitError, match="36 pairs of bags were counted: give more time"), deadline(0.05):
        kernel.log(bags, bags)
    assert cached_counts(kernel.cache_key).seeds.size == 0


def test_the_time_limit_of_a_solve_ends_counts_that_would_take_long():
    kernel, bags = _endless()
    program = Program("counted")
    f = program.function("f", kernel)
    program.minimize(f.norm_squared() - f(bags).sum())
    program.subject_to(f(bags) <= 1, name="rows")
    result = solve(program, "clarabel", time_limit=0.05)
    assert result.termination is Termination.LIMIT
    assert "pairs of bags were counted" in result.message


def test_the_time_limit_of_a_fit_ends_counts_that_would_take_long():
    kernel, bags = _endless()
    model = BoxCountingSVM(kernel=kernel, gram="clipped", scale="none", options=Options(time_limit=0.05))
    with pytest.raises(TimeLimitError, match="pairs of bags were counted"):
        model.fit(bags, np.arange(8) % 2)


def test_too_many_cuts_are_rejected_before_they_are_computed():
    bags = as_bags([np.vstack([np.zeros(4000), np.ones(4000)])])
    with pytest.raises(ParameterError, match=r"65536 bins of each of 4000 features .* use at most 33554 bins"):
        BoxCounting(bins=65536).fitted_to(bags)
    assert BoxCounting(bins=65536, binning="rank").fitted_to(bags).grid.s.tolist() == [1] * 4000


def test_a_missing_grid_and_bags_of_other_dimensions_are_rejected():
    bags = as_bags(random_bags())
    with pytest.raises(ParameterError, match=re.escape("call kernel.fitted_to(bags) with the training bags first")):
        BoxCounting()(bags, bags)
    with pytest.raises(BagsError, match="The grid was fitted to 4 features, and these bags have 3"):
        BoxCounting().fitted_to(bags).log(random_bags(D=3), random_bags(D=3))
    with pytest.raises(BagsError, match="bags with the same number of features, not 3 and 4"):
        BoxCounting().fitted_to(bags)(random_bags(D=3), bags)


def test_too_many_exact_steps_are_rejected() -> None:
    with pytest.raises(ParameterError, match=r"exact_below must be at most 1e\+15"):
        BoxCounting(exact_below=10**400)
