"""Tests of the deadline of long computations."""

from __future__ import annotations

from milopt.deadline import deadline, seconds_left


def test_without_a_limit_there_is_no_deadline() -> None:
    assert seconds_left() is None
    with deadline(None):
        assert seconds_left() is None


def test_the_earlier_deadline_holds_and_the_outer_one_is_restored() -> None:
    with deadline(1000.0):
        with deadline(2000.0):
            left = seconds_left()
            assert left is not None
            assert left <= 1000.0
        with deadline(0.0):
            assert seconds_left() == 0.0
        with deadline(None):
            left = seconds_left()
            assert left is not None
            assert 0.0 < left <= 1000.0
    assert seconds_left() is None
