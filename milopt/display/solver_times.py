"""Plot of the times of all solvers of a comparison, formulation by formulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from milopt.display.canvas import label_logarithmic_axis, set_title, use_or_create_axes, write_note_below
from milopt.display.display import Display
from milopt.errors import ParameterError
from milopt.picture_style import COLOURS, draws_in_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from milopt.comparison.comparison import Comparison

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<")
"""Markers of the solvers; there are more than colours, so that solvers of one colour have different markers."""
MIN_DRAWN_SECONDS = 1e-3
"""Times below this are drawn at this place: the axis is logarithmic."""


@dataclass(frozen=True)
class SolverTime:
    """Time of one solver for one formulation, and whether its answer is acceptable (certified)."""

    model: str
    solver: str
    seconds: float
    is_acceptable: bool


@dataclass(eq=False, repr=False)
class SolverTimesDisplay(Display):
    """Plot of the times of the solvers on a logarithmic axis, one band per formulation.

    A hollow marker is an answer without a certificate. Solvers that do not support a formulation, or failed, have no
    marker.

    Parameters
    ----------
    times : tuple of SolverTime
        Times of all solvers that returned a point.
    title : str, default=""
        Title of the plot.

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
    >>> from milopt.display import SolverTimesDisplay
    >>> data = milopt.data.toy_bags("clusters", bags=20)
    >>> comparison = milopt.compare(data, "set-kernel-svm", ["highs", "clarabel"], folds=2, n_jobs=1)
    >>> [time.solver for time in SolverTimesDisplay.from_comparison(comparison).times]
    ['highs', 'clarabel']
    """

    times: tuple[SolverTime, ...]
    title: str = ""

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, ax: Axes | None = None) -> Self:
        """Draw the times of a comparison.

        Parameters
        ----------
        comparison : Comparison
            Result of `milopt.compare` on a data set.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        SolverTimesDisplay
            The display that was drawn.
        """
        times = tuple(
            SolverTime(cell.model, cell.solver, cell.seconds, cell.is_acceptable)
            for cell in comparison.cells
            if cell.seconds is not None
        )
        return cls(times, f"time of a fit to all bags of {comparison.data}").plot(ax)

    @draws_in_style
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        SolverTimesDisplay
            The display itself, with `ax_` and `figure_` set.

        Raises
        ------
        ParameterError
            If no solver has returned a point.
        """
        if not self.times:
            raise ParameterError("There are no times to draw: no solver has returned a point.")
        models = list(dict.fromkeys(time.model for time in self.times))
        solvers = list(dict.fromkeys(time.solver for time in self.times))
        axes = use_or_create_axes(ax, 6.4, 1.1 + len(models) * (0.25 + 0.055 * len(solvers)))
        offsets = np.linspace(-0.3, 0.3, len(solvers)) if len(solvers) > 1 else np.zeros(1)
        for row in range(0, len(models), 2):
            axes.axhspan(row - 0.5, row + 0.5, color="0.5", alpha=0.08, linewidth=0)
        for k, solver in enumerate(solvers):
            colour, marker = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]
            mine = [time for time in self.times if time.solver == solver]
            x = [max(time.seconds, MIN_DRAWN_SECONDS) for time in mine]
            y = [models.index(time.model) + offsets[k] for time in mine]
            filled = [colour if time.is_acceptable else "none" for time in mine]
            axes.scatter(x, y, s=26, marker=marker, facecolors=filled, edgecolors=colour, linewidths=1, label=solver)
        axes.set_xscale("log")
        label_logarithmic_axis(axes.xaxis)
        axes.set_yticks(range(len(models)), models)
        axes.set_ylim(len(models) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("seconds")
        axes.grid(axis="x", color="0.5", alpha=0.25, linewidth=0.5)
        axes.set_axisbelow(True)
        legend = axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        for handle in legend.legend_handles:
            # The legend shows every marker filled, also that of a solver whose first answer has no certificate.
            handle.set_facecolor(handle.get_edgecolor())  # type: ignore[union-attr]  # handles of scatter plots
        set_title(axes, self.title)
        if not all(time.is_acceptable for time in self.times):
            write_note_below(axes, "Hollow: without a certificate.", 36)
        return self._set_axes(axes)
