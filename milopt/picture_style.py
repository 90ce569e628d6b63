"""The style of all pictures: colours, sizes, fonts that journals accept, and whether titles and notes are drawn.

matplotlib is imported only when a picture is drawn. The style is in force while a display draws and while its figure
is saved; it does not change the settings of other pictures in the same program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

from milopt.errors import MiloptError

P = ParamSpec("P")
Drawn = TypeVar("Drawn")

COOL_COLOUR, WARM_COLOUR = "#0072B2", "#D55E00"
"""Colours of negative and positive contributions: blue and vermilion are distinct in every kind of colour vision."""
INK = "#1a1a1a"
"""Colour of text and axes. In an HTML report it follows the colour of the page's text."""
FAINT_INK = (INK, 0.7)
"""Colour of notes and of secondary axes: the ink, partly transparent."""
COLOURS = (COOL_COLOUR, WARM_COLOUR, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK)
"""Colours of curves (Okabe and Ito, 2008), which are distinct in every kind of colour vision."""
LINE_STYLES = ("-", "--", ":")
"""Line styles. Each curve has its own colour; with more curves, the colours repeat in the next style."""
SMALL_FONT_SIZE = 7
"""Font size of the smallest text, in points."""
SAVED_DPI = 200
"""Dots per inch of images that are saved without a stated resolution."""

MATPLOTLIB_MISSING = "Plots need matplotlib; run: pip install 'milopt[plot]'"
"""Message if matplotlib is not installed."""

MATPLOTLIB_SETTINGS: dict[str, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.width": 0.5,
    "ytick.minor.width": 0.5,
    "lines.linewidth": 1.4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    # Fonts are embedded as TrueType outlines: journals and arXiv reject the Type 3 fonts of matplotlib's default.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    # Text stays text in SVG files, so that it can be searched and edited.
    "svg.fonttype": "none",
    "savefig.dpi": SAVED_DPI,
}
"""Settings of matplotlib that all pictures use."""


@dataclass(frozen=True)
class PictureOptions:
    """Choices of the user for pictures: whether titles and notes are drawn, a width in inches, and more settings."""

    titles: bool = True
    notes: bool = True
    width: float | None = None
    settings: dict[str, Any] = field(default_factory=dict)


_OPTIONS: ContextVar[PictureOptions] = ContextVar("milopt_picture_options")


def picture_options() -> PictureOptions:
    """Return the options that are in force."""
    return _OPTIONS.get(PictureOptions())


@contextmanager
def style(
    *, titles: bool = True, notes: bool = True, width: float | None = None, settings: dict[str, Any] | None = None
) -> Iterator[None]:
    """Choose how displays are drawn during a `with` block, for example without titles, for a paper.

    Fonts are embedded as TrueType outlines and colours are distinct in every kind of colour vision, with or without
    this block.

    Parameters
    ----------
    titles : bool, default=True
        Whether displays have titles. A paper has its captions instead.
    notes : bool, default=True
        Whether displays have notes below their axes.
    width : float or None, default=None
        Width of new figures in inches, such as 3.3 for a column of a paper; heights are scaled alike. None keeps the
        width of each display.
    settings : dict or None, default=None
        More settings of matplotlib (`rcParams`), such as ``{"font.family": "serif"}``.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from milopt.display import ScalingDisplay, style
    >>> with style(titles=False, width=3.3):
    ...     display = ScalingDisplay.from_seconds([100, 200, 400], {"fit": [0.1, 0.4, 1.6]})
    >>> float(display.figure_.get_figwidth())
    3.3
    """
    token = _OPTIONS.set(PictureOptions(titles, notes, width, dict(settings or {})))
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def draws_in_style(function: Callable[P, Drawn]) -> Callable[P, Drawn]:
    """Decorate a function that draws, so that the style is in force while it runs."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> Drawn:
        with apply_style_settings():
            return function(*args, **kwargs)

    return run


@contextmanager
def apply_style_settings() -> Iterator[None]:
    """Put the settings of the style into force during a `with` block; raise an error if matplotlib is missing."""
    try:
        import matplotlib as mpl
        from cycler import cycler
    except ImportError as missing:
        raise MiloptError(MATPLOTLIB_MISSING) from missing
    cycle = cycler(color=COLOURS)
    with mpl.rc_context({**MATPLOTLIB_SETTINGS, "axes.prop_cycle": cycle, **picture_options().settings}):
        yield
