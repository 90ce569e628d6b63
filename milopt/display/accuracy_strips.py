"""Plot of the accuracies of several models over folds: one strip of points per model, with its mean.

Several data sets are small multiples: one panel per data set, with the same models and the same axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from milopt.arrays import Floats
from milopt.display.canvas import set_title, use_or_create_axes, write_note_below
from milopt.display.display import Display
from milopt.errors import ParameterError
from milopt.picture_style import COLOURS, INK, draws_in_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from milopt.comparison.comparison import Comparison
    from milopt.evaluation.summary import EvaluationReport

CELLS_PER_AXIS = 60
"""Number of cells of the axis; points in the same cell are drawn above each other."""
MAX_STACK_HEIGHT = 0.34
"""Half the height of a strip, as a fraction of the distance of two strips."""
MAX_PANELS_PER_ROW = 3
"""Largest number of panels beside each other."""


@dataclass(frozen=True, eq=False)
class AccuracyStrip:
    """Accuracies of one model.

    Attributes
    ----------
    name : str
        Name of the model.
    values : ndarray of shape (n_folds,)
        Accuracy of every fold.
    mean : float
        Mean accuracy.
    standard_error : float or None
        Standard error of the mean; None if it is not known.
    data : str
        Name of the data set; empty if all strips belong to the same one.
    """

    name: str
    values: Floats
    mean: float
    standard_error: float | None = None
    data: str = ""


@dataclass(eq=False, repr=False)
class AccuracyStripsDisplay(Display):
    """Plot of the accuracy of every fold, one strip per model, with means and standard errors.

    Several data sets are drawn as small multiples: one panel per data set, all with the same models and the same axis.
    Points of equal accuracy are drawn above each other. All models are tested on the same folds, so two models whose
    strips overlap may still differ on most folds.

    Parameters
    ----------
    strips : tuple of AccuracyStrip
        Accuracies of each model.
    title : str, default=""
        Title of the plot.
    error_over : str, default=""
        Unit over which the standard errors are computed, such as "folds".

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure of these axes.
    axes_ : list of matplotlib Axes
        One Axes per data set.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import milopt
    >>> from milopt.display import AccuracyStripsDisplay
    >>> data = milopt.data.toy_bags("clusters", bags=20)
    >>> report = milopt.evaluate(data, ["ls-svm", "set-kernel-svm"], "2-fold", grid={})
    >>> [strip.name for strip in AccuracyStripsDisplay.from_report(report).strips]
    ['ls-svm', 'set-kernel-svm']
    """

    strips: tuple[AccuracyStrip, ...]
    title: str = ""
    error_over: str = ""
    axes_: list[Axes] = field(init=False)

    @classmethod
    def from_report(cls, report: EvaluationReport | Sequence[EvaluationReport], *, ax: Axes | None = None) -> Self:
        """Draw the accuracies of an evaluation on one or several data sets.

        Parameters
        ----------
        report : EvaluationReport, Evaluations or sequence of EvaluationReport
            Result of `milopt.evaluate`. Several data sets have one panel each.
        ax : matplotlib Axes or None, default=None
            Axes to draw into, which are divided into one Axes per data set. None creates a new figure.

        Returns
        -------
        AccuracyStripsDisplay
            The display that was drawn.

        Raises
        ------
        ParameterError
            If there are no evaluations, or no model has finished a fold.
        """
        reports = report if isinstance(report, Sequence) else [report]
        if not reports:
            raise ParameterError("There are no accuracies to draw: the list of evaluations is empty.")
        strips = [
            AccuracyStrip(
                row.model,
                np.array([record.accuracy for record in each.records if record.model == row.model]),
                row.accuracy,
                row.standard_error,
                each.data if len(reports) > 1 else "",
            )
            for each in reports
            for row in each.table
            if row.accuracy is not None
        ]
        over = next((row.error_over for each in reports for row in each.table if row.error_over), "")
        first = reports[0]
        title = first.data if len(reports) == 1 else f"{len(reports)} data sets"
        return cls(tuple(strips), f"{title}, protocol {first.protocol}", over).plot(ax)

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, ax: Axes | None = None) -> Self:
        """Draw the accuracies of the models of a comparison, each with the first solver that has accuracies.

        Parameters
        ----------
        comparison : Comparison
            Result of `milopt.compare` on a data set.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        AccuracyStripsDisplay
            The display that was drawn.
        """
        strips: dict[str, AccuracyStrip] = {}
        for cell in comparison.cells:
            if cell.accuracies:
                values = np.array(cell.accuracies)
                error = float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else None
                strips.setdefault(cell.model, AccuracyStrip(cell.model, values, float(values.mean()), error))
        return cls(tuple(strips.values()), f"{comparison.data}, {comparison.folds} folds", "folds").plot(ax)

    @draws_in_style
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw into, which are divided into one Axes per data set. None creates a new figure.

        Returns
        -------
        AccuracyStripsDisplay
            The display itself, with `ax_` and `figure_` set.

        Raises
        ------
        ParameterError
            If no model has finished a fold.
        """
        if not self.strips:
            raise ParameterError("There are no accuracies to draw: no model has finished a fold.")
        data = list(dict.fromkeys(strip.data for strip in self.strips))
        models = list(dict.fromkeys(strip.name for strip in self.strips))
        whole = use_or_create_axes(ax, *figure_size(len(data), len(models)))
        self.axes_ = [whole] if len(data) == 1 else divide_axes(whole, len(data))
        everything = np.concatenate([strip.values for strip in self.strips])
        span = max(float(np.ptp(everything)), 0.05)
        for name, axes in zip(data, self.axes_, strict=True):
            for strip in self.strips:
                if strip.data == name:
                    _draw_strip(axes, models.index(strip.name), strip, span)
            axes.spines["left"].set_visible(False)
            axes.tick_params(axis="y", length=0)
            axes.grid(axis="x", color="0.5", alpha=0.25, linewidth=0.5)
            axes.set_axisbelow(True)
            if len(data) > 1:
                axes.set_title(name)
        # All panels share these ticks and limits. No accuracy is above 1 or below 0.
        self.axes_[0].set_yticks(range(len(models)), models)
        self.axes_[0].set_ylim(len(models) - 0.45, -0.55)
        low, high = self.axes_[0].get_xlim()
        self.axes_[0].set_xlim(max(low, 0.0), min(high, 1.0))
        across = panels_per_row(len(data))
        for axes in self.axes_[-across:]:
            axes.set_xlabel("accuracy on the test bags of a fold" if len(data) == 1 else "accuracy of a fold")
        if len(data) == 1:
            # Each of several panels has the name of its data set as its title.
            set_title(whole, self.title)
        if self.error_over:
            note = f"Bars: mean, and its standard error over {self.error_over}."
            write_note_below(self.axes_[(len(data) - 1) // across * across], note, 36)
        return self._set_axes(whole)


def panels_per_row(panels: int) -> int:
    """Return the number of panels beside each other, so that the last row has few free places."""
    return -(-panels // -(-panels // MAX_PANELS_PER_ROW))


def figure_size(panels: int, models: int) -> tuple[float, float]:
    """Return width and height in inches of a figure for a number of data sets and a number of models."""
    if panels == 1:
        return 6.4, 0.9 + 0.42 * models
    across = panels_per_row(panels)
    return 1.2 + 2.1 * across, 0.9 + (0.5 + 0.34 * models) * -(-panels // across)


def divide_axes(whole: Axes, panels: int) -> list[Axes]:
    """Hide the given Axes, and return new Axes in their place, which share their limits and ticks."""
    place = whole.get_subplotspec()
    if place is None:
        raise ParameterError(
            "ax must be in a grid, such as that of plt.subplots(), since it is divided into one Axes per data set."
        )
    whole.set_axis_off()
    across = panels_per_row(panels)
    grid = place.subgridspec(-(-panels // across), across)
    axes: list[Axes] = []
    for k in range(panels):
        first = axes[0] if axes else None
        axes.append(whole.figure.add_subplot(grid[k // across, k % across], sharex=first, sharey=first))
        axes[k].tick_params(labelleft=k % across == 0, labelbottom=k + across >= panels)
    return axes


def _draw_strip(axes: Axes, row: int, strip: AccuracyStrip, span: float) -> None:
    """Draw the points, the mean and the standard error of a strip; `span` is the range of the values of all strips."""
    heights = _stack_heights(strip.values, span / CELLS_PER_AXIS)
    colour = COLOURS[row % (len(COLOURS) - 1)]
    # Points at the ends of the axis are drawn as a whole.
    axes.scatter(strip.values, row + heights, s=14, color=colour, alpha=0.75, linewidths=0, zorder=4, clip_on=False)
    half = 0.0 if strip.standard_error is None else strip.standard_error
    error = None if strip.standard_error is None else [[min(half, strip.mean)], [min(half, 1.0 - strip.mean)]]
    style: dict[str, Any] = {"color": INK, "marker": "|", "markersize": 13, "markeredgewidth": 1.6, "capsize": 3}
    axes.errorbar([strip.mean], [row], xerr=error, clip_on=False, **style)


def _stack_heights(values: Floats, cell: float) -> Floats:
    """Return the heights of points, so that points in the same cell of the axis are above each other around 0."""
    heights = np.zeros(values.size)
    cells = np.round(values / cell).astype(np.int64)
    largest = int(np.unique(cells, return_counts=True)[1].max())
    step = min(0.13, 2 * MAX_STACK_HEIGHT / max(1, largest - 1))
    for place in np.unique(cells):
        members = np.flatnonzero(cells == place)
        heights[members] = step * (np.arange(members.size) - (members.size - 1) / 2)
    return heights
