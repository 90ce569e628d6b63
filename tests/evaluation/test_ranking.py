"""Ranks over data sets: by hand, by scipy, and by the formulas of Bonferroni, Dunn and Nemenyi."""

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


def plain(values, seed=0):
    """Evaluations as JSON data, one a data set, from numbers by model."""
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
    assert rank(plain(values)).critical_difference == pytest.approx(nemenyi * unit, abs=1e-3)
    assert rank(plain(values), control="m1").critical_difference == pytest.approx(dunn * unit, abs=1e-3)


def test_ranks_by_hand():
    found = rank(plain({"a": [0.9, 0.8, 0.7, 0.9], "b": [0.8, 0.8, 0.6, 0.5], "c": [0.1, 0.2, 0.3, 0.4]}), control="c")
    assert found.models == ("a", "b", "c")
    np.testing.assert_allclose(found.ranks, [4.5 / 4, 7.5 / 4, 3.0])
    chance = 2 * 2 * stats.norm.sf((3 - 4.5 / 4) / np.sqrt(12 / 24))
    assert found.against_control() == pytest.approx({"a": chance, "b": 4 * stats.norm.sf((3 - 7.5 / 4) / np.sqrt(0.5))})


def test_means_that_differ_by_rounding_tie():
    rounded = [float(np.mean([0.7, 0.8, 0.9]))] * 5
    assert rounded[0] != 0.8
    found = rank(plain({"a": rounded, "b": [0.8] * 5, "c": [0.5] * 5}), control="a")
    np.testing.assert_array_equal(found.ranks, [1.5, 1.5, 3])
    assert found.against_control()["c"] == pytest.approx(2 * 2 * stats.norm.sf(1.5 / np.sqrt(12 / 30)))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.integers(3, 6), st.integers(3, 12))
def test_ranks_statistic_and_critical_difference_agree_with_the_p_values(seed, k, n):
    rng = np.random.default_rng(seed)
    values = {f"m{j}": rng.random(n).tolist() for j in range(k)}
    found = rank(plain(values), control="m0")
    assert found.ranks.sum() == pytest.approx(k * (k + 1) / 2)
    assert (np.diff(found.ranks) >= 0).all()
    assert found.friedman == pytest.approx(stats.friedmanchisquare(*values.values()).statistic)
    place = found.models.index("m0")
    for name, p in found.against_control().items():
        apart = abs(found.ranks[found.models.index(name)] - found.ranks[place])
        assert (p < 0.05) == (apart > found.critical_difference)
    pairs = rank(plain(values))
    for i in range(k):
        for j in range(i):
            apart = abs(pairs.ranks[i] - pairs.ranks[j])
            assert (pairs.p_values[i, j] < 0.05) == (apart > pairs.critical_difference)


def test_models_that_are_equal_everywhere_are_alike():
    found = rank(plain({name: [0.8, 0.7, 0.9] for name in "abc"}), control="a")
    assert (found.ranks == 2.0).all()
    assert found.p_value == 1.0
    assert set(found.against_control().values()) == {1.0}
    assert "may all be alike" in str(found)


def test_evaluations_and_names_for_one_model_with_several_settings(golden_bags):
    bags, y = golden_bags
    fits = {
        f"odm {lam:g}": [
            evaluate((bags, y if shift else -y), "odm", "1x2", settings={"lam": lam}, grid={}, seed=0)
            for shift in (0, 1)
        ]
        for lam in (0.1, 1.0, 10.0)
    }
    for several in fits.values():
        for k, one in enumerate(several):
            object.__setattr__(one, "data", f"set {k}")
    found = rank(fits)
    assert set(found.models) == set(fits)
    assert found.data == ("set 0", "set 1")
    said = str(found)
    assert "Nemenyi: different at level 0.05" in said
    assert found.as_dict()["control"] is None
    with pytest.raises(ParameterError, match="no control"):
        found.against_control()


THREE = {"a": [0.8, 0.7], "b": [0.6, 0.9], "c": [0.5, 0.4]}


def other_protocol():
    first, second = plain(THREE)
    return [first, second | {"protocol": "20x80/20"}, second]


MISTAKES = [
    (lambda: rank(plain({"a": [1, 2], "b": [2, 1]})), ParameterError, "There are 2 models on 2 data sets"),
    (lambda: rank(plain({name: [0.5] for name in "abc"})), ParameterError, "There are 3 models on 1 data sets"),
    (lambda: rank(plain(THREE), control="d"), UnknownNameError, 'No model is called "d" among those'),
    (lambda: rank(plain(THREE), alpha=1.5), ParameterError, "alpha must lie strictly between 0 and 1"),
    (lambda: rank(plain(THREE), measure="luck"), ParameterError, "measure must be one of"),
    (
        lambda: rank(plain(THREE), measure="auc"),
        ParameterError,
        "a has no auc on set 0",
    ),
    (lambda: rank(plain(THREE) + plain({"a": [0.8]})), ParameterError, "a was evaluated twice on set 0"),
    (lambda: rank(plain(THREE) + plain({"d": [0.8]})), ParameterError, "d was not evaluated on set 1"),
    (lambda: rank(other_protocol()), ParameterError, "set 1 was evaluated by 20x80/20 with seed 0 and by 1x10"),
    (lambda: rank([{"data": "x"}]), ParameterError, "give what `milopt evaluate --json` prints"),
    *(
        (
            lambda wrong=wrong: rank(plain(THREE | {"c": [0.5, wrong]})),
            ParameterError,
            "The accuracy of c on set 1 must",
        )
        for wrong in (float("nan"), float("inf"), "high", [0.5], True)
    ),
    (lambda: rank(plain(THREE), control=3), ParameterError, "control must be the name of a model, not 3."),
    *(
        (lambda wrong=wrong: rank(wrong), ParameterError, "What is ranked must be a list of evaluations")
        for wrong in (3, None, {"a": 3}, plain(THREE)[0])
    ),
    (lambda: rank(["musk1"]), ParameterError, "must be evaluations, not str"),
    (lambda: rank({"all": plain(THREE)}), ParameterError, "'all' names an evaluation of 3 models"),
]


@pytest.mark.parametrize(("call", "kind", "words"), MISTAKES)
def test_what_cannot_be_ranked_is_told_in_one_sentence(call, kind, words):
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)


def test_a_missing_package_is_told_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    with pytest.raises(MiloptError, match=r"pip install 'milopt\[stats\]'"):
        rank(plain(THREE))
    assert milopt.rank is rank
