"""Decomposition of the score of a bag: for each column of an ensemble, the maximising instance and its contribution.

g(B) = sum_t c_t + bias,   c_t = w_t h_t(B),   h_t(B) = sign_t u_t(x*_t),   x*_t = argmax_{x in B} u_t(x)

A column t is a weak learner h_t with weight w_t and sign sign_t (+1 or -1); u_t is a sum of kernel functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from milopt.arrays import Floats, Index
from milopt.estimator.explained_bag import ExplainedBag
from milopt.outcome.ensemble_columns import columns_of
from milopt.outcome.result import Result
from milopt.table import Table

_MAX_SHOWN_ROWS = 10
"""Number of columns that the text of a table shows."""

NEGATIVE_COEFFICIENT_CAUTION = (
    "Caution: a negative coefficient under a maximum does not mean that an instance resembles its pattern. "
    "-K(z, .) is largest at the instance least similar to z; only in columns of sign - does similarity to z itself "
    "count against the positive class."
)
"""Warning about the interpretation of negative coefficients, printed with tables and figures that have some."""


@dataclass(frozen=True, eq=False)
class MaximiserTable:
    """Score of one bag, decomposed into one contribution per column (weak learner) of an ensemble.

    The contribution of column t is c_t = w_t sign_t u_t(x*_t), where x*_t is the instance of the bag with the largest
    u_t. Returned by `EnsembleClassifier.maximisers`, sorted by decreasing |c_t|. `print` shows it as a table, and
    `as_dict` returns JSON data. For a column of sign +, a negative contribution c_t means that u_t is negative at every
    instance, because of negative coefficients: for u = -K(z, .), even the instance that is least similar to z has some
    similarity to z. It does not mean that an instance resembles z.

    Parameters
    ----------
    label : object
        Predicted label.
    positive_label : object
        Label for which positive scores stand.
    score : float
        Score of the bag: the sum of the contributions and the bias.
    bias : float
        Bias of the ensemble.
    columns : ndarray of shape (n_columns,)
        Index t of each column in the ensemble.
    weights : ndarray of shape (n_columns,)
        Weights w_t.
    signs : ndarray of shape (n_columns,)
        Signs of the columns, +1 or -1.
    instances : ndarray of shape (n_columns,)
        Index of the maximising instance x*_t in the bag, or among its windows of the column's length.
    contributions : ndarray of shape (n_columns,)
        Contributions c_t.
    starts : ndarray of shape (n_columns,) or None
        First sample of x*_t, if it is a window of a time series.
    lengths : ndarray of shape (n_columns,) or None
        Number of samples of x*_t, if it is a window of a time series.
    series : ndarray of shape (n_samples, n_features) or None
        Time series of the bag, if it can be reconstructed.

    Examples
    --------
    >>> import numpy as np
    >>> from milopt.models import ShapeletBoost
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1, 0] += 4
    >>> model = ShapeletBoost(atoms=10).fit(bags, y)
    >>> table = model.maximisers(bags[-1])
    >>> bool(np.isclose(table.contributions.sum() + table.bias, table.score))
    True
    """

    label: object
    positive_label: object
    score: float
    bias: float
    columns: Index
    weights: Floats
    signs: Floats
    instances: Index
    contributions: Floats
    starts: Index | None
    lengths: Index | None
    series: Floats | None

    def __len__(self) -> int:
        """Return the number of columns."""
        return int(self.columns.size)

    def as_dict(self) -> dict[str, Any]:
        """Return the table as JSON data.

        Returns
        -------
        dict
            With the keys `label`, `positive_label`, `score`, `bias` and `columns`, a list of one dict per column.
        """
        names = ("column", "weight", "sign", "instance", "contribution", "start", "length")
        missing = [None] * len(self)
        lists = [
            *(self.columns.tolist(), self.weights.tolist(), self.signs.tolist(), self.instances.tolist()),
            self.contributions.tolist(),
            *(missing if array is None else array.tolist() for array in (self.starts, self.lengths)),
        ]
        head = {
            "label": as_plain_label(self.label),
            "positive_label": as_plain_label(self.positive_label),
            "score": self.score,
            "bias": self.bias,
        }
        return head | {"columns": [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]}

    def __str__(self) -> str:
        """Format the columns with the largest contributions as a table."""
        shown = range(min(len(self), _MAX_SHOWN_ROWS))
        spans = format_sample_ranges(self.starts, self.lengths, shown)
        rows = [
            (
                *(str(self.columns[k]), f"{self.weights[k]:.4g}", sign_text(self.signs[k]), str(self.instances[k])),
                *(span, f"{self.contributions[k]:.4g}"),
            )
            for k, span in zip(shown, spans, strict=True)
        ]
        header = ("column", "weight", "sign", "instance", "samples", "contribution")
        title = (
            f"Predicted class {self.label}, score {self.score:.4g} (positive scores mean class {self.positive_label})."
        )
        lines = [str(Table(title, header, tuple(rows), frozenset(header) - {"samples"}))]
        if len(self) > _MAX_SHOWN_ROWS:
            rest = float(self.contributions[_MAX_SHOWN_ROWS:].sum())
            lines.append(f"  and {len(self) - _MAX_SHOWN_ROWS} more, {rest:.4g} together.")
        lines.append(f"  The contributions and the bias of {self.bias:.4g} add up to the score.")
        if ((self.signs > 0) & (self.contributions < 0)).any():
            lines.append(f"  {NEGATIVE_COEFFICIENT_CAUTION}")
        return "\n".join(lines)


def build_maximiser_table(result: Result, bag: ExplainedBag, label: object, positive_label: object) -> MaximiserTable:
    """Build the table of one bag, whose predicted label is `label`; positive scores stand for `positive_label`."""
    parts = columns_of(result)
    ensemble = result.ensemble
    assert ensemble is not None
    # Use the column values of the ensemble itself, so that the contributions add up to the score.
    columns = ensemble.columns(result.program, bag.scaled)[0]  # type: ignore[arg-type]  # columns_of has checked it
    contributions = columns * ensemble.weights
    instances = np.zeros(columns.size, dtype=np.intp)
    signs = np.ones(columns.size)
    starts, lengths = np.zeros((2, columns.size), dtype=np.intp)
    are_windows = True
    for part in parts:
        values = part.values(part.cut_windows(bag.scaled))
        instances[part.places] = values.argmax(axis=0)
        signs[part.places] = part.sign
        span = bag.window_spans(instances[part.places], part.samples)
        are_windows = are_windows and span is not None
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
        starts=starts[order] if are_windows else None,
        lengths=lengths[order] if are_windows else None,
        series=bag.series if are_windows else None,
    )


def sign_text(value: float) -> str:
    """Return "+" if the value is positive, else "-"."""
    return "+" if value > 0 else "-"


def format_sample_ranges(starts: Index | None, lengths: Index | None, indices: range) -> list[str]:
    """Format the first and the last sample of the windows at `indices`; empty strings if instances are not windows."""
    if starts is None or lengths is None:
        return [""] * len(indices)
    return [f"{starts[k]}-{starts[k] + lengths[k] - 1}" for k in indices]


def as_plain_label(label: object) -> object:
    """Convert a numpy scalar to a Python value, which JSON supports; return other labels unchanged."""
    return label.item() if isinstance(label, np.generic) else label
