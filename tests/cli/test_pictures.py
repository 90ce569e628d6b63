"""The option `--plot` of the commands: a picture is written, and a wrong file is an error before the work."""

from __future__ import annotations

from pathlib import Path

import pytest

COMMANDS = {
    "compare": ("--models", "miles,set-kernel-svm", "--solvers", "highs,libsvm", "--folds", 2, "--jobs", 1),
    "evaluate": ("--model", "miles,ls-svm", "--protocol", "1x2", "--grid", "scale=none", "--no-store"),
    "fit": ("--model", "miles"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_a_command_writes_its_picture(command: str, ending: str, start: bytes, run, small_csv: Path, tmp_path) -> None:
    picture = tmp_path / f"picture.{ending}"
    outcome = run(command, small_csv, *COMMANDS[command], "--plot", picture)
    assert outcome.code == 0, outcome.err
    content = picture.read_bytes()
    assert content.startswith(start)
    assert b"/Type3" not in content
    if ending == "svg" and command != "fit":
        assert b">miles</text>" in content


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_picture_file_is_an_error_before_the_work(
    command: str, run, small_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from milopt.cli import arguments

    monkeypatch.setattr(arguments, "read_data", lambda *_: pytest.fail("the data were read"))
    for wrong, words in (("a.doc", "does not end like an image file"), ("no/a.png", "cannot be written")):
        outcome = run(command, small_csv, *COMMANDS[command], "--plot", tmp_path / wrong)
        assert outcome.code == 2
        assert words in outcome.sentence()
