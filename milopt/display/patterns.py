"""Plot of the patterns of an ensemble, over a series or one by one.

A pattern is a point z of the dictionary of a column (weak learner) of the ensemble: a window of a series or another
instance, or a mean of them, with which the column compares the instances of a bag.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from milopt.arrays import Points
from milopt.declaration.bags.bags import Bags
from milopt.display.canvas import (
    GREY,
    BarLanes,
    hide_upper_right_borders,
    set_title,
    typographic_sign,
    use_or_create_axes,
    wrap_text,
    write_note_below,
)
from milopt.display.display import Display
from milopt.display.maximisers import select_feature
from milopt.errors import MiloptError
from milopt.estimator.maximisers import NEGATIVE_COEFFICIENT_CAUTION
from milopt.estimator.patterns import PatternTable
from milopt.picture_style import COOL, SMALL_FONT_SIZE, WARM, draws

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

    from milopt.estimator.ensemble_classifier import EnsembleClassifier

MAX_PATTERNS_PER_ROW = 4
"""Maximum number of patterns side by side; half as many if a pattern is long (see `MAX_NARROW_VALUES`)."""
MAX_NARROW_VALUES = 60
"""Patterns with more values than this are drawn with a thin line, and in axes of twice the width."""
SERIES_NOTE = (
    "Each pattern is drawn where the series is most similar to it. The text next to its bar gives its column, the sign "
    "of this column, and the root mean square difference between pattern and series: a large difference means that "
    "the pattern does not occur in this series."
)
"""Note below patterns that are drawn over a series."""
NEIGHBOUR_NOTE = "Grey: the nearest training instance."
"""Note below patterns that are drawn one by one."""


@dataclass(eq=False, repr=False)
class PatternsDisplay(Display):
    """Plot of patterns with their weights omega = sign w a: warm for omega > 0, cool for omega < 0.

    Here sign and w are the sign and the weight of a column (weak learner) of the ensemble, and a is the coefficient of
    the pattern in this column.

    With a series, each pattern is drawn at the position where the series is most similar to it. A bar below shows its
    column, the sign of the column, and the distance between pattern and series, because even the most similar window
    may be far away. Without a series, each pattern has its own axes, with its nearest training instance in grey: a
    pattern can be a mean that does not occur in the data. A negative omega needs care: in a column of sign + it is a
    negative coefficient, and the column depends on the window least similar to the pattern; in a column of sign -,
    similarity itself counts against the label.

    Parameters
    ----------
    table : PatternTable
        Patterns with weights, from `model.patterns(...)`.
    feature : int, default=0
        Feature of the samples to draw.
    most : int, default=12
        Maximum number of patterns to draw, by decreasing weight |omega|.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure of these axes.
    axes_ : list of matplotlib Axes
        Axes with patterns: one with a series, otherwise one per pattern.
    lines_ : list of matplotlib Line2D
        One line per pattern, by decreasing |omega|.
    bars_ : list of matplotlib Rectangle
        Bars below the series in the same order; empty without a series.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import milopt
    >>> from milopt.display import PatternsDisplay
    >>> from milopt.models import ShapeletBoost
    >>> data = milopt.load_data("ItalyPowerDemand", window=6)
    >>> model = ShapeletBoost(atoms=4, random_state=0).fit(data.bags[:20], data.labels[:20])
    >>> display = PatternsDisplay.from_estimator(model, most=2)
    >>> len(display.axes_) == len(display.lines_)
    True
    """

    table: PatternTable
    feature: int = 0
    most: int = 12
    axes_: list[Axes] = field(init=False, repr=False)
    lines_: list[Any] = field(init=False, repr=False)
    bars_: list[Any] = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        model: EnsembleClassifier,
        bag: Points | Bags | None = None,
        *,
        label: object = None,
        feature: int = 0,
        most: int = 12,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the patterns of a fitted model, over a series if one is given.

        Parameters
        ----------
        model : EnsembleClassifier
            Fitted ensemble, such as `ShapeletBoost`.
        bag : array of shape (n_samples, n_features), Bags of length 1, or None, default=None
            The series, or its windows. None draws each pattern in its own axes.
        label : object, default=None
            Class whose patterns are drawn, for more than two classes. None selects the predicted class of the bag.
        feature : int, default=0
            Feature of the samples to draw.
        most : int, default=12
            Maximum number of patterns to draw.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        PatternsDisplay
            The display that was drawn.
        """
        return cls(model.patterns(bag, label), feature, most).plot(ax)

    @property
    def drawn_count(self) -> int:
        """Number of patterns that are drawn."""
        return min(len(self.table), self.most)

    @draws
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw into; without a series, they are divided into one Axes per pattern. None creates a new figure.

        Returns
        -------
        PatternsDisplay
            The display itself, with `ax_`, `axes_` and `figure_` set.
        """
        if not self.drawn_count:
            raise MiloptError("The model has no patterns to draw: all columns have weight 0.")
        if self.table.series is None:
            return self._draw_one_by_one(ax)
        return self._draw_over_series(ax)

    def _draw_over_series(self, ax: Axes | None) -> Self:
        """Draw the patterns over the series."""
        table = self.table
        series = select_feature(table.series, self.feature)
        assert table.starts is not None
        assert table.distances is not None
        axes = use_or_create_axes(ax, 7.6, 5.0)
        axes.plot(series, color=GREY, linewidth=1)
        lanes = BarLanes.below(axes, series, *(self._drawn_values(k) for k in range(self.drawn_count)))
        self.lines_, self.bars_ = [], []
        for k in range(self.drawn_count):
            where = int(table.starts[k]) + np.arange(self._drawn_values(k).size)
            style = self._line_style(k)
            self.lines_ += axes.plot(where, self._drawn_values(k), **style, zorder=10 - k / 100)
            text = f"column {table.columns[k]} ({typographic_sign(table.signs[k])}), off by {table.distances[k]:.2g}"
            self.bars_ += lanes.draw_bar(k, int(where[0]), int(where[-1]), style["color"], text)
        axes.set_xlabel("sample")
        axes.set_ylabel("value")
        set_title(axes, self._title_text())
        axes.margins(x=0.01)
        lanes.remove_ticks_beside_bars()
        write_note_below(axes, f"{SERIES_NOTE} {NEGATIVE_COEFFICIENT_CAUTION}")
        self._store_axes(axes, [axes])
        return self

    def _draw_one_by_one(self, ax: Axes | None) -> Self:
        """Draw each pattern in its own axes."""
        longest = max(self._drawn_values(k).size for k in range(self.drawn_count))
        most = MAX_PATTERNS_PER_ROW // 2 if longest > MAX_NARROW_VALUES else MAX_PATTERNS_PER_ROW
        across = min(most, self.drawn_count)
        down = -(-self.drawn_count // across)
        whole = use_or_create_axes(ax, max(2.1 * MAX_PATTERNS_PER_ROW * across / most, 6.0), 1.5 * down + 0.9)
        whole.set_axis_off()
        place = whole.get_subplotspec()
        if place is None:
            raise MiloptError(
                "ax must be in a grid, such as that of plt.subplots(), since it is divided into one Axes per pattern."
            )
        # The title and the note have their own rows, so that they stay within the space of the Axes.
        grid = place.subgridspec(down + 2, across, height_ratios=[0.12, *[1.0] * down, 0.25])
        _write_text(whole, grid[0, :], self._title_text(), fontsize=9, x=0.5, ha="center")
        below = wrap_text(whole, f"{NEIGHBOUR_NOTE} {NEGATIVE_COEFFICIENT_CAUTION}")
        _write_text(whole, grid[-1, :], below, fontsize=SMALL_FONT_SIZE, color="0.35", x=0.0, ha="left")
        subplots: list[Axes] = []
        self.lines_, self.bars_ = [], []
        for k in range(self.drawn_count):
            axes = whole.figure.add_subplot(grid[1 + k // across, k % across], sharey=subplots[0] if subplots else None)
            style = self._line_style(k)
            # The neighbour is wider than the pattern, so that it is visible on both sides even if the two coincide.
            axes.plot(
                self._select_drawn_values(self.table.neighbours[k]), color="0.8", linewidth=style["linewidth"] + 2.5
            )
            self.lines_ += axes.plot(self._drawn_values(k), **style)
            sign = typographic_sign(self.table.signs[k])
            weight = f"{self.table.weights[k]:+.2g}".replace("-", "−")
            axes.set_title(f"ω {weight}, column {self.table.columns[k]} ({sign})", fontsize=8)
            axes.tick_params(labelsize=SMALL_FONT_SIZE, labelleft=k % across == 0)
            if k + across >= self.drawn_count:
                axes.set_xlabel("feature" if self.table.lengths is None else "sample", fontsize=8)
            subplots.append(axes)
        self._store_axes(whole, subplots)
        return self

    def _drawn_values(self, k: int) -> Any:
        """Return the values of pattern k that are drawn."""
        return self._select_drawn_values(self.table.patterns[k])

    def _select_drawn_values(self, pattern: Any) -> Any:
        """Return the values to draw: one feature of each sample of a window, all values if it is not a window."""
        return pattern if self.table.lengths is None else pattern.reshape(-1, self.table.features)[:, self.feature]

    def _line_style(self, k: int) -> dict[str, Any]:
        """Return the colour (by the sign of the weight) and the line width (by its absolute value) of pattern k."""
        weights = np.abs(self.table.weights)
        part = float(weights[k] / weights[0])
        width = 0.5 + 0.7 * part if self._drawn_values(k).size > MAX_NARROW_VALUES else 1 + 2 * part
        return {"color": WARM if self.table.weights[k] > 0 else COOL, "linewidth": width}

    def _title_text(self) -> str:
        """Return the title: how many patterns are drawn, and the meaning of widths and colours."""
        count = len(self.table)
        some = (
            f"The {self.drawn_count} heaviest of {count} patterns"
            if self.drawn_count < count
            else f"All {count} patterns"
        )
        return f"{some} (wide: large |ω|): orange ω > 0 for {self.table.positive_label}, blue ω < 0 against"

    def _store_axes(self, axes: Axes, drawn: list[Axes]) -> None:
        """Store the Axes as attributes `ax_`, `axes_` and `figure_`; hide the upper and right borders of `drawn`."""
        for subplot in drawn:
            hide_upper_right_borders(subplot)
        self.ax_, self.axes_, self.figure_ = axes, drawn, cast("Figure", axes.figure)


def _write_text(whole: Axes, place: SubplotSpec, text: str, *, x: float, **style: Any) -> None:
    """Write a text into the cell `place` of the subplot grid, at the horizontal position x (from 0 to 1)."""
    axes = whole.figure.add_subplot(place)
    axes.set_axis_off()
    axes.text(x, 0.5, text, va="center", transform=axes.transAxes, **style)
