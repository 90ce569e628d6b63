"""The ways in which a data file can be wrong: each is a function that makes one such file from random draws."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

Way = Callable[[random.Random], tuple[str, bytes | str]]
"""Gives the ending of a file's name, and what is in the file."""

PathTrick = Callable[[random.Random, Path], Path]
"""Gives a path made from a free one: a folder, a pipe, a link to nowhere, ..."""

WAYS: list[Way] = []
PATH_TRICKS: list[PathTrick] = []


def way(function: Way) -> Way:
    WAYS.append(function)
    return function


def trick(function: PathTrick) -> PathTrick:
    PATH_TRICKS.append(function)
    return function
