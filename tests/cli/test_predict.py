"""`milopt predict`: labels and scores of bags by a saved model, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

import milopt


@pytest.fixture
def saved(run, small_csv: Path, tmp_path: Path) -> Path:
    file = tmp_path / "model.milopt"
    assert run("fit", small_csv, "-m", "set-kernel-svm", "--set", "C=10", "--save", file).code == 0
    return file


def test_labels_and_scores_are_the_models(run, saved: Path, small_csv: Path) -> None:
    outcome = run("predict", saved, small_csv)
    rows = list(csv.DictReader(io.StringIO(outcome.out)))
    data, model = milopt.load_data(small_csv), milopt.load_model(saved)
    assert list(rows[0]) == ["bag", "predicted", "score", "positive_label"]
    assert [row["bag"] for row in rows] == list(data.ids)
    assert [int(row["predicted"]) for row in rows] == model.predict(data.bags).tolist()
    assert [float(row["score"]) for row in rows] == pytest.approx(model.decision_function(data.bags).tolist())


def test_instances_have_scores_too(run, saved: Path, small_csv: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run("predict", saved, small_csv, "--instances").out)))
    assert list(rows[0]) == ["bag", "instance", "score", "positive_label"]
    assert [(row["bag"], row["instance"]) for row in rows[:3]] == [("b0", "0"), ("b0", "1"), ("b1", "0")]
    assert len(rows) == 16


def test_json_has_bags_or_instances(run, saved: Path, small_csv: Path) -> None:
    document = run("predict", saved, small_csv, "--json").json("predict")
    assert document["classes"] == [0, 1]
    assert len(document["bags"]) == 8
    assert "bags" not in run("predict", saved, small_csv, "--instances", "--json").json("predict")


def test_several_classes_have_a_score_each(run, tmp_path: Path) -> None:
    file, model = tmp_path / "three.csv", tmp_path / "three.milopt"
    rows = [f"{bag},{'abc'[bag % 3]},{bag % 3}.{bag},{bag}" for bag in range(9)]
    file.write_text("\n".join(["bag,label,f0,f1", *rows]) + "\n")
    assert run("fit", file, "-m", "set-kernel-svm", "--save", model).code == 0
    assert run("predict", model, file).out.splitlines()[0] == "bag,predicted,score_a,score_b,score_c"
    run("predict", model, file, "--json").json("predict")


def test_time_series_are_predicted_on_their_test_part(run, tmp_path: Path) -> None:
    model, cut = tmp_path / "series.milopt", ("--window", 12, "--stride", 12)
    assert run("fit", "italypowerdemand", "-m", "set-kernel-svm", "--save", model, *cut).code == 0
    assert len(run("predict", model, "italypowerdemand", *cut).out.splitlines()) == 1 + 1029
    assert len(run("predict", model, "italypowerdemand", "--part", "train", *cut).out.splitlines()) == 1 + 67


def test_a_file_that_is_not_a_model_is_an_error(run, small_csv: Path, tmp_path: Path) -> None:
    assert run("predict", small_csv, small_csv).code == 2
    outcome = run("predict", tmp_path / "nowhere.milopt", small_csv)
    assert outcome.code == 2
    assert "nowhere.milopt" in outcome.sentence()


def test_a_missing_test_part_is_an_error(run, saved: Path, small_csv: Path) -> None:
    outcome = run("predict", saved, small_csv, "--part", "test")
    assert outcome.code == 2
    assert "no test part" in outcome.sentence()


def test_time_series_are_cut_into_the_windows_of_the_fit(run, tmp_path: Path) -> None:
    file, cut = tmp_path / "z.milopt", {"window": 12, "stride": 4, "znormalise": True}
    options = ("--window", 0.5, "--stride", 4, "--znormalise")
    assert run("fit", "italypowerdemand", "-m", "set-kernel-svm", "--save", file, *options).code == 0
    rows = list(csv.DictReader(io.StringIO(run("predict", file, "italypowerdemand", "--part", "train").out)))
    model, data = milopt.load_model(file), milopt.load_data("italypowerdemand", **cut)
    assert [float(row["score"]) for row in rows] == pytest.approx(model.decision_function(data.bags).tolist())
    assert run("predict", file, "italypowerdemand", *options).code == 0
    for contradiction in (("--window", 11), ("--stride", 1), ("--no-znormalise",)):
        outcome = run("predict", file, "italypowerdemand", *contradiction)
        assert outcome.code == 2
        assert "windows of 12 samples, stride 4, z-normalised" in outcome.sentence()


def labels(outcome) -> list[str]:
    assert outcome.code == 0, outcome.err
    return [row["predicted"] for row in csv.DictReader(io.StringIO(outcome.out))]


def test_features_are_matched_by_name(run, tmp_path: Path) -> None:
    straight, turned, other = (tmp_path / f"{name}.csv" for name in ("straight", "turned", "other"))
    rows = [(bag, bag % 2, 9.0 * (bag % 2), 5.0 + bag / 10) for bag in range(8)]
    straight.write_text("bag,label,height,weight\n" + "".join(f"{b},{y},{h},{w}\n" for b, y, h, w in rows))
    turned.write_text("bag,label,weight,height\n" + "".join(f"{b},{y},{w},{h}\n" for b, y, h, w in rows))
    other.write_text("bag,label,weight,size\n" + "".join(f"{b},{y},{w},{h}\n" for b, y, h, w in rows))
    model = tmp_path / "named.milopt"
    assert run("fit", straight, "-m", "set-kernel-svm", "--set", "C=100", "--save", model).code == 0
    assert milopt.load_model(model).feature_names_in_.tolist() == ["height", "weight"]
    assert labels(run("predict", model, turned)) == labels(run("predict", model, straight)) == [*"01010101"]
    outcome = run("predict", model, other)
    assert outcome.code == 2
    assert '"height"' in outcome.sentence()


def test_bags_need_no_labels(run, saved: Path, small_csv: Path, tmp_path: Path) -> None:
    known = labels(run("predict", saved, small_csv))
    cells = [line.split(",") for line in small_csv.read_text().splitlines()]
    bare, empty = tmp_path / "bare.csv", tmp_path / "empty.csv"
    bare.write_text("".join(f"{bag},{a},{b}\n" for bag, _, a, b in cells))
    empty.write_text("bag,label,f0,f1\n" + "".join(f"{bag},,{a},{b}\n" for bag, _, a, b in cells[1:]))
    assert labels(run("predict", saved, bare)) == labels(run("predict", saved, empty)) == known
    assert run("fit", bare, "-m", "mi-svm").code == 2


def test_sparse_rows_may_have_fewer_features_than_the_model(run, tmp_path: Path) -> None:
    file, new, model = tmp_path / "all.svm", tmp_path / "new.svm", tmp_path / "sparse.milopt"
    file.write_text("".join(f"{bag % 2} qid:{bag} 1:{bag % 2 + 0.5} 4:{1 + bag}\n" for bag in range(6)))
    new.write_text("1 qid:0 1:1.5\n0 qid:1 1:0.5\n")
    assert run("fit", file, "-m", "set-kernel-svm", "--save", model).code == 0
    assert len(labels(run("predict", model, new))) == 2
    new.write_text("1 qid:0 5:1.5\n0 qid:1 1:0.5\n")
    assert run("predict", model, new).code == 2


def test_a_model_of_the_user_needs_its_class_again(run, own_models: Path, small_csv: Path, tmp_path: Path) -> None:
    model, name = tmp_path / "own.milopt", f"{own_models}:BallModel"
    assert run("fit", small_csv, "-m", name, "--save", model).code == 0
    assert len(labels(run("predict", model, small_csv, "--model", name))) == 8
    outcome = run("predict", model, small_csv)
    assert outcome.code == 2
    assert "milopt predict --model path/file.py:BallModel" in outcome.sentence()


def test_a_model_that_cuts_windows_gets_whole_series(run, tmp_path: Path) -> None:
    file = tmp_path / "shapelets.milopt"
    asked = ("fit", "ItalyPowerDemand", "-m", "shapelet-boost", "--set", "window=0.5", "--solver", "highs")
    assert "windows of windows" in run(*asked, "--window", 6).sentence()
    assert run(*asked, "--set", "nu=0.5", "--window", "none", "--save", file).code == 0
    rows = list(csv.DictReader(io.StringIO(run("predict", file, "ItalyPowerDemand").out)))
    series = milopt.load_data("ItalyPowerDemand", window=None).test.bags
    expected = milopt.load_model(file).decision_function(series)
    assert [float(row["score"]) for row in rows] == pytest.approx(expected.tolist())
    assert "series as they are" in run("predict", file, "ItalyPowerDemand", "--window", 6).sentence()
