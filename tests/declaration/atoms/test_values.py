"""Compare values and slopes of atoms with numpy, scipy.special and finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from scipy import special

from milopt.declaration.atoms import (
    Atom,
    bag_log_sum_exp,
    bag_sum_largest,
    entropy,
    exp,
    huber,
    log_sum_exp,
    logistic,
    quad_form,
    relative_entropy,
    sum_largest,
)
from milopt.testing.atom_samples import AtomSamples
from milopt.testing.plain_notation import PlainNotation

from .cases import BAGS, CASES, W, atom_of, variable

Formula = Callable[[np.ndarray], np.ndarray | float]


def per_bag(function: Callable[[np.ndarray], float]) -> Formula:
    """Return the formula that applies a function to each bag."""
    return lambda e: np.array([function(run) for run in np.split(e, BAGS.offsets[1:-1])])


FORMULAS: dict[str, Formula] = {
    "absolute": np.abs,
    "norm_inf": lambda e: np.linalg.norm(e, np.inf),
    "sum_largest": lambda e: np.sort(e)[-2:].sum(),
    "sum_largest, one": np.max,
    "sum_largest, all": np.sum,
    "bag_sum_largest": per_bag(lambda run: np.sort(run)[-2:].sum()),
    "huber": lambda e: special.huber(1.0, e),
    "huber of a scalar": lambda e: special.huber(0.3, e),
    "logistic": lambda e: -special.log_expit(-e),
    "exp": np.exp,
    "log_sum_exp": special.logsumexp,
    "log_sum_exp of three": lambda e: special.logsumexp(e.reshape(3, 3), axis=1),
    "bag_log_sum_exp": per_bag(lambda run: 0.5 * special.logsumexp(run / 0.5)),
    "bag_log_sum_exp, hot": per_bag(lambda run: 9.0 * special.logsumexp(run / 9.0)),
    "entropy": lambda e: -special.entr(e).sum(),
    "relative_entropy": lambda e: special.rel_entr(e[::2], e[1::2]).sum(),
    "norm": np.linalg.norm,
    "group_norms": lambda e: np.array([np.linalg.norm(part) for part in np.split(e, [1, 4])]),
    "norm1": lambda e: np.abs(e).sum(),
    "sum_squares": lambda e: e @ e,
    "square": np.square,
    "quad_form": lambda e: e @ W @ e,
    "quad_form, diagonal": lambda e: e[0] ** 2 + 3.0 * e[2] ** 2,
    "maximum": lambda e: e.reshape(3, 3).max(axis=1),
    "minimum": lambda e: e.reshape(3, 2).max(axis=1),
    "positive_part": lambda e: e.reshape(3, 2).max(axis=1),
    "bag_max": per_bag(np.max),
}


def points(atom: Atom) -> list[np.ndarray]:
    """Return random points at which the slopes of an atom are finite."""
    samples = AtomSamples(atom, 7)
    return [samples.point_with_slopes(number) for number in range(20)]


@pytest.mark.parametrize("name", FORMULAS)
def test_values_agree_with_numpy_and_scipy(name: str) -> None:
    atom = atom_of(CASES[name]())
    for e in points(atom):
        expected = np.atleast_1d(FORMULAS[name](e))
        np.testing.assert_allclose(atom.value(e, atom.segments), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_slopes_agree_with_finite_differences(name: str) -> None:
    """Points with equal or tiny entries are skipped, because atoms may have kinks there."""
    atom = atom_of(CASES[name]())
    runs, step = atom.segments, 1e-6
    for number, e in enumerate(points(atom)):
        if number % 3 == 2 or np.abs(e).min() < 0.02:
            continue
        for j in range(e.size):
            change = step * (np.arange(e.size) == j)
            difference = (atom.value(e + change, runs) - atom.value(e - change, runs))[runs.run_of_entry[j]] / (
                2 * step
            )
            assert atom.slopes(e, runs)[j] == pytest.approx(difference, rel=1e-5, abs=1e-5)


SCALARS = [name for name in CASES if name.endswith("scalar")]
VECTORS = (
    "absolute",
    "huber",
    "logistic",
    "exp",
    "square",
    "maximum",
    "minimum",
    "positive_part",
    "log_sum_exp of three",
)


@pytest.mark.parametrize("name", [*SCALARS, "maximum of two scalars", "log_sum_exp of two scalars"])
def test_an_atom_of_a_scalar_is_a_scalar(name: str) -> None:
    assert CASES[name]().shape == ()


@pytest.mark.parametrize("name", VECTORS)
def test_entrywise_atoms_keep_the_shape(name: str) -> None:
    assert CASES[name]().shape == (3,)


def test_atoms_over_bags_have_one_entry_per_bag() -> None:
    for name in ("bag_max", "bag_sum_largest", "bag_log_sum_exp"):
        assert CASES[name]().shape == (len(BAGS),)
        assert atom_of(CASES[name]()).argument_bags is BAGS


def test_an_atom_with_another_argument_keeps_its_bags_and_parts() -> None:
    atom = atom_of(CASES["bag_max"]())
    assert atom.with_argument(variable(10)).argument_bags is BAGS
    other = variable(6)
    parts = atom_of(CASES["positive_part"]()).with_argument(other).parts  # type: ignore[attr-defined]
    point = np.arange(6.0)
    assert [list(part.evaluate(lambda leaf: point)) for part in parts] == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]


def test_large_arguments_do_not_overflow() -> None:
    e = np.array([-1e4, 1e4, 0.0, 1e4 - 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        entrywise = atom_of(logistic(variable(4)))
        np.testing.assert_array_equal(entrywise.value(e, entrywise.segments), [0.0, 1e4, np.log(2.0), 1e4 - 1.0])
        np.testing.assert_allclose(entrywise.slopes(e, entrywise.segments), [0.0, 1.0, 0.5, 1.0])
        scalar = atom_of(log_sum_exp(variable(4)))
        expected = 1e4 + np.log1p(np.exp(-1.0))
        np.testing.assert_allclose(scalar.value(e, scalar.segments), [expected], rtol=1e-15)
        np.testing.assert_allclose(scalar.slopes(-e, scalar.segments), [1.0, 0.0, 0.0, 0.0])


def test_exp_overflows_to_infinity() -> None:
    atom = atom_of(exp(variable(2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(atom.value(np.array([710.0, -1e4]), atom.segments), [np.inf, 0.0])


def test_ties_go_to_the_smallest_index() -> None:
    atom = atom_of(sum_largest(variable(5), 2))
    np.testing.assert_array_equal(atom.slopes(np.array([1.0, 3.0, 2.0, 2.0, 2.0]), atom.segments), [0, 1, 1, 0, 0])
    for name in ("norm_inf", "bag_max"):
        atom = atom_of(CASES[name]())
        slopes = atom.slopes(np.ones(atom.segments.entry_count), atom.segments)
        np.testing.assert_array_equal(np.flatnonzero(slopes), atom.segments.offsets[:-1])


def test_all_entries_of_bags_smaller_than_k_are_added_up() -> None:
    atom = atom_of(bag_sum_largest(variable(10), BAGS, 3))
    np.testing.assert_array_equal(atom.value(np.arange(10.0), atom.segments), [0.0, 6.0, 9.0, 24.0])


def test_log_sum_exp_tends_to_the_maximum_for_small_temperatures() -> None:
    e = np.random.default_rng(0).normal(size=10)
    largest = atom_of(CASES["bag_max"]()).value(e, atom_of(CASES["bag_max"]()).segments)
    for T in (1.0, 1e-2, 1e-4):
        atom = atom_of(bag_log_sum_exp(variable(10), BAGS, T))
        value = atom.value(e, atom.segments)
        assert (value >= largest).all()
        assert (value <= largest + T * np.log(BAGS.sizes) + 1e-15).all()


def test_the_edge_of_the_domain_has_a_value_and_no_finite_slopes() -> None:
    atom = atom_of(entropy(variable(3)))
    runs = atom.segments
    edge = np.array([0.0, 1.0, 2.0])
    assert atom.value(edge, runs) == pytest.approx([2.0 * np.log(2.0)])
    assert atom.value(edge - [1e-12, 0.0, 0.0], runs) == atom.value(edge, runs)
    assert not atom.has_finite_slopes(edge, edge, runs)
    assert atom.has_finite_slopes(edge + 0.1, edge + 0.2, runs)
    pair = atom_of(relative_entropy(variable(1), variable(1)))
    assert pair.value(np.array([0.0, 1.0]), pair.segments) == [0.0]
    assert not pair.has_finite_slopes(np.array([1.0, 0.0]), np.array([1.0, 1.0]), pair.segments)


@pytest.mark.parametrize("name", CASES)
def test_lower_bounds_on_unbounded_boxes_are_not_nan(name: str) -> None:
    atom = atom_of(CASES[name]())
    runs = atom.segments
    infinite = np.full(runs.entry_count, np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for low, high in (
            (-infinite, infinite),
            (0.0 * runs.run_of_entry, infinite),
            (-infinite, 0.0 * runs.run_of_entry),
        ):
            assert not np.isnan(atom.least(low, high, runs)).any()
            assert atom.monotone(low, high, runs).shape == (runs.entry_count,)
    assert atom.least(1.0 + 0.0 * runs.run_of_entry, 1.0 + 0.0 * runs.run_of_entry, runs) == pytest.approx(
        atom.value(np.ones(runs.entry_count), runs)
    ) or name.startswith("quad_form")


def test_the_slopes_of_a_norm_are_finite_at_tiny_arguments() -> None:
    atom = atom_of(CASES["norm"]())
    slopes = atom.slopes(np.array([1e-310, 0.0, 0.0, 0.0]), atom.segments)
    assert np.isfinite(slopes).all()
    assert np.linalg.norm(slopes) <= 1.0


def test_latex_states_the_number_of_entries_that_are_added_up() -> None:
    notation = PlainNotation(is_scalar=False)
    assert atom_of(CASES["sum_largest, all"]()).latex("", notation) == r"\max_{|S| = 3} \sum_{i \in S} e_{i}"
    bags = r"\max_{S \subseteq B_{i}, |S| = \min(|B_{i}|, 2)} \sum_{x \in S} e_{x}"
    assert atom_of(CASES["bag_sum_largest"]()).latex("i", notation) == bags


def test_a_negative_weight_reverses_the_monotonicity_of_a_quadratic_form() -> None:
    atom = atom_of(quad_form(variable(2), [1.0, -1.0]))
    np.testing.assert_array_equal(atom.monotone(np.ones(2), 2.0 * np.ones(2), atom.segments), [1, -1])


def test_huber_is_half_the_square_near_zero() -> None:
    atom = atom_of(huber(variable(2), M=2.0))
    np.testing.assert_allclose(atom.value(np.array([1.0, -3.0]), atom.segments), [0.5, 4.0])
