"""`milopt fit`: the same optimum from every solver, told in JSON that a schema describes."""

from __future__ import annotations

from pathlib import Path

import pytest

import milopt


@pytest.fixture(scope="module")
def takers() -> list[str]:
    """The installed solvers that take MI-SVM on Musk1, as `explain` tells."""
    data = milopt.load_data("musk1")
    found = milopt.explain(milopt.models.MISVM().program(data.bags, data.labels)).takers
    assert {"highs", "clarabel"} <= set(found)
    return found


@pytest.mark.thorough
def test_every_solver_that_takes_mi_svm_reports_the_same_optimum(run, takers: list[str]) -> None:
    reports = {solver: run("fit", "musk1", "--model", "mi-svm", "--solver", solver, "--json") for solver in takers}
    found = {solver: outcome.json("fit") for solver, outcome in reports.items()}
    reference = found["highs"]["objective"]
    for solver, report in found.items():
        assert report["solver"] == solver
        assert report["objective"] == pytest.approx(reference, rel=1e-6)
        assert max(report["certificate"].values()) <= 1e-6
        assert report["point"] == "certified"
        assert reports[solver].code == 0


def test_the_schema_forbids_what_it_does_not_know(run) -> None:
    import jsonschema

    outcome = run("fit", "musk1", "-m", "set-kernel-svm", "--json")
    assert {"model", "solver", "data", "status", "objective", "certificate", "seconds", "iterations"} <= outcome.json(
        "fit"
    ).keys()
    outcome.out = outcome.out.replace('"objective"', '"objektive"', 1)
    with pytest.raises(jsonschema.ValidationError, match="objektive"):
        outcome.json("fit")


def test_hyper_parameters_reach_the_model(run) -> None:
    said = run("fit", "musk1", "-m", "set-kernel-svm", "--set", "C=10", "--set", "normalize=sum", "--seed", 7, "--json")
    parameters = said.json("fit")["parameters"]
    assert parameters["C"] == 10.0
    assert parameters["normalize"] == "sum"
    assert parameters["random_state"] == 7


def test_a_field_with_an_option_of_its_own_is_not_set_twice(run, small_csv: Path) -> None:
    outcome = run("fit", small_csv, "-m", "mi-svm", "--set", "solver=highs")
    assert outcome.code == 2
    assert '"solver"' in outcome.sentence()


def test_solvers_are_tried_in_order(run, small_csv: Path) -> None:
    said = run("fit", small_csv, "-m", "mi-svm", "--solver", "libsvm,highs", "--json").json("fit")
    assert said["solver"] == "highs"
    assert [one["solver"] for one in said["programs"][0]["attempts"]] == ["libsvm", "highs"]


def test_people_read_the_report(run, small_csv: Path) -> None:
    outcome = run("fit", small_csv, "-m", "mi-svm", "--scheme", "exact", "--set", "C=1")
    assert outcome.code == 0
    assert "optimal" in outcome.out
    assert "8 bags" in outcome.out
    assert outcome.err == ""


def test_an_uncertified_point_exits_3_and_is_told(run, small_csv: Path) -> None:
    outcome = run("fit", small_csv, "-m", "set-kernel-svm", "-s", "clarabel", "--tolerance", 1e-18, "--json")
    assert outcome.code == 3
    assert outcome.json("fit")["point"] != "certified"
    assert outcome.err.startswith("Warning: ")
    assert "site-packages" not in outcome.err


def test_series_come_with_the_accuracy_on_their_test_part(run) -> None:
    said = run("fit", "ItalyPowerDemand", "-m", "set-kernel-svm", "--window", 12, "--stride", 6, "--json").json("fit")
    assert said["data"]["features"] == 12
    assert said["data"]["test_bags"] == 1029
    assert 0.4 < said["test_accuracy"] <= 1


def test_an_own_file_is_a_model(run, own_models: Path, small_csv: Path) -> None:
    said = run("fit", small_csv, "--model", f"{own_models}:Ball", "--set", "radius=2", "--json").json("fit")
    assert said["programs"][0]["program"]["kind"] == "SOCP"
    assert said["status"] == "optimal"


def test_an_objective_that_is_no_number_is_a_dash(run, tmp_path: Path) -> None:
    file = tmp_path / "toy.csv"
    file.write_text("bag,label,f0\na,1,1\nb,0,1\nc,1,2\nd,0,2\n")
    outcome = run("fit", file, "-m", "mi-svm", "--set", "C=1e308")
    assert outcome.code == 3
    assert "objective   -\n" in outcome.out


def test_a_file_that_cannot_be_written_is_told_before_the_fit(
    run, small_csv: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(milopt.models.MISVM, "fit", lambda *_: pytest.fail("it was fitted"))
    for place in (tmp_path / "nowhere" / "model.milopt", tmp_path):
        outcome = run("fit", small_csv, "-m", "mi-svm", "--save", place)
        assert outcome.code == 2
        assert "cannot be written" in outcome.sentence()
    assert [one.name for one in tmp_path.iterdir()] == ["small.csv"]


def test_a_picture_of_the_steps_goes_to_a_file(run, small_csv: Path, tmp_path: Path) -> None:
    picture = tmp_path / "steps.png"
    assert run("fit", small_csv, "-m", "mi-svm", "--plot", picture).code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    for wrong, said in (
        (tmp_path / "steps.doc", "no ending that a picture can have"),
        (tmp_path / "no" / "s.png", "no"),
    ):
        outcome = run("fit", small_csv, "-m", "mi-svm", "--plot", wrong)
        assert outcome.code == 2
        assert said in outcome.sentence()
