"""How a fit came to its end: the value of every step, and what was proved about the optimum meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, cast

import numpy as np

from milopt.declaration.arrays import Floats
from milopt.declaration.checks import one_of
from milopt.declaration.semi_infinite import SemiInfinite
from milopt.display.canvas import COOL, WARM, axes_for, tidy
from milopt.errors import MiloptError
from milopt.outcome.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from milopt.estimator.classifier import BagClassifier

_COLOURS = (COOL, WARM, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""One a program; for more they begin again."""
NOTHING = 1e-14
"""A gap this small is rounding, which a logarithm would blow up."""


@dataclass(frozen=True, eq=False)
class Curve:
    """The steps of one program; NaN where a step has no such value."""

    name: str
    """What tells it from the others."""
    generated: bool
    """Whether the value is that of a master that only gains rows, and so a lower bound."""
    objective: Floats
    bound: Floats
    reached: Floats
    """What an oracle found before each step; no bound, unless the oracle proves it."""

    @property
    def gap(self) -> Floats:
        """How far the proved bound is from the value; where none is proved, how far the oracles' best is."""
        proved = np.abs(self.bound - self.objective)
        return np.where(np.isfinite(proved), proved, np.abs(self.reached - self.objective))


@dataclass(eq=False)
class ConvergenceDisplay:
    """Values and bounds by step.

    Of a semi-infinite program the master's value is a lower bound, which rises as rows join it. An upper bound is drawn
    where every oracle proves one (`oracle="exact"`, or the one-hot class, which is searched). The best edge that was
    found before a step proves nothing, but ends within the tolerance of the value. For more than two classes every
    program has its curves.
    """

    curves: tuple[Curve, ...]
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure = field(init=False, repr=False)

    @classmethod
    def from_estimator(cls, model: BagClassifier, *, scale: str = "linear", ax: Axes | None = None) -> Self:
        """Draw the fit of a model."""
        results, classes = model.results_, model.classes_.tolist()
        names = [""] if len(results) == 1 else [f"class {label}: " for label in classes]
        shown = cls(tuple(_curve(result, name) for result, name in zip(results, names, strict=True)))
        return shown.plot(ax, scale=scale)

    @classmethod
    def from_result(cls, result: Result, *, scale: str = "linear", ax: Axes | None = None) -> Self:
        """Draw a result that has a history."""
        return cls((_curve(result, ""),)).plot(ax, scale=scale)

    def plot(self, ax: Axes | None = None, *, scale: str = "linear") -> Self:
        """`linear`: values and bounds; `log`: the gap between them."""
        one_of("scale", scale, ("linear", "log"))
        axes = axes_for(ax, 6.4, 3.8)
        from matplotlib.ticker import MaxNLocator

        for k, curve in enumerate(self.curves):
            colour = _COLOURS[k % len(_COLOURS)]
            if scale == "log":
                _gap(axes, curve, colour)
            else:
                _values(axes, curve, colour, _COLOURS[1] if len(self.curves) == 1 else colour)
        if scale == "log":
            axes.set_yscale("log")
        axes.set_xlabel("step")
        axes.set_ylabel("gap" if scale == "log" else "objective")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(frameon=False, fontsize=8)
        tidy(axes)
        self.ax_, self.figure_ = axes, cast("Figure", axes.figure)
        return self


def _values(axes: Axes, curve: Curve, colour: str, other: str) -> None:
    steps = np.arange(1, curve.objective.size + 1)
    mark = "o" if steps.size <= 40 else ""
    word = "master (lower bound)" if curve.generated else "objective"
    axes.plot(steps, curve.objective, color=colour, marker=mark, markersize=3, label=f"{curve.name}{word}")
    if np.isfinite(curve.bound).any():
        word = "upper bound, proved" if curve.generated else "bound, proved"
        label = f"{curve.name}{word}"
        axes.step(steps, curve.bound, where="post", color=other, linestyle="--", label=label)
    if np.isfinite(curve.reached).any():
        word = "best edge found (no bound)"
        axes.plot(steps, curve.reached, color="0.6", linestyle=":", marker=mark, markersize=2, label=curve.name + word)


def _gap(axes: Axes, curve: Curve, colour: str) -> None:
    gap = curve.gap
    steps, word = np.arange(1, gap.size + 1), "bound − value" if np.isfinite(curve.bound[-1]) else "best edge − value"
    if not np.isfinite(gap).any():
        # Nothing was proved of a descent: how far it still was from its own end.
        gap, word = np.abs(curve.objective - curve.objective[-1])[:-1], "value − last value"
        steps = steps[:-1]
    axes.plot(
        steps, np.where(gap > NOTHING, gap, np.nan), color=colour, marker="o", markersize=3, label=curve.name + word
    )


def _curve(result: Result, name: str) -> Curve:
    if not result.history:
        raise MiloptError(f"{result.program.name!r} was solved in one go: there are no steps to draw.")
    bound = _numbers([step.bound for step in result.history])
    if result.bound is not None:
        # What was proved at the very end, when no row was missing any more.
        bound[-1] = result.bound
    return Curve(
        name,
        isinstance(result.program, SemiInfinite),
        _numbers([step.objective for step in result.history]),
        bound,
        _numbers([step.reached for step in result.history]),
    )


def _numbers(values: list[float | None]) -> Floats:
    numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers
