"""Hyper-parameters chosen inside a training part: the candidate that labels most held-out bags of inner folds right.

Inner folds are stratified, 5 of them or as many as the smallest class has bags, drawn once or several times. Correct
labels are counted over all of them, so that a tie is a tie. Of those that tie, which on few bags are many, the one that
tells them apart most clearly is taken: the mean over held-out bags of

    clarity = clip(margin / r, -1, 1),   r = root mean square of the margins on the bags of the fit,

where the margin of a bag is the score of its own class less the largest of the others; and the first of equals, which a
grid has simplest first. A candidate whose fit fails is out, with the reason kept; a model's `in_selection` may make it
fail for more, such as a saddle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from milopt.arrays import Floats, Index
from milopt.declaration.bags.bags import Bags
from milopt.errors import MiloptError, ParameterError
from milopt.estimator import BagClassifier
from milopt.evaluation.protocol import Labels, derived_seed
from milopt.evaluation.record import Candidate, Fit
from milopt.model_registry import spelled_settings

INNER_FOLDS = 5

Settings = Mapping[str, object]
Labelled = tuple[Bags, Labels]


@dataclass(frozen=True)
class Selection:
    """The candidates with what they got right, the fits that this took, and the place of the one chosen."""

    candidates: tuple[Candidate, ...]
    fits: tuple[Fit, ...]
    chosen: int


def members(grid: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    """Every combination of a grid, the last name varying fastest; one of nothing where the grid is empty."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def select(
    model: type[BagClassifier],
    base: Settings,
    grid: Sequence[Settings],
    bags: Bags,
    labels: Labels,
    seed: int,
    repeats: int = 1,
) -> Selection:
    """The best of a grid on these training bags; a grid of one needs no comparison."""
    if len(grid) == 1:
        return Selection((Candidate(spelled_settings(grid[0]), None, 0, None),), (), 0)
    trials = [Trial(settings) for settings in grid]
    # Fold by fold: what all candidates compute of the same bags, such as kernel values, is computed once.
    for fold, (train, held) in enumerate(_inner_folds(labels, seed, repeats)):
        known, unseen = (bags[train], labels[train]), (bags[held], labels[held])
        for place, trial in enumerate(trials):
            if not trial.reason:
                trial.fit(made(model, model.in_selection, base, trial.settings), known, unseen, (place, fold))
    candidates = [trial.judged(labels.size * repeats) for trial in trials]
    fits = [fit for trial in trials for fit in trial.fits]
    ranks = [(-1, 0.0) if one.correct is None else (one.correct, one.clarity or 0.0) for one in candidates]
    best = max(ranks)
    if best[0] < 0:
        raise ParameterError(f"No candidate of the grid could be fitted; the first one: {candidates[0].reason}")
    return Selection(tuple(candidates), tuple(fits), ranks.index(best))


@dataclass
class Trial:
    """A candidate on its way through the inner folds; it is out as soon as it has a `reason`."""

    settings: Settings
    correct: int = 0
    clarity: float = 0.0
    """Summed over the held-out bags."""
    reason: str = ""
    fits: list[Fit] = field(default_factory=list)

    def fit(self, model: BagClassifier, known: Labelled, unseen: Labelled, where: tuple[int, int]) -> None:
        """Fit the model to the known bags and count what it makes of the unseen ones."""
        try:
            fitted = model.fit(*known)
            scores = fitted.decision_function(unseen[0])
            right = int(np.sum(fitted.labels(scores) == unseen[1]))
            usual = np.sqrt(np.mean(_margins(fitted, fitted.decision_function(known[0]), known[1]) ** 2))
            margins = _margins(fitted, scores, unseen[1])
        except MiloptError as error:
            self.reason = str(error) or type(error).__name__
            return
        self.fits.append(Fit.of(fitted.results_, *where))
        self.correct += right
        self.clarity += float(np.sum(np.clip(margins / usual, -1, 1))) if usual > 0 else 0.0

    def judged(self, total: int) -> Candidate:
        """What came of it, over so many held-out bags."""
        spelled = spelled_settings(self.settings)
        if self.reason:
            return Candidate(spelled, None, total, None, self.reason)
        return Candidate(spelled, self.correct, total, self.clarity / total)


def _margins(fitted: BagClassifier, scores: Floats, labels: Labels) -> Floats:
    """Of each bag, the score of its own class less the largest of the others."""
    own = np.searchsorted(fitted.classes_, labels)
    if scores.ndim == 1:
        return np.asarray(np.where(own == 1, scores, -scores))
    each, others = np.arange(own.size), scores.copy()
    others[each, own] = -np.inf
    return np.asarray(scores[each, own] - others.max(axis=1))


def made(model: type[BagClassifier], *settings: Settings) -> BagClassifier:
    """A model with these hyper-parameters."""
    one = model()
    for some in settings:
        one.set_params(**some)
    return one


def _inner_folds(labels: Labels, seed: int, repeats: int) -> Iterator[tuple[Index, Index]]:
    from sklearn.model_selection import StratifiedKFold

    classes, counts = np.unique(labels, return_counts=True)
    least = int(counts.min())
    if least < 2:
        raise ParameterError(
            f"Class {classes[counts.argmin()]} has one bag in a training part, and a grid needs two to choose by: "
            "fix the hyper-parameters instead."
        )
    for repeat in range(repeats):
        again = derived_seed(seed, repeat) if repeat else seed
        divider = StratifiedKFold(min(INNER_FOLDS, least), shuffle=True, random_state=again)
        yield from divider.split(np.zeros(labels.size), labels)
