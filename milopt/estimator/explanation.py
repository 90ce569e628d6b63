"""Why a bag got its label: the scores of its instances, and what each of them contributes to the bag's score.

The contribution of an instance is what the bag's score loses without it,

    contribution_j = score(B) - score(B without x_j),

which needs nothing but the scores, so that it means the same for every model; for a bag of one it is the whole score.
It takes n bags of n - 1 instances: in a bag of more than 141 it is computed only for the instances whose own scores
are farthest from the median, as many as 20 000 rows allow, and NaN for the others. An ensemble of maxima tells it for
all at once (`losses`); where it looks at windows of a series, these are the instances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from milopt.arrays import Floats, Index, Points
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.estimator.choice import program_of
from milopt.estimator.fitted import Fitted
from milopt.estimator.losses import Losses, losses
from milopt.estimator.maximisers import samples
from milopt.estimator.shown_bag import ShownBag
from milopt.outcome.columns import is_readable
from milopt.outcome.result import FittedFunction, Result

_ROWS = 20_000
"""Instances, over all bags without one of theirs, that are scored for one explanation."""
_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Explanation:
    """One bag's label and score, instance by instance."""

    label: object
    """The predicted label."""
    positive_label: object
    """The label that positive scores speak for: the positive one of two classes, the predicted one of more."""
    score: float
    instance_scores: Floats
    contributions: Floats
    witness: int
    """The instance with the largest score; the first of those that tie."""
    starts: Index | None = None
    """The first sample of each instance where these are windows of a series; so too the lengths."""
    lengths: Index | None = None

    def __str__(self) -> str:
        count = self.contributions.size
        first = f"Bag of {count} instance{'s' if count > 1 else ''}: {self.label} (score {self.score:.4g}; "
        header = "  instance       score  contribution"
        lines = [
            f"{first}positive speaks for {self.positive_label}).",
            header + ("" if self.starts is None else "  samples"),
        ]
        known = int(np.isfinite(self.contributions).sum())
        order = np.argsort(-np.abs(self.contributions), kind="stable")[:known]
        lines += [self._row(j) for j in order[:_SHOWN].tolist()]
        if self.witness in order[_SHOWN:]:
            # Of several columns each has its own maximiser, and the largest sum may be none of them.
            lines += [
                f"  and {known - _SHOWN} more that contribute less, the witness among them:",
                self._row(self.witness),
            ]
        elif known > _SHOWN:
            lines.append(f"  and {known - _SHOWN} more that contribute less.")
        if known < count:
            lines.append(
                f"  The other {count - known} have scores nearer to the median; what they contribute is left out."
            )
        lines.append(
            f"  * the witness, instance {self.witness}, has the largest score. A contribution is what the bag's score "
            "loses without the instance."
        )
        return "\n".join(lines)

    def _row(self, j: int) -> str:
        """The line of one instance, with a star at the witness."""
        mark = "*" if j == self.witness else " "
        numbers = f"  {j:8d}{mark} {self.instance_scores[j]:10.4g}  {self.contributions[j]:12.4g}"
        return f"{numbers}  {samples(self.starts, self.lengths, range(j, j + 1))[0]}".rstrip()


def explained(fitted: Fitted, shown: ShownBag, label: object) -> Explanation:
    """The explanation of one bag."""
    training, bag = fitted.training, shown.scaled
    column, positive_label = program_of(label if training.positive is None else None, training)
    result = fitted.results[column]
    total = float(result.score(bag)[0])
    found = losses(result, shown, total) if is_readable(result) else _losses(fitted, column, shown, total)
    return Explanation(
        label=label,
        positive_label=positive_label,
        score=total,
        instance_scores=found.scores,
        contributions=found.contributions,
        witness=int(np.argmax(found.scores)),
        starts=found.starts,
        lengths=found.lengths,
    )


def _losses(fitted: Fitted, column: int, shown: ShownBag, total: float) -> Losses:
    """Of any model, by scoring the bag without each of its instances."""
    scores = fitted.program_instance_scores(shown.scaled.instances)[column]
    starts, lengths = shown.spans(np.arange(scores.size), None) or (None, None)
    return Losses(scores, _contributions(fitted.results[column], shown.scaled, scores, total), starts, lengths)


def _contributions(result: Result, bag: Bags, scores: Floats, total: float) -> Floats:
    count = scores.size
    if count == 1:
        return np.array([total])
    far = np.abs(scores - np.median(scores))
    far[np.argmax(scores)] = np.inf  # the witness is always among them
    unusual = np.argsort(-far, kind="stable")
    chosen = np.sort(unusual[: max(1, _ROWS // (count - 1))])
    rows = np.concatenate([np.delete(np.arange(count), j) for j in chosen])
    without = Bags(bag.instances[rows], np.arange(chosen.size + 1) * (count - 1))
    known = {
        name: _Known(f.kernel, f.points, f.coefficients, without, bag, rows)
        for name, f in result.functions.items()
        if not isinstance(f.kernel, BagKernel)
    }
    lost = total - replace(result, functions={**result.functions, **known}).score(without)
    # Without an instance that does not matter the same sum is taken in another order.
    lost[np.abs(lost) <= 1e-12 * (1.0 + abs(total))] = 0.0
    contributions = np.full(count, np.nan)
    contributions[chosen] = lost
    return contributions


@dataclass(frozen=True, eq=False)
class _Known(FittedFunction):
    """A function that is evaluated once per instance of a bag, however many bags without one instance it is in.

    A function of other points, such as the memberships of bags, is evaluated as usual.
    """

    without: Bags
    bag: Bags
    rows: Index
    """The instance of the bag that each instance of `without` is."""

    def __call__(self, at: Points) -> Floats:
        return super().__call__(self.bag.instances)[self.rows] if at is self.without.instances else super().__call__(at)
