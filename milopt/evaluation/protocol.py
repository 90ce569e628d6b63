"""Protocols: how bags are divided into training and test parts, as text and as splits.

    10-fold, 10, 1x10   one repeat of 10 folds          10x10    10 repeats of 10 folds
    20x80/20            20 random splits, 20 % to test  train/test   the official parts of a data set
                                                        5xtrain/test the same parts, each time with other seeds

All but the official parts are stratified by class and shuffled. Repeat r depends on the seed and on r alone, so that
10x10 begins with the very splits of 1x10. Repeats of official parts differ in what a model and its inner folds draw.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.arrays import Index
from milopt.errors import ParameterError
from milopt.names import quoted

DRAWN = "10-fold, 1x10 or 10x10 (repeats x folds), 20x80/20 (repeats x percent of training and test bags)"
OFFICIAL = "train/test or 5xtrain/test (the official parts, with 5 seeds)"
_MOST = 10_000

Labels = npt.NDArray[Any]


@dataclass(frozen=True)
class Split:
    """The bags of one task."""

    repeat: int
    fold: int
    train: Index
    test: Index


@dataclass(frozen=True)
class Protocol:
    """`repeats` times `folds` folds; with no folds, random splits of `test_percent`; with neither, official parts."""

    repeats: int
    folds: int = 0
    test_percent: int = 0

    @property
    def official(self) -> bool:
        """Whether the parts are those that the data set comes with."""
        return not self.folds and not self.test_percent

    @property
    def division(self) -> str:
        """How one repeat divides the bags."""
        if self.folds:
            return f"{self.folds}-fold"
        return "train/test" if self.official else f"{100 - self.test_percent}/{self.test_percent}"

    def __str__(self) -> str:
        if self.official:
            return self.division if self.repeats == 1 else f"{self.repeats}x{self.division}"
        return f"{self.repeats}x{self.folds}" if self.folds else f"{self.repeats}x{self.division}"

    def splits(self, labels: Labels, seed: int, training: int | None = None) -> list[Split]:
        """Every split, repeat by repeat; `training` bags, the first ones, are the official training part."""
        if self.official:
            if training is None:
                raise ParameterError(f"The data have no official test part: use {DRAWN}.")
            places = np.arange(labels.size)
            return [Split(repeat, 0, places[:training], places[training:]) for repeat in range(self.repeats)]
        inside = labels[:training]
        self._check(inside)
        return [split for repeat in range(self.repeats) for split in self._repeat(inside, seed, repeat)]

    def _check(self, labels: Labels) -> None:
        classes, counts = np.unique(labels, return_counts=True)
        if classes.size < 2:
            raise ParameterError(f"All {labels.size} bags are of one class, {classes[0]}: both classes are needed.")
        few, least = classes[counts.argmin()], int(counts.min())
        if self.folds > least:
            at_most = f"use at most {least} folds" if least > 1 else "it cannot be in two parts"
            raise ParameterError(f"{self.folds} folds do not fit {least} bags of class {few}: {at_most}.")
        held = round(labels.size * self.test_percent / 100)
        if not self.folds and (least < 2 or not classes.size <= held <= labels.size - classes.size):
            raise ParameterError(
                f"{self.division} of {labels.size} bags, {least} of class {few}, leaves a part without one of the "
                f"{classes.size} classes: use another protocol."
            )

    def _repeat(self, labels: Labels, seed: int, repeat: int) -> list[Split]:
        from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

        state = derived_seed(seed, repeat)
        if self.folds:
            divider = StratifiedKFold(self.folds, shuffle=True, random_state=state)
        else:
            divider = StratifiedShuffleSplit(1, test_size=self.test_percent / 100, random_state=state)
        parts = divider.split(np.zeros(labels.size), labels)
        return [Split(repeat, fold, train, test) for fold, (train, test) in enumerate(parts)]


def parse_protocol(text: str | int) -> Protocol:
    """The protocol that a text, or a number of folds, stands for."""
    text = str(text)
    bare = re.sub(r"\s+", "", text.casefold())
    if found := re.fullmatch(r"(?:(\d+)x)?train/test", bare, re.ASCII):
        if 1 <= int(found[1] or 1) <= _MOST:
            return Protocol(int(found[1] or 1))
    elif found := re.fullmatch(r"(?:(\d+)x)?(\d+)(?:-?folds?)?", bare, re.ASCII):
        repeats, folds = int(found[1] or 1), int(found[2])
        if folds >= 2 and repeats >= 1 and repeats * folds <= _MOST:
            return Protocol(repeats, folds)
    elif found := re.fullmatch(r"(?:(\d+)x)?(\d+)/(\d+)", bare, re.ASCII):
        repeats, train, test = int(found[1] or 1), int(found[2]), int(found[3])
        if train + test == 100 and train and test and 1 <= repeats <= _MOST:
            return Protocol(repeats, 0, test)
    limits = f"at least 2 folds, at most {_MOST} tasks"
    raise ParameterError(f"No protocol is written {quoted(text)}: write {DRAWN}, or {OFFICIAL}; {limits}.")


def derived_seed(*numbers: int) -> int:
    """A seed that depends on all these numbers, the same on every machine."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def check_seed(seed: object) -> None:
    """Say so if it is no seed."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ParameterError(f"seed must be an integer of at least 0 and less than 2^32, not {seed!r}.")
