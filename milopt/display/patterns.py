"""What a model looks for: the patterns of its final hypothesis, over a series or one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from milopt.arrays import Points
from milopt.declaration.bags.bags import Bags
from milopt.display.canvas import COOL, GREY, SMALL, WARM, Lanes, axes_for, folded, note, signed, tidy
from milopt.display.maximisers import series_of
from milopt.errors import MiloptError
from milopt.estimator.maximisers import CAUTION
from milopt.estimator.patterns import PatternTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

    from milopt.estimator.ensemble_classifier import EnsembleClassifier

ACROSS = 4
"""Patterns side by side."""
MANY = 60
"""Of more numbers than these a pattern is drawn twice as wide, with a fine line."""
PLACED = (
    "Each pattern lies where the series is most like it; beside its bar stand its column, that column's sign, and the "
    "root mean square of what the two differ by: a pattern that is far off is like nothing in this series."
)
BESIDE = "Grey: the nearest training instance."


@dataclass(eq=False)
class PatternsDisplay:
    """Patterns with their weights omega = sign w a in g: warm for omega > 0, cool for omega < 0.

    With a series each pattern lies where the series is most like it, and has a bar below with its column, the sign of
    that, and how far off it is: the nearest window may still be far. Without one each has axes of its own, with its
    nearest training instance in grey: a centroid is a mean, and that is one that has occurred. A negative omega is to
    be read with care: in a column of sign + it is a negative coefficient, under which the column asks how like the
    pattern the window least like it is; in a column of sign - likeness itself counts against.
    """

    table: PatternTable
    feature: int = 0
    """Which feature of a sample is drawn."""
    most: int = 12
    """How many patterns, of the largest |omega|, are drawn."""
    ax_: Axes = field(init=False, repr=False)
    axes_: list[Axes] = field(init=False, repr=False)
    """Those that patterns are drawn on: one with a series, otherwise one a pattern."""
    figure_: Figure = field(init=False, repr=False)
    lines_: list[Any] = field(init=False, repr=False)
    """One a pattern, the largest |omega| first."""
    bars_: list[Any] = field(init=False, repr=False)
    """Over a series, the bars below it in the same order; otherwise none."""

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
        """Draw the patterns of a model, over the series of one bag where one is given."""
        return cls(model.patterns(bag, label), feature, most).plot(ax)

    @property
    def drawn(self) -> int:
        """How many patterns are drawn."""
        return min(len(self.table), self.most)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure; small multiples share the place of the Axes."""
        if not self.drawn:
            raise MiloptError("The model has no patterns to draw: no column has a weight.")
        if self.table.series is None:
            return self._each(ax)
        return self._over_series(ax)

    def _over_series(self, ax: Axes | None) -> Self:
        table = self.table
        series = series_of(table.series, self.feature)
        assert table.starts is not None
        assert table.distances is not None
        axes = axes_for(ax, 7.6, 5.0)
        axes.plot(series, color=GREY, linewidth=1)
        lanes = Lanes.below(axes, series, *(self._values(k) for k in range(self.drawn)))
        self.lines_, self.bars_ = [], []
        for k in range(self.drawn):
            where = int(table.starts[k]) + np.arange(self._values(k).size)
            style = self._style(k)
            self.lines_ += axes.plot(where, self._values(k), **style, zorder=10 - k / 100)
            said = f"column {table.columns[k]} ({signed(table.signs[k])}), off by {table.distances[k]:.2g}"
            self.bars_ += lanes.bar(k, int(where[0]), int(where[-1]), style["color"], said)
        axes.set_xlabel("sample")
        axes.set_ylabel("value")
        axes.set_title(self._title(), fontsize=9)
        axes.margins(x=0.01)
        lanes.finish()
        note(axes, f"{PLACED} {CAUTION}")
        self._finish(axes, [axes])
        return self

    def _each(self, ax: Axes | None) -> Self:
        longest = max(self._values(k).size for k in range(self.drawn))
        most = ACROSS // 2 if longest > MANY else ACROSS
        across = min(most, self.drawn)
        down = -(-self.drawn // across)
        whole = axes_for(ax, max(2.1 * ACROSS * across / most, 6.0), 1.5 * down + 0.9)
        whole.set_axis_off()
        place = whole.get_subplotspec()
        if place is None:
            raise MiloptError("Small multiples share the place of Axes in a grid, such as those of plt.subplots().")
        # The title and the caution have rows of their own, so that they stay within the place of the Axes.
        grid = place.subgridspec(down + 2, across, height_ratios=[0.12, *[1.0] * down, 0.25])
        _written(whole, grid[0, :], self._title(), fontsize=9, x=0.5, ha="center")
        below = folded(whole, f"{BESIDE} {CAUTION}")
        _written(whole, grid[-1, :], below, fontsize=SMALL, color="0.35", x=0.0, ha="left")
        made: list[Axes] = []
        self.lines_, self.bars_ = [], []
        for k in range(self.drawn):
            axes = whole.figure.add_subplot(grid[1 + k // across, k % across], sharey=made[0] if made else None)
            style = self._style(k)
            # Wider than the pattern, so that it shows on both sides where they are alike.
            axes.plot(self._taken(self.table.neighbours[k]), color="0.8", linewidth=style["linewidth"] + 2.5)
            self.lines_ += axes.plot(self._values(k), **style)
            sign = signed(self.table.signs[k])
            weight = f"{self.table.weights[k]:+.2g}".replace("-", "−")
            axes.set_title(f"ω {weight}, column {self.table.columns[k]} ({sign})", fontsize=8)
            axes.tick_params(labelsize=SMALL, labelleft=k % across == 0)
            if k + across >= self.drawn:
                axes.set_xlabel("feature" if self.table.lengths is None else "sample", fontsize=8)
            made.append(axes)
        self._finish(whole, made)
        return self

    def _values(self, k: int) -> Any:
        return self._taken(self.table.patterns[k])

    def _taken(self, pattern: Any) -> Any:
        """The drawn feature of a window; of any other instance, all features."""
        return pattern if self.table.lengths is None else pattern.reshape(-1, self.table.features)[:, self.feature]

    def _style(self, k: int) -> dict[str, Any]:
        weights = np.abs(self.table.weights)
        part = float(weights[k] / weights[0])
        width = 0.5 + 0.7 * part if self._values(k).size > MANY else 1 + 2 * part
        return {"color": WARM if self.table.weights[k] > 0 else COOL, "linewidth": width}

    def _title(self) -> str:
        count = len(self.table)
        some = f"The {self.drawn} heaviest of {count} patterns" if self.drawn < count else f"All {count} patterns"
        return f"{some} (wide: large |ω|): orange ω > 0 for {self.table.positive_label}, blue ω < 0 against"

    def _finish(self, axes: Axes, drawn: list[Axes]) -> None:
        for one in drawn:
            tidy(one)
        self.ax_, self.axes_, self.figure_ = axes, drawn, cast("Figure", axes.figure)


def _written(whole: Axes, place: SubplotSpec, text: str, *, x: float, **style: Any) -> None:
    """Text in a cell of the grid."""
    axes = whole.figure.add_subplot(place)
    axes.set_axis_off()
    axes.text(x, 0.5, text, va="center", transform=axes.transAxes, **style)
