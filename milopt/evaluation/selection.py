"""Hyper-parameters chosen inside a training part: the candidate that labels most held-out bags of inner folds right.

Inner folds are stratified, 5 of them or as many as the smallest class has bags, drawn once or several times. Correct
labels are counted over all of them, so that a tie is a tie. Of those that tie, which on few bags are many, the one that
tells them apart most clearly is taken: the mean over held-out bags of

    clarity = clip(margin / r, -1, 1),   r = root mean square of the margins on the bags of the fit,

where the margin of a bag is the score of its own class less the largest of the others; and the first of equals, which a
grid has simplest first. A candidate whose fit fails is out, with the reason kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from milopt.declaration.arrays import Floats, Indices
from milopt.declaration.bags import Bags
from milopt.errors import MiloptError, ParameterError
from milopt.estimator import BagClassifier
from milopt.evaluation.protocol import Labels, derived_seed
from milopt.evaluation.record import Candidate, Fit
from milopt.model_registry import spelled_settings

INNER_FOLDS = 5

Settings = Mapping[str, object]


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
    folds = list(_inner_folds(labels, seed, repeats))
    total = labels.size * repeats
    candidates: list[Candidate] = []
    fits: list[Fit] = []
    for place, settings in enumerate(grid):
        correct: int | None = 0
        clarity, reason = 0.0, ""
        for fold, (train, held) in enumerate(folds):
            try:
                fitted = made(model, base, settings).fit(bags[train], labels[train])
                scores = fitted.decision_function(bags[held])
                right = int(np.sum(fitted.labels(scores) == labels[held]))
                clear = _clarity(fitted, scores, labels[held], bags[train], labels[train])
            except MiloptError as error:
                correct, reason = None, str(error)
                break
            fits.append(Fit.of(fitted.results_, place, fold))
            correct, clarity = (correct or 0) + right, clarity + clear / total
        told = None if correct is None else clarity
        candidates.append(Candidate(spelled_settings(settings), correct, total, told, reason))
    ranks = [(-1, 0.0) if one.correct is None else (one.correct, one.clarity or 0.0) for one in candidates]
    best = max(ranks)
    if best[0] < 0:
        raise ParameterError(f"No candidate of the grid could be fitted; the first one: {candidates[0].reason}")
    return Selection(tuple(candidates), tuple(fits), ranks.index(best))


def _clarity(fitted: BagClassifier, scores: Floats, labels: Labels, bags: Bags, known: Labels) -> float:
    """Summed over held-out bags of these scores and labels; `bags` with their labels, `known`, are those of the fit."""
    usual = np.sqrt(np.mean(_margins(fitted, fitted.decision_function(bags), known) ** 2))
    margins = _margins(fitted, scores, labels)
    return float(np.sum(np.clip(margins / usual, -1, 1))) if usual > 0 else 0.0


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


def _inner_folds(labels: Labels, seed: int, repeats: int) -> Iterator[tuple[Indices, Indices]]:
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
