"""Plot of the patterns of an ensemble as small multiples, over a series or over their nearest training instances.

A pattern is a point z of the dictionary of a column (weak learner) of the ensemble: a window of a series or another
instance, or a mean of them, with which the column compares the instances of a bag.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from milopt.arrays import Floats, Points
from milopt.declaration.bags.bags import Bags
from milopt.display.canvas import (
    GREY,
    hide_upper_right_borders,
    typographic_sign,
    use_or_create_axes,
    wrap_text,
)
from milopt.display.display import Display
from milopt.display.maximisers import select_feature
from milopt.errors import MiloptError
from milopt.estimator.maximisers import NEGATIVE_COEFFICIENT_CAUTION
from milopt.estimator.patterns import PatternTable
from milopt.picture_style import COOL_COLOUR, FAINT_INK, SMALL_FONT_SIZE, WARM_COLOUR, draws_in_style, picture_options

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.gridspec import SubplotSpec

    from milopt.estimator.ensemble_classifier import EnsembleClassifier

MAX_PATTERNS_PER_ROW = 4
"""Maximum number of patterns side by side; half as many if a pattern is long (see `MAX_NARROW_VALUES`)."""
MAX_NARROW_VALUES = 60
"""Patterns with more values than this are drawn with a thin line, and in axes of twice the width."""
SERIES_NOTE = (
    "Grey: the series. Each pattern is drawn where the series is most similar to it. The title gives its column, the "
    "sign of this column, and the root mean square difference between pattern and series: a large difference means "
    "that the pattern does not occur in this series."
)
"""Note below patterns that are drawn over a series."""
NEIGHBOUR_NOTE = "Grey: the nearest training instance."
"""Note below patterns that are drawn one by one."""


@dataclass(eq=False, repr=False)
class PatternsDisplay(Display):
    """Plot of patterns with their weights omega = sign w a: warm for omega > 0, cool for omega < 0.

    Here sign and w are the sign and the weight of a column (weak learner) of the ensemble, and a is the coefficient of
    the pattern in this column.

    Each pattern has its own axes. With a series, the series is drawn in grey, and the pattern at the position where the
    series is most similar to it; the title has the distance between pattern and series, because even the most similar
    window may be far away. Without a series, the nearest training instance is drawn in grey: a pattern can be a mean
    that does not occur in the data. A negative omega needs care: in a column of sign + it is a
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
        One Axes per pattern, by decreasing |omega|.
    lines_ : list of matplotlib Line2D
        One line per pattern, by decreasing |omega|.

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

    @draws_in_style
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw into, which are divided into one Axes per pattern. None creates a new figure.

        Returns
        -------
        PatternsDisplay
            The display itself, with `ax_`, `axes_` and `figure_` set.

        Raises
        ------
        MiloptError
            If all columns have weight 0.
        """
        if not self.drawn_count:
            raise MiloptError("The model has no patterns to draw: all columns have weight 0.")
        series = None if self.table.series is None else select_feature(self.table.series, self.feature)
        whole, self.axes_ = self._divide_axes(ax)
        self.lines_ = []
        for k, axes in enumerate(self.axes_):
            style = self._line_style(k)
            # The neighbour is wider than the pattern, so that it is visible on both sides even if the two coincide.
            width = style["linewidth"] + 2.5 if series is None else 1.0
            axes.plot(self._background_values(k, series), color="0.8" if series is None else GREY, linewidth=width)
            start = 0 if series is None or self.table.starts is None else int(self.table.starts[k])
            values = self._drawn_values(k)
            self.lines_ += axes.plot(start + np.arange(values.size), values, **style)
            axes.set_title(self._subplot_title(k), fontsize=8)
            hide_upper_right_borders(axes)
        return self._set_axes(whole)

    def _background_values(self, k: int, series: Floats | None) -> Any:
        """Return the values drawn in grey behind pattern k: the series, or the nearest training instance."""
        return self._select_drawn_values(self.table.neighbours[k]) if series is None else series

    def _subplot_title(self, k: int) -> str:
        """Return the title of pattern k: weight, column with its sign, and the distance from the series if known."""
        weight = f"{self.table.weights[k]:+.2g}".replace("-", "−")
        text = f"ω {weight}, column {self.table.columns[k]} ({typographic_sign(self.table.signs[k])})"
        distances = self.table.distances
        return text if distances is None or self.table.series is None else f"{text}\noff by {distances[k]:.2g}"

    def _divide_axes(self, ax: Axes | None) -> tuple[Axes, list[Axes]]:
        """Return the Axes of the whole display, without borders, and one Axes per pattern, with a title and a note."""
        longest = max(self._drawn_values(k).size for k in range(self.drawn_count))
        with_series = self.table.series is not None
        is_long = longest > MAX_NARROW_VALUES and not with_series
        most = MAX_PATTERNS_PER_ROW // 2 if is_long else MAX_PATTERNS_PER_ROW
        across = min(most, self.drawn_count)
        down = -(-self.drawn_count // across)
        whole = use_or_create_axes(ax, max(2.1 * MAX_PATTERNS_PER_ROW * across / most, 6.0), 1.6 * down + 1.0)
        whole.set_axis_off()
        place = whole.get_subplotspec()
        if place is None:
            raise MiloptError(
                "ax must be in a grid, such as that of plt.subplots(), since it is divided into one Axes per pattern."
            )
        # The title and the note have their own rows, so that they stay within the space of the Axes.
        grid = place.subgridspec(down + 2, across, height_ratios=[0.12, *[1.0] * down, 0.3])
        if picture_options().titles:
            _write_text(whole, grid[0, :], self._title_text(), fontsize=9, x=0.5, ha="center")
        if picture_options().notes:
            note = SERIES_NOTE if with_series else NEIGHBOUR_NOTE
            below = wrap_text(whole, f"{note} {NEGATIVE_COEFFICIENT_CAUTION}")
            _write_text(whole, grid[-1, :], below, fontsize=SMALL_FONT_SIZE, color=FAINT_INK, x=0.0, ha="left")
        subplots: list[Axes] = []
        for k in range(self.drawn_count):
            shared = subplots[0] if subplots else None
            axes = whole.figure.add_subplot(grid[1 + k // across, k % across], sharey=shared)
            axes.tick_params(labelsize=SMALL_FONT_SIZE, labelleft=k % across == 0)
            if k + across >= self.drawn_count:
                axes.set_xlabel("feature" if self.table.lengths is None else "sample")
            subplots.append(axes)
        return whole, subplots

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
        return {"color": WARM_COLOUR if self.table.weights[k] > 0 else COOL_COLOUR, "linewidth": width}

    def _title_text(self) -> str:
        """Return the title: how many patterns are drawn, and the meaning of widths and colours."""
        count = len(self.table)
        some = (
            f"The {self.drawn_count} heaviest of {count} patterns"
            if self.drawn_count < count
            else f"All {count} patterns"
        )
        return f"{some} (wide: large |ω|): orange ω > 0 for {self.table.positive_label}, blue ω < 0 against"


def _write_text(whole: Axes, place: SubplotSpec, text: str, *, x: float, **style: Any) -> None:
    """Write a text into the cell `place` of the subplot grid, at the horizontal position x (from 0 to 1)."""
    axes = whole.figure.add_subplot(place)
    axes.set_axis_off()
    axes.text(x, 0.5, text, va="center", transform=axes.transAxes, **style)
