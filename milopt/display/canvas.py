"""What all pictures share: axes to draw on, colours that everybody can tell apart, and the caution under them."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

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
    return fill(text, max(30, round(72 * inches / (0.48 * SMALL))))
