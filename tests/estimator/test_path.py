"""Paths: several values of a hyper-parameter in one warm run, compared with separate fits."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import RBF, Linear, Nystrom
from milopt.compilation.status import PointStatus
from milopt.errors import MiloptError, ParameterError
from milopt.estimator.path import can_share, fit_together
from milopt.evaluation import selection
from milopt.evaluation.selection import WarmGroup, grid_combinations, group_for_warm_runs, select_candidate
from milopt.models import LSSVM, MILES, MIORDM, MISVM, ODM, SetKernelSVM, ShapeletBoost
from milopt.solving.step_session import StepSession

RNG = np.random.default_rng(3)
Y = np.where(np.arange(24) % 2, 1, -1)
BAGS = [RNG.normal(size=(RNG.integers(2, 5), 3)) for _ in Y]
for bag, label in zip(BAGS, Y, strict=True):
    bag[0] += label
LINEAR = {"kernel": Linear()}
CONVEX = [
    (SetKernelSVM, {}, "C"),
    (SetKernelSVM, LINEAR, "C"),
    (SetKernelSVM, {"kernel": Nystrom(RBF("median"), 8)}, "C"),
    (LSSVM, {}, "C"),
    (ODM, {}, "C"),
    (MILES, {"columns": "whole"}, "lam"),
    (MILES, {"columns": "generated"}, "lam"),
]


def count_sessions(monkeypatch):
    """Return a list that gets an entry for each session that is opened."""
    opened = []
    original = StepSession.__init__

    def record(self, *arguments, **named):
        opened.append(1)
        original(self, *arguments, **named)

    monkeypatch.setattr(StepSession, "__init__", record)
    return opened


@pytest.mark.parametrize(("cls", "fixed", "name"), CONVEX)
def test_a_path_of_convex_programs_gives_the_numbers_of_separate_fits(cls, fixed, name):
    values = [0.05, 0.2, 1.0, 5.0]
    if name not in cls._fields:
        name = "lam" if "lam" in cls._fields else next(iter(cls.grid))
    models = milopt.path(cls(**fixed), BAGS, Y, **{name: values})
    for model, value in zip(models, values, strict=True):
        alone = cls(**fixed, **{name: value}).fit(BAGS, Y)
        assert getattr(model, name) == value
        assert model.result_.certificate.worst <= 1e-6
        assert model.result_.objective == pytest.approx(alone.result_.objective, rel=1e-6, abs=1e-8)
        if cls is not MILES:  # the solution of a linear program need not be unique
            np.testing.assert_allclose(model.decision_function(BAGS), alone.decision_function(BAGS), atol=1e-3)


@pytest.mark.parametrize(("cls", "fixed"), [(MISVM, LINEAR), (MISVM, {}), (MIORDM, LINEAR)])
def test_each_convex_step_of_a_dc_path_has_the_optimum_at_its_witnesses(cls, fixed):
    name = "C" if "C" in cls._fields else "lam"
    values = [0.1, 1.0, 10.0]
    models = milopt.path(cls(**fixed), BAGS, Y, **{name: values})
    for model, value in zip(models, values, strict=True):
        alone = cls(**fixed, **{name: value}).fit(BAGS, Y)
        steps = [step.objective for step in model.result_.history]
        others = [step.objective for step in alone.result_.history]
        np.testing.assert_allclose(steps, others, rtol=1e-5, atol=1e-7)
        assert model.result_.termination == alone.result_.termination
        for bag_max in model.result_.witnesses:
            np.testing.assert_array_equal(model.result_.witnesses[bag_max], alone.result_.witnesses[bag_max])


@pytest.mark.parametrize(("cls", "fixed"), [(SetKernelSVM, {}), (SetKernelSVM, LINEAR), (MISVM, LINEAR)])
def test_a_path_opens_one_session(monkeypatch, cls, fixed):
    opened = count_sessions(monkeypatch)
    milopt.path(cls(**fixed), BAGS, Y, C=[0.1, 1.0, 10.0])
    assert len(opened) == 1


def test_a_path_with_several_classes_has_one_result_per_class():
    labels = np.arange(24) % 3
    models = milopt.path(SetKernelSVM(), BAGS, labels, C=[0.5, 5.0])
    for model in models:
        alone = SetKernelSVM(C=model.C).fit(BAGS, labels)
        assert [r.objective for r in model.results_] == pytest.approx([r.objective for r in alone.results_], rel=1e-6)
        np.testing.assert_array_equal(model.predict(BAGS), alone.predict(BAGS))


def test_weights_enter_a_path():
    weight = np.linspace(0.5, 2.0, 24)
    model = milopt.path(SetKernelSVM(), BAGS, Y, weight, C=[1.0, 2.0])[1]
    assert model.result_.objective == pytest.approx(SetKernelSVM(C=2.0).fit(BAGS, Y, weight).result_.objective)


def test_a_value_that_is_not_valid_fails_alone_but_raises_from_path():
    models = [SetKernelSVM(C=value) for value in (1.0, -1.0, 2.0)]
    first, wrong, last = fit_together(models, "C", BAGS, Y)
    assert isinstance(wrong, MiloptError)
    assert (first.C, last.C) == (1.0, 2.0)
    assert last.result_.objective == pytest.approx(SetKernelSVM(C=2.0).fit(BAGS, Y).result_.objective, rel=1e-6)
    with pytest.raises(ParameterError, match="C must be a positive number"):
        milopt.path(SetKernelSVM(), BAGS, Y, C=[1.0, -1.0])


def test_fields_that_change_the_preparation_are_fitted_separately(monkeypatch):
    assert can_share(SetKernelSVM(), "C")
    assert not any(can_share(SetKernelSVM(), name) for name in ("kernel", "scale", "random_state", "solver", "none"))
    assert not can_share(ShapeletBoost(), "two_sided")
    opened = count_sessions(monkeypatch)
    models = milopt.path(SetKernelSVM(), BAGS, Y, scale=["minmax01", "zscore"])
    assert len(opened) == 2
    assert [model.scale for model in models] == ["minmax01", "zscore"]
    kernels = milopt.path(SetKernelSVM(), BAGS, Y, kernel=[RBF("median"), Linear()])
    assert kernels[1].result_.objective == pytest.approx(SetKernelSVM(kernel=Linear()).fit(BAGS, Y).result_.objective)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: milopt.path(SetKernelSVM(), BAGS, Y), "path requires the values of one hyper-parameter"),
        (lambda: milopt.path(SetKernelSVM(), BAGS, Y, C=[1.0], kernel=[RBF()]), "given: C, kernel"),
        (lambda: milopt.path(SetKernelSVM(), BAGS, Y, C=1.0), "C must be a sequence of values"),
        (lambda: milopt.path(SetKernelSVM(), BAGS, Y, D=[1.0]), "has no parameter 'D'"),
        (lambda: milopt.path("mi-svm", BAGS, Y, C=[1.0]), "path requires a model of milopt"),
    ],
)
def test_wrong_arguments_raise_an_error_of_one_sentence(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_a_grid_is_divided_into_groups_that_differ_in_one_number():
    kernels = (RBF(1.0), Linear())
    grid = grid_combinations({"C": [10.0, 0.1], "kernel": kernels, "aggregation": ["mean"]})
    groups = group_for_warm_runs(SetKernelSVM(), grid)
    assert [group.name for group in groups] == ["C", "C"]
    assert [[(grid[i]["C"], grid[i]["kernel"]) for i in group.indices] for group in groups] == [
        [(0.1, kernels[0]), (10.0, kernels[0])],
        [(0.1, kernels[1]), (10.0, kernels[1])],
    ]
    alone = group_for_warm_runs(SetKernelSVM(), grid_combinations({"kernel": kernels}))
    assert alone == [WarmGroup("", (0,)), WarmGroup("", (1,))]


def test_selection_fits_a_grid_in_warm_runs_with_the_same_candidates(monkeypatch):
    bags, grid = milopt.as_bags(BAGS), grid_combinations({"C": [0.01, 1.0, 100.0], "kernel": (RBF(1.0), Linear())})
    opened = count_sessions(monkeypatch)
    together = select_candidate(SetKernelSVM, {}, grid, bags, Y, 0)
    assert len(opened) == 5 * 2, "one session per fold and kernel"
    monkeypatch.setattr(
        selection, "group_for_warm_runs", lambda _, grid: [WarmGroup("", (i,)) for i in range(len(grid))]
    )
    alone = select_candidate(SetKernelSVM, {}, grid, bags, Y, 0)
    assert together.chosen == alone.chosen
    assert [c.correct for c in together.candidates] == [c.correct for c in alone.candidates]
    np.testing.assert_allclose(
        [c.clarity for c in together.candidates], [c.clarity for c in alone.candidates], atol=1e-4
    )
    assert len(together.fits) == len(alone.fits) == 30


@pytest.mark.parametrize(
    ("changed", "rebuilds"),
    [
        ({"cost": 3.0}, 0),
        ({"upper": 0.5}, 0),
        ({"need": 1.5}, 0),
        ({"factor": 2.0}, 1),
        ({"cost": 3.0, "upper": 0.5}, 1),
    ],
)
def test_a_session_passes_only_the_difference_between_two_programs_to_the_solver(changed, rebuilds):
    def declare(cost=1.0, upper=2.0, need=1.0, factor=1.0):
        program = milopt.Program("cover")
        x = program.variable("x", 3, lower=0, upper=upper)
        program.minimize(cost * x[0] + 2 * x[1] + 4 * x[2])
        program.subject_to(factor * x[0] + x[1] + x[2] >= need)
        return program

    with StepSession(declare(), "highs") as session:
        session.solve()
        session.switch_program(declare(**changed))
        outcome = session.solve()
        assert session.rebuilds == rebuilds
    assert outcome.status is PointStatus.CERTIFIED
    assert outcome.objective == pytest.approx(milopt.solve(declare(**changed), "clarabel").objective, abs=1e-6)
