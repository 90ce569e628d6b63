"""Explanations of bags, and reports of fits."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.base import clone

from milopt import RBF, Options, as_bags
from milopt.compilation.status import PointStatus
from milopt.errors import BagsError
from milopt.models import MISVM, SetKernelSVM, SoftKSC
from milopt.solving.solver_parts import solvers_in_choice


@pytest.mark.parametrize("target", ["y", "y3"])
def test_an_explanation_decomposes_the_score_of_a_bag(model, target, data) -> None:
    model.fit(data.bags, getattr(data, target))
    number = max(range(36), key=lambda i: len(data.bags[i]))
    bag = data.bags[number]
    explanation = model.explain(bag)
    scores = np.atleast_2d(model.decision_function([bag]).T).T[0]
    column = 0 if target == "y" else int(np.argmax(scores))
    instance = model.instance_scores([bag])[0].reshape(len(bag), -1)[:, column]
    assert explanation.label == model.predict([bag])[0]
    assert explanation.score == pytest.approx(scores[column])
    np.testing.assert_allclose(explanation.instance_scores, instance)
    assert explanation.witness == np.argmax(instance)
    for j in range(len(bag)):
        rest = np.atleast_2d(model.decision_function([np.delete(bag, j, axis=0)]).T).T[0, column]
        assert explanation.contributions[j] == pytest.approx(explanation.score - rest, abs=1e-9)
    assert f"Bag of {len(bag)} instances: predicted class {explanation.label}, " in str(explanation)
    assert f"  {explanation.witness:8d}*" in str(explanation)


def test_under_a_maximum_only_the_witness_contributes(data) -> None:
    model = MISVM(C=10.0).fit(data.bags, data.y)
    for bag in (bag for bag in data.bags if len(bag) > 1):
        explanation = model.explain(bag)
        ordered = np.sort(explanation.instance_scores)
        expected = np.zeros(len(bag))
        expected[explanation.witness] = ordered[-1] - ordered[-2]
        np.testing.assert_allclose(explanation.contributions, expected, atol=1e-9)


def test_a_bag_of_one_instance_contributes_its_score_and_a_large_bag_is_shown_in_part(data) -> None:
    model = SetKernelSVM().fit(data.bags, data.y)
    alone = model.explain(data.bags[0][:1])
    assert alone.contributions.tolist() == [alone.score]
    many = model.explain(np.concatenate(data.bags)[:30])
    assert "and 20 more that contribute less." in str(many)
    assert many.contributions.shape == (30,)
    huge = model.explain(np.concatenate(data.bags * 4)[:200])
    known = np.isfinite(huge.contributions)
    assert known.sum() == 20_000 // 199
    far = np.abs(huge.instance_scores - np.median(huge.instance_scores))
    assert far[known].min() >= far[~known].max() - 1e-12
    assert "The other 100 have scores near the median" in str(huge)
    with pytest.raises(BagsError, match="1-D"):
        model.explain(data.bags[0][0])
    with pytest.raises(BagsError, match="expecting 3 features"):
        model.explain(data.bags[0][:, :2])


@pytest.mark.parametrize("target", ["y", "y3"])
def test_a_report_has_the_numbers_of_the_fit(model, target, data) -> None:
    y = getattr(data, target)
    model.fit(data.bags, y)
    content = model.report().as_dict()
    assert content == json.loads(json.dumps(content, allow_nan=False))
    results = model.results_
    assert content["objective"] == pytest.approx(sum(result.objective for result in results))
    assert content["certificate"] == {
        name: max(getattr(result.certificate, name) for result in results) for name in ("primal", "dual", "gap")
    }
    weakest = min(results, key=lambda result: list(PointStatus).index(result.point))
    assert content["status"] == str(weakest.termination)
    assert content["point"] == ("feasible" if content["status"] == "cycle" else "certified")
    assert content["train_accuracy"] == model.score(data.bags, y)
    assert content["data"]["bags"] == 36
    assert content["data"]["instances"] == int(as_bags(data.bags).offsets[-1])
    assert content["data"]["classes"] == {str(label): int((y == label).sum()) for label in np.unique(y)}
    seconds = content["seconds"]
    assert list(seconds) == ["declare", "compile", "solve", "scheme", "jit", "total"]
    assert sum(seconds.values()) == pytest.approx(2 * seconds["total"])
    assert seconds["declare"] > 0
    assert seconds["total"] >= seconds["declare"] + max(result.seconds.total for result in results)
    assert content["iterations"] == sum(result.iterations for result in results)
    assert len(content["history"]) == sum(len(result.history) for result in results)
    made_with = {"milopt", "python", "numpy", "scipy", "scikit-learn", *solvers_in_choice(content["solver"])}
    assert made_with <= set(content["versions"])
    assert [part["class"] for part in content["programs"]] == (["yes"] if target == "y" else ["ant", "bee", "cat"])
    text = str(model.report())
    for word in (content["model"], "36 bags", content["solver"], content["status"], "certificate", "accuracy"):
        assert word in text


def test_a_report_shows_what_was_resolved_from_the_data(model, data) -> None:
    content = clone(model).set_params(kernel=RBF(), random_state=3).fit(data.bags, data.y).report().as_dict()
    assert content["parameters"]["kernel"] == "RBF()"
    assert content["resolved"] == ({"kernel": f"RBF(s={1 / 3!r})"} if model.receives_fitted_kernels else {})


def test_a_report_shows_the_given_options(data) -> None:
    text = str(
        SetKernelSVM(solver="clarabel", options=Options(time_limit=60.0, extra={"max_iter": 90}))
        .fit(data.bags, data.y)
        .report()
    )
    assert "options=Options(time_limit=60.0, extra={'max_iter': 90})" in text
    assert " in 1 step\n" in text
    assert "random_state=0" in text
    assert "class_weight" not in text


def test_a_model_without_a_function_of_instances_is_explained() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    bags = [rng.normal(size=(4, 2)) + label for label in y]
    model = SoftKSC(clusters=3).fit(bags, y)
    explanation = model.explain(bags[0])
    without = [np.delete(bags[0], j, axis=0) for j in range(4)]
    score = model.decision_function(bags[:1])[0]
    assert explanation.score == pytest.approx(score)
    np.testing.assert_allclose(explanation.contributions, score - model.decision_function(without), atol=1e-9)
