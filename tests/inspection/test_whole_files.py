"""Files are written whole, with the rights of any new file, through links, and into what is no file."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from milopt.archive import check_writable, read, written
from milopt.errors import MiloptError, ModelFileError
from milopt.files import check_place, write_text, write_whole

unix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither these rights nor these files")


@unix
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_file_has_the_rights_of_any_new_one(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        write_text(tmp_path / "written", "text")
        (tmp_path / "usual").write_text("text")
    finally:
        os.umask(before)
    assert (tmp_path / "written").stat().st_mode == (tmp_path / "usual").stat().st_mode


@unix
@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_one(tmp_path: Path, there: bool) -> None:
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
def test_a_pipe_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_text(pipe, "through it")
    reader.join(10)
    assert read == ["through it"]
    assert pipe.is_fifo()


def test_what_goes_wrong_is_one_sentence_of_the_callers(tmp_path: Path) -> None:
    def fails(beside: Path) -> None:
        beside.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(ModelFileError) as told:
        write_whole(tmp_path / "model", fails, what="The model", failure=ModelFileError)
    assert str(told.value) == f"The model cannot be written to {tmp_path / 'model'}: No space left on device."
    with pytest.raises(MiloptError, match="The file cannot be written to"):
        write_text(tmp_path, "a folder")
    assert list(tmp_path.iterdir()) == []


def test_a_place_is_checked_before_and_left_as_it_is(tmp_path: Path) -> None:
    check_place(tmp_path / "model")
    with pytest.raises(MiloptError, match=r"cannot be written to .*: No such file or directory"):
        check_place(tmp_path / "no" / "model")
    with pytest.raises(MiloptError, match=r"cannot be written to .*: Is a directory"):
        check_place(tmp_path)
    assert list(tmp_path.iterdir()) == []


@unix
def test_a_model_is_saved_through_a_link(tmp_path: Path) -> None:
    written(tmp_path / "link", b"{}", {})
    (tmp_path / "link").rename(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    check_writable(tmp_path / "link")
    written(tmp_path / "link", b"[]", {})
    assert (tmp_path / "link").is_symlink()
    assert read(tmp_path / "real")[0] == b"[]"


KILLED = """
import sys, time
from pathlib import Path
from milopt.files import write_whole

def slow(beside):
    beside.write_text("half")
    print("writing", flush=True)
    time.sleep(600)

write_whole(Path(sys.argv[1]), slow)
"""


@unix
def test_what_a_killed_process_left_is_removed_by_the_next_write(tmp_path: Path) -> None:
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
def test_a_write_leaves_the_part_of_another_alone(tmp_path: Path) -> None:
    def write(beside: Path) -> None:
        write_text(tmp_path / "within", "text")
        beside.write_text("whole")

    write_whole(tmp_path / "model.txt", write)
    assert (tmp_path / "model.txt").read_text() == "whole"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.txt", "within"]
