"""Protocols: how bags are divided into training and test parts, as text and as splits.

    10-fold, 10, 1x10   one repeat of 10 folds          10x10    10 repeats of 10 folds
    20x80/20            20 random splits, 20 % to test  train/test   the official parts of a data set
                                                        5xtrain/test the same parts 5 times with different seeds

All splits except the official parts are stratified by class and shuffled. The splits of repeat r depend only on the
seed and on r, so that 10x10 begins with the splits of 1x10. Repeats of official parts differ in the random choices of
the model and of its inner folds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from milopt.arrays import Index, Labels
from milopt.errors import ParameterError
from milopt.name_suggestions import quote

RANDOM_PROTOCOLS_TEXT = (
    "10-fold, 1x10 or 10x10 (repeats x folds), 20x80/20 (repeats x percent of training and test bags)"
)
"""Description of the protocols with random splits, for error messages."""
OFFICIAL_PROTOCOLS_TEXT = "train/test or 5xtrain/test (the official parts, with 5 seeds)"
"""Description of the protocols with official parts, for error messages."""
MAX_TASKS = 10_000
"""Maximum number of tasks of a protocol, repeats times folds."""


@dataclass(frozen=True)
class TrainTestSplit:
    """Indices of the training bags and of the test bags of one task, with its numbers of repeat and fold, from 0."""

    repeat: int
    fold: int
    train: Index
    test: Index


@dataclass(frozen=True)
class Protocol:
    """Number of repeats, and how each repeat divides the bags.

    With `folds`, a repeat is a cross-validation. Otherwise, with `test_percent`, it is a random split. With neither, it
    uses the official parts.
    """

    repeats: int
    folds: int = 0
    test_percent: int = 0

    @property
    def is_official(self) -> bool:
        """True if the parts are the official parts of the data set."""
        return not self.folds and not self.test_percent

    @property
    def division(self) -> str:
        """How one repeat divides the bags, as text: "10-fold", "80/20" (training and test percent) or "train/test"."""
        if self.folds:
            return f"{self.folds}-fold"
        return "train/test" if self.is_official else f"{100 - self.test_percent}/{self.test_percent}"

    def __str__(self) -> str:
        """Return the protocol as text, which `parse_protocol` reads."""
        if self.is_official:
            return self.division if self.repeats == 1 else f"{self.repeats}x{self.division}"
        return f"{self.repeats}x{self.folds}" if self.folds else f"{self.repeats}x{self.division}"

    def splits(self, labels: Labels, seed: int, training: int | None = None) -> list[TrainTestSplit]:
        """Return all splits, repeat by repeat.

        The first `training` bags are the official training part, and the others the official test part; None means that
        there are no official parts. Random splits use only the official training part.
        """
        if self.is_official:
            if training is None:
                raise ParameterError(f"The data have no official test part: use {RANDOM_PROTOCOLS_TEXT}.")
            indices = np.arange(labels.size)
            return [TrainTestSplit(repeat, 0, indices[:training], indices[training:]) for repeat in range(self.repeats)]
        training_labels = labels[:training]
        self._check_classes(training_labels)
        return [
            split for repeat in range(self.repeats) for split in self._splits_of_repeat(training_labels, seed, repeat)
        ]

    def _check_classes(self, labels: Labels) -> None:
        """Raise `ParameterError` if a training or test part would not contain bags of every class."""
        classes, counts = np.unique(labels, return_counts=True)
        if classes.size < 2:
            raise ParameterError(
                f"All {labels.size} bags belong to one class, {classes[0]}: at least two classes are needed."
            )
        smallest_class, smallest_count = classes[counts.argmin()], int(counts.min())
        if self.folds > smallest_count:
            at_most = f"use at most {smallest_count} folds" if smallest_count > 1 else "it cannot be in two parts"
            raise ParameterError(
                f"{self.folds} folds are too many for {smallest_count} bags of class {smallest_class}: {at_most}."
            )
        test_count = round(labels.size * self.test_percent / 100)
        if not self.folds and (smallest_count < 2 or not classes.size <= test_count <= labels.size - classes.size):
            raise ParameterError(
                f"{self.division} of {labels.size} bags, {smallest_count} of class {smallest_class}, leaves a part "
                f"without one of the {classes.size} classes: use another protocol."
            )

    def _splits_of_repeat(self, labels: Labels, seed: int, repeat: int) -> list[TrainTestSplit]:
        """Return the splits of one repeat."""
        from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

        state = derive_seed(seed, repeat)
        if self.folds:
            divider = StratifiedKFold(self.folds, shuffle=True, random_state=state)
        else:
            divider = StratifiedShuffleSplit(1, test_size=self.test_percent / 100, random_state=state)
        parts = divider.split(np.zeros(labels.size), labels)
        return [TrainTestSplit(repeat, fold, train, test) for fold, (train, test) in enumerate(parts)]


def parse_protocol(text: str | int) -> Protocol:
    """Return the protocol for a text (see the module docstring) or a number of folds."""
    text = str(text)
    compact = re.sub(r"\s+", "", text.casefold())
    if match := re.fullmatch(r"(?:(\d+)x)?train/test", compact, re.ASCII):
        if 1 <= int(match[1] or 1) <= MAX_TASKS:
            return Protocol(int(match[1] or 1))
    elif match := re.fullmatch(r"(?:(\d+)x)?(\d+)(?:-?folds?)?", compact, re.ASCII):
        repeats, folds = int(match[1] or 1), int(match[2])
        if folds >= 2 and repeats >= 1 and repeats * folds <= MAX_TASKS:
            return Protocol(repeats, folds)
    elif match := re.fullmatch(r"(?:(\d+)x)?(\d+)/(\d+)", compact, re.ASCII):
        repeats, train, test = int(match[1] or 1), int(match[2]), int(match[3])
        if train + test == 100 and train and test and 1 <= repeats <= MAX_TASKS:
            return Protocol(repeats, 0, test)
    limits = f"at least 2 folds, at most {MAX_TASKS} tasks"
    raise ParameterError(
        f"{quote(text)} is not a protocol: write {RANDOM_PROTOCOLS_TEXT}, or {OFFICIAL_PROTOCOLS_TEXT}; {limits}."
    )


def derive_seed(*numbers: int) -> int:
    """Return a seed that depends on all given numbers; it is the same on every machine."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def check_seed(seed: object) -> None:
    """Raise an error if the seed is not an integer in [0, 2^32)."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ParameterError(f"seed must be an integer of at least 0 and less than 2^32, not {seed!r}.")
