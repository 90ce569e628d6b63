"""Explanation of the label of a bag: the scores of its instances, and their contributions to the score of the bag.

The contribution of an instance is the difference that its removal makes to the score of the bag,

    contribution_j = score(B) - score(B without x_j).

It only needs scores, so it is defined for every model. For a bag of one instance it is the whole score. For a bag of n
instances, it is computed from n bags of n - 1 instances. In a bag of more than 141 instances, it is therefore computed
only for the instance with the largest score (the witness) and those whose scores are farthest from the median, as many
as 20 000 scored instances allow, and is NaN for the others. For an ensemble of maxima, `instance_contributions`
computes all contributions at once; if its columns (weak learners) use windows of a time series, the windows are the
instances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from milopt.arrays import Floats, Index, Points
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.estimator.explained_bag import ExplainedBag
from milopt.estimator.fitted import FittedState
from milopt.estimator.instance_contributions import InstanceContributions, instance_contributions
from milopt.estimator.maximisers import format_sample_ranges
from milopt.estimator.program_choice import program_for_label
from milopt.html import element, notes, view
from milopt.outcome.ensemble_columns import declares_maxima
from milopt.outcome.result import FittedFunction, Result
from milopt.table import Table

_MAX_SCORED_INSTANCES = 20_000
"""Maximum number of instances that are scored for one explanation, over all bags without one instance."""
_MAX_SHOWN_ROWS = 10
"""Number of instances that the text of an explanation shows."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Label and score of one bag, with the score and contribution of each of its instances.

    Returned by `BagClassifier.explain`. `print` shows it as a table, with the largest contributions first.

    Parameters
    ----------
    label : object
        Predicted label.
    positive_label : object
        Label for which positive scores stand: the positive label of two classes, or the predicted label if there are
        more classes.
    score : float
        Score of the bag.
    instance_scores : ndarray of shape (n_instances,)
        Score of each instance.
    contributions : ndarray of shape (n_instances,)
        Score of the bag minus its score without the instance. NaN if it was not computed (large bags).
    witness : int
        Index of the instance with the largest score, the first one in case of ties.
    starts : ndarray of shape (n_instances,) or None, default=None
        First sample of each instance, if instances are windows of a time series.
    lengths : ndarray of shape (n_instances,) or None, default=None
        Number of samples of each instance, if instances are windows of a time series.

    Examples
    --------
    >>> import numpy as np
    >>> from milopt.models import MISVM
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1, 0] += 4
    >>> explanation = MISVM().fit(bags, y).explain(bags[-1])
    >>> explanation.label, explanation.witness
    (np.int64(1), 0)
    """

    label: object
    positive_label: object
    score: float
    instance_scores: Floats
    contributions: Floats
    witness: int
    starts: Index | None = None
    lengths: Index | None = None

    def __str__(self) -> str:
        """Format the explanation as a table of the instances with the largest contributions."""
        header = "  instance       score  contribution"
        lines = [self._headline(), header + ("" if self.starts is None else "  samples")]
        order = self._order()
        computed = order.size
        lines += [self._format_row(j) for j in order[:_MAX_SHOWN_ROWS].tolist()]
        if self.witness in order[_MAX_SHOWN_ROWS:]:
            # Each column of an ensemble has its own maximiser, and the witness need not be one of these maximisers.
            lines += [
                f"  and {computed - _MAX_SHOWN_ROWS} more that contribute less, the witness among them:",
                self._format_row(self.witness),
            ]
        elif computed > _MAX_SHOWN_ROWS:
            lines.append(f"  and {computed - _MAX_SHOWN_ROWS} more that contribute less.")
        return "\n".join([*lines, *(f"  {note}" for note in self._notes())])

    def __repr__(self) -> str:
        """Return label, score, number of instances and witness in one line."""
        score = f"score {self.score:.4g}, witness {self.witness}"
        return f"Explanation(label {self.label}, {score} of {self.contributions.size} instances)"

    def _repr_html_(self) -> str:
        """Return the instances with the largest contributions as a table for a notebook."""
        order = self._order()
        shown = order[:_MAX_SHOWN_ROWS].tolist()
        if self.witness not in shown:
            shown.append(self.witness)
        rows = [self._cells(j) for j in shown]
        header = ("instance", "score", "contribution", "samples")
        numeric = frozenset(header[:3])
        more = order.size - len(shown)
        left_out = [f"{more} more instances contribute less."] if more > 0 else []
        table = Table("", header, tuple(rows), numeric).html()
        return view(element("p", self._headline()), table, notes([*left_out, *self._notes()]))

    def _headline(self) -> str:
        """Return one sentence with the label and the score."""
        count = self.contributions.size
        first = f"Bag of {count} instance{'s' if count > 1 else ''}: predicted class {self.label}, "
        return f"{first}score {self.score:.4g} (positive scores mean class {self.positive_label})."

    def _order(self) -> Index:
        """Return the instances whose contributions were computed, by decreasing absolute contribution."""
        computed = int(np.isfinite(self.contributions).sum())
        return np.argsort(-np.abs(self.contributions), kind="stable")[:computed]

    def _notes(self) -> list[str]:
        """Return sentences about contributions that were not computed, and about the witness."""
        missing = int((~np.isfinite(self.contributions)).sum())
        not_computed = f"The other {missing} have scores near the median; their contributions were not computed."
        return [
            *([not_computed] if missing else []),
            f"* the witness, instance {self.witness}, has the largest score. A contribution is the decrease of "
            "the bag's score without the instance.",
        ]

    def _cells(self, j: int) -> tuple[str, str, str, str]:
        """Return the index of an instance (with a star for the witness), its score, contribution and samples."""
        mark = "*" if j == self.witness else " "
        span = format_sample_ranges(self.starts, self.lengths, range(j, j + 1))[0]
        return (f"{j}{mark}", f"{self.instance_scores[j]:.4g}", f"{self.contributions[j]:.4g}", span)

    def _format_row(self, j: int) -> str:
        """Format the row of one instance as text."""
        index, score, contribution, span = self._cells(j)
        return f"  {index:>9} {score:>10}  {contribution:>12}  {span}".rstrip()


def explain_bag(fitted: FittedState, shown: ExplainedBag, label: object) -> Explanation:
    """Build the explanation of one bag, whose predicted label is `label`."""
    training, bag = fitted.training, shown.scaled
    column, positive_label = program_for_label(label if training.positive is None else None, training)
    result = fitted.results[column]
    total = float(result.score(bag)[0])
    instances = (
        instance_contributions(result, shown, total)
        if declares_maxima(result)
        else _leave_one_out_contributions(fitted, column, shown, total)
    )
    return Explanation(
        label=label,
        positive_label=positive_label,
        score=total,
        instance_scores=instances.scores,
        contributions=instances.contributions,
        witness=int(np.argmax(instances.scores)),
        starts=instances.starts,
        lengths=instances.lengths,
    )


def _leave_one_out_contributions(
    fitted: FittedState, column: int, shown: ExplainedBag, total: float
) -> InstanceContributions:
    """Compute scores and contributions for any model, by scoring the bag without each of its instances.

    `column` is the index of the program, and `total` the score of the bag.
    """
    scores = fitted.program_instance_scores(shown.scaled.instances)[column]
    starts, lengths = shown.window_spans(np.arange(scores.size), None) or (None, None)
    return InstanceContributions(
        scores, _contributions(fitted.results[column], shown.scaled, scores, total), starts, lengths
    )


def _contributions(result: Result, bag: Bags, scores: Floats, total: float) -> Floats:
    """Compute the contributions of the instances of one bag; NaN for instances beyond the limit of scored instances.

    `scores` are those of the instances, and `total` is the score of the bag.
    """
    count = scores.size
    if count == 1:
        return np.array([total])
    distance = np.abs(scores - np.median(scores))
    distance[np.argmax(scores)] = np.inf  # the witness is always included
    unusual = np.argsort(-distance, kind="stable")
    chosen = np.sort(unusual[: max(1, _MAX_SCORED_INSTANCES // (count - 1))])
    rows = np.concatenate([np.delete(np.arange(count), j) for j in chosen])
    without = Bags(bag.instances[rows], np.arange(chosen.size + 1) * (count - 1))
    cached = {
        name: _CachedFunction(f.kernel, f.points, f.coefficients, without, bag, rows, weights=f.weights)
        for name, f in result.functions.items()
        if not isinstance(f.kernel, BagKernel)
    }
    decrease = total - replace(result, functions={**result.functions, **cached}).score(without)
    # Removing an instance without influence only changes the order of summation, hence the rounding errors.
    decrease[np.abs(decrease) <= 1e-12 * (1.0 + abs(total))] = 0.0
    contributions = np.full(count, np.nan)
    contributions[chosen] = decrease
    return contributions


@dataclass(frozen=True, eq=False)
class _CachedFunction(FittedFunction):
    """Fitted function that is evaluated once at the instances of `bag`, and whose values are copied to `without`.

    `without` contains the bags that remain if one instance is removed from `bag`. At other points, such as the cluster
    memberships of bags, the function is evaluated as usual.
    """

    without: Bags
    bag: Bags
    rows: Index
    """For each instance of `without`, its index in the bag."""

    def __call__(self, at: Points) -> Floats:
        """Evaluate the function at points; at the instances of `without`, copy the values at the instances of `bag`."""
        return super().__call__(self.bag.instances)[self.rows] if at is self.without.instances else super().__call__(at)
