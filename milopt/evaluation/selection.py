"""Selection of hyper-parameters inside a training part, by an inner cross-validation.

The inner folds are stratified, and drawn once or several times. Their number is the smaller of 5 and the number of bags
of the smallest class. The candidate with the most correct predictions on held-out bags wins. Predictions are counted
over all folds, so that ties are exact. Ties are frequent with few bags, and are broken by the largest mean over
held-out bags of

    clarity = clip(margin / r, -1, 1),   r = root mean square of the margins on the bags of the fit,

where the margin of a bag is the score of its own class minus the largest score of the other classes. Of equal
candidates, the first one wins; grids list the simplest candidate first. A candidate whose fit fails is rejected, and
the reason is recorded. While candidates are compared, a model uses the values of hyper-parameters in `in_selection`.
With these values, further fits may fail: SAFE rejects saddle points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import cast

import numpy as np

from milopt.arrays import Floats, Index, Labels
from milopt.declaration.bags.bags import Bags
from milopt.errors import MiloptError, ParameterError
from milopt.estimator import BagClassifier
from milopt.estimator.path import can_share, fit_together
from milopt.evaluation.fit_count import FitsDone
from milopt.evaluation.protocol import derive_seed
from milopt.evaluation.record import Candidate, FitRecord
from milopt.model_registry import format_settings

MAX_INNER_FOLDS = 5
"""Maximum number of inner folds."""

Settings = Mapping[str, object]
LabelledBags = tuple[Bags, Labels]


@dataclass(frozen=True)
class GridSelection:
    """Candidates with their results, all fits of the selection, and the index of the chosen candidate."""

    candidates: tuple[Candidate, ...]
    fits: tuple[FitRecord, ...]
    chosen: int


def grid_combinations(grid: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    """Return all combinations of a grid, the last name varying fastest; one empty combination if the grid is empty."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def select_candidate(
    model: type[BagClassifier],
    base: Settings,
    grid: Sequence[Settings],
    bags: Bags,
    labels: Labels,
    seed: int,
    repeats: int = 1,
    fits_done: FitsDone | None = None,
) -> GridSelection:
    """Select the best candidate of a grid by cross-validation on training bags; a single candidate is not fitted.

    `base` has the fixed hyper-parameters, and `repeats` is the number of times that the inner folds are drawn.
    `fits_done` is called after every fit, and after a fit that is left out because its candidate was rejected. Raise
    `ParameterError` if no candidate could be fitted.
    """
    if len(grid) == 1:
        return GridSelection((Candidate(format_settings(grid[0]), None, 0, None),), (), 0)
    trials = [CandidateTrial(settings) for settings in grid]
    # The outer loop is over folds, so that kernel values and other results for the same bags are computed once for all
    # candidates.
    for fold, (train, held_out) in enumerate(_inner_folds(labels, seed, repeats)):
        known, unseen = (bags[train], labels[train]), (bags[held_out], labels[held_out])
        for group in group_for_warm_runs(configure_model(model, model.in_selection, base), grid):
            indices = [index for index in group.indices if not trials[index].reason]
            if fits_done is not None:
                for _ in range(len(group.indices) - len(indices)):
                    fits_done(1)
            models = [configure_model(model, model.in_selection, base, grid[index]) for index in indices]
            for index, outcome in zip(indices, fit_together(models, group.name, *known), strict=True):
                trials[index].record(outcome, known, unseen, (index, fold))
                if fits_done is not None:
                    fits_done(1)
    candidates = [trial.as_candidate(labels.size * repeats) for trial in trials]
    fits = [fit for trial in trials for fit in trial.fits]
    ranks = [
        (-1, 0.0) if candidate.correct is None else (candidate.correct, candidate.clarity or 0.0)
        for candidate in candidates
    ]
    best = max(ranks)
    if best[0] < 0:
        raise ParameterError(f"No candidate of the grid could be fitted; the first one: {candidates[0].reason}")
    return GridSelection(tuple(candidates), tuple(fits), ranks.index(best))


def count_fits(candidates: int, labels: Labels, repeats: int) -> int:
    """Return the number of fits of a task: those of `select_candidate`, and the last fit.

    `labels` are those of the training part, and `repeats` is the number of times that the inner folds are drawn.
    """
    return 1 if candidates == 1 else candidates * _inner_fold_count(labels) * repeats + 1


@dataclass
class CandidateTrial:
    """Candidate during the inner cross-validation; it is rejected as soon as a fit fails, and `reason` states why."""

    settings: Settings
    correct: int = 0
    clarity: float = 0.0
    """Sum of the clarities of the held-out bags."""
    reason: str = ""
    fits: list[FitRecord] = field(default_factory=list)

    def record(
        self,
        outcome: BagClassifier | MiloptError,
        known: LabelledBags,
        unseen: LabelledBags,
        candidate_and_fold: tuple[int, int],
    ) -> None:
        """Add the correct predictions and clarities of a fitted model on held-out bags; for an error, set `reason`.

        `known` has the training bags and labels of a fold, `unseen` those held out.
        """
        try:
            if isinstance(outcome, MiloptError):
                raise outcome
            scores = outcome.decision_function(unseen[0])
            correct = int(np.sum(outcome.labels(scores) == unseen[1]))
            typical_margin = np.sqrt(np.mean(_margins(outcome, outcome.decision_function(known[0]), known[1]) ** 2))
            margins = _margins(outcome, scores, unseen[1])
        except MiloptError as error:
            self.reason = str(error) or type(error).__name__
            return
        self.fits.append(FitRecord.from_results(outcome.results_, *candidate_and_fold))
        self.correct += correct
        self.clarity += float(np.sum(np.clip(margins / typical_margin, -1, 1))) if typical_margin > 0 else 0.0

    def as_candidate(self, total: int) -> Candidate:
        """Return the candidate with its results on all `total` held-out bags."""
        settings = format_settings(self.settings)
        if self.reason:
            return Candidate(settings, None, total, None, self.reason)
        return Candidate(settings, self.correct, total, self.clarity / total)


@dataclass(frozen=True)
class WarmGroup:
    """Candidates that differ in one number only, which are fitted in one warm run."""

    name: str
    """Hyper-parameter in which they differ; empty for a single candidate."""
    indices: tuple[int, ...]
    """Indices of the candidates, in the order of the number."""


def group_for_warm_runs(model: BagClassifier, grid: Sequence[Settings]) -> list[WarmGroup]:
    """Divide the candidates of a grid into groups for `fit_together`.

    The numeric hyper-parameter with the most values is varied within the groups, the first one in case of ties.
    """
    values = {name: {settings[name] for settings in grid if _is_number(settings[name])} for name in grid[0]}
    usable = [name for name in grid[0] if len(values[name]) > 1 and can_share(model, name)]
    if not usable:
        return [WarmGroup("", (index,)) for index in range(len(grid))]
    name = max(usable, key=lambda candidate: len(values[candidate]))
    groups: list[tuple[Settings, list[int]]] = []
    for index, settings in enumerate(grid):
        rest = {key: value for key, value in settings.items() if key != name}
        known = (
            next((indices for other, indices in groups if other == rest), None) if _is_number(settings[name]) else None
        )
        if known is None:
            groups.append((rest, [index]))
        else:
            known.append(index)
    return [
        WarmGroup(name, tuple(sorted(indices, key=lambda index: float(cast(float, grid[index][name])))))
        if len(indices) > 1
        else WarmGroup("", tuple(indices))
        for _, indices in groups
    ]


def _is_number(value: object) -> bool:
    """Return True for real numbers, not for booleans."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _margins(fitted: BagClassifier, scores: Floats, labels: Labels) -> Floats:
    """Return the margin of each bag: the score of its own class minus the largest score of the other classes."""
    own_class = np.searchsorted(fitted.classes_, labels)
    if scores.ndim == 1:
        return np.asarray(np.where(own_class == 1, scores, -scores))
    rows, others = np.arange(own_class.size), scores.copy()
    others[rows, own_class] = -np.inf
    return np.asarray(scores[rows, own_class] - others.max(axis=1))


def configure_model(model: type[BagClassifier], *settings: Settings) -> BagClassifier:
    """Return a new model with these hyper-parameters; later settings override earlier ones."""
    configured = model()
    for values in settings:
        configured.set_params(**values)
    return configured


def _inner_folds(labels: Labels, seed: int, repeats: int) -> Iterator[tuple[Index, Index]]:
    """Yield the training and held-out indices of each inner fold, drawn `repeats` times.

    Raise `ParameterError` if a class has only one bag.
    """
    from sklearn.model_selection import StratifiedKFold

    classes, counts = np.unique(labels, return_counts=True)
    if int(counts.min()) < 2:
        raise ParameterError(
            f"Class {classes[counts.argmin()]} has one bag in a training part, but the selection of "
            "hyper-parameters needs two: fix the hyper-parameters instead."
        )
    for repeat in range(repeats):
        repeat_seed = derive_seed(seed, repeat) if repeat else seed
        divider = StratifiedKFold(_inner_fold_count(labels), shuffle=True, random_state=repeat_seed)
        yield from divider.split(np.zeros(labels.size), labels)


def _inner_fold_count(labels: Labels) -> int:
    """Return the number of inner folds: the smaller of MAX_INNER_FOLDS and the number of bags of the smallest class."""
    return min(MAX_INNER_FOLDS, int(np.unique(labels, return_counts=True)[1].min()))
