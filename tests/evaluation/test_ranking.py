"""Mean ranks and tests, compared with scipy and with the formulas of Bonferroni, Dunn and Nemenyi."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import milopt
from milopt import evaluate, rank
from milopt.errors import MiloptError, ParameterError, UnknownNameError


def evaluations_as_json(values, seed=0):
    """Return evaluations as JSON data, one per data set, from values by model."""
    count = len(next(iter(values.values())))
    return [
        {
            "data": f"set {k}",
            "digest": str(k),
            "protocol": "1x10",
            "seed": seed,
            "table": [{"model": name, "accuracy": numbers[k], "auc": None} for name, numbers in values.items()],
        }
        for k in range(count)
    ]


@pytest.mark.parametrize(("k", "nemenyi", "dunn"), [(3, 2.343, 2.241), (4, 2.569, 2.394), (5, 2.728, 2.498)])
def test_critical_differences_are_those_of_the_printed_tables(k, nemenyi, dunn):
    values = {f"m{j}": (np.arange(14.0) * (j + 1) % 7).tolist() for j in range(k)}
    unit = np.sqrt(k * (k + 1) / (6 * 14))
    assert rank(evaluations_as_json(values)).critical_difference == pytest.approx(nemenyi * unit, abs=1e-3)
    assert rank(evaluations_as_json(values), control="m1").critical_difference == pytest.approx(dunn * unit, abs=1e-3)


def test_ranks_equal_those_computed_by_hand():
    ranking = rank(
        evaluations_as_json({"a": [0.9, 0.8, 0.7, 0.9], "b": [0.8, 0.8, 0.6, 0.5], "c": [0.1, 0.2, 0.3, 0.4]}),
        control="c",
    )
    assert ranking.models == ("a", "b", "c")
    np.testing.assert_allclose(ranking.ranks, [4.5 / 4, 7.5 / 4, 3.0])
    chance = 2 * 2 * stats.norm.sf((3 - 4.5 / 4) / np.sqrt(12 / 24))
    assert ranking.p_values_against_control() == pytest.approx(
        {"a": chance, "b": 4 * stats.norm.sf((3 - 7.5 / 4) / np.sqrt(0.5))}
    )


def test_means_that_differ_by_rounding_are_ties():
    rounded = [float(np.mean([0.7, 0.8, 0.9]))] * 5
    assert rounded[0] != 0.8
    ranking = rank(evaluations_as_json({"a": rounded, "b": [0.8] * 5, "c": [0.5] * 5}), control="a")
    np.testing.assert_array_equal(ranking.ranks, [1.5, 1.5, 3])
    assert ranking.p_values_against_control()["c"] == pytest.approx(2 * 2 * stats.norm.sf(1.5 / np.sqrt(12 / 30)))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.integers(3, 6), st.integers(3, 12))
def test_ranks_statistic_and_critical_difference_agree_with_the_p_values(seed, k, n):
    rng = np.random.default_rng(seed)
    values = {f"m{j}": rng.random(n).tolist() for j in range(k)}
    ranking = rank(evaluations_as_json(values), control="m0")
    assert ranking.ranks.sum() == pytest.approx(k * (k + 1) / 2)
    assert (np.diff(ranking.ranks) >= 0).all()
    assert ranking.friedman == pytest.approx(stats.friedmanchisquare(*values.values()).statistic)
    place = ranking.models.index("m0")
    for name, p in ranking.p_values_against_control().items():
        apart = abs(ranking.ranks[ranking.models.index(name)] - ranking.ranks[place])
        assert (p < 0.05) == (apart > ranking.critical_difference)
    pairs = rank(evaluations_as_json(values))
    for i in range(k):
        for j in range(i):
            apart = abs(pairs.ranks[i] - pairs.ranks[j])
            assert (pairs.p_values[i, j] < 0.05) == (apart > pairs.critical_difference)


def test_models_with_equal_values_do_not_differ():
    ranking = rank(evaluations_as_json({name: [0.8, 0.7, 0.9] for name in "abc"}), control="a")
    assert (ranking.ranks == 2.0).all()
    assert ranking.p_value == 1.0
    assert set(ranking.p_values_against_control().values()) == {1.0}
    assert "may all be equal" in str(ranking)


def test_evaluations_of_one_model_with_several_settings_are_ranked_by_name(golden_bags):
    bags, y = golden_bags
    fits = {
        f"odm {lam:g}": [
            evaluate((bags, y if shift else -y), "odm", "1x2", settings={"lam": lam}, grid={}, seed=0)
            for shift in (0, 1)
        ]
        for lam in (0.1, 1.0, 10.0)
    }
    for several in fits.values():
        for k, report in enumerate(several):
            object.__setattr__(report, "data", f"set {k}")
    ranking = rank(fits)
    assert set(ranking.models) == set(fits)
    assert ranking.data == ("set 0", "set 1")
    text = str(ranking)
    assert "Nemenyi: models differ at level 0.05" in text
    assert ranking.as_dict()["control"] is None
    with pytest.raises(ParameterError, match="no control"):
        ranking.p_values_against_control()


THREE = {"a": [0.8, 0.7], "b": [0.6, 0.9], "c": [0.5, 0.4]}


def other_protocol():
    first, second = evaluations_as_json(THREE)
    return [first, second | {"protocol": "20x80/20"}, second]


MISTAKES = [
    (
        lambda: rank(evaluations_as_json({"a": [1, 2], "b": [2, 1]})),
        ParameterError,
        "There are 2 models on 2 data sets",
    ),
    (
        lambda: rank(evaluations_as_json({name: [0.5] for name in "abc"})),
        ParameterError,
        "There are 3 models on 1 data sets",
    ),
    (lambda: rank(evaluations_as_json(THREE), control="d"), UnknownNameError, 'No model is called "d" among those'),
    (lambda: rank(evaluations_as_json(THREE), alpha=1.5), ParameterError, "alpha must lie strictly between 0 and 1"),
    (lambda: rank(evaluations_as_json(THREE), measure="luck"), ParameterError, "measure must be one of"),
    (
        lambda: rank(evaluations_as_json(THREE), measure="auc"),
        ParameterError,
        "a has no auc on set 0",
    ),
    (
        lambda: rank(evaluations_as_json(THREE) + evaluations_as_json({"a": [0.8]})),
        ParameterError,
        "a was evaluated twice on set 0",
    ),
    (
        lambda: rank(evaluations_as_json(THREE) + evaluations_as_json({"d": [0.8]})),
        ParameterError,
        "d was not evaluated on set 1",
    ),
    (lambda: rank(other_protocol()), ParameterError, "set 1 was evaluated by 20x80/20 with seed 0 and by 1x10"),
    (lambda: rank([{"data": "x"}]), ParameterError, "give the output of `milopt evaluate --json`"),
    *(
        (
            lambda wrong=wrong: rank(evaluations_as_json(THREE | {"c": [0.5, wrong]})),
            ParameterError,
            "The accuracy of c on set 1 must",
        )
        for wrong in (float("nan"), float("inf"), "high", [0.5], True)
    ),
    (
        lambda: rank(evaluations_as_json(THREE), control=3),
        ParameterError,
        "control must be the name of a model, not 3.",
    ),
    *(
        (lambda wrong=wrong: rank(wrong), ParameterError, "Only evaluations can be ranked: give a list of evaluations")
        for wrong in (3, None, {"a": 3})
    ),
    (lambda: rank(["musk1"]), ParameterError, "Only evaluations can be ranked, not str"),
    (lambda: rank({"all": evaluations_as_json(THREE)}), ParameterError, "'all' names an evaluation of 3 models"),
]


@pytest.mark.parametrize(("call", "kind", "words"), MISTAKES)
def test_invalid_evaluations_raise_an_error_of_one_sentence(call, kind, words):
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)


def test_without_the_package_the_error_states_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    with pytest.raises(MiloptError, match=r"pip install 'milopt\[stats\]'"):
        rank(evaluations_as_json(THREE))
    assert milopt.rank is rank
