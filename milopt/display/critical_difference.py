"""Critical-difference diagram: models by mean rank; a bar joins models that do not differ significantly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from milopt.arrays import Floats
from milopt.display.canvas import set_title, use_or_create_axes, write_note_below
from milopt.display.display import Display
from milopt.errors import MiloptError
from milopt.picture_style import WARM, draws

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from milopt.evaluation.ranking import Ranking


@dataclass(eq=False, repr=False)
class CriticalDifferenceDisplay(Display):
    """Critical-difference diagram of mean ranks, the best model on the left.

    A bar joins models that do not differ significantly at the level of the ranking: every pair of them by the Nemenyi
    test, or, if there is a control, each model and the control by the Bonferroni-Dunn test. Needs scikit-posthocs.

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
    drawn_ : dict
        Drawn objects: markers, elbows, labels and crossbars.

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
    >>> display.ax_.get_title()
    'mean rank by accuracy, 2 data sets'
    """

    ranking: Ranking
    drawn_: dict[str, list[Any]] = field(init=False, repr=False)

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

    @draws
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
        try:
            import pandas
            from scikit_posthocs import critical_difference_diagram
        except ImportError as missing:
            raise MiloptError("This plot needs scikit-posthocs; run: pip install 'milopt[stats]'") from missing
        ranking, names = self.ranking, list(self.ranking.models)
        # The labels are on both sides of the line and need space.
        longest = max(len(f"{name} (1.00)") for name in names)
        axes = use_or_create_axes(ax, max(7.2, 3.6 + 2 * 0.09 * longest), 0.9 + 0.28 * len(names))
        chances = pandas.DataFrame(self.bar_p_values(), index=names, columns=names)
        self.drawn_ = critical_difference_diagram(
            dict(zip(names, ranking.ranks.tolist(), strict=True)),
            chances,
            ax=axes,
            alpha=ranking.alpha,
            # If all models have the same rank, the line has no length, so the elbows must be wider.
            text_h_margin=0.5 if self._are_all_tied else 0.01,
            label_fmt_left="{label} ({rank:.2f})",
            label_fmt_right="({rank:.2f}) {label}",
            crossbar_props={"color": WARM if ranking.control is not None else "0.2", "marker": None},
        )
        set_title(axes, f"mean rank by {ranking.measure.replace('_', ' ')}, {len(ranking.data)} data sets")
        if ax is None:
            # The note is as wide as the axes, whose width is final only after a layout pass.
            cast("Figure", axes.figure).draw_without_rendering()
        write_note_below(axes, self.caption(), 8)
        return self._set_axes(axes)

    @property
    def _are_all_tied(self) -> bool:
        """Whether all models have the same mean rank."""
        return bool(np.ptp(self.ranking.ranks) < 1e-9)

    def caption(self) -> str:
        """Return the caption of the diagram.

        Returns
        -------
        str
            Meaning of the bars, critical difference, and p-value of the Friedman test.
        """
        ranking = self.ranking
        difference = f"critical difference {ranking.critical_difference:.2f}"
        if self._are_all_tied:
            text = f"All models have the same mean rank, so no two of them differ by the test of {ranking.test}"
        elif ranking.control is None:
            text = f"A bar joins models that do not differ by the test of {ranking.test}"
        else:
            text = f"The bar joins {ranking.control} and models not different from it by the test of {ranking.test}"
        return f"{text} at level {ranking.alpha:g}: {difference}. Friedman: p = {ranking.p_value:.2g}."

    def bar_p_values(self) -> Floats:
        """Return the p-values that determine the bars.

        Returns
        -------
        ndarray of shape (n_models, n_models)
            p-values of all pairs. If there is a control: 1 on the diagonal and for pairs of models neither of which
            differs from the control, otherwise 0.
        """
        ranking = self.ranking
        if ranking.control is None:
            return ranking.p_values
        alike = ranking.p_values[ranking.models.index(ranking.control)] >= ranking.alpha
        result = np.outer(alike, alike).astype(np.float64)
        np.fill_diagonal(result, 1.0)
        return result
