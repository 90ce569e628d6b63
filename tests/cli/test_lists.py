"""`milopt solvers`, `models` and `data`: lists of what is available."""

from __future__ import annotations

from pathlib import Path

import pytest

import milopt
from milopt.cli.data import LICENCES
from milopt.data import known_data_sets
from milopt.solving import registry


def test_every_registered_solver_is_listed_with_its_version(run) -> None:
    listed = {entry["name"]: entry for entry in run("solvers", "--json").json("solvers")["solvers"]}
    assert {solver.name for solver in registry.installed_solvers()} <= listed.keys()
    assert set(registry.family_variants("cvxpy")) <= listed.keys()
    assert listed["highs"]["supports"] == ["LP", "QP", "MILP"]
    assert listed["highs"]["licence"] == "MIT"
    assert listed["highs"]["version"] == registry.get_solver("highs").availability().version
    assert listed["libsvm"]["only_patterns"]


def test_a_solver_that_is_not_installed_is_listed_with_the_command(run, monkeypatch) -> None:
    from milopt.solvers.ecos.solver import ECOS
    from milopt.solving.solver import Availability

    monkeypatch.setattr(ECOS, "availability", lambda self: Availability(False, None, "pip install ecos"))
    assert "not installed: pip install ecos" in run("solvers").out
    assert "GPL-3.0" in next(line for line in run("solvers").out.splitlines() if line.startswith("ecos"))


def test_every_registered_model_is_listed_with_its_hyper_parameters(run) -> None:
    listed = {entry["name"]: entry for entry in run("models", "--json").json("models")["models"]}
    assert list(listed) == registry.model_names()
    mi_svm = listed["mi-svm"]
    assert mi_svm["kind"] == "DC"
    default = milopt.model_registry.parse_value(mi_svm["parameters"]["kernel"]["default"])
    assert default == milopt.models.MISVM.kernel
    assert "solver" not in mi_svm["parameters"]
    assert "solver" in mi_svm["shared_parameters"]
    assert "highs" in mi_svm["solvers"]
    assert "libsvm" not in mi_svm["solvers"]


def test_the_grid_of_a_model_is_listed_in_the_input_syntax(run) -> None:
    for name in registry.model_names():
        model = milopt.model_registry.get_model(name)
        listed = run("models", name, "--json").json("models")["models"][0]["parameters"]
        for field, values in model.grid.items():
            assert [milopt.model_registry.parse_value(text) for text in listed[field]["grid"]] == list(values)


def test_a_model_of_the_user_is_described(run, own_models: Path) -> None:
    shown = run("models", f"{own_models}:BallModel")
    assert shown.code == 0
    assert "SOCP" in shown.out
    assert "radius" in shown.out
    solvers = shown.out.partition("solvers:")[2]
    assert "clarabel" in solvers
    assert "highs" not in solvers


def test_hyper_parameters_are_shown_with_default_and_description(run) -> None:
    lines = [line.strip() for line in run("models", "odm").out.splitlines()]
    place = lines.index("bias = none (one of none, regularised, free)")
    assert lines[place + 1].startswith("Bias b: none (b = 0), as in the paper; regularised by")
    listed = run("models", "odm", "--json").json("models")["models"][0]["parameters"]
    assert listed["bias"]["default"] == "'none'"
    assert listed["bias"]["description"].startswith("Bias b: none (b = 0), as in the paper;")


def test_allowed_values_of_a_hyper_parameter_are_shown(run) -> None:
    lines = [line.strip() for line in run("models", "safe").out.splitlines()]
    assert "aggregation = sum (one of sum, mean, max)" in lines
    assert any(line.startswith("core = ksc (one of ksc, kpca") for line in lines)
    assert "scale = minmax01 (one of minmax01, zscore, none)" in lines
    assert "form = none (one of primal, dual, none)" in lines
    listed = run("models", "safe", "--json").json("models")["models"][0]["parameters"]
    assert listed["core"]["values"] == ["ksc", "kpca"]
    assert (listed["rho"]["type"], listed["rho"]["values"]) == ("float", [])
    assert '"{""sum"", ""mean"", ""max""}"' in run("models", "safe", "--format", "csv").out


def test_shared_hyper_parameters_of_a_named_model_are_shown(run) -> None:
    lines = [line.strip() for line in run("models", "mirsvm").out.splitlines()]
    shared = lines[lines.index("shared by all models:") :]
    assert "scheme = representatives" in shared
    assert shared[shared.index("class_weight = none") + 1].startswith("Weight of each class by label")
    assert "shared by all models:" not in run("models").out


def test_a_hyper_parameter_without_a_description_is_listed(run, own_models: Path) -> None:
    listed = run("models", f"{own_models}:BallModel", "--json").json("models")["models"][0]["parameters"]
    assert listed["radius"]["description"] == ""


def test_embedded_data_sets_are_listed_with_sizes_and_licence(run) -> None:
    listed = {entry["name"]: entry for entry in run("data", "--json").json("data")["data"]}
    sizes = ("bags", "positive", "instances", "features", "test_bags")
    assert [listed["musk1"][size] for size in sizes] == [92, 47, 476, 166, None]
    assert [listed["musk2"][size] for size in sizes] == [102, 39, 6598, 166, None]
    assert (listed["GunPoint"]["bags"], listed["GunPoint"]["test_bags"]) == (50, 150)
    assert listed["musk1"]["licence"] == "CC BY 4.0"
    assert LICENCES.keys() == {data_set.name for data_set in known_data_sets() if data_set.source == "embedded"}


def test_a_folder_is_listed_with_the_files_that_cannot_be_read(run, small_csv: Path) -> None:
    (small_csv.parent / "wrong.csv").write_text("bag,label,f0\n1,1,many\n")
    shown = run("data", "--data-dir", small_csv.parent)
    assert shown.code == 0
    assert any(line.split()[:5] == ["small", "8", "4", "16", "2"] for line in shown.out.splitlines())
    assert "wrong cannot be read" in shown.out
    assert run("fit", "small", "--data-dir", small_csv.parent, "-m", "set-kernel-svm").code == 0


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("command", ["solvers", "models", "data"])
def test_tables_fit_the_page(run, monkeypatch, command: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run(command).out.splitlines()
    assert max(map(len, lines)) <= width
    assert lines == [line.rstrip() for line in lines]


@pytest.mark.parametrize("width", [40, 60, 66, 80])
@pytest.mark.parametrize("command", ["solvers", "models", "data"])
def test_words_stay_whole_on_a_narrow_page(run, monkeypatch, command: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    whole = set(run(command).out.split())
    monkeypatch.setenv("COLUMNS", str(width))
    assert set(run(command).out.split()) <= whole
