"""Common parts of all plots: axes, titles and notes that the style may leave out, and lanes of bars."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from milopt.arrays import Floats
from milopt.picture_style import COOL_COLOUR, FAINT_INK, SMALL_FONT_SIZE, WARM_COLOUR, picture_options

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Colormap

GREY = "0.55"
"""Colour of what is drawn behind the subject of a picture."""
MIN_POWERS_ONLY_RATIO = 2e3
"""Ratio of the ends of a logarithmic axis above which only powers of 10 are labelled."""


def use_or_create_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return `ax`, or if it is None, the Axes of a new pyplot figure of this width and height in inches."""
    if ax is not None:
        return ax
    from milopt.picture import create_figure

    new: Axes = create_figure(width, height, in_pyplot=True).add_subplot()
    return new


def set_title(axes: Axes, text: str) -> None:
    """Write the title of a display, unless the style leaves titles out."""
    if picture_options().titles:
        axes.set_title(text)


def label_logarithmic_axis(axis: Axis) -> None:
    """Write plain numbers on a logarithmic axis: 1, 2 and 5 times powers of 10, or powers of 10 over a wide range."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    is_wide = high / low > MIN_POWERS_ONLY_RATIO
    axis.set_major_locator(LogLocator(subs=(1.0,) if is_wide else (1.0, 2.0, 5.0), numticks=12))
    if not is_wide:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def diverging_colour_map() -> Colormap:
    """Return a colour map from blue (negative) over light grey to vermilion (positive)."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "contribution", [COOL_COLOUR, "#7FB8DA", "#CFCFCF", "#EBA77A", WARM_COLOUR]
    )


def hide_upper_right_borders(axes: Axes) -> None:
    """Hide the top and the right border of the axes."""
    axes.spines[["top", "right"]].set_visible(False)


LANE_HEIGHT_FRACTION = 0.055
"""Height of a lane (a bar with its space) below a series, as a fraction of the range of the drawn values."""


@dataclass(frozen=True)
class BarLanes:
    """Lanes for bars below a series: every bar has its own lane, so that bars do not overlap.

    `low` and `high` are the range of the drawn values; the lanes are below `low`.
    """

    axes: Axes
    low: float
    high: float
    last: int
    """Index of the last sample of the series."""

    @classmethod
    def below(cls, axes: Axes, series: Floats, *over: Floats) -> Self:
        """Create lanes below a series, and below the other curves `over` in the same axes."""
        values = np.concatenate([series, *over])
        return cls(axes, float(np.nanmin(values)), float(np.nanmax(values)), series.size - 1)

    @property
    def height(self) -> float:
        """Height of a lane."""
        return LANE_HEIGHT_FRACTION * ((self.high - self.low) or 1.0)

    def draw_bar(self, lane: int, start: int, last: int, colour: Any, text: str) -> list[Any]:
        """Draw a bar in a lane from sample `start` to sample `last`, with a text on the side that has more space.

        Lanes are counted from 0, downwards. A text of one character is always on the right. Return the drawn
        rectangles.
        """
        at = self.low - (lane + 1.5) * self.height
        drawn = [*self.axes.barh(at, last - start, height=0.7 * self.height, left=start, color=colour)]
        right = start + last <= self.last or len(text) == 1
        where = (last, at) if right else (start, at)
        aside: dict[str, Any] = {"xytext": (2 if right else -3, 0), "ha": "left" if right else "right"}
        self.axes.annotate(
            text, where, textcoords="offset points", fontsize=SMALL_FONT_SIZE, va="center_baseline", **aside
        )
        return drawn

    def remove_ticks_beside_bars(self) -> None:
        """Remove the ticks of the vertical axis that are next to the bars."""
        lane = self.height
        ticks = [tick for tick in self.axes.get_yticks() if self.low - lane <= tick <= self.high + lane]
        self.axes.set_yticks(ticks)


def typographic_sign(value: float) -> str:
    """Return "+" if the value is positive, otherwise "−" (a minus sign, as wide as the plus sign)."""
    return "+" if value > 0 else "−"


def write_note_below(axes: Axes, text: str, distance: float = 38) -> None:
    """Write a small text below the axes, wrapped to their width, unless the style leaves notes out.

    `distance` is that of the text from the axes, in points.
    """
    if not picture_options().notes:
        return
    axes.annotate(
        wrap_text(axes, text),
        (0, 0),
        (0, -distance),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=SMALL_FONT_SIZE,
        color=FAINT_INK,
        va="top",
    )


def wrap_text(axes: Axes, text: str) -> str:
    """Wrap a text to the width of the axes."""
    inches = axes.bbox.width / axes.figure.dpi
    return fill(text, max(30, int(72 * inches / (0.52 * SMALL_FONT_SIZE))))
