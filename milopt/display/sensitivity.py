"""How much two hyper-parameters matter: cross-validated accuracy over a grid of them, and a limit drawn across."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.display.canvas import axes_for, note
from milopt.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure

    from milopt.estimator.classifier import BagClassifier

Limit = Callable[[Any], float]
"""The largest value of the second parameter that still has a property, of a model with the first one set."""


@dataclass(eq=False)
class SensitivityDisplay:
    """Accuracy by two parameters, both on logarithmic axes, and the curve below which a property holds."""

    fields: tuple[str, str]
    first: Floats
    second: Floats
    accuracy: Floats
    """A row for each value of the second parameter, a column for each of the first."""
    limits: Floats | None = None
    """For each value of the first parameter, the largest of the second that has the property."""
    meaning: str = "convex below"
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure = field(init=False, repr=False)
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
        limit: Limit | None = None,
        meaning: str = "convex below",
        folds: int = 5,
        ax: Axes | None = None,
    ) -> Self:
        """Cross-validate the model at every pair of values, and draw."""
        from sklearn.base import clone
        from sklearn.model_selection import StratifiedKFold, cross_val_score

        from milopt.declaration.bags.bags import as_bags
        from milopt.declaration.checks import whole

        held = as_bags(bags)
        lists, labels = np.empty(len(held), dtype=object), np.asarray(y)
        lists[:] = list(held)
        for name, values in (first, second):
            if len(values) < 2 or min(values) <= 0:
                raise ParameterError(
                    f"{name} needs at least two values, all above 0, to be drawn on a logarithmic axis."
                )
        splits = StratifiedKFold(whole("folds", folds, 2), shuffle=True, random_state=0)
        accuracy, limits = np.empty((len(second[1]), len(first[1]))), np.empty(len(first[1]))
        for j, one in enumerate(first[1]):
            for i, other in enumerate(second[1]):
                there = clone(model).set_params(**{first[0]: one, second[0]: other})
                accuracy[i, j] = float(np.mean(cross_val_score(there, lists, labels, cv=splits)))
            if limit is not None:
                limits[j] = limit(clone(model).set_params(**{first[0]: one}))
        shown = cls(
            (first[0], second[0]),
            np.asarray(first[1], dtype=np.float64),
            np.asarray(second[1], dtype=np.float64),
            accuracy,
            None if limit is None else limits,
            meaning,
        )
        return shown.plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure."""
        axes = axes_for(ax, 5.6, 4.2)
        mesh = axes.pcolormesh(_edges(self.first), _edges(self.second), self.accuracy, cmap="viridis")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(self.fields[0])
        axes.set_ylabel(self.fields[1])
        self.colorbar_ = axes.figure.colorbar(mesh, ax=axes, label="cross-validated accuracy", pad=0.02)
        self.colorbar_.outline.set_visible(False)
        if self.limits is not None:
            low, high = _edges(self.second)[[0, -1]]
            across = np.clip(self.limits, low, high)
            for colour, width in (("black", 3.2), ("white", 1.6)):
                axes.plot(self.first, across, color=colour, linewidth=width)
            note(axes, f"The line: {self.meaning} it; at the frame, beyond what is drawn.")
        axes.set_ylim(*_edges(self.second)[[0, -1]])
        i, j = np.unravel_index(int(self.accuracy.argmax()), self.accuracy.shape)
        axes.plot(self.first[j], self.second[i], marker="*", color="white", markeredgecolor="black", markersize=12)
        axes.set_title(
            f"best {self.accuracy.max():.3f} at {self.fields[0]}={self.first[j]:.3g}, "
            f"{self.fields[1]}={self.second[i]:.3g}",
            fontsize=9,
        )
        self.ax_, self.figure_ = axes, cast("Figure", axes.figure)
        return self


def _edges(values: Floats) -> Floats:
    """The borders of cells about values on a logarithmic axis."""
    logs = np.log(values)
    middles = (logs[1:] + logs[:-1]) / 2
    return np.asarray(np.exp(np.concatenate([[2 * logs[0] - middles[0]], middles, [2 * logs[-1] - middles[-1]]])))
