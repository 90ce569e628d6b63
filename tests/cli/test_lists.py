"""`milopt solvers`, `models` and `data`: what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

import milopt
from milopt.cli.data import LICENCES
from milopt.data import known
from milopt.solving import registry


def test_every_registered_solver_is_listed_with_its_version(run) -> None:
    said = {one["name"]: one for one in run("solvers", "--json").json("solvers")["solvers"]}
    assert {solver.name for solver in registry.plain_solvers()} <= said.keys()
    assert set(registry.variants("cvxpy")) <= said.keys()
    assert said["highs"]["takes"] == ["LP", "QP", "MILP"]
    assert said["highs"]["licence"] == "MIT"
    assert said["highs"]["version"] == registry.get("highs").availability().version
    assert said["libsvm"]["only_patterns"]


def test_a_solver_that_is_not_installed_is_listed_with_the_command(run, monkeypatch) -> None:
    from milopt.solvers.ecos.solver import ECOS
    from milopt.solving.solver import Availability

    monkeypatch.setattr(ECOS, "availability", lambda self: Availability(False, None, "pip install ecos"))
    assert "not installed: pip install ecos" in run("solvers").out
    assert "GPL-3.0" in next(line for line in run("solvers").out.splitlines() if line.startswith("ecos"))


def test_every_registered_model_is_listed_with_its_hyper_parameters(run) -> None:
    said = {one["name"]: one for one in run("models", "--json").json("models")["models"]}
    assert list(said) == registry.model_names()
    mi_svm = said["mi-svm"]
    assert mi_svm["kind"] == "DC"
    default = milopt.model_registry.parse_value(mi_svm["parameters"]["kernel"]["default"])
    assert default == milopt.models.MISVM.kernel
    assert "solver" not in mi_svm["parameters"]
    assert "solver" in mi_svm["shared_parameters"]
    assert "highs" in mi_svm["solvers"]
    assert "libsvm" not in mi_svm["solvers"]


def test_a_models_grid_is_shown_as_it_can_be_typed(run) -> None:
    for name, model in ((one, milopt.model_registry.get_model(one)) for one in registry.model_names()):
        said = run("models", name, "--json").json("models")["models"][0]["parameters"]
        for field, values in model.grid.items():
            assert [milopt.model_registry.parse_value(text) for text in said[field]["grid"]] == list(values)


def test_an_own_model_can_be_looked_at(run, own_models: Path) -> None:
    shown = run("models", f"{own_models}:Ball")
    assert shown.code == 0
    assert "SOCP" in shown.out
    assert "radius" in shown.out
    solvers = shown.out.partition("solvers:")[2]
    assert "clarabel" in solvers
    assert "highs" not in solvers


def test_the_sets_that_ship_are_listed_with_sizes_and_licence(run) -> None:
    said = {one["name"]: one for one in run("data", "--json").json("data")["data"]}
    sizes = ("bags", "positive", "instances", "features", "test_bags")
    assert [said["musk1"][size] for size in sizes] == [92, 47, 476, 166, None]
    assert [said["musk2"][size] for size in sizes] == [102, 39, 6598, 166, None]
    assert (said["GunPoint"]["bags"], said["GunPoint"]["test_bags"]) == (50, 150)
    assert said["musk1"]["licence"] == "CC BY 4.0"
    assert LICENCES.keys() == {one.name for one in known() if one.source == "embedded"}


def test_a_folder_is_listed_too_and_what_cannot_be_read_is_told(run, small_csv: Path) -> None:
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
