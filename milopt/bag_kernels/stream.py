"""Random numbers that are the same on every machine, in compiled code and in plain Python: SplitMix64.

    state <- state + gamma,   output = mix(state)

A pair of bags has a stream of its own, so that its draws depend on nothing but the seed and the two bags.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

GAMMA, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD, _HALF = 2**64, 2**32


class Stream:
    """The plain reference of the compiled stream."""

    def __init__(self, seed: int) -> None:
        self._state = seed % _WORD

    def word(self) -> int:
        """64 random bits."""
        self._state = (self._state + GAMMA) % _WORD
        return mixed(self._state)

    def below(self, count: int) -> int:
        """0 to count - 1, each exactly as likely: a product that falls into the uneven rest is drawn again."""
        while True:
            scaled = (self.word() >> 32) * count
            if scaled % _HALF >= (_HALF - count) % count:
                return scaled >> 32

    def unit(self) -> float:
        """A number in [0, 1)."""
        return (self.word() >> 11) * 2.0**-53


def mixed(word: int) -> int:
    """A word whose every bit depends on every bit of the given one."""
    word = (word ^ (word >> 30)) * FIRST % _WORD
    word = (word ^ (word >> 27)) * SECOND % _WORD
    return word ^ (word >> 31)


def pair_seed(seed: int, one: int, other: int) -> int:
    """The seed of an unordered pair of words."""
    low, high = min(one, other), max(one, other)
    return mixed((mixed((mixed(seed % _WORD) + low) % _WORD) + high) % _WORD)


def pair_seeds(seed: int, some: Words, others: Words) -> Words:
    """The seeds of many pairs, which are broadcast together; `pair_seed` is the plain reference."""
    start = np.array(mixed(seed % _WORD), dtype=np.uint64)
    return _all_mixed(_all_mixed(np.minimum(some, others) + start) + np.maximum(some, others))


def _all_mixed(words: Words) -> Words:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(FIRST)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(SECOND)
    return words ^ (words >> np.uint64(31))
