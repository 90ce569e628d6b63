"""`milopt inspect`: the program of a model in every format, on stdout or in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

import milopt


@pytest.mark.parametrize(
    ("form", "opening"),
    [("summary", "MI-SVM: DC"), ("lp", "\\ MI-SVM"), ("mps", "*"), ("cbf", "#"), ("latex", "\\begin{aligned}")],
)
def test_every_format_goes_to_stdout_or_to_a_file(run, small_csv: Path, tmp_path: Path, form, opening) -> None:
    shown = run("inspect", small_csv, "--model", "mi-svm", "--format", form)
    assert shown.code == 0
    assert shown.out.startswith(opening)
    file = tmp_path / f"program.{form}"
    written = run("inspect", small_csv, "--model", "mi-svm", "--format", form, "-o", file)
    assert (written.code, written.out) == (0, "")
    assert file.read_text().rstrip() == shown.out.rstrip()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_the_text_is_that_of_the_program(run, small_csv: Path) -> None:
    data = milopt.load_data(small_csv)
    program = milopt.models.SetKernelSVM(C=3.0).program(data.bags, data.labels)
    for form in ("primal", "dual"):
        shown = run("inspect", small_csv, "-m", "set-kernel-svm", "--set", "C=3", "-f", "lp", "--form", form)
        assert shown.out.rstrip("\n") == program.to_lp(form=form).rstrip("\n")


def test_a_sparsity_plot_needs_a_file(run, small_csv: Path, tmp_path: Path) -> None:
    outcome = run("inspect", small_csv, "--model", "miles", "--format", "spy")
    assert outcome.code == 2
    assert "-o" in outcome.sentence()
    picture = tmp_path / "spy.png"
    assert run("inspect", small_csv, "--model", "miles", "--format", "spy", "-o", picture).code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["spy.txt", "spy", "spy.pgf"])
def test_a_sparsity_plot_with_an_unknown_extension_is_an_error(run, small_csv: Path, tmp_path: Path, name: str) -> None:
    outcome = run("inspect", small_csv, "--model", "miles", "--format", "spy", "-o", tmp_path / name)
    assert outcome.code == 2
    assert ".png" in outcome.sentence()
    assert not (tmp_path / name).exists()


def test_an_unknown_part_is_an_error(run, small_csv: Path) -> None:
    outcome = run("inspect", small_csv, "--model", "miles", "--part", "master")
    assert outcome.code == 2
    assert '"program"' in outcome.sentence()


def test_json_has_the_summary(run, small_csv: Path, tmp_path: Path) -> None:
    result = run("inspect", small_csv, "-m", "mi-svm", "--json").json("inspect")
    assert result["kind"] == "DC"
    assert [row["name"] for row in result["tables"]["variables"]] == ["b", "slack"]
    file = tmp_path / "program.mps"
    result = run("inspect", small_csv, "-m", "mi-svm", "-f", "mps", "-o", file, "--json").json("inspect")
    assert result["text"] is None
    assert file.exists()


def test_a_missing_output_folder_is_an_error(run, small_csv: Path, tmp_path: Path) -> None:
    outcome = run("inspect", small_csv, "-m", "mi-svm", "-f", "lp", "-o", tmp_path / "nowhere" / "x.lp")
    assert outcome.code == 2
    assert "cannot be written" in outcome.sentence()
