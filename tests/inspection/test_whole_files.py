"""Files are written atomically, with default permissions, through links, and into pipes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from milopt.archive import check_model_writable, read_archive, write_archive
from milopt.errors import MiloptError, ModelFileError
from milopt.files import check_can_write, write_atomically, write_text

unix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither these rights nor these files")


@unix
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_file_has_default_permissions(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        write_text(tmp_path / "written", "text")
        (tmp_path / "usual").write_text("text")
    finally:
        os.umask(before)
    assert (tmp_path / "written").stat().st_mode == (tmp_path / "usual").stat().st_mode


@unix
@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link(tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    if there:
        (folder / "real.lp").write_text("old")
    (tmp_path / "link.lp").symlink_to(Path("elsewhere") / "real.lp")
    write_text(tmp_path / "link.lp", "new")
    assert (tmp_path / "link.lp").is_symlink()
    assert (folder / "real.lp").read_text() == "new"
    assert [path.name for path in folder.iterdir()] == ["real.lp"]


@unix
def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_text(pipe, "through it")
    reader.join(10)
    assert read == ["through it"]
    assert pipe.is_fifo()


def test_write_errors_are_one_sentence_of_the_callers_type(tmp_path: Path) -> None:
    def fails(beside: Path) -> None:
        beside.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(ModelFileError) as caught:
        write_atomically(tmp_path / "model", fails, subject="The model", failure=ModelFileError)
    assert str(caught.value) == f"The model cannot be written to {tmp_path / 'model'}: No space left on device."
    with pytest.raises(MiloptError, match="The file cannot be written to"):
        write_text(tmp_path, "a folder")
    assert list(tmp_path.iterdir()) == []


def test_a_target_is_checked_in_advance_and_not_changed(tmp_path: Path) -> None:
    check_can_write(tmp_path / "model")
    with pytest.raises(MiloptError, match=r"cannot be written to .*: No such file or directory"):
        check_can_write(tmp_path / "no" / "model")
    with pytest.raises(MiloptError, match=r"cannot be written to .*: Is a directory"):
        check_can_write(tmp_path)
    assert list(tmp_path.iterdir()) == []


@unix
def test_a_model_is_saved_through_a_link(tmp_path: Path) -> None:
    write_archive(tmp_path / "link", b"{}", {})
    (tmp_path / "link").rename(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    check_model_writable(tmp_path / "link")
    write_archive(tmp_path / "link", b"[]", {})
    assert (tmp_path / "link").is_symlink()
    assert read_archive(tmp_path / "real")[0] == b"[]"


KILLED = """
import sys, time
from pathlib import Path
from milopt.files import write_atomically

def slow(beside):
    beside.write_text("half")
    print("writing", flush=True)
    time.sleep(600)

write_atomically(Path(sys.argv[1]), slow)
"""


@unix
def test_leftovers_of_a_killed_process_are_removed_by_the_next_write(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "model")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        write_text(tmp_path / "other", "text")
        assert len(list(tmp_path.iterdir())) == 2, "the part of a process that lives is left alone"
        process.kill()
    assert len(list(tmp_path.iterdir())) == 2
    write_text(tmp_path / "another", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["another", "other"]


@unix
def test_a_write_does_not_touch_the_temporary_file_of_another(tmp_path: Path) -> None:
    def write(beside: Path) -> None:
        write_text(tmp_path / "within", "text")
        beside.write_text("whole")

    write_atomically(tmp_path / "model.txt", write)
    assert (tmp_path / "model.txt").read_text() == "whole"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.txt", "within"]
