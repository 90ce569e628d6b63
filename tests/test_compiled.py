"""Compiled functions: a notice before the first compilation, and a cache on disk that may fail."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest
from numba.core.caching import IndexDataCacheFile

from milopt.compiled import DiskCache, Notice, njit
from milopt.errors import MiloptWarning


@pytest.mark.parametrize(
    ("module", "is_terminal", "lines"),
    [("milopt.solvers.some", True, 1), ("milopt.solvers.some", False, 0), ("mine", True, 0)],
)
def test_at_a_terminal_the_first_compilation_is_told_once(module, is_terminal, lines, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    notice, function = Notice(), lambda x: x
    function.__module__ = module
    for _ in range(2):
        notice.on_start(SimpleNamespace(data={"dispatcher": numba.njit(function)}))
    assert capsys.readouterr().err.count("compiling native algorithms, once") == lines


def doubled(x: float) -> float:
    return 2.0 * x


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that compiled code is kept in."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(DiskCache, "_warned", False)
    return tmp_path


def hits() -> int:
    """Call the function in a new dispatcher, as a new process would, and count what came from disk."""
    fresh = njit(doubled)
    assert fresh(4.0) == 8.0
    return sum(fresh.stats.cache_hits.values())  # type: ignore[attr-defined]  # numba comes without types


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("length", [0, 5, 40])
def test_a_cache_file_that_was_cut_short_is_written_again(cache: Path, ending: str, length: int) -> None:
    assert hits() == 0
    assert hits() == 1
    (file,) = cache.rglob(f"*.{ending}")
    file.write_bytes(file.read_bytes()[:length])
    assert hits() == 0
    assert hits() == 1


def test_a_full_disk_at_the_cache_is_one_warning_and_no_failure(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: IndexDataCacheFile, path: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "_open_for_write", full)
    with pytest.warns(MiloptWarning, match=r"cannot be kept in .* \(No space left on device\): the next process"):
        assert hits() == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hits() == 0
