"""Malformed data through the command line: exit code 2 and one sentence, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.malformed import malformed_files

COUNT = 200


def test_malformed_files_give_one_sentence(run, tmp_path: Path) -> None:
    for file in malformed_files(tmp_path / "files", COUNT, seed=11):
        outcome = run("fit", file, "--model", "set-kernel-svm")
        assert outcome.code == 2, (file, outcome.out)
        assert outcome.sentence(), file


@pytest.mark.parametrize("command", [("fit",), ("inspect",), ("compare", "--models")])
def test_every_command_that_reads_data_refuses_a_malformed_file(start, tmp_path: Path, command) -> None:
    [file] = malformed_files(tmp_path / "files", 1, seed=len(command[0]))
    verb, *option = command
    process = start(verb, file, *(option or ["--model"]), "mi-svm")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2, (file, err)
    assert out == ""
    assert err.startswith("Error: ")
    assert len(err.splitlines()) == 1
