"""What a model makes of single instances: in the plane of two features, and as bag scores along the latent axis."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.declaration.bags.bags import as_bags
from milopt.display.canvas import COOL, GREY, WARM, axes_for, note, tidy
from milopt.errors import BagsError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from milopt.estimator.classifier import BagClassifier

STEPS = 80
"""Points along each side at which the boundary between instances is looked for."""


@dataclass(eq=False)
class InstanceClustersDisplay:
    """Instances by two features, in the colour of their side: where the instance score is above 0, and where not.

    In the plane the boundary between the sides is drawn too.
    """

    points: Floats
    """N x 2."""
    scores: Floats
    names: tuple[str, str]
    sides: tuple[object, object]
    """The labels of scores below and above 0."""
    boundary: tuple[Floats, Floats, Floats] | None = None
    """A grid of the plane and the scores on it."""
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, model: BagClassifier, bags: object, *, features: tuple[int, int] = (0, 1), ax: Axes | None = None
    ) -> Self:
        """Draw the instances of bags by a model of two classes."""
        held = as_bags(bags)
        rows = np.asarray(held.instances.toarray() if hasattr(held.instances, "toarray") else held.instances)
        if len(features) != 2 or not all(0 <= one < rows.shape[1] for one in features):
            raise BagsError(f"There are {rows.shape[1]} features, counted from 0, and features={features} are not two.")
        scores = np.concatenate(model.instance_scores(held))
        _two_classes(scores)
        points = rows[:, list(features)]
        names = (f"feature {features[0]}", f"feature {features[1]}")
        flat = rows.shape[1] == 2 and features == (0, 1)
        boundary = _boundary(model, points) if flat else None
        return cls(points, scores, names, tuple(model.classes_.tolist()), boundary).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure."""
        axes = axes_for(ax, 5.2, 4.4)
        for side, colour, marker in ((0, COOL, "o"), (1, WARM, "^")):
            mask = (self.scores > 0) == bool(side)
            style: dict[str, Any] = {"s": 12, "c": colour, "marker": marker, "linewidths": 0, "alpha": 0.75}
            said = f"{int(mask.sum())} on the side of {self.sides[side]}"
            axes.scatter(self.points[mask, 0], self.points[mask, 1], label=said, **style)
        if self.boundary is not None:
            axes.contour(*self.boundary, levels=[0.0], colors=GREY, linewidths=1.2)
        axes.set_xlabel(self.names[0])
        axes.set_ylabel(self.names[1])
        axes.legend(fontsize=8, frameon=False, loc="best")
        tidy(axes)
        self.ax_, self.figure_ = axes, cast("Figure", axes.figure)
        return self


@dataclass(eq=False)
class BagScoresDisplay:
    """Bags along the latent axis: one point a bag at its score, a row a class, and the threshold."""

    scores: Floats
    labels: npt.NDArray[Any]
    classes: tuple[object, object]
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure = field(init=False, repr=False)

    @classmethod
    def from_estimator(cls, model: BagClassifier, bags: object, y: npt.ArrayLike, *, ax: Axes | None = None) -> Self:
        """Draw bags with their true labels."""
        scores, labels = model.decision_function(bags), np.asarray(y)
        _two_classes(scores)
        if labels.shape != scores.shape:
            raise BagsError(f"There are {labels.size} labels for {scores.size} bags: give one a bag.")
        if unknown := sorted(set(labels.tolist()) - set(model.classes_.tolist()), key=str):
            known = " and ".join(map(str, model.classes_))
            raise BagsError(f"The model tells {known} apart, and there are bags of class {unknown[0]}.")
        return cls(scores, labels, tuple(model.classes_.tolist())).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure."""
        axes = axes_for(ax, 6.4, 2.9)
        rng = np.random.default_rng(0)
        wrong = 0
        for row, (label, colour, marker) in enumerate(zip(self.classes, (COOL, WARM), ("o", "^"), strict=True)):
            mine = self.scores[self.labels == label]
            side = (mine > 0) == (row == 1)
            wrong += int((~side).sum())
            height = row + 0.6 * (rng.random(mine.size) - 0.5)
            axes.scatter(mine, height, s=22, c=colour, marker=marker, linewidths=0, alpha=0.8)
            axes.scatter(mine[~side], height[~side], s=70, facecolors="none", edgecolors="black", linewidths=0.8)
        axes.axvline(0.0, color=GREY, linewidth=1)
        axes.set_yticks([0, 1], [f"class {label}" for label in self.classes])
        axes.set_ylim(-0.5, 1.5)
        axes.set_xlabel("bag score")
        axes.set_title(f"{self.scores.size - wrong} of {self.scores.size} bags on the side of their class", fontsize=9)
        tidy(axes)
        note(axes, "Heights within a row mean nothing; bags on the other side are circled.")
        self.ax_, self.figure_ = axes, cast("Figure", axes.figure)
        return self


def _two_classes(scores: Floats) -> None:
    if scores.ndim > 1:
        raise BagsError(f"The model tells {scores.shape[1]} classes apart: draw one that tells one from the rest.")


def _boundary(model: BagClassifier, points: Floats) -> tuple[Floats, Floats, Floats]:
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.05 * (high - low)
    first, second = (np.linspace(low[k] - margin[k], high[k] + margin[k], STEPS) for k in (0, 1))
    across, up = np.meshgrid(first, second)
    (scores,) = model.instance_scores([np.column_stack([across.ravel(), up.ravel()])])
    return across, up, scores.reshape(across.shape)
