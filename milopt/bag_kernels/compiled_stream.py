"""SplitMix64 in compiled code; `stream` is the plain reference."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milopt.bag_kernels.stream import FIRST, GAMMA, SECOND
from milopt.compiled import njit_inner

State = npt.NDArray[np.uint64]
"""One word."""

_GAMMA, _FIRST, _SECOND = np.uint64(GAMMA), np.uint64(FIRST), np.uint64(SECOND)
_11, _27, _30, _31, _32 = (np.uint64(bits) for bits in (11, 27, 30, 31, 32))
_HALF, _LOW = np.uint64(2**32), np.uint64(2**32 - 1)
_UNIT = 2.0**-53


@njit_inner
def word(state: State) -> np.uint64:
    """64 random bits."""
    state[0] += _GAMMA
    bits = state[0]
    bits = (bits ^ (bits >> _30)) * _FIRST
    bits = (bits ^ (bits >> _27)) * _SECOND
    return np.uint64(bits ^ (bits >> _31))


@njit_inner
def below(state: State, count: int) -> int:
    """0 to count - 1, each exactly as likely."""
    span = np.uint64(count)
    while True:
        scaled = (word(state) >> _32) * span
        rest = scaled & _LOW
        # The remainder is dear, and seldom needed.
        if rest >= span or rest >= (_HALF - span) % span:
            return np.int64(scaled >> _32)  # type: ignore[return-value]  # an int to compiled code


@njit_inner
def unit(state: State) -> float:
    """A number in [0, 1)."""
    return float(np.int64(word(state) >> _11)) * _UNIT
