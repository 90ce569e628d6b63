"""Tests of the deadline of long computations."""

from __future__ import annotations

import numpy as np
import pytest

from milopt.deadline import deadline, seconds_left
from milopt.declaration.kernels import gram
from milopt.errors import TimeLimitError


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


def test_large_products_end_at_the_deadline_and_are_the_same_before(monkeypatch: pytest.MonkeyPatch) -> None:
    A, B = (np.random.default_rng(seed).normal(size=(20, 3)) for seed in (0, 1))
    monkeypatch.setattr(gram, "MAX_UNINTERRUPTED_VALUES", 399)
    with deadline(1000.0):
        own = gram.inner_products(A, A)
        assert own == pytest.approx(A @ A.T)
        assert np.array_equal(own, own.T)
        assert gram.inner_products(A, B) == pytest.approx(A @ B.T)
    with deadline(0.0), pytest.raises(TimeLimitError, match="20 x 20 kernel values"):
        gram.inner_products(A, A)
    assert np.array_equal(gram.inner_products(A, A), A @ A.T)
