"""Models are evaluated on a list of data sets: one report per data set, one table, and one ranking."""

from __future__ import annotations

import json

import numpy as np
import pytest

import milopt
from milopt.data.data_set import DataSet
from milopt.errors import ParameterError
from milopt.evaluation.evaluate import evaluate

from .compared import numbers
from .conftest import toy_data

MODELS = "set-kernel-svm,miles,mi-svm"


@pytest.fixture(scope="module")
def sets() -> list[DataSet]:
    """Return three data sets with different names."""
    toys = [toy_data(seed=seed) for seed in range(3)]
    return [DataSet(f"toy_{k}", each.bags, each.labels, each.ids) for k, each in enumerate(toys)]


def test_each_report_equals_that_of_its_data_set_alone(sets: list[DataSet]) -> None:
    together = evaluate(sets, MODELS, "2", grid={})
    assert len(together) == 3
    for report, data in zip(together, sets, strict=True):
        assert numbers(report) == numbers(evaluate(data, MODELS, "2", grid={}))


def test_the_table_has_one_row_per_data_set_and_model(sets: list[DataSet]) -> None:
    together = evaluate(sets, MODELS, "2", grid={})
    frame = together.to_frame()
    assert frame[["data", "model"]].to_numpy().tolist() == [
        [data.name, model] for data in sets for model in MODELS.split(",")
    ]
    assert frame["accuracy"].tolist() == [row.accuracy for report in together for row in report.table]
    assert str(together).splitlines()[0] == "3 data sets, protocol 1x2, seed 0"
    assert [line.split()[0] for line in str(together).splitlines()[2:11]] == [d.name for d in sets for _ in range(3)]
    assert str(together).count("standard error") == 1
    assert json.loads(json.dumps(together.as_dict()))["evaluations"][2]["data"] == "toy_2"


def test_several_evaluations_can_be_ranked(sets: list[DataSet]) -> None:
    together = evaluate(sets, MODELS, "2", grid={})
    ranking = milopt.rank(together)
    assert ranking.data == ("toy_0", "toy_1", "toy_2")
    frame = ranking.to_frame()
    assert frame["mean_rank"].tolist() == ranking.ranks.tolist()
    assert np.allclose(frame[list(ranking.data)], ranking.values.T)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "empty list"),
        (["musk1", "musk1"], "called 'musk1'"),
        ([np.zeros((2, 2)), np.zeros((3, 2))], "pair"),
    ],
)
def test_wrong_lists_are_an_error(data: list[object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        evaluate(data, "miles", "2")
