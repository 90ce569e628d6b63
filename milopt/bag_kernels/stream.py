"""SplitMix64 random numbers, identical on every machine, in compiled code and in pure Python.

    state <- state + gamma,   output = hash_word(state)

Every pair of bags has its own stream, so its draws depend only on the seed and on the two bags.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Words

SPLITMIX_INCREMENT, SPLITMIX_FACTOR_1, SPLITMIX_FACTOR_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD_RANGE, _HALF_WORD_RANGE = 2**64, 2**32


class RandomStream:
    """SplitMix64 random stream, the pure Python reference of `compiled_stream`."""

    def __init__(self, seed: int) -> None:
        self._state = seed % _WORD_RANGE

    def next_word(self) -> int:
        """Advance the stream, and return 64 random bits."""
        self._state = (self._state + SPLITMIX_INCREMENT) % _WORD_RANGE
        return hash_word(self._state)

    def next_integer_below(self, count: int) -> int:
        """Return a random integer from 0 to count - 1. All values are exactly equally likely.

        A product whose lower 32 bits are below 2^32 mod count is rejected and drawn again: without this, some values
        would be more likely than others.
        """
        while True:
            scaled = (self.next_word() >> 32) * count
            if scaled % _HALF_WORD_RANGE >= (_HALF_WORD_RANGE - count) % count:
                return scaled >> 32

    def next_unit_float(self) -> float:
        """Return a random number in [0, 1)."""
        return (self.next_word() >> 11) * 2.0**-53


def hash_word(word: int) -> int:
    """Return a 64-bit hash of a word; every output bit depends on every input bit."""
    word = (word ^ (word >> 30)) * SPLITMIX_FACTOR_1 % _WORD_RANGE
    word = (word ^ (word >> 27)) * SPLITMIX_FACTOR_2 % _WORD_RANGE
    return word ^ (word >> 31)


def pair_seed(seed: int, first: int, second: int) -> int:
    """Return the seed of the unordered pair of the words `first` and `second` (digests of bags)."""
    low, high = min(first, second), max(first, second)
    return hash_word((hash_word((hash_word(seed % _WORD_RANGE) + low) % _WORD_RANGE) + high) % _WORD_RANGE)


def pair_seeds(seed: int, some: Words, others: Words) -> Words:
    """Return the seeds of many pairs of words, which are broadcast against each other (see `pair_seed`)."""
    start = np.array(hash_word(seed % _WORD_RANGE), dtype=np.uint64)
    return _hash_words(_hash_words(np.minimum(some, others) + start) + np.maximum(some, others))


def _hash_words(words: Words) -> Words:
    """Apply `hash_word` to every word of an array."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(SPLITMIX_FACTOR_1)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(SPLITMIX_FACTOR_2)
    return words ^ (words >> np.uint64(31))
