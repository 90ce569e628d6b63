"""check_model accepts every registered model, and describes the error of wrong models."""

from __future__ import annotations

import re

import pytest

from milopt import BagClassifier
from milopt.errors import ParameterError, UnknownNameError
from milopt.solving import registry
from milopt.testing import ConformanceError, check_model, model_case_names
from tests.testing import wrong_models as wrong

WRONG = {
    wrong.NegatedScore: {"fit, easy bags": r"labels \d+% of easy training bags right: a positive score must mean"},
    wrong.FirstInstance: {"order of instances": "the score of a bag depends on the order of its instances"},
    wrong.CentredOnTheBatch: {"scores, bag by bag": "the score of a bag depends on the bags that are scored with it"},
    wrong.ByPlace: {"order of bags": "the score of a bag depends on the place of the bag among the others"},
    wrong.IgnoresWeights: {
        "weights, repeated and left out bags": "with weights and .* with repeated bags: a bag of weight 2 must count"
    },
    wrong.DrawsAnyNumber: {
        "fit, twice the same": "two fits have different scores: draw random numbers with self.random_state only",
    },
    wrong.DeclaresAnother: {
        "declare, a program that scores bags": "two calls of declare .* return different programs: it keeps a state",
        "saved and loaded": "it cannot be saved and loaded: ",
    },
    wrong.WithoutAScore: {"declare, a program that scores bags": r"program\.score\(lambda bags"},
    wrong.NotSymmetric: {"symmetric classes": "changes the scores by .*: has_symmetric_classes must be False"},
    wrong.Undocumented: {"fields, documented": "the fields depth have no docstring"},
    wrong.SharedDefault: {"fields, defaults": "the default of widths is a list, which all models share"},
    wrong.UnknownGrid: {"fields, grid": "grid names c, and the model has no such field"},
    wrong.BySolver: {"fit, by several solvers": "the optimum is .* by .* and .* by .*: declare must not depend on"},
    wrong.ChangesItself: {"fit, shapes and labels": "fit changes the hyper-parameter C: store computed values"},
}


def of_milopt(model: type[BagClassifier]) -> list[str]:
    """Return the names of the cases that are not scikit-learn's."""
    return [case for case in model_case_names(model) if not case.startswith("scikit-learn")]


@pytest.mark.parametrize("name", registry.model_names())
def test_every_registered_model_passes(name: str) -> None:
    model = registry.model_class(name)
    report = check_model(model, only=of_milopt(model))
    assert len(report.passed) >= 21


def test_correct_models_pass_all_cases_and_those_of_scikit_learn() -> None:
    report = check_model(wrong.Right)
    assert sum(case.startswith("scikit-learn") for case in report.passed) > 40
    assert set(report.left_out) >= {"registered by its name"}
    check_model(wrong.LinearRidge, only=of_milopt(wrong.LinearRidge))


@pytest.mark.parametrize("model", WRONG, ids=lambda model: model.__name__)
def test_wrong_model_is_rejected_with_a_description(model: type[BagClassifier]) -> None:
    expected = WRONG[model]
    with pytest.raises(ConformanceError) as caught:
        check_model(model, only=list(expected))
    failed = caught.value.report.failed
    assert list(failed) == list(expected)
    for case, pattern in expected.items():
        assert re.search(pattern, failed[case]), failed[case]


def test_exceptions_are_stated_by_the_author() -> None:
    reason = {"order of instances": "the first instance of a bag is its reference"}
    assert check_model(wrong.FirstInstance, except_for=reason, only=list(reason)).excepted == reason
    with pytest.raises(UnknownNameError, match='No case is called "instance order"'):
        check_model(wrong.FirstInstance, except_for={"instance order": "reference"})


def test_subject_must_be_a_class_of_models() -> None:
    with pytest.raises(ParameterError, match=r"check_model needs a class, as in check_model\(MyModel\), not Right"):
        check_model(wrong.Right())  # type: ignore[arg-type]
