"""Plot of the maximising windows of a series, coloured by their contributions to the score."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from milopt.arrays import Floats, Points
from milopt.declaration.bags.bags import Bags
from milopt.display.canvas import (
    GREY,
    BarLanes,
    diverging_colour_map,
    hide_upper_right_borders,
    set_title,
    typographic_sign,
    use_or_create_axes,
    write_note_below,
)
from milopt.display.display import Display
from milopt.errors import BagsError
from milopt.estimator.maximisers import NEGATIVE_COEFFICIENT_CAUTION, MaximiserTable
from milopt.picture_style import draws_in_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar

    from milopt.estimator.ensemble_classifier import EnsembleClassifier


@dataclass(eq=False, repr=False)
class MaximisersDisplay(Display):
    """Plot of a series with its maximising windows, coloured by their contributions to the score.

    The score is a bias plus one contribution c_t per column (weak learner). A column is plus or minus
    h_u(B) = max_{x in B} <u, Phi(x)>, and its maximising window x attains this maximum.

    Windows with a positive contribution (for the label) are warm, those with a negative contribution are cool. The bars
    below show the same windows without overlap, by decreasing contribution |c_t|, with the sign of their columns.
    Negative contributions need care: maxima are not closed under negation, because h_{-u}(B) = -min_x <u, Phi(x)>,
    which is not -h_u(B). With u = -Phi(z), a negative contribution means that even the window least similar to z is
    similar to z, not that some window resembles z. Only a column of sign - means the latter.

    Parameters
    ----------
    table : MaximiserTable
        Contributions of the windows, from `model.maximisers(bag)`.
    feature : int, default=0
        Feature of the series to draw.
    most : int, default=12
        Maximum number of windows to draw, by decreasing contribution |c_t|.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure of these axes.
    colorbar_ : matplotlib Colorbar
        Scale of the contributions.
    windows_ : list of matplotlib Line2D
        Windows drawn over the series, by decreasing contribution.
    bars_ : list of matplotlib Rectangle
        Bars below the series, in the same order.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import milopt
    >>> from milopt.display import MaximisersDisplay
    >>> from milopt.models import ShapeletBoost
    >>> data = milopt.load_data("ItalyPowerDemand", window=6)
    >>> model = ShapeletBoost(atoms=4, random_state=0).fit(data.bags[:20], data.labels[:20])
    >>> display = MaximisersDisplay.from_estimator(model, data.bags[:1])
    >>> display.ax_.get_xlabel()
    'sample'
    """

    table: MaximiserTable
    feature: int = 0
    most: int = 12
    colorbar_: Colorbar = field(init=False, repr=False)
    windows_: list[Any] = field(init=False, repr=False)
    bars_: list[Any] = field(init=False, repr=False)

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
        """Draw one series with the maximising windows of a fitted model.

        Parameters
        ----------
        model : EnsembleClassifier
            Fitted ensemble, such as `ShapeletBoost`.
        bag : array of shape (n_samples, n_features), or Bags of length 1
            The series, or its windows.
        label : object, default=None
            Class whose score is decomposed, for more than two classes. None selects the predicted class.
        feature : int, default=0
            Feature of the series to draw.
        most : int, default=12
            Maximum number of windows to draw.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        MaximisersDisplay
            The display that was drawn.
        """
        return cls(model.maximisers(bag, label), feature, most).plot(ax)

    @draws_in_style
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        MaximisersDisplay
            The display itself, with `ax_` and `figure_` set.
        """
        table = self.table
        series = select_feature(table.series, self.feature)
        axes = use_or_create_axes(ax, 7.6, 4.2)
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        largest = float(np.abs(table.contributions).max(initial=0.0)) or 1.0
        scale = ScalarMappable(Normalize(-largest, largest), diverging_colour_map())
        axes.plot(series, color=GREY, linewidth=1)
        lanes = BarLanes.below(axes, series)
        self.windows_, self.bars_ = [], []
        for k in range(min(len(table), self.most)):
            self._draw_window(lanes, series, k, scale.to_rgba(table.contributions[k]))
        text = f"contribution, for {table.positive_label}"
        self.colorbar_ = axes.figure.colorbar(scale, ax=axes, label=text, pad=0.02)
        self.colorbar_.outline.set_visible(False)
        hidden = len(table) - len(self.bars_)
        more = f"; {hidden} smaller ones are not drawn" if hidden else ""
        set_title(axes, f"predicted {table.label}, score {table.score:+.3g}, bias {table.bias:+.3g}{more}")
        axes.set_xlabel("sample")
        axes.set_ylabel("value")
        axes.margins(x=0.01)
        lanes.remove_ticks_beside_bars()
        hide_upper_right_borders(axes)
        write_note_below(axes, f"{NEGATIVE_COEFFICIENT_CAUTION} The sign next to each bar is that of its column.")
        return self._set_axes(axes)

    def _draw_window(self, lanes: BarLanes, series: Floats, k: int, colour: Any) -> None:
        """Draw the window of row k of the table over the series, and its bar with the sign of its column."""
        table = self.table
        assert table.starts is not None
        assert table.lengths is not None
        start, last = int(table.starts[k]), int(table.starts[k] + table.lengths[k]) - 1
        over = np.arange(start, last + 1)
        line: dict[str, Any] = {"linewidth": 2.6, "solid_capstyle": "round", "zorder": 10 - k / 100}
        self.windows_ += lanes.axes.plot(over, series[over], color=colour, **line)
        self.bars_ += lanes.draw_bar(k, start, last, colour, typographic_sign(table.signs[k]))


def select_feature(series: Floats | None, feature: int) -> Floats:
    """Return one feature of a series, or raise an error if the series is None or does not have this feature."""
    if series is None:
        raise BagsError(
            "This bag has no series to draw: fit the model on windows (`from_series`) or with window=, and give "
            "z-normalised windows as bags[i:i + 1], which contain their series."
        )
    if not 0 <= feature < series.shape[1]:
        raise BagsError(f"The series has {series.shape[1]} feature(s), counted from 0, and feature is {feature}.")
    return np.asarray(series[:, feature])
