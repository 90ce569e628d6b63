"""The progress line: finished items, and an estimate of the time left."""

from __future__ import annotations

import pytest

from milopt.cli.progress import estimate_seconds_left, format_time_left


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
