"""Plot of the accuracies of several models over folds: one strip of points per model, with its mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

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
    """

    name: str
    values: Floats
    mean: float
    standard_error: float | None = None


@dataclass(eq=False, repr=False)
class AccuracyStripsDisplay(Display):
    """Plot of the accuracy of every fold, one strip per model, with means and standard errors.

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

    @classmethod
    def from_report(cls, report: EvaluationReport, *, ax: Axes | None = None) -> Self:
        """Draw the accuracies of an evaluation.

        Parameters
        ----------
        report : EvaluationReport
            Result of `milopt.evaluate`.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        AccuracyStripsDisplay
            The display that was drawn.
        """
        strips = [
            AccuracyStrip(
                row.model,
                np.array([record.accuracy for record in report.records if record.model == row.model]),
                row.accuracy,
                row.standard_error,
            )
            for row in report.table
            if row.accuracy is not None
        ]
        over = next((row.error_over for row in report.table if row.error_over), "")
        return cls(tuple(strips), f"{report.data}, protocol {report.protocol}", over).plot(ax)

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
            Axes to draw into. None creates a new figure.

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
        axes = use_or_create_axes(ax, 6.4, 0.9 + 0.42 * len(self.strips))
        everything = np.concatenate([strip.values for strip in self.strips])
        span = max(float(np.ptp(everything)), 0.05)
        for row, strip in enumerate(self.strips):
            heights = _stack_heights(strip.values, span / CELLS_PER_AXIS)
            colour = COLOURS[row % (len(COLOURS) - 1)]
            axes.scatter(strip.values, row + heights, s=14, color=colour, alpha=0.75, linewidths=0, zorder=4)
            error = None if strip.standard_error is None else [strip.standard_error]
            axes.errorbar(
                [strip.mean], [row], xerr=error, color=INK, marker="|", markersize=13, markeredgewidth=1.6, capsize=3
            )
        axes.set_yticks(range(len(self.strips)), [strip.name for strip in self.strips])
        axes.set_ylim(len(self.strips) - 0.45, -0.55)
        axes.set_xlabel("accuracy on the test bags of a fold")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color="0.5", alpha=0.25, linewidth=0.5)
        axes.set_axisbelow(True)
        set_title(axes, self.title)
        if self.error_over:
            write_note_below(axes, f"Bars: mean, and its standard error over {self.error_over}.", 36)
        return self._set_axes(axes)


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
