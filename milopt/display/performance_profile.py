"""Performance profiles (Dolan and More, 2002): how often a solver is within a factor of the fastest one.

For problem p and solver s with the time t_ps, r_ps = t_ps / min_s t_ps. The profile of solver s is

    rho_s(tau) = share of the problems with r_ps <= tau.

rho_s(1) is the share of problems on which s is fastest, and the limit for large tau the share that s solves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from milopt.arrays import Floats
from milopt.display.canvas import label_logarithmic_axis, set_title, use_or_create_axes, write_note_below
from milopt.display.display import Display
from milopt.errors import ParameterError
from milopt.picture_style import COLOURS, LINE_STYLES, draws_in_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from milopt.comparison.comparison import Comparison

MIN_SECONDS = 1e-3
"""Times below this are counted as this: shorter times are noise, and their ratios mean nothing."""


@dataclass(eq=False, repr=False)
class PerformanceProfileDisplay(Display):
    """Performance profiles: for each solver, the share of problems that it solves within a factor of the best time.

    A problem that a solver does not solve has an infinite time, so its curve ends below 1.

    Parameters
    ----------
    names : tuple of str
        Names of the solvers.
    ratios : ndarray of shape (n_problems, n_solvers)
        Time divided by the best time on the problem; infinite if the solver does not solve it.

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
    >>> from milopt.display import PerformanceProfileDisplay
    >>> seconds = {"a": [1.0, 2.0, 4.0], "b": [2.0, 1.0, None]}
    >>> display = PerformanceProfileDisplay.from_seconds(seconds)
    >>> display.solved_share("a", 1.0), display.solved_share("b", 100.0)
    (0.6666666666666666, 0.6666666666666666)
    """

    names: tuple[str, ...]
    ratios: Floats

    @classmethod
    def from_seconds(cls, seconds: Mapping[str, Sequence[float | None]], *, ax: Axes | None = None) -> Self:
        """Draw the profiles of solvers from their times on the same problems.

        Parameters
        ----------
        seconds : mapping of str to sequence of float or None
            Times of each solver, one per problem, in the same order; None if the problem was not solved. Times below
            0.001 s count as 0.001 s. Problems that no solver solved are left out.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        PerformanceProfileDisplay
            The display that was drawn.

        Raises
        ------
        ParameterError
            If a solver does not have one entry per problem, or no solver has solved any problem.
        """
        times = list(seconds.values())
        if len({len(row) for row in times}) != 1:
            raise ParameterError("Every solver needs one time per problem, in the same order, or None.")
        columns = [[np.inf if value is None else max(float(value), MIN_SECONDS) for value in row] for row in times]
        table = np.array(columns).T
        solved = table[np.isfinite(table).any(axis=1)]
        if not solved.size:
            raise ParameterError("No solver has solved any of the problems, so there is nothing to draw.")
        return cls(tuple(seconds), solved / solved.min(axis=1, keepdims=True)).plot(ax)

    @classmethod
    def from_comparisons(cls, comparisons: Sequence[Comparison], *, ax: Axes | None = None) -> Self:
        """Draw the profile of each solver; each pair of a model and a data set is one problem.

        Parameters
        ----------
        comparisons : sequence of Comparison
            Results of `milopt.compare` on data sets. A cell whose point is not acceptable counts as not solved, and so
            does a program that the solver does not support.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        PerformanceProfileDisplay
            The display that was drawn.
        """
        cells = {
            (comparison.digest, cell.model, cell.solver): cell.seconds if cell.is_acceptable else None
            for comparison in comparisons
            for cell in comparison.cells
        }
        problems = list(dict.fromkeys(key[:2] for key in cells))
        solvers = list(dict.fromkeys(key[2] for key in cells))
        return cls.from_seconds(
            {solver: [cells.get((*problem, solver)) for problem in problems] for solver in solvers}, ax=ax
        )

    def solved_share(self, name: str, factor: float) -> float:
        """Return the share of problems that a solver solves within a factor of the best time.

        Parameters
        ----------
        name : str
            Name of the solver.
        factor : float
            Factor tau, at least 1.

        Returns
        -------
        float
            Share rho(tau), from 0 to 1.
        """
        return float((self.ratios[:, self.names.index(name)] <= factor).mean())

    @draws_in_style
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        PerformanceProfileDisplay
            The display itself, with `ax_` and `figure_` set.
        """
        axes = use_or_create_axes(ax, 6.0, 3.4)
        right = float(self.ratios[np.isfinite(self.ratios)].max()) * 1.4
        for k, name in enumerate(self.names):
            reached = np.sort(self.ratios[np.isfinite(self.ratios[:, k]), k])
            places = np.concatenate([[1.0], reached, [right]])
            shares = np.concatenate([[0.0], np.arange(1, reached.size + 1), [reached.size]]) / self.ratios.shape[0]
            style = {"color": COLOURS[k % len(COLOURS)], "linestyle": LINE_STYLES[k // len(COLOURS) % len(LINE_STYLES)]}
            axes.step(places, shares, where="post", label=name, **style)
        axes.set_xscale("log")
        # A curve that rises at factor 1 is beside the left axis, not behind it.
        axes.set_xlim(right**-0.015, right)
        label_logarithmic_axis(axes.xaxis)
        axes.set_ylim(0.0, 1.03)
        axes.set_xlabel("factor of the best time")
        axes.set_ylabel("share of problems solved")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        count = self.ratios.shape[0]
        set_title(axes, f"performance profiles over {count} problem{'' if count == 1 else 's'}")
        write_note_below(axes, "A curve that ends below 1: the solver did not solve, or does not support, the others.")
        return self._set_axes(axes)
