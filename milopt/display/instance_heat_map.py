"""Heat map of instance scores at the places of the instances, such as the patches of an image."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.display.canvas import diverging_colour_map, set_title, use_or_create_axes, write_note_below
from milopt.display.display import Display
from milopt.errors import BagsError
from milopt.picture_style import INK, draws_in_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar

    from milopt.estimator.classifier import BagClassifier

IMAGE_OPACITY = 0.6
"""Opacity of the cells if they are drawn over an image."""


@dataclass(eq=False, repr=False)
class InstanceHeatMapDisplay(Display):
    """Heat map of the instance scores of one bag, each drawn as a cell at the place of its instance.

    Warm cells count for the positive class, and cool ones against it; light grey is a score of 0. The witness, the
    instance with the largest score, has a frame.

    Parameters
    ----------
    scores : ndarray of shape (n_instances,)
        Instance scores.
    coordinates : ndarray of shape (n_instances, 2)
        Centre (x, y) of each instance, such as column and row of a patch. y grows downwards, as in images.
    cell : tuple of two float
        Width and height of a cell.
    positive_label : object
        Label for which positive scores stand.
    image : ndarray of shape (height, width) or (height, width, channels), or None, default=None
        Image that is drawn below the cells, in the same coordinates: pixel (i, j) has its centre at x = j and y = i.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure of these axes.
    colorbar_ : matplotlib Colorbar
        Scale of the scores.
    cells_ : matplotlib PatchCollection
        Cells, in the order of the instances.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from milopt.data import toy_bags
    >>> from milopt.display import InstanceHeatMapDisplay
    >>> from milopt.models import MISVM
    >>> data = toy_bags("clusters", bags=20, size=6)
    >>> model = MISVM(positive=1).fit(data.bags, data.labels)
    >>> places = np.array([[column, row] for row in range(2) for column in range(3)])
    >>> display = InstanceHeatMapDisplay.from_estimator(model, data.bags[0], places)
    >>> display.cell
    (1.0, 1.0)
    """

    scores: Floats
    coordinates: Floats
    cell: tuple[float, float]
    positive_label: object
    image: npt.NDArray[Any] | None = None
    colorbar_: Colorbar = field(init=False)
    cells_: Any = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        model: BagClassifier,
        bag: Any,
        coordinates: npt.ArrayLike,
        *,
        cell: tuple[float, float] | None = None,
        image: npt.ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the instance scores of one bag with a fitted model.

        Parameters
        ----------
        model : BagClassifier
            Fitted model with instance scores. With more than two classes, the scores of the predicted class are drawn.
        bag : array of shape (n_instances, n_features)
            The bag.
        coordinates : array-like of shape (n_instances, 2)
            Centre (x, y) of each instance, such as column and row of a patch. y grows downwards, as in images.
        cell : tuple of two float or None, default=None
            Width and height of a cell. None uses the smallest distances between coordinates.
        image : array-like or None, default=None
            Image that is drawn below the cells, in the same coordinates.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        InstanceHeatMapDisplay
            The display that was drawn.

        Raises
        ------
        BagsError
            If `coordinates` are not finite, or do not have one row per instance.
        """
        explanation = model.explain(bag)
        places = np.asarray(coordinates, dtype=np.float64)
        if explanation.starts is not None or places.shape != (explanation.instance_scores.size, 2):
            raise BagsError(
                f"coordinates must have one row (x, y) per instance, {explanation.instance_scores.size} rows, "
                f"and has shape {places.shape}."
            )
        if not np.isfinite(places).all():
            raise BagsError("coordinates must be finite numbers.")
        size = cell or (_smallest_distance(places[:, 0]), _smallest_distance(places[:, 1]))
        below = None if image is None else np.asarray(image)
        return cls(explanation.instance_scores, places, size, explanation.positive_label, below).plot(ax)

    @draws_in_style
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        InstanceHeatMapDisplay
            The display itself, with `ax_`, `figure_`, `colorbar_` and `cells_` set.
        """
        from matplotlib.collections import PatchCollection
        from matplotlib.colors import Normalize
        from matplotlib.patches import Rectangle

        corner = self.coordinates - np.array(self.cell) / 2
        low, high = corner.min(axis=0), (corner + np.array(self.cell)).max(axis=0)
        ratio = float(np.clip((high[1] - low[1]) / (high[0] - low[0]), 0.3, 2.0))
        axes = use_or_create_axes(ax, 5.0, 0.8 + 4.0 * ratio)
        largest = float(np.abs(self.scores).max()) or 1.0
        opacity = 1.0
        if self.image is not None:
            axes.imshow(self.image, cmap="gray")
            opacity = IMAGE_OPACITY
        rectangles = [Rectangle((x, y), *self.cell) for x, y in corner]
        self.cells_ = PatchCollection(
            rectangles,
            cmap=diverging_colour_map(),
            norm=Normalize(-largest, largest),
            alpha=opacity,
            linewidths=0,
            antialiaseds=False,
        )
        self.cells_.set_array(self.scores)
        axes.add_collection(self.cells_)
        witness = int(self.scores.argmax())
        axes.add_patch(Rectangle(tuple(corner[witness]), *self.cell, fill=False, edgecolor=INK, linewidth=1.6))
        if self.image is None:
            axes.set_xlim(low[0], high[0])
            axes.set_ylim(high[1], low[1])
        axes.set_aspect("equal")
        axes.spines[:].set_visible(False)
        axes.set_xticks([])
        axes.set_yticks([])
        text = f"instance score, for {self.positive_label}"
        self.colorbar_ = axes.figure.colorbar(self.cells_, cax=axes.inset_axes((1.03, 0.0, 0.04, 1.0)), label=text)
        self.colorbar_.outline.set_visible(False)
        if self.colorbar_.solids is not None:
            # The scale has the colours of the cells without an image below them.
            self.colorbar_.solids.set_alpha(1.0)
        set_title(axes, f"{self.scores.size} instances, {int((self.scores > 0).sum())} with a positive score")
        write_note_below(axes, f"Frame: the witness, instance {witness}.", 6)
        return self._set_axes(axes)


def _smallest_distance(values: Floats) -> float:
    """Return the smallest distance between different values; 1 if all values are equal."""
    distances = np.diff(np.unique(values))
    return float(distances.min()) if distances.size else 1.0
