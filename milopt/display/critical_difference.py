"""The critical-difference diagram: models by their mean rank, joined where the data do not tell them apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from milopt.arrays import Floats
from milopt.display.canvas import WARM, axes_for, note
from milopt.errors import MiloptError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from milopt.evaluation.ranking import Ranking


@dataclass(eq=False)
class CriticalDifferenceDisplay:
    """Mean ranks on a line, the best on the left.

    A bar joins models that are not different at the ranking's level: every pair of them by Nemenyi's test, or, where
    there is a control, each of them and the control by Bonferroni-Dunn's.
    """

    ranking: Ranking
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure = field(init=False, repr=False)
    drawn_: dict[str, list[Any]] = field(init=False, repr=False)
    """What was drawn: markers, elbows, labels and crossbars."""

    @classmethod
    def from_ranking(cls, ranking: Ranking, *, ax: Axes | None = None) -> Self:
        """Draw the ranks of `milopt.rank`."""
        return cls(ranking).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure."""
        try:
            import pandas
            from scikit_posthocs import critical_difference_diagram
        except ImportError as missing:
            raise MiloptError("This picture needs scikit-posthocs; run: pip install 'milopt[stats]'") from missing
        ranking, names = self.ranking, list(self.ranking.models)
        # Labels stand on both sides of the line, and need room beside it.
        longest = max(len(f"{name} (1.00)") for name in names)
        axes = axes_for(ax, max(7.2, 3.6 + 2 * 0.09 * longest), 0.9 + 0.28 * len(names))
        chances = pandas.DataFrame(self.joined(), index=names, columns=names)
        self.drawn_ = critical_difference_diagram(
            dict(zip(names, ranking.ranks.tolist(), strict=True)),
            chances,
            ax=axes,
            alpha=ranking.alpha,
            # Beside models that all have one rank there is no line, unless the elbows make it.
            text_h_margin=0.5 if self._tied else 0.01,
            label_fmt_left="{label} ({rank:.2f})",
            label_fmt_right="({rank:.2f}) {label}",
            crossbar_props={"color": WARM if ranking.control is not None else "0.2", "marker": None},
        )
        axes.set_title(f"mean rank by {ranking.measure.replace('_', ' ')}, {len(ranking.data)} data sets", fontsize=9)
        if ax is None:
            # What is written below is as wide as the axes, which are so only once their labels have their room.
            cast("Figure", axes.figure).draw_without_rendering()
        note(axes, self.said()).set_y(-8)
        self.ax_, self.figure_ = axes, cast("Figure", axes.figure)
        return self

    @property
    def _tied(self) -> bool:
        return bool(np.ptp(self.ranking.ranks) < 1e-9)

    def said(self) -> str:
        """What the picture shows, for those who read it."""
        ranking = self.ranking
        difference = f"critical difference {ranking.critical_difference:.2f}"
        if self._tied:
            said = f"All models have the same mean rank, so that {ranking.test}'s test tells none apart"
        elif ranking.control is None:
            said = f"A bar joins models that {ranking.test}'s test does not tell apart"
        else:
            said = f"The bar joins {ranking.control} and what {ranking.test}'s test does not tell from it"
        return f"{said} at level {ranking.alpha:g}: {difference}. Friedman: p = {ranking.p_value:.2g}."

    def joined(self) -> Floats:
        """p-values by which bars are drawn; with a control, 1 for two models that are both like it, 0 for others."""
        ranking = self.ranking
        if ranking.control is None:
            return ranking.p_values
        alike = ranking.p_values[ranking.models.index(ranking.control)] >= ranking.alpha
        result = np.outer(alike, alike).astype(np.float64)
        np.fill_diagonal(result, 1.0)
        return result
