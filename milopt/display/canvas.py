"""What all pictures share: axes to draw on, colours that everybody can tell apart, and the caution under them."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from milopt.arrays import Floats
from milopt.errors import MiloptError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.text import Text

WARM, COOL = "#D55E00", "#0072B2"
"""For what speaks for a label and against it: vermilion and blue are apart in every kind of colour vision."""
GREY = "0.55"
SMALL = 7
"""Points of the smallest text."""


def axes_for(ax: Axes | None, width: float, height: float) -> Axes:
    """The given Axes, or those of a new figure of pyplot's, which a notebook or `plt.show()` shows."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise MiloptError("A picture needs matplotlib; run: pip install 'milopt[plot]'") from missing
    made: Axes = plt.figure(figsize=(width, height), layout="constrained").add_subplot()
    return made


def diverging() -> Colormap:
    """Cool for negative, warm for positive; nearly nothing is a light grey that still shows on white."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("contribution", [COOL, "#7FB8DA", "#CFCFCF", "#EBA77A", WARM])


def tidy(axes: Axes) -> None:
    """No frame where it frames nothing."""
    axes.spines[["top", "right"]].set_visible(False)


LANE = 0.055
"""The height of a span's bar below a series, as a share of the series' range."""


@dataclass(frozen=True)
class Lanes:
    """Room below a series for bars that have no values: each span in a lane of its own, so that none hides another."""

    axes: Axes
    low: float
    high: float
    last: int
    """The series' last sample."""

    @classmethod
    def below(cls, axes: Axes, series: Floats, *over: Floats) -> Self:
        """The room below a series on the axes, and below whatever is drawn over it."""
        values = np.concatenate([series, *over])
        return cls(axes, float(np.nanmin(values)), float(np.nanmax(values)), series.size - 1)

    @property
    def height(self) -> float:
        """Of a lane."""
        return LANE * ((self.high - self.low) or 1.0)

    def bar(self, k: int, start: int, last: int, colour: Any, text: str) -> list[Any]:
        """A bar in lane k from sample to sample, with a text on the side that has more room."""
        at, lane = self.low - (k + 1.5) * self.height, self.height
        drawn = [*self.axes.barh(at, last - start, height=0.7 * lane, left=start, color=colour)]
        right = start + last <= self.last or len(text) == 1
        where = (last, at) if right else (start, at)
        aside: dict[str, Any] = {"xytext": (2 if right else -3, 0), "ha": "left" if right else "right"}
        self.axes.annotate(text, where, textcoords="offset points", fontsize=SMALL, va="center_baseline", **aside)
        return drawn

    def finish(self) -> None:
        """No ticks beside the bars."""
        lane = self.height
        ticks = [tick for tick in self.axes.get_yticks() if self.low - lane <= tick <= self.high + lane]
        self.axes.set_yticks(ticks)


def signed(value: float) -> str:
    """+ or −, as wide as one another."""
    return "+" if value > 0 else "−"


def note(axes: Axes, text: str) -> Text:
    """A small text below the axes and what is written there, as wide as the axes."""
    return axes.annotate(
        folded(axes, text),
        (0, 0),
        (0, -38),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=SMALL,
        color="0.35",
        va="top",
    )


def folded(axes: Axes, text: str) -> str:
    """The text in lines that fit below the axes."""
    inches = axes.bbox.width / axes.figure.dpi
    return fill(text, max(30, int(72 * inches / (0.52 * SMALL))))
