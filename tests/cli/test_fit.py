"""`milopt fit`: the same optimum with every solver, as text and as JSON with a schema."""

from __future__ import annotations

from pathlib import Path

import pytest

import milopt


@pytest.fixture(scope="module")
def supporting_solvers() -> list[str]:
    """Return the installed solvers that support MI-SVM on Musk1, according to `explain`."""
    data = milopt.load_data("musk1")
    solvers = milopt.explain(milopt.models.MISVM().program(data.bags, data.labels)).supporting_solvers
    assert {"highs", "clarabel"} <= set(solvers)
    return solvers


@pytest.mark.thorough
def test_every_solver_that_supports_mi_svm_reports_the_same_optimum(run, supporting_solvers: list[str]) -> None:
    outcomes = {
        solver: run("fit", "musk1", "--model", "mi-svm", "--solver", solver, "--json") for solver in supporting_solvers
    }
    reports = {solver: outcome.json("fit") for solver, outcome in outcomes.items()}
    reference = reports["highs"]["objective"]
    for solver, report in reports.items():
        assert report["solver"] == solver
        assert report["objective"] == pytest.approx(reference, rel=1e-6)
        assert max(report["certificate"].values()) <= 1e-6
        assert report["point"] == "certified"
        assert outcomes[solver].code == 0


def test_the_schema_forbids_unknown_keys(run) -> None:
    import jsonschema

    outcome = run("fit", "musk1", "-m", "set-kernel-svm", "--json")
    assert {"model", "solver", "data", "status", "objective", "certificate", "seconds", "iterations"} <= outcome.json(
        "fit"
    ).keys()
    outcome.out = outcome.out.replace('"objective"', '"objektive"', 1)
    with pytest.raises(jsonschema.ValidationError, match="objektive"):
        outcome.json("fit")


def test_hyper_parameters_reach_the_model(run) -> None:
    outcome = run(
        "fit", "musk1", "-m", "set-kernel-svm", "--set", "C=10", "--set", "normalise=sum", "--seed", 7, "--json"
    )
    parameters = outcome.json("fit")["parameters"]
    assert parameters["C"] == 10.0
    assert parameters["normalise"] == "sum"
    assert parameters["random_state"] == 7


def test_a_hyper_parameter_with_its_own_option_cannot_be_set(run, small_csv: Path) -> None:
    outcome = run("fit", small_csv, "-m", "mi-svm", "--set", "solver=highs")
    assert outcome.code == 2
    assert '"solver"' in outcome.sentence()


def test_solvers_are_tried_in_order(run, small_csv: Path) -> None:
    report = run("fit", small_csv, "-m", "mi-svm", "--solver", "libsvm,highs", "--json").json("fit")
    assert report["solver"] == "highs"
    assert [attempt["solver"] for attempt in report["programs"][0]["attempts"]] == ["libsvm", "highs"]


def test_the_report_is_printed_as_text(run, small_csv: Path) -> None:
    outcome = run("fit", small_csv, "-m", "mi-svm", "--scheme", "exact", "--set", "C=1")
    assert outcome.code == 0
    assert "optimal" in outcome.out
    assert "8 bags" in outcome.out
    assert outcome.err == ""


def test_an_uncertified_point_exits_with_3_and_a_warning(run, small_csv: Path) -> None:
    outcome = run("fit", small_csv, "-m", "set-kernel-svm", "-s", "clarabel", "--tolerance", 1e-18, "--json")
    assert outcome.code == 3
    assert outcome.json("fit")["point"] != "certified"
    assert outcome.err.startswith("Warning: ")
    assert "site-packages" not in outcome.err


def test_time_series_are_scored_on_their_test_part(run) -> None:
    report = run("fit", "ItalyPowerDemand", "-m", "set-kernel-svm", "--window", 12, "--stride", 6, "--json").json("fit")
    assert report["data"]["features"] == 12
    assert report["data"]["test_bags"] == 1029
    assert 0.4 < report["test_accuracy"] <= 1


def test_a_model_can_be_in_a_file_of_the_user(run, own_models: Path, small_csv: Path) -> None:
    report = run("fit", small_csv, "--model", f"{own_models}:BallModel", "--set", "radius=2", "--json").json("fit")
    assert report["programs"][0]["program"]["kind"] == "SOCP"
    assert report["status"] == "optimal"


def test_an_objective_that_is_not_a_number_is_a_dash(run, tmp_path: Path) -> None:
    file = tmp_path / "toy.csv"
    file.write_text("bag,label,f0\na,1,1\nb,0,1\nc,1,2\nd,0,2\n")
    outcome = run("fit", file, "-m", "mi-svm", "--set", "C=1e308")
    assert outcome.code == 3
    assert "objective   -\n" in outcome.out


def test_a_file_that_cannot_be_written_is_an_error_before_the_fit(
    run, small_csv: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(milopt.models.MISVM, "fit", lambda *_: pytest.fail("the model was fitted"))
    for place in (tmp_path / "nowhere" / "model.milopt", tmp_path):
        outcome = run("fit", small_csv, "-m", "mi-svm", "--save", place)
        assert outcome.code == 2
        assert "cannot be written" in outcome.sentence()
    assert [path.name for path in tmp_path.iterdir()] == ["small.csv"]


def test_the_convergence_plot_is_written_to_a_file(run, small_csv: Path, tmp_path: Path) -> None:
    picture = tmp_path / "steps.png"
    assert run("fit", small_csv, "-m", "mi-svm", "--plot", picture).code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    for wrong, words in (
        (tmp_path / "steps.doc", "does not end like an image file"),
        (tmp_path / "no" / "s.png", "no"),
    ):
        outcome = run("fit", small_csv, "-m", "mi-svm", "--plot", wrong)
        assert outcome.code == 2
        assert words in outcome.sentence()
