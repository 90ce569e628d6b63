"""Witnesses if values tie or functions vanish: chosen by ridge scores, never by rounding errors."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp

import milopt
from milopt import RBF, Bags, Linear, Precomputed, Program, as_bags, bag_max
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import MiloptWarning
from milopt.models import MISVM
from milopt.schemes import witness_choice
from milopt.schemes.ridge_scores import inherited_targets, instance_features, ridge_scores

Floats = npt.NDArray[np.float64]
ROUTES = (("clarabel", "primal"), ("clarabel", "dual"), ("highs", "primal"), ("highs", "dual"))


def _hidden(seed: int, count: int = 40) -> tuple[Bags, Floats]:
    """Return bags with one shifted instance in every positive bag, so that the means of the bags hardly differ."""
    rng = np.random.default_rng(seed)
    instances = rng.normal(size=(count, 5, 4))
    y = np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
    shift = rng.normal(size=4)
    for i in np.flatnonzero(y > 0):
        instances[i, rng.integers(5)] += 2.0 * shift / np.linalg.norm(shift)
    return as_bags(list(instances)), y


@pytest.mark.parametrize("seed", range(3))
def test_all_solvers_and_forms_agree_if_the_first_function_vanishes(seed: int) -> None:
    bags, y = _hidden(seed)
    fits = [MISVM(kernel=Linear(), solver=solver, form=form).fit(bags, y) for solver, form in ROUTES]
    objectives = [fit.result_.objective for fit in fits]
    first = fits[0].result_.history[0].objective
    assert first == pytest.approx(10.0 * len(bags), rel=1e-6), "the first step is f = 0"
    assert objectives == pytest.approx([objectives[0]] * len(ROUTES), rel=1e-6)
    assert objectives[0] < 0.9 * first
    assert all(fit.result_.point is PointStatus.CERTIFIED for fit in fits)


def test_the_order_of_instances_does_not_matter_when_the_function_vanishes() -> None:
    bags, y = _hidden(0)
    rng = np.random.default_rng(0)
    shuffled = as_bags([bag[rng.permutation(len(bag))] for bag in bags])
    first, other = (MISVM(kernel=Linear(), solver="highs").fit(some, y).result_ for some in (bags, shuffled))
    assert other.objective == pytest.approx(first.objective, rel=1e-9)
    name = next(iter(first.witnesses))
    chosen = [np.asarray(b.instances)[r.witnesses[name]] for b, r in ((bags, first), (shuffled, other))]
    assert np.array_equal(chosen[0], chosen[1])


def test_equal_training_scores_raise_a_warning() -> None:
    """Every bag is the same set, so that only a constant function is left."""
    bags = as_bags([np.array([[0.0, 1.0], [1.0, 0.0]])] * 6)
    y = np.array([1, -1] * 3)
    with pytest.warns(MiloptWarning, match="All 6 training scores are equal"):
        model = MISVM(kernel=Linear(), solver="clarabel").fit(bags, y)
    report = model.report()
    assert "All 6 training scores are equal" in str(report)
    assert "All 6 training scores are equal" in report.as_dict()["message"]
    assert "ridge regression" in model.result_.message


def test_different_scores_raise_no_warning_and_need_no_ridge_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> Floats:
        raise AssertionError("Nothing ties, so that nothing needs ridge scores.")

    monkeypatch.setattr(witness_choice, "ridge_scores", never)
    rng = np.random.default_rng(0)
    y = np.array([1.0, -1.0] * 6)
    bags = as_bags([rng.normal(size=(3, 2)) + label for label in y])
    with warnings.catch_warnings():
        warnings.simplefilter("error", MiloptWarning)
        assert "equal" not in MISVM(kernel=RBF(0.5), solver="clarabel").fit(bags, y).report().as_dict()["message"]


def _choose(bags: Bags, w: Floats) -> npt.NDArray[np.intp]:
    """Return the witnesses of bags 0, 2, ... at a fixed linear function."""
    y = np.where(np.arange(len(bags)) % 2 == 0, 1.0, -1.0)
    program = Program("fixed")
    v = program.variable("v", w.size, lower=w, upper=w)
    slack = program.variable("slack", len(bags), lower=0)
    program.minimize(slack.sum())
    program.subject_to(y * bag_max(np.asarray(bags.instances) @ v, bags) >= 1 - slack, name="margin")
    result = milopt.solve(program, "highs", "ccp")
    assert result.termination is Termination.STATIONARY
    return np.asarray(next(iter(result.witnesses.values())))


def test_ties_are_broken_by_ridge_score_then_lexicographically() -> None:
    """The function depends on the first feature, the labels on the second; the third determines the order."""
    positive = np.array([[1.0, 0.0, 0.0], [1.0, 5.0, 2.0], [1.0, 5.0, 2.0], [0.0, 9.0, 0.0]])
    negative = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
    bags = as_bags([positive, negative])
    assert _choose(bags, np.array([1.0, 0.0, 0.0]))[0] == 1
    assert _choose(as_bags([positive[::-1], negative]), np.array([1.0, 0.0, 0.0]))[0] == 1
    # The scores of the two rows differ only by rounding, so the lexicographic order decides.
    mirrored = np.array([[1.0, 1.0], [1.0, -1.0]])
    bags = as_bags([mirrored, np.array([[0.0, 1.0], [0.0, -1.0]])])
    assert _choose(bags, np.array([1.0, 1e-12]))[0] == 1
    assert _choose(as_bags([mirrored[::-1], bags[1]]), np.array([1.0, 1e-12]))[0] == 0


def test_ridge_scores_are_those_of_the_normal_equations_dense_or_sparse() -> None:
    bags, y = _hidden(1, 10)
    program = MISVM(kernel=Linear(), scale="none").program(bags, y)
    atom = program.maxima()[0]
    assert inherited_targets(program, atom).tolist() == y.tolist()
    features = np.asarray(instance_features(atom))
    assert np.array_equal(features, np.asarray(bags.instances))
    standard = (features - features.mean(axis=0)) / features.std(axis=0)
    target = y[bags.bag_of] - y[bags.bag_of].mean()
    expected = standard @ np.linalg.solve(standard.T @ standard + np.eye(4), standard.T @ target)
    assert ridge_scores(program, atom, features) == pytest.approx(expected)
    assert ridge_scores(program, atom, sp.csr_array(features)) == pytest.approx(expected)


def test_points_of_a_precomputed_kernel_have_features() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(8, 2))
    bags = as_bags([np.arange(8.0)[4 * i : 4 * i + 4, None] for i in range(2)])
    program = MISVM(kernel=Precomputed(points @ points.T), scale="none").program(bags, np.array([1, -1]))
    atom = program.maxima()[0]
    assert np.asarray(instance_features(atom)) == pytest.approx(points @ points.T)


def test_targets_are_directions_if_all_rows_require_the_same_value() -> None:
    bags = as_bags([np.array([[1.0], [-1.0]])] * 3)
    program = Program("directions")
    w = program.variable("w", 1, lower=-1, upper=1)
    program.maximize(np.array([1.0, -1.0, 0.0]) @ bag_max(np.asarray(bags.instances) @ w, bags))
    assert inherited_targets(program, program.maxima()[0]).tolist() == [1.0, -1.0, 0.0]
