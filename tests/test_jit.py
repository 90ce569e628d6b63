"""Compiled functions: the notice before the first compilation, the disk cache, and the time of compilation."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core.caching import IndexDataCacheFile

from milopt import BagClassifier, Program, bag_mean, jit_time, sum_squares
from milopt.errors import MiloptWarning
from milopt.jit import CompilationNotice, DiskCache, njit


@pytest.mark.parametrize(
    ("module", "is_terminal", "lines"),
    [("milopt.solvers.some", True, 1), ("milopt.solvers.some", False, 0), ("mine", True, 0)],
)
def test_at_a_terminal_the_first_compilation_is_reported_once(module, is_terminal, lines, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    notice, function = CompilationNotice(), lambda x: x
    function.__module__ = module
    for _ in range(2):
        notice.on_start(SimpleNamespace(data={"dispatcher": numba.njit(function)}))
    assert capsys.readouterr().err.count("compiling native algorithms, once") == lines


def doubled(x: float) -> float:
    return 2.0 * x


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set a temporary folder for the disk cache and return it."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(DiskCache, "_warned", False)
    return tmp_path


def hits() -> int:
    """Call the function in a new dispatcher, as a new process would, and return the number of cache hits."""
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
    with pytest.warns(MiloptWarning, match=r"cannot be cached in .* \(No space left on device\): the next process"):
        assert hits() == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hits() == 0


def test_a_compilation_within_another_is_counted_once(monkeypatch) -> None:
    timer = jit_time.CompilationTimer()
    readings = iter([10.0, 14.0, 20.0, 21.0])
    monkeypatch.setattr(jit_time, "perf_counter", lambda: next(readings))
    for move in (timer.start, timer.start, timer.stop, timer.stop, timer.start, timer.stop):
        move()
    assert timer.seconds == 4.0 + 1.0


def test_compilation_time_of_numba_is_counted() -> None:
    before = jit_time.jit_seconds()
    with pytest.raises(numba.TypingError):
        numba.njit(lambda x: x + "text")(1.0)
    failed = jit_time.jit_seconds()
    assert failed > before
    function = numba.njit(lambda x: x + 1.0)
    function(1.0)
    compiled = jit_time.jit_seconds()
    assert compiled > failed
    function(2.0)
    assert jit_time.jit_seconds() == compiled


class CompilingKernel:
    """Kernel that compiles a function whenever it is evaluated."""

    compiles = True

    def __call__(self, A, B):
        if self.compiles:
            numba.njit(lambda x: x + 1.0)(1.0)
        return A @ B.T


class Compiling(BagClassifier):
    """Model that compiles while it is declared and solved, but not while its solution is evaluated."""

    def declare(self, bags, y, weight):
        numba.njit(lambda x: x + 1.0)(1.0)
        program = Program("compiling")
        f = program.function("f", CompilingKernel())
        program.minimize(f.norm_squared() + sum_squares(bag_mean(f(bags)) - y))
        program.score(lambda new: bag_mean(f(new)))
        return program

    def check_result(self, result):
        CompilingKernel.compiles = False


@pytest.mark.parametrize("classes", [2, 3])
def test_a_report_states_compilation_apart_from_declaring_building_and_solving(classes, monkeypatch) -> None:
    monkeypatch.setattr(CompilingKernel, "compiles", True)
    rng, before = np.random.default_rng(0), jit_time.jit_seconds()
    model = Compiling(scale="none").fit([rng.normal(size=(2, 3)) for _ in range(9)], np.arange(9) % classes)
    compiled = jit_time.jit_seconds() - before
    report = model.report().as_dict()
    seconds = report["seconds"]
    assert seconds["jit"] == pytest.approx(compiled)
    assert all(result.seconds.jit >= 0.0 for result in model.results_)
    assert sum(result.seconds.jit for result in model.results_) > 0.0
    parts = [seconds[name] for name in ("declare", "compile", "solve", "jit")]
    assert sum(parts) <= seconds["total"] * (1 + 1e-9)
    assert "jit" in str(model.report())
    for result in model.results_:
        assert result.seconds.build + result.seconds.solve + result.seconds.jit <= result.seconds.total * (1 + 1e-9)
