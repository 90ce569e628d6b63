"""Plots of instances in the plane of two features, and of bag scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.declaration.bags.bags import as_bags
from milopt.display.canvas import GREY, hide_upper_right_borders, set_title, use_or_create_axes, write_note_below
from milopt.display.display import Display
from milopt.errors import BagsError
from milopt.picture_style import COOL_COLOUR, WARM_COLOUR, draws_in_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from milopt.estimator.classifier import BagClassifier

GRID_POINTS_PER_AXIS = 80
"""Number of grid points per axis at which the decision boundary is evaluated."""


@dataclass(eq=False, repr=False)
class InstanceClustersDisplay(Display):
    """Scatter plot of instances by two features, coloured by the sign of the instance score.

    If the data have exactly two features, drawn in their order, the decision boundary is drawn as well.

    Parameters
    ----------
    points : ndarray of shape (n_instances, 2)
        Two features of each instance.
    scores : ndarray of shape (n_instances,)
        Instance scores.
    names : tuple of two str
        Names of the features, for the axes.
    sides : tuple of two labels
        Labels of negative and positive scores.
    boundary : tuple of three ndarray or None, default=None
        Grid of the plane (x, y) and the scores on it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure of these axes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from milopt.data import toy_bags
    >>> from milopt.display import InstanceClustersDisplay
    >>> from milopt.models import SetKernelSVM
    >>> data = toy_bags("clusters", bags=20)
    >>> model = SetKernelSVM().fit(data.bags, data.labels)
    >>> display = InstanceClustersDisplay.from_estimator(model, data.bags)
    >>> display.points.shape
    (100, 2)
    """

    points: Floats
    scores: Floats
    names: tuple[str, str]
    sides: tuple[object, object]
    boundary: tuple[Floats, Floats, Floats] | None = None

    @classmethod
    def from_estimator(
        cls, model: BagClassifier, bags: object, *, features: tuple[int, int] = (0, 1), ax: Axes | None = None
    ) -> Self:
        """Draw the instances of bags with the scores of a fitted model.

        Parameters
        ----------
        model : BagClassifier
            Fitted model of two classes with instance scores.
        bags : bags
            Bags in any form that `milopt.as_bags` accepts.
        features : tuple of two int, default=(0, 1)
            Features of the two axes, counted from 0.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        InstanceClustersDisplay
            The display that was drawn.

        Raises
        ------
        BagsError
            If `features` are not the indices of two features.
        """
        converted = as_bags(bags)
        instances = converted.instances
        rows = np.asarray(instances.toarray() if hasattr(instances, "toarray") else instances)
        if len(features) != 2 or not all(0 <= feature < rows.shape[1] for feature in features):
            raise BagsError(f"features must be two of 0, ..., {rows.shape[1] - 1}, not {features}.")
        scores = np.concatenate(model.instance_scores(converted))
        _check_two_classes(scores)
        points = rows[:, list(features)]
        names = (f"feature {features[0]}", f"feature {features[1]}")
        flat = rows.shape[1] == 2 and features == (0, 1)
        boundary = _scores_on_grid(model, points) if flat else None
        return cls(points, scores, names, tuple(model.classes_.tolist()), boundary).plot(ax)

    @draws_in_style
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        InstanceClustersDisplay
            The display itself, with `ax_` and `figure_` set.
        """
        axes = use_or_create_axes(ax, 5.2, 4.4)
        for side, colour, marker in ((0, COOL_COLOUR, "o"), (1, WARM_COLOUR, "^")):
            mask = (self.scores > 0) == bool(side)
            style: dict[str, Any] = {"s": 12, "c": colour, "marker": marker, "linewidths": 0, "alpha": 0.75}
            text = f"{int(mask.sum())} on the side of {self.sides[side]}"
            axes.scatter(self.points[mask, 0], self.points[mask, 1], label=text, **style)
        if self.boundary is not None:
            axes.contour(*self.boundary, levels=[0.0], colors=GREY, linewidths=1.2)
        axes.set_xlabel(self.names[0])
        axes.set_ylabel(self.names[1])
        axes.legend(loc="best")
        hide_upper_right_borders(axes)
        return self._set_axes(axes)


@dataclass(eq=False, repr=False)
class BagScoresDisplay(Display):
    """Plot of bag scores: one point per bag, one row per class, and the threshold 0.

    Parameters
    ----------
    scores : ndarray of shape (n_bags,)
        Decision function of the bags.
    labels : ndarray of shape (n_bags,)
        True labels.
    classes : tuple of two labels
        Labels of negative and positive scores.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure of these axes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from milopt.data import toy_bags
    >>> from milopt.display import BagScoresDisplay
    >>> from milopt.models import SetKernelSVM
    >>> data = toy_bags("clusters", bags=20)
    >>> model = SetKernelSVM().fit(data.bags, data.labels)
    >>> display = BagScoresDisplay.from_estimator(model, data.bags, data.labels)
    >>> display.ax_.get_title()
    '20 of 20 bags on the side of their class'
    """

    scores: Floats
    labels: npt.NDArray[Any]
    classes: tuple[object, object]

    @classmethod
    def from_estimator(cls, model: BagClassifier, bags: object, y: npt.ArrayLike, *, ax: Axes | None = None) -> Self:
        """Draw the scores of bags with their true labels.

        Parameters
        ----------
        model : BagClassifier
            Fitted model of two classes.
        bags : bags
            Bags in any form that `milopt.as_bags` accepts.
        y : array-like of shape (n_bags,)
            True labels.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        BagScoresDisplay
            The display that was drawn.

        Raises
        ------
        BagsError
            If the model has more than two classes, there is not one label per bag, or a label is not a class of the
            model.
        """
        scores, labels = model.decision_function(bags), np.asarray(y)
        _check_two_classes(scores)
        if labels.shape != scores.shape:
            raise BagsError(f"There are {labels.size} labels for {scores.size} bags: give one label per bag.")
        if unknown := sorted(set(labels.tolist()) - set(model.classes_.tolist()), key=str):
            known = " and ".join(map(str, model.classes_))
            raise BagsError(f"The model separates the classes {known}, and there are bags of class {unknown[0]}.")
        return cls(scores, labels, tuple(model.classes_.tolist())).plot(ax)

    @draws_in_style
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        BagScoresDisplay
            The display itself, with `ax_` and `figure_` set.
        """
        axes = use_or_create_axes(ax, 6.4, 2.9)
        rng = np.random.default_rng(0)
        wrong = 0
        for row, (label, colour, marker) in enumerate(
            zip(self.classes, (COOL_COLOUR, WARM_COLOUR), ("o", "^"), strict=True)
        ):
            mine = self.scores[self.labels == label]
            side = (mine > 0) == (row == 1)
            wrong += int((~side).sum())
            height = row + 0.6 * (rng.random(mine.size) - 0.5)
            axes.scatter(mine, height, s=22, c=colour, marker=marker, linewidths=0, alpha=0.8)
            axes.scatter(mine[~side], height[~side], s=70, facecolors="none", edgecolors="black", linewidths=0.8)
        axes.axvline(0.0, color=GREY, linewidth=1)
        axes.set_yticks([0, 1], [f"class {label}" for label in self.classes])
        axes.set_ylim(-0.5, 1.5)
        axes.set_xlabel("bag score")
        set_title(axes, f"{self.scores.size - wrong} of {self.scores.size} bags on the side of their class")
        hide_upper_right_borders(axes)
        write_note_below(axes, "Heights within a row mean nothing; bags on the other side are circled.")
        return self._set_axes(axes)


def _check_two_classes(scores: Floats) -> None:
    """Raise an error if the scores are a matrix, that is, if the model has more than two classes."""
    if scores.ndim > 1:
        raise BagsError(f"The model has {scores.shape[1]} classes, and this plot is for two classes.")


def _scores_on_grid(model: BagClassifier, points: Floats) -> tuple[Floats, Floats, Floats]:
    """Return a grid (x, y) over the range of the points, and the instance scores of the model on the grid."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.05 * (high - low)
    first, second = (np.linspace(low[k] - margin[k], high[k] + margin[k], GRID_POINTS_PER_AXIS) for k in (0, 1))
    across, up = np.meshgrid(first, second)
    (scores,) = model.instance_scores([np.column_stack([across.ravel(), up.ravel()])])
    return across, up, scores.reshape(across.shape)
