"""How the margins of bags are distributed: their mean and spread, model beside model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, cast

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.declaration.bags.labels import as_labels
from milopt.display.canvas import COOL, GREY, WARM, axes_for, tidy
from milopt.errors import BagsError, ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from milopt.estimator.classifier import BagClassifier

_COLOURS = (WARM, COOL, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLES = ("-", "--", ":")
"""A colour a model; for more models the colours begin again, in another style."""


@dataclass(frozen=True, eq=False)
class Margins:
    """y F(B) of each bag, for one model."""

    name: str
    values: Floats

    @property
    def mean(self) -> float:
        """Of the margins."""
        return float(self.values.mean())

    @property
    def deviation(self) -> float:
        """The standard deviation of the margins."""
        return float(self.values.std())

    def line(self) -> str:
        """Mean, standard deviation, and the share of bags on the wrong side."""
        return f"{self.name}: {self.mean:.2f} ± {self.deviation:.2f}, {(self.values <= 0).mean():.0%} below 0"


@dataclass(eq=False)
class MarginsDisplay:
    """The share of bags with a margin of at most so much, a curve a model; a dot at each mean, a bar of one deviation.

    A machine that maximises the smallest margin leaves the others as they fall; one that optimises their distribution
    has a steep curve about its mean. The margin of a bag is its score, negated for a bag of the first class.
    """

    margins: tuple[Margins, ...]
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure = field(init=False, repr=False)

    @classmethod
    def from_estimators(
        cls, models: Mapping[str, BagClassifier], bags: object, y: npt.ArrayLike, *, ax: Axes | None = None
    ) -> Self:
        """Draw the margins of the same bags for fitted models by name, each of two classes."""
        if models is not None and not isinstance(models, Mapping):
            raise ParameterError(f'Models are drawn by their names: give {{"name": model}}, not {_kind(models)}.')
        if not models:
            raise ParameterError("There is no model to draw: give at least one, by its name.")
        labels = as_labels(y)
        return cls(tuple(_margins(name, model, bags, labels) for name, model in models.items())).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure."""
        axes = axes_for(ax, 6.4, 3.4 + 0.3 * len(self.margins))
        for k, one in enumerate(self.margins):
            colour, style = _COLOURS[k % len(_COLOURS)], _STYLES[k // len(_COLOURS) % len(_STYLES)]
            ordered = np.sort(one.values)
            share = np.arange(1, ordered.size + 1) / ordered.size
            axes.step(ordered, share, where="post", color=colour, linestyle=style, label=one.line())
            height = 1.06 + 0.07 * k
            axes.errorbar(one.mean, height, xerr=one.deviation, color=colour, marker="o", markersize=4, capsize=3)
        axes.axvline(0.0, color=GREY, linewidth=1, linestyle=":")
        axes.set_ylim(0.0, 1.06 + 0.07 * len(self.margins))
        axes.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0])
        axes.set_xlabel("margin of a bag, y F(B)")
        axes.set_ylabel("share of bags up to it")
        # Curves may run anywhere: the legend stands above them.
        axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0))
        tidy(axes)
        self.ax_, self.figure_ = axes, cast("Figure", axes.figure)
        return self


def _margins(name: str, model: BagClassifier, bags: object, labels: npt.NDArray[np.generic]) -> Margins:
    if not callable(getattr(model, "decision_function", None)) or isinstance(model, type):
        raise ParameterError(f"{name} must be a fitted model, not {_kind(model)}.")
    scores = model.decision_function(bags)
    if model.classes_.size != 2:
        raise ParameterError(f"{name} separates {model.classes_.size} classes: margins are drawn for two.")
    if scores.size != labels.size:
        raise BagsError(f"There are {labels.size} labels for {scores.size} bags: give one a bag.")
    strange = labels[~np.isin(labels, model.classes_)]
    if strange.size:
        raise BagsError(f"{name} knows no class {strange[0]}: it separates {' and '.join(map(str, model.classes_))}.")
    return Margins(name, np.where(labels == model.classes_[1], scores, -scores))


def _kind(given: object) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
