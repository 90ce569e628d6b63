"""Models are evaluated on a list of data sets: one report per data set, one table, and one ranking."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import milopt
from milopt.data.data_set import DataSet
from milopt.errors import ParameterError, UnknownNameError
from milopt.evaluation.evaluate import evaluate
from milopt.evaluation.summary import format_accuracy

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


def test_the_table_for_a_paper_has_one_row_per_data_set_and_the_best_in_bold(sets: list[DataSet]) -> None:
    together = evaluate(sets, MODELS, "3", grid={})
    table, frame = together.accuracy_table(), together.accuracy_frame()
    assert table.header == ("data", *MODELS.split(","))
    assert [row[0] for row in table.rows] == frame["data"].tolist() == [data.name for data in sets]
    for number, report in enumerate(together):
        best = max(row.accuracy for row in report.table)
        for row in report.table:
            assert row.standard_error is not None
            assert table.rows[number][table.header.index(row.model)] == f"{row.accuracy:.3f} ± {row.standard_error:.3f}"
            assert ((number, row.model) in table.bold) == (row.accuracy > best - 1e-9)
            assert frame[row.model][number] == row.accuracy
            assert frame[f"{row.model} standard error"][number] == row.standard_error


def test_a_setting_is_that_of_the_models_that_have_it(sets: list[DataSet]) -> None:
    both = evaluate(sets[0], "set-kernel-svm,miles", "2", grid={}, settings={"C": 0.01, "lam": 2.0})
    for model, settings in {"set-kernel-svm": {"C": 0.01}, "miles": {"lam": 2.0}}.items():
        alone = evaluate(sets[0], model, "2", grid={}, settings=settings)
        assert [record.scores for record in both.records if record.model == model] == [
            record.scores for record in alone.records
        ]
    with pytest.raises(UnknownNameError, match="gamma"):
        evaluate(sets[0], "set-kernel-svm,miles", "2", grid={}, settings={"gamma": 3.0})


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


def test_the_json_output_of_the_command_can_be_ranked_as_it_is(sets: list[DataSet]) -> None:
    together = evaluate(sets, MODELS, "2", grid={})
    plain = json.loads(json.dumps(together.as_dict()))
    assert milopt.rank(plain).ranks.tolist() == milopt.rank(plain["evaluations"]).ranks.tolist()


def test_tasks_from_an_earlier_run_are_counted_over_all_data_sets(sets: list[DataSet], tmp_path: Path) -> None:
    evaluate(sets, MODELS, "2", grid={}, store=tmp_path)
    again = evaluate(sets, MODELS, "2", grid={}, store=tmp_path)
    assert f"18 of 18 tasks from an earlier run ({tmp_path})" in again.remarks()


def test_rounding_errors_do_not_change_printed_accuracies(sets: list[DataSet]) -> None:
    report = evaluate(sets[0], "miles", "2", grid={})
    row = report.table[0]
    printed = [format_accuracy(replace(row, accuracy=value)) for value in (0.9125, 0.9125 + 1e-16, 0.9125 - 1e-16)]
    assert len(set(printed)) == 1
