"""Why a bag got its label: the scores of its instances, and what each of them contributes to the bag's score.

The contribution of an instance is what the bag's score loses without it,

    contribution_j = score(B) - score(B without x_j),

which needs nothing but the scores, so that it means the same for every model; for a bag of one it is the whole score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.declaration.arrays import Floats
from milopt.declaration.bags import Bags
from milopt.estimator.fitted import Fitted

_AT_ONCE = 20_000
"""Instances of the bags without one of theirs that are scored together."""
_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Explanation:
    """One bag's label and score, instance by instance."""

    label: object
    """The predicted label."""
    toward: object
    """The label that positive scores speak for: the second of two classes, the predicted one of more."""
    score: float
    instance_scores: Floats
    contributions: Floats
    witness: int
    """The instance with the largest score; the first of those that tie."""

    def __str__(self) -> str:
        count = self.contributions.size
        first = f"Bag of {count} instance{'s' if count > 1 else ''}: {self.label} (score {self.score:.4g}; "
        lines = [f"{first}positive speaks for {self.toward}).", "  instance       score  contribution"]
        order = np.argsort(-np.abs(self.contributions), kind="stable")
        for j in order[:_SHOWN].tolist():
            mark = "*" if j == self.witness else " "
            lines.append(f"  {j:8d}{mark} {self.instance_scores[j]:10.4g}  {self.contributions[j]:12.4g}")
        if count > _SHOWN:
            lines.append(f"  and {count - _SHOWN} more that contribute less.")
        lines.append(
            f"  * the witness, instance {self.witness}, has the largest score. A contribution is what the bag's score "
            "loses without the instance."
        )
        return "\n".join(lines)


def explained(fitted: Fitted, bag: Bags, label: object) -> Explanation:
    """The explanation of one bag, scaled already."""
    classes = fitted.training.classes
    column = 0 if classes.size == 2 else int(np.flatnonzero(classes == label)[0])
    result = fitted.results[column]
    scores = fitted.instance_scores(bag.instances)
    scores = scores if scores.ndim == 1 else scores[:, column]
    total = float(result.score(bag)[0])
    lost = total - _without_each(fitted, column, bag)
    # Without an instance that does not matter the same sum is taken in another order.
    lost[np.abs(lost) <= 1e-12 * (1.0 + abs(total))] = 0.0
    toward = classes[1] if classes.size == 2 else classes[column]
    return Explanation(
        label=label,
        toward=toward,
        score=total,
        instance_scores=scores,
        contributions=lost,
        witness=int(np.argmax(scores)),
    )


def _without_each(fitted: Fitted, column: int, bag: Bags) -> Floats:
    """The bag's score without each of its instances; 0 for a bag of one."""
    count = int(bag.sizes[0])
    if count == 1:
        return np.zeros(1)
    scores, step, everyone = np.empty(count), max(1, _AT_ONCE // count), np.arange(count)
    for start in range(0, count, step):
        left_out = everyone[start : start + step]
        rows = np.concatenate([np.delete(everyone, j) for j in left_out])
        bags = Bags(bag.instances[rows], np.arange(left_out.size + 1) * (count - 1))
        scores[left_out] = fitted.results[column].score(bags)
    return scores
