"""Plot of cross-validated accuracy over a grid of two hyper-parameters, with an optional limit curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.display.canvas import set_title, use_or_create_axes, write_note_below
from milopt.display.display import Display
from milopt.errors import ParameterError
from milopt.picture_style import draws_in_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar

    from milopt.estimator.classifier import BagClassifier

LimitFunction = Callable[[Any], float]
"""Function of a model with the first parameter set that returns the limit of the second parameter."""


@dataclass(eq=False, repr=False)
class SensitivityDisplay(Display):
    """Heat map of cross-validated accuracy over two hyper-parameters on logarithmic axes.

    A curve can mark the limit below which a property holds, such as convexity of the program.

    Parameters
    ----------
    fields : tuple of two str
        Names of the hyper-parameters.
    first, second : ndarray
        Values of the hyper-parameters.
    accuracy : ndarray of shape (len(second), len(first))
        Cross-validated accuracy.
    limits : ndarray of shape (len(first),) or None, default=None
        Limit of the second parameter for each value of the first.
    meaning : str, default="convex below"
        Meaning of the limit curve, for the note below the plot.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure of these axes.
    colorbar_ : matplotlib Colorbar
        Scale of the accuracy.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from milopt.display import SensitivityDisplay
    >>> accuracy = np.array([[0.8, 0.9], [0.7, 0.85]])
    >>> display = SensitivityDisplay(("C", "s"), np.array([1.0, 10.0]), np.array([0.5, 1.0]), accuracy).plot()
    >>> display.ax_.get_title()
    'best 0.900 at C=10, s=0.5'
    """

    fields: tuple[str, str]
    first: Floats
    second: Floats
    accuracy: Floats
    limits: Floats | None = None
    meaning: str = "convex below"
    colorbar_: Colorbar = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        model: BagClassifier,
        bags: object,
        y: npt.ArrayLike,
        first: tuple[str, Sequence[float]],
        second: tuple[str, Sequence[float]],
        *,
        limit: LimitFunction | None = None,
        meaning: str = "convex below",
        folds: int = 5,
        ax: Axes | None = None,
    ) -> Self:
        """Cross-validate a model at every pair of values, and draw the accuracies.

        Parameters
        ----------
        model : BagClassifier
            Model to clone and fit.
        bags : bags
            Bags in any form that `milopt.as_bags` accepts.
        y : array-like of shape (n_bags,)
            Labels.
        first, second : tuple of (str, sequence of float)
            Names and values of the two hyper-parameters. The values must be positive.
        limit : callable or None, default=None
            Function that returns, for a model with the first parameter set, the limit of the second parameter.
        meaning : str, default="convex below"
            Meaning of the limit curve, for the note below the plot.
        folds : int, default=5
            Number of cross-validation folds.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        SensitivityDisplay
            The display that was drawn.

        Raises
        ------
        ParameterError
            If there are fewer than two values, or a value is not positive.
        """
        from sklearn.base import clone
        from sklearn.model_selection import StratifiedKFold, cross_val_score

        from milopt.declaration.bags.bags import as_bags
        from milopt.declaration.checks import check_integer

        converted = as_bags(bags)
        lists, labels = np.empty(len(converted), dtype=object), np.asarray(y)
        lists[:] = list(converted)
        for name, values in (first, second):
            if len(values) < 2 or min(values) <= 0:
                raise ParameterError(
                    f"{name} needs at least two values, all above 0, to be drawn on a logarithmic axis."
                )
        splits = StratifiedKFold(check_integer("folds", folds, 2), shuffle=True, random_state=0)
        accuracy, limits = np.empty((len(second[1]), len(first[1]))), np.empty(len(first[1]))
        for j, a in enumerate(first[1]):
            for i, b in enumerate(second[1]):
                candidate = clone(model).set_params(**{first[0]: a, second[0]: b})
                accuracy[i, j] = float(np.mean(cross_val_score(candidate, lists, labels, cv=splits)))
            if limit is not None:
                limits[j] = limit(clone(model).set_params(**{first[0]: a}))
        display = cls(
            (first[0], second[0]),
            np.asarray(first[1], dtype=np.float64),
            np.asarray(second[1], dtype=np.float64),
            accuracy,
            None if limit is None else limits,
            meaning,
        )
        return display.plot(ax)

    @draws_in_style
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        SensitivityDisplay
            The display itself, with `ax_` and `figure_` set.
        """
        axes = use_or_create_axes(ax, 5.6, 4.2)
        mesh = axes.pcolormesh(_cell_borders(self.first), _cell_borders(self.second), self.accuracy, cmap="viridis")
        axes.set_xscale("log")
        axes.set_yscale("log")
        # Ticks at the values themselves, instead of powers of 10 and their labelled fractions.
        axes.set_xticks(self.first, [f"{value:.3g}" for value in self.first])
        axes.set_yticks(self.second, [f"{value:.3g}" for value in self.second])
        axes.minorticks_off()
        axes.set_xlabel(self.fields[0])
        axes.set_ylabel(self.fields[1])
        self.colorbar_ = axes.figure.colorbar(mesh, ax=axes, label="cross-validated accuracy", pad=0.02)
        self.colorbar_.outline.set_visible(False)
        if self.limits is not None:
            low, high = _cell_borders(self.second)[[0, -1]]
            across = np.clip(self.limits, low, high)
            for colour, width in (("black", 3.2), ("white", 1.6)):
                axes.plot(self.first, across, color=colour, linewidth=width)
            write_note_below(axes, f"Line: {self.meaning} it. At the border, the limit lies outside of the plot.")
        axes.set_ylim(*_cell_borders(self.second)[[0, -1]])
        i, j = np.unravel_index(int(self.accuracy.argmax()), self.accuracy.shape)
        axes.plot(self.first[j], self.second[i], marker="*", color="white", markeredgecolor="black", markersize=12)
        set_title(
            axes,
            f"best {self.accuracy.max():.3f} at {self.fields[0]}={self.first[j]:.3g}, "
            f"{self.fields[1]}={self.second[i]:.3g}",
        )
        return self._set_axes(axes)


def _cell_borders(values: Floats) -> Floats:
    """Return the borders of the cells around increasing values on a logarithmic axis, one more than values."""
    logs = np.log(values)
    middles = (logs[1:] + logs[:-1]) / 2
    return np.asarray(np.exp(np.concatenate([[2 * logs[0] - middles[0]], middles, [2 * logs[-1] - middles[-1]]])))
