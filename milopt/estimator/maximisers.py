"""Which instances decide a bag: for every column of an ensemble the instance that maximises it, and what it adds.

g(B) = sum_t c_t + bias,   c_t = w_t h_t(B),   h_t(B) = sign_t u_t(x*_t),   x*_t = argmax_{x in B} u_t(x)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from milopt.arrays import Floats, Index
from milopt.estimator.shown_bag import ShownBag
from milopt.outcome.columns import columns_of
from milopt.outcome.result import Result
from milopt.table import Table

_SHOWN = 10

CAUTION = (
    "Caution: a negative coefficient under a maximum does not say that some instance resembles its pattern. "
    "-K(z, .) is largest at what is least like z; only in a column of sign - does likeness to z itself count against."
)
"""Why negative contributions are to be read with care, beside every table and picture that has one."""


@dataclass(frozen=True, eq=False)
class MaximiserTable:
    """One bag's score, column by column, the largest |c_t| first; `str` for people, `as_dict` for machines.

    A column of sign + has a negative c_t only where u_t is negative at every instance, hence by negative coefficients:
    for u = -K(z, .) even the instance least like z is like z. It does not mean that some instance resembles z.
    """

    label: object
    """The predicted label."""
    positive_label: object
    """The label that positive scores speak for."""
    score: float
    bias: float
    columns: Index
    """t, the place of the column in the ensemble."""
    weights: Floats
    signs: Floats
    instances: Index
    """x*_t, its place among the bag's instances, or among its windows of the column's length."""
    contributions: Floats
    starts: Index | None
    """The first sample of x*_t where it is a window of a series, otherwise None; so too the lengths."""
    lengths: Index | None
    series: Floats | None
    """The bag's series, L x D, where it can be told."""

    def __len__(self) -> int:
        return int(self.columns.size)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        names = ("column", "weight", "sign", "instance", "contribution", "start", "length")
        nothing = [None] * len(self)
        lists = [
            *(self.columns.tolist(), self.weights.tolist(), self.signs.tolist(), self.instances.tolist()),
            self.contributions.tolist(),
            *(nothing if one is None else one.tolist() for one in (self.starts, self.lengths)),
        ]
        head = {
            "label": plain(self.label),
            "positive_label": plain(self.positive_label),
            "score": self.score,
            "bias": self.bias,
        }
        return head | {"columns": [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]}

    def __str__(self) -> str:
        shown = range(min(len(self), _SHOWN))
        spans = samples(self.starts, self.lengths, shown)
        rows = [
            (
                *(str(self.columns[k]), f"{self.weights[k]:.4g}", sign(self.signs[k]), str(self.instances[k])),
                *(span, f"{self.contributions[k]:.4g}"),
            )
            for k, span in zip(shown, spans, strict=True)
        ]
        header = ("column", "weight", "sign", "instance", "samples", "contribution")
        title = f"{self.label} (score {self.score:.4g}; positive speaks for {self.positive_label})."
        lines = [str(Table(title, header, tuple(rows), frozenset(header) - {"samples"}))]
        if len(self) > _SHOWN:
            rest = float(self.contributions[_SHOWN:].sum())
            lines.append(f"  and {len(self) - _SHOWN} more, {rest:.4g} together.")
        lines.append(f"  The contributions and the bias of {self.bias:.4g} add up to the score.")
        if ((self.signs > 0) & (self.contributions < 0)).any():
            lines.append(f"  {CAUTION}")
        return "\n".join(lines)


def maximisers(result: Result, bag: ShownBag, label: object, positive_label: object) -> MaximiserTable:
    """The table of one bag."""
    parts = columns_of(result)
    ensemble = result.ensemble
    assert ensemble is not None
    # What the ensemble itself scores with, so that the sum is the score.
    columns = ensemble.columns(result.program, bag.scaled)[0]  # type: ignore[arg-type]  # columns_of has checked it
    contributions = columns * ensemble.weights
    instances = np.zeros(columns.size, dtype=np.intp)
    signs = np.ones(columns.size)
    starts, lengths = np.zeros((2, columns.size), dtype=np.intp)
    windows = True
    for part in parts:
        values = part.values(part.seen(bag.scaled))
        instances[part.places] = values.argmax(axis=0)
        signs[part.places] = part.sign
        span = bag.spans(instances[part.places], part.samples)
        windows = windows and span is not None
        if span is not None:
            starts[part.places], lengths[part.places] = span
    order = np.argsort(-np.abs(contributions), kind="stable")
    return MaximiserTable(
        label=label,
        positive_label=positive_label,
        score=float(contributions.sum() + ensemble.offset),
        bias=ensemble.offset,
        columns=order,
        weights=ensemble.weights[order],
        signs=signs[order],
        instances=instances[order],
        contributions=contributions[order],
        starts=starts[order] if windows else None,
        lengths=lengths[order] if windows else None,
        series=bag.series if windows else None,
    )


def sign(value: float) -> str:
    """+ or -."""
    return "+" if value > 0 else "-"


def samples(starts: Index | None, lengths: Index | None, which: range) -> list[str]:
    """Spans as people read them, the last sample included; nothing where there are none."""
    if starts is None or lengths is None:
        return [""] * len(which)
    return [f"{starts[k]}-{starts[k] + lengths[k] - 1}" for k in which]


def plain(label: object) -> object:
    """A label as JSON has it."""
    return label.item() if isinstance(label, np.generic) else label
