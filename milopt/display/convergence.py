"""How a fit came to its end: the value of every step, and what was proved about the optimum meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, cast

import numpy as np

from milopt.arrays import Floats
from milopt.compilation.status import Termination
from milopt.declaration.checks import one_of
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
    changed: Floats
    """How many witnesses each step changed."""
    ended: str = ""
    """How an alternation ended."""
    kept: int = -1
    """The step whose point an alternation keeps: the best one, unless it came to a fixed point."""

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
    found before a step proves nothing, but ends within the tolerance of the value. Of an alternation over witnesses the
    title tells how it ended, a ring marks the step that is kept, and bars on an axis of their own how many witnesses
    each step changed. For more than two classes every program has its curves.
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
        if scale == "linear" and len(self.curves) == 1 and self.curves[0].ended:
            _alternation(axes, self.curves[0])
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


def _alternation(axes: Axes, curve: Curve) -> None:
    """The step that is kept, how the alternation ended, and how many witnesses each step changed."""
    from matplotlib.ticker import MaxNLocator

    steps, kept = np.arange(1, curve.objective.size + 1), curve.kept
    place = ([kept + 1], [curve.objective[kept]])
    axes.scatter(*place, s=60, facecolors="none", edgecolors=WARM, zorder=3, label=f"kept, step {kept + 1}")
    ended = "fixed point" if curve.ended == "stationary" else curve.ended
    axes.set_title(f"{ended} after {steps.size} steps", fontsize=9)
    beside = axes.twinx()
    beside.bar(steps, curve.changed, color="0.88", width=0.6)
    beside.set_ylabel("witnesses changed", color="0.45")
    beside.yaxis.set_major_locator(MaxNLocator(integer=True))
    beside.tick_params(axis="y", colors="0.45")
    beside.spines[["top"]].set_visible(False)
    # The curve belongs before the bars.
    axes.set_zorder(beside.get_zorder() + 1)
    axes.patch.set_visible(False)


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
        why = result.message or "it was solved in one go"
        raise MiloptError(f"{result.program.name!r} has no steps to draw: {why.rstrip('.')}.")
    bound = _numbers([step.bound for step in result.history])
    if result.bound is not None:
        # What was proved at the very end, when no row was missing any more.
        bound[-1] = result.bound
    objective = _numbers([step.objective for step in result.history])
    alternates = result.scheme in ("ccp", "representatives")
    settled = result.termination is Termination.STATIONARY or not np.isfinite(objective).any()
    rises = result.program.core.maximizes
    best = objective.size - 1 if settled else int((np.nanargmax if rises else np.nanargmin)(objective))
    return Curve(
        name,
        bool(result.program.oracles),
        objective,
        bound,
        _numbers([step.reached for step in result.history]),
        _numbers([step.changed for step in result.history]),
        str(result.termination) if alternates else "",
        best,
    )


def _numbers(values: Sequence[float | None]) -> Floats:
    numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers
