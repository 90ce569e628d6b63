"""The progress line: finished items, and an estimate of the time left."""

from __future__ import annotations

import pytest

from milopt.cli import progress
from milopt.cli.progress import ProgressLog, estimate_seconds_left, format_time_left


def test_the_time_left_is_that_of_the_remaining_items_at_the_speed_so_far() -> None:
    assert estimate_seconds_left(done=20, remaining=60, elapsed=10.0) == 30.0
    assert estimate_seconds_left(done=0, remaining=60, elapsed=10.0) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0.2, "about 1 s left"),
        (42.4, "about 42 s left"),
        (100, "about 2 min left"),
        (7000, "about 117 min left"),
        (9000, "about 2 h left"),
    ],
)
def test_the_time_left_is_printed_in_its_largest_unit(seconds: float | None, text: str) -> None:
    assert format_time_left(seconds) == text


def test_a_log_has_a_line_per_so_many_items_and_seconds(monkeypatch, capsys) -> None:
    clock = 0.0
    monkeypatch.setattr(progress, "perf_counter", lambda: clock)
    log = ProgressLog("evaluating on musk1", "fits")
    for done in range(1001):
        clock = 2.0 * done
        log.update(None, done, 1000)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "evaluating on musk1: 20 of 1000 fits, about 33 min left"
    assert lines[-1] == "evaluating on musk1: 1000 of 1000 fits"
    assert len(lines) == progress.MAX_LOG_LINES


def test_short_work_has_no_log(monkeypatch, capsys) -> None:
    monkeypatch.setattr(progress, "perf_counter", lambda: 0.0)
    log = ProgressLog("evaluating on musk1", "fits")
    for done in range(11):
        log.update("evaluating", done, 10)
    assert capsys.readouterr().err == ""
