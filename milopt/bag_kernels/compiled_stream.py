"""Compiled SplitMix64 random numbers; `stream` is the pure Python reference."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Words
from milopt.bag_kernels.stream import SPLITMIX_FACTOR_1, SPLITMIX_FACTOR_2, SPLITMIX_INCREMENT
from milopt.jit import njit_inner

_SPLITMIX_INCREMENT, _SPLITMIX_FACTOR_1, _SPLITMIX_FACTOR_2 = (
    np.uint64(SPLITMIX_INCREMENT),
    np.uint64(SPLITMIX_FACTOR_1),
    np.uint64(SPLITMIX_FACTOR_2),
)
_SHIFT_11, _SHIFT_27, _SHIFT_30, _SHIFT_31, _SHIFT_32 = (np.uint64(bits) for bits in (11, 27, 30, 31, 32))
_HALF_WORD_RANGE, _HALF_WORD_MASK = np.uint64(2**32), np.uint64(2**32 - 1)
_UNIT_INTERVAL_STEP = 2.0**-53


@njit_inner
def next_word(state: Words) -> np.uint64:
    """Advance the stream, and return 64 random bits."""
    state[0] += _SPLITMIX_INCREMENT
    bits = state[0]
    bits = (bits ^ (bits >> _SHIFT_30)) * _SPLITMIX_FACTOR_1
    bits = (bits ^ (bits >> _SHIFT_27)) * _SPLITMIX_FACTOR_2
    return np.uint64(bits ^ (bits >> _SHIFT_31))


@njit_inner
def next_integer_below(state: Words, count: int) -> int:
    """Return a random integer from 0 to count - 1. All values are exactly equally likely."""
    span = np.uint64(count)
    while True:
        scaled = (next_word(state) >> _SHIFT_32) * span
        rest = scaled & _HALF_WORD_MASK
        # The remainder is expensive to compute and rarely needed.
        if rest >= span or rest >= (_HALF_WORD_RANGE - span) % span:
            return np.int64(scaled >> _SHIFT_32)  # type: ignore[return-value]  # an int to compiled code


@njit_inner
def next_unit_float(state: Words) -> float:
    """Return a random number in [0, 1)."""
    return float(np.int64(next_word(state) >> _SHIFT_11)) * _UNIT_INTERVAL_STEP
