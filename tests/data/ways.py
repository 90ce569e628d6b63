"""Registry of the ways in which a data file can be invalid; each way is a function that generates such a file."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

Way = Callable[[random.Random], tuple[str, bytes | str]]
"""Function that returns the ending of a file name and the content of the file."""

PathTrick = Callable[[random.Random, Path], Path]
"""Function that creates an invalid path, such as a directory, a pipe or a broken link."""

WAYS: list[Way] = []
PATH_TRICKS: list[PathTrick] = []


def way(function: Way) -> Way:
    WAYS.append(function)
    return function


def trick(function: PathTrick) -> PathTrick:
    PATH_TRICKS.append(function)
    return function
