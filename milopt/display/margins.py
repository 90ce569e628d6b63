"""Plot of the distribution of bag margins, with mean and standard deviation, for several models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.declaration.bags.labels import as_labels
from milopt.display.canvas import GREY, hide_upper_right_borders, use_or_create_axes
from milopt.display.display import Display
from milopt.errors import BagsError, ParameterError
from milopt.picture_style import COLOURS, LINE_STYLES, draws_in_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from milopt.estimator.classifier import BagClassifier


@dataclass(frozen=True, eq=False)
class Margins:
    """Margins y F(B) of the bags B for one model, with labels y in {-1, 1} and scores F(B).

    Attributes
    ----------
    name : str
        Name of the model.
    values : ndarray of shape (n_bags,)
        Margins.
    """

    name: str
    values: Floats

    @property
    def mean(self) -> float:
        """Mean of the margins."""
        return float(self.values.mean())

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the margins."""
        return float(self.values.std())

    def legend_label(self) -> str:
        """Return a line for the legend: mean, standard deviation, and the fraction of margins of at most 0."""
        return f"{self.name}: {self.mean:.2f} ± {self.standard_deviation:.2f}, {(self.values <= 0).mean():.0%} below 0"


@dataclass(eq=False, repr=False)
class MarginsDisplay(Display):
    """Cumulative distribution of bag margins, one curve per model, with mean and standard deviation.

    The margin of a bag is its score, negated for a bag of the first class. A method that maximises the smallest margin
    does not control the other margins; a method that optimises their distribution has a steep curve around its mean.

    Parameters
    ----------
    margins : tuple of Margins
        Margins of each model.

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
    >>> from milopt.display import MarginsDisplay
    >>> from milopt.models import SetKernelSVM
    >>> data = toy_bags("clusters", bags=20)
    >>> model = SetKernelSVM().fit(data.bags, data.labels)
    >>> display = MarginsDisplay.from_estimators({"SVM": model}, data.bags, data.labels)
    >>> bool(display.margins[0].mean > 0)
    True
    """

    margins: tuple[Margins, ...]

    @classmethod
    def from_estimators(
        cls, models: Mapping[str, BagClassifier], bags: object, y: npt.ArrayLike, *, ax: Axes | None = None
    ) -> Self:
        """Draw the margins of bags for several fitted models.

        Parameters
        ----------
        models : mapping of str to BagClassifier
            Fitted models of two classes by name.
        bags : bags
            Bags in any form that `milopt.as_bags` accepts.
        y : array-like of shape (n_bags,)
            True labels.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        MarginsDisplay
            The display that was drawn.

        Raises
        ------
        ParameterError
            If `models` is not a mapping, or is empty.
        """
        if models is not None and not isinstance(models, Mapping):
            raise ParameterError(f'models must be a mapping such as {{"name": model}}, not {_type_name(models)}.')
        if not models:
            raise ParameterError("models is empty: give at least one model by name.")
        labels = as_labels(y)
        return cls(tuple(_margins_of_model(name, model, bags, labels) for name, model in models.items())).plot(ax)

    @draws_in_style
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        MarginsDisplay
            The display itself, with `ax_` and `figure_` set.
        """
        axes = use_or_create_axes(ax, 6.4, 3.4 + 0.3 * len(self.margins))
        for k, margins in enumerate(self.margins):
            colour, style = (
                COLOURS[k % len(COLOURS)],
                LINE_STYLES[k // len(COLOURS) % len(LINE_STYLES)],
            )
            ordered = np.sort(margins.values)
            share = np.arange(1, ordered.size + 1) / ordered.size
            axes.step(ordered, share, where="post", color=colour, linestyle=style, label=margins.legend_label())
            height = 1.06 + 0.07 * k
            mean, deviation = margins.mean, margins.standard_deviation
            axes.errorbar(mean, height, xerr=deviation, color=colour, marker="o", markersize=4, capsize=3)
        axes.axvline(0.0, color=GREY, linewidth=1, linestyle=":")
        axes.set_ylim(0.0, 1.06 + 0.07 * len(self.margins))
        axes.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0])
        axes.set_xlabel("margin of a bag, y F(B)")
        axes.set_ylabel("fraction of bags")
        # The curves may pass through every part of the plot, so the legend is above the axes.
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0))
        hide_upper_right_borders(axes)
        return self._set_axes(axes)


def _margins_of_model(name: str, model: BagClassifier, bags: object, labels: npt.NDArray[np.generic]) -> Margins:
    """Return the margins of one model, or raise an error if model and labels do not have the same two classes."""
    if not callable(getattr(model, "decision_function", None)) or isinstance(model, type):
        raise ParameterError(f"{name} must be a fitted model, not {_type_name(model)}.")
    scores = model.decision_function(bags)
    if model.classes_.size != 2:
        raise ParameterError(f"{name} separates {model.classes_.size} classes: margins are drawn for two.")
    if scores.size != labels.size:
        raise BagsError(f"There are {labels.size} labels for {scores.size} bags: give one label per bag.")
    unknown = labels[~np.isin(labels, model.classes_)]
    if unknown.size:
        raise BagsError(
            f"{name} does not have class {unknown[0]}: it separates {' and '.join(map(str, model.classes_))}."
        )
    return Margins(name, np.where(labels == model.classes_[1], scores, -scores))


def _type_name(given: object) -> str:
    """Return the name of the type of an object, or "the class X" if the object is a class X, for a message."""
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
