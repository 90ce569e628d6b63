"""Figures in the style of milopt: how they are created, saved, and shown in a notebook or an HTML page."""

from __future__ import annotations

import base64
import re
import sys
from io import BytesIO, StringIO
from os import PathLike
from typing import Any

from milopt.errors import MiloptError
from milopt.files import write_atomically
from milopt.html import Html, element
from milopt.picture_style import INK, MATPLOTLIB_MISSING, apply_style_settings, picture_options

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
except ImportError as missing:
    raise MiloptError(MATPLOTLIB_MISSING) from missing

NOTEBOOK_DPI = 144
"""Dots per inch of pictures in a notebook."""
CSS_PIXELS_PER_INCH = 96
"""Number of CSS pixels per inch, by the definition of CSS."""


class StyledFigure(Figure):
    """Figure that is saved in the style of milopt (TrueType fonts), and that a notebook shows without pyplot."""

    def add_subplot(self, *args: Any, **options: Any) -> Any:
        """Add Axes as matplotlib does, in the style of milopt."""
        with apply_style_settings():
            return super().add_subplot(*args, **options)

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save the figure as matplotlib does, in the style of milopt."""
        with apply_style_settings():
            super().savefig(fname, **options)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the picture that a notebook displays, and its width and height there."""
        width, height = (round(inches * CSS_PIXELS_PER_INCH) for inches in self.get_size_inches())
        return _as_png(self), {"width": width, "height": height}


def create_figure(width: float, height: float, *, in_pyplot: bool) -> StyledFigure:
    """Return a new figure of this size in inches, or of the chosen width.

    A figure of pyplot appears in `plt.show()`. Any other figure is shown only where it is saved or returned.
    """
    chosen = picture_options().width
    size = (width, height) if chosen is None else (chosen, height * chosen / width)
    if not in_pyplot:
        return StyledFigure(figsize=size, layout="constrained")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=size, layout="constrained", FigureClass=StyledFigure)
    assert isinstance(figure, StyledFigure)
    return figure


def save_figure(figure: Figure, path: str | PathLike[str], **options: Any) -> None:
    """Save a figure to an image file, atomically and in the style of milopt."""
    with apply_style_settings():
        write_atomically(path, lambda part: figure.savefig(part, **options), "The picture")


def figure_html(figure: Figure, description: str) -> Html:
    """Return a figure as an image for a notebook, and remove it from pyplot if the notebook would show it again."""
    data = base64.b64encode(_as_png(figure)).decode("ascii")
    if "inline" in mpl.get_backend() and "matplotlib.pyplot" in sys.modules:
        import matplotlib.pyplot as plt

        plt.close(figure)
    width = f"{figure.get_figwidth() * CSS_PIXELS_PER_INCH:.0f}"
    return element("img", src=f"data:image/png;base64,{data}", alt=description, width=width, style="max-width:100%")


def figure_svg(figure: Figure, name: str, description: str) -> Html:
    """Return a figure as SVG markup for an HTML page; text and axes have the colour of the page's text.

    `name` makes the ids inside of the picture unique in the page.
    """
    text = StringIO()
    with apply_style_settings(), mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    markup = text.getvalue()
    start = markup.index("<svg")
    # The size of the picture is given by its view box, so that it can shrink on a narrow page.
    head, rest = markup[start:].split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    width = f"max-width:{figure.get_figwidth() * CSS_PIXELS_PER_INCH:.0f}px"
    title = element("title", description)
    rest = re.sub(r"<metadata>.*?</metadata>", "", rest, flags=re.DOTALL).replace(INK, "currentColor")
    return Html(f'{head} role="img" style="width:100%;{width}">{title}{rest}')


def _as_png(figure: Figure) -> bytes:
    """Return a figure as a PNG image."""
    image = BytesIO()
    with apply_style_settings():
        figure.savefig(image, format="png", dpi=NOTEBOOK_DPI)
    return image.getvalue()
