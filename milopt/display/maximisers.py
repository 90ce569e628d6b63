"""Where a series is decided: its maximising windows, coloured by what each adds to the score."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from milopt.arrays import Floats, Points
from milopt.declaration.bags.bags import Bags
from milopt.display.canvas import GREY, Lanes, axes_for, diverging, note, signed, tidy
from milopt.errors import BagsError
from milopt.estimator.maximisers import CAUTION, MaximiserTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure

    from milopt.estimator.ensemble_classifier import EnsembleClassifier


@dataclass(eq=False)
class MaximisersDisplay:
    """A series in grey, its maximising windows in colour: warm where they speak for the label, cool where against.

    The bars below are the same windows, the largest |c_t| on top, so that none hides another; beside each stands the
    sign of its column. A negative contribution is to be read with care: maxima are not closed under negation, for
    h_{-u}(B) = -min_x <u, Phi(x)> and not -h_u(B). Under u = -Phi(z) it says that even the window least like z is like
    z, not that some window resembles z; only a column of sign - says that.
    """

    table: MaximiserTable
    feature: int = 0
    """Which of the series' features is drawn."""
    most: int = 12
    """How many windows, of the largest |c_t|, are drawn."""
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure = field(init=False, repr=False)
    colorbar_: Colorbar = field(init=False, repr=False)
    windows_: list[Any] = field(init=False, repr=False)
    """The lines over the series, the largest |c_t| first."""
    bars_: list[Any] = field(init=False, repr=False)
    """The bars below it, in the same order."""

    @classmethod
    def from_estimator(
        cls,
        model: EnsembleClassifier,
        bag: Points | Bags,
        *,
        label: object = None,
        feature: int = 0,
        most: int = 12,
        ax: Axes | None = None,
    ) -> Self:
        """Draw one series, a 2-D array of samples or windows, or bags of which there is one."""
        return cls(model.maximisers(bag, label), feature, most).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure."""
        table = self.table
        series = series_of(table.series, self.feature)
        axes = axes_for(ax, 7.6, 4.2)
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        largest = float(np.abs(table.contributions).max(initial=0.0)) or 1.0
        scale = ScalarMappable(Normalize(-largest, largest), diverging())
        axes.plot(series, color=GREY, linewidth=1)
        lanes = Lanes.below(axes, series)
        self.windows_, self.bars_ = [], []
        for k in range(min(len(table), self.most)):
            self._window(lanes, series, k, scale.to_rgba(table.contributions[k]))
        said = f"contribution, for {table.positive_label}"
        self.colorbar_ = axes.figure.colorbar(scale, ax=axes, label=said, pad=0.02)
        self.colorbar_.outline.set_visible(False)
        hidden = len(table) - len(self.bars_)
        more = f"; {hidden} smaller ones are not drawn" if hidden else ""
        axes.set_title(f"predicted {table.label}, score {table.score:+.3g}, bias {table.bias:+.3g}{more}", fontsize=9)
        axes.set_xlabel("sample")
        axes.set_ylabel("value")
        axes.margins(x=0.01)
        lanes.finish()
        tidy(axes)
        note(axes, f"{CAUTION} The sign of its column stands beside each bar.")
        self.ax_, self.figure_ = axes, cast("Figure", axes.figure)
        return self

    def _window(self, lanes: Lanes, series: Floats, k: int, colour: Any) -> None:
        """The window of row k over the series, and its bar with the sign of its column."""
        table = self.table
        assert table.starts is not None
        assert table.lengths is not None
        start, last = int(table.starts[k]), int(table.starts[k] + table.lengths[k]) - 1
        over = np.arange(start, last + 1)
        line: dict[str, Any] = {"linewidth": 2.6, "solid_capstyle": "round", "zorder": 10 - k / 100}
        self.windows_ += lanes.axes.plot(over, series[over], color=colour, **line)
        self.bars_ += lanes.bar(k, start, last, colour, signed(table.signs[k]))


def series_of(series: Floats | None, feature: int) -> Floats:
    """One feature of a shown series, or why there is none."""
    if series is None:
        raise BagsError(
            "This bag is no series that can be drawn: fit on windows (`from_series`) or with window=, and give windows "
            "that were z-normalised as bags[i:i + 1], which know their series."
        )
    if not 0 <= feature < series.shape[1]:
        raise BagsError(f"The series has {series.shape[1]} feature(s), counted from 0, and none is {feature}.")
    return np.asarray(series[:, feature])
