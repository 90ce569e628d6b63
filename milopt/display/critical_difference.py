"""Critical-difference diagram: models by mean rank; a bar joins models that do not differ significantly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from milopt.arrays import Floats
from milopt.display.canvas import set_title, use_or_create_axes, write_note_below
from milopt.display.display import Display
from milopt.evaluation.signed_ranks import can_be_significant, wilcoxon_holm_p_values
from milopt.picture_style import COOL_COLOUR, INK, draws_in_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from milopt.evaluation.ranking import Ranking

WILCOXON_HOLM = "Wilcoxon-Holm"
"""Name of the second test."""
RULER_HEIGHT, FIRST_BAR, BAR_DISTANCE, LABEL_DISTANCE = 1.6, 0.55, 0.42, 0.85
"""Vertical positions and distances, in units of `INCHES_PER_UNIT`, from the axis."""
INCHES_PER_UNIT = 0.26
INCHES_PER_CHARACTER = 0.075
"""Approximate width of a character of a label."""
NAME_COLUMN = 0.12
"""Space between the ends of the axis and the names of the models, as a fraction of the length of the axis."""


@dataclass(eq=False, repr=False)
class CriticalDifferenceDisplay(Display):
    """Critical-difference diagram of mean ranks on an axis from 1 (best, on the left) to the number of models.

    The ruler above the axis is as long as the critical difference: two models differ significantly if their mean ranks
    are farther apart. Bars join models that do not differ significantly at the level of the ranking. The upper bars are
    those of the Nemenyi test for all pairs, or, if there is a control, of the Bonferroni-Dunn test against it. The blue
    bars below them are those of Wilcoxon's signed-rank test with Holm's correction, which does not depend on the other
    models. A bar joins neighbours by rank of which no two differ (with a control: of which none differs from the
    control).

    Parameters
    ----------
    ranking : Ranking
        Ranks of models, from `milopt.rank`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure of these axes.
    bars_ : dict
        For each test, the list of its bars; a bar is the tuple of the models that it joins.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import milopt
    >>> from milopt.display import CriticalDifferenceDisplay
    >>> accuracies = {"musk1": {"a": 0.9, "b": 0.8, "c": 0.7}, "musk2": {"a": 0.8, "b": 0.9, "c": 0.6}}
    >>> reports = []
    >>> for data, by_model in accuracies.items():
    ...     table = [{"model": name, "accuracy": value, "auc": None} for name, value in by_model.items()]
    ...     reports.append({"data": data, "digest": data, "protocol": "1x10", "seed": 0, "table": table})
    >>> display = CriticalDifferenceDisplay.from_ranking(milopt.rank(reports))
    >>> display.bars_["Nemenyi"]
    [('a', 'b', 'c')]
    """

    ranking: Ranking
    bars_: dict[str, list[tuple[str, ...]]] = field(init=False)

    @classmethod
    def from_ranking(cls, ranking: Ranking, *, ax: Axes | None = None) -> Self:
        """Draw the diagram of a ranking.

        Parameters
        ----------
        ranking : Ranking
            Ranks of models, from `milopt.rank`.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        CriticalDifferenceDisplay
            The display that was drawn.
        """
        return cls(ranking).plot(ax)

    @draws_in_style
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        CriticalDifferenceDisplay
            The display itself, with `ax_` and `figure_` set.
        """
        ranking = self.ranking
        self.bars_ = self._find_all_bars()
        axes = use_or_create_axes(ax, *self.figure_size())
        self._draw_axis(axes)
        self._draw_ruler(axes)
        self._draw_bars(axes)
        self._draw_names(axes)
        set_title(axes, f"mean rank by {ranking.measure.replace('_', ' ')}, {len(ranking.data)} data sets")
        if ax is None:
            # The note is as wide as the axes, whose width is final only after a layout pass.
            axes.figure.draw_without_rendering()  # type: ignore[union-attr]  # axes have a figure
        write_note_below(axes, self.caption(), 8)
        return self._set_axes(axes)

    def wilcoxon_p_values(self) -> Floats:
        """Return the p-values of Wilcoxon's signed-rank test, corrected by Holm's procedure.

        Returns
        -------
        ndarray of shape (n_models, n_models)
            p-values of all pairs, or, if there is a control, of the pairs with it and NaN for the others.
        """
        ranking = self.ranking
        control = None if ranking.control is None else ranking.models.index(ranking.control)
        return wilcoxon_holm_p_values(ranking.values, control)

    def caption(self) -> str:
        """Return the caption of the diagram.

        Returns
        -------
        str
            Meaning of the bars, critical difference, and p-value of the Friedman test.
        """
        ranking, k, n = self.ranking, len(self.ranking.models), len(self.ranking.data)
        if ranking.control is None:
            joined, pairs = "neighbours of which no two differ", k * (k - 1) // 2
        else:
            joined, pairs = f"{ranking.control} and neighbours that do not differ from it", k - 1
        none = "" if self.bars_[WILCOXON_HOLM] else " (no such bar)"
        text = (
            f"A bar joins {joined} at level {ranking.alpha:g}: above by the test of {ranking.test} (critical "
            f"difference {ranking.critical_difference:.2f}), below, in blue, by Wilcoxon's test with Holm's "
            f"correction{none}. Friedman: p = {ranking.p_value:.2g}."
        )
        if not can_be_significant(n, pairs, ranking.alpha):
            text += f" With {n} data sets, Wilcoxon's test cannot find a difference at this level."
        return text

    def figure_size(self) -> tuple[float, float]:
        """Return width and height in inches of a new figure, which has space for all names and bars.

        Returns
        -------
        tuple of two float
            Width and height.
        """
        longest = max(map(len, self.ranking.models)) + len(" (1.00)")
        width = max(6.4, 3.4 + 2 * INCHES_PER_CHARACTER * longest)
        return width, INCHES_PER_UNIT * (self._lowest_name_depth() + RULER_HEIGHT + 0.9) + 1.1

    def _names_start(self) -> float:
        """Return the distance of the first name below the axis, which depends on the number of bars."""
        return FIRST_BAR + BAR_DISTANCE * sum(map(len, self._find_all_bars().values())) + 0.5

    def _lowest_name_depth(self) -> float:
        """Return the distance of the lowest name below the axis, with a margin."""
        return self._names_start() + LABEL_DISTANCE * ((len(self.ranking.models) + 1) // 2 - 1) + 0.5

    def _find_all_bars(self) -> dict[str, list[tuple[str, ...]]]:
        """Return the bars of each test."""
        ranking = self.ranking
        return {
            ranking.test: self._find_bars(ranking.p_values),
            WILCOXON_HOLM: self._find_bars(self.wilcoxon_p_values()),
        }

    def _find_bars(self, p_values: Floats) -> list[tuple[str, ...]]:
        """Return the longest runs of at least two neighbours by rank that do not differ at the level of the ranking."""
        ranking, k = self.ranking, len(self.ranking.models)
        alike = p_values >= ranking.alpha
        if ranking.control is not None:
            with_control = alike[ranking.models.index(ranking.control)]
            alike = np.outer(with_control, with_control)
        runs: list[tuple[int, int]] = []
        for first in range(k):
            last = first
            while last + 1 < k and alike[first : last + 1, last + 1].all():
                last += 1
            if last > first and not any(start <= first and last <= stop for start, stop in runs):
                runs.append((first, last))
        if ranking.control is not None:
            place = ranking.models.index(ranking.control)
            runs = [run for run in runs if run[0] <= place <= run[1]]
        return [ranking.models[first : last + 1] for first, last in runs]

    def _draw_axis(self, axes: Axes) -> None:
        """Draw the axis of mean ranks from 1 to the number of models."""
        k = len(self.ranking.models)
        side = NAME_COLUMN * (k - 1)
        axes.set_xlim(1 - side, k + side)
        axes.set_ylim(-self._lowest_name_depth(), RULER_HEIGHT + 0.9)
        axes.spines[["left", "right", "bottom"]].set_visible(False)
        axes.spines["top"].set_visible(True)
        axes.spines["top"].set_position(("data", 0.0))
        axes.spines["top"].set_bounds(1, k)
        axes.xaxis.set_ticks_position("top")
        axes.set_xticks(range(1, k + 1))
        axes.set_xticks(np.arange(1, k, 0.5)[1::2], minor=True)
        axes.set_yticks([])

    def _draw_ruler(self, axes: Axes) -> None:
        """Draw the ruler of the critical difference above the axis, from rank 1 on."""
        length = self.ranking.critical_difference
        ends = (1.0, 1.0 + length)
        axes.plot(ends, [RULER_HEIGHT] * 2, color=INK, linewidth=1.2, marker="|", markersize=6, clip_on=False)
        axes.annotate(
            f"critical difference {length:.2f}",
            (ends[0], RULER_HEIGHT),
            (0, 4),
            textcoords="offset points",
            fontsize=7.5,
        )

    def _draw_bars(self, axes: Axes) -> None:
        """Draw the bars of both tests below the axis."""
        ranks = dict(zip(self.ranking.models, self.ranking.ranks.tolist(), strict=True))
        height = -FIRST_BAR
        for (_, bars), colour in zip(self.bars_.items(), (INK, COOL_COLOUR), strict=True):
            for joined in bars:
                low, high = ranks[joined[0]], ranks[joined[-1]]
                # A bar of models with equal ranks would have no length.
                spread = 0.04 if high - low < 0.08 else 0.0
                axes.plot(
                    [low - spread, high + spread], [height] * 2, color=colour, linewidth=3.2, solid_capstyle="butt"
                )
                height -= BAR_DISTANCE

    def _draw_names(self, axes: Axes) -> None:
        """Write the names on both sides, and join them with their places on the axis."""
        ranking, k = self.ranking, len(self.ranking.models)
        left = (k + 1) // 2
        side, start = NAME_COLUMN * (k - 1), self._names_start()
        for j, (name, rank) in enumerate(zip(ranking.models, ranking.ranks.tolist(), strict=True)):
            is_left = j < left
            depth = -(start + LABEL_DISTANCE * (j if is_left else k - 1 - j))
            edge = 1 - side if is_left else k + side
            axes.plot([rank, rank, edge], [0, depth, depth], color=INK, linewidth=0.7)
            axes.annotate(
                f"{name} ({rank:.2f})",
                (edge, depth),
                (-3 if is_left else 3, 0),
                textcoords="offset points",
                ha="right" if is_left else "left",
                va="center",
                fontweight="bold" if name == ranking.control else "normal",
            )
