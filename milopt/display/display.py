"""What all displays have in common: saving, and how they are shown in a notebook."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, Self, cast

from milopt.errors import MiloptError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Display:
    """Base class of the displays: `plot` draws, and sets the attributes `ax_` and `figure_`."""

    ax_: Axes
    figure_: Figure

    def save(self, path: str | PathLike[str], *, dpi: float | None = None) -> None:
        """Save the picture to a file, with fonts that are embedded as TrueType outlines.

        Parameters
        ----------
        path : str or path-like
            File to write. Its ending selects the format, such as .pdf, .svg or .png.
        dpi : float or None, default=None
            Dots per inch. None uses 200.

        Raises
        ------
        MiloptError
            If nothing has been drawn yet, or the file cannot be written.
        """
        from milopt.picture import save_figure
        from milopt.picture_style import SAVED_DPI

        if not hasattr(self, "figure_"):
            raise MiloptError(f"{type(self).__name__} has not been drawn: call plot() before save().")
        save_figure(self.figure_, path, dpi=SAVED_DPI if dpi is None else dpi)

    def _set_axes(self, axes: Axes) -> Self:
        """Store the axes that were drawn into, and their figure; return the display itself."""
        self.ax_, self.figure_ = axes, cast("Figure", axes.figure)
        return self

    def __repr__(self) -> str:
        """Return the name of the display, with its title if it has been drawn with one."""
        if not hasattr(self, "figure_"):
            return f"{type(self).__name__}(not drawn)"
        titles: list[Any] = [axes.get_title() for axes in self.figure_.axes]
        return f"{type(self).__name__}({next(filter(None, titles), 'drawn')})"

    def _repr_html_(self) -> str | None:
        """Return the picture for a notebook, or None if nothing has been drawn yet."""
        from milopt.picture import figure_html

        return figure_html(self.figure_, repr(self)) if hasattr(self, "figure_") else None
