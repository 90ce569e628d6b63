"""Plot of the convergence of a fit: the objective after every step, and the proved bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from milopt.arrays import Floats
from milopt.compilation.status import Termination
from milopt.declaration.checks import check_choice
from milopt.display.canvas import hide_upper_right_borders, set_title, use_or_create_axes
from milopt.display.display import Display
from milopt.display.residuals import draw_residuals
from milopt.errors import MiloptError
from milopt.outcome.certificate import Certificate
from milopt.outcome.result import Result
from milopt.picture_style import COLOURS, FAINT_INK, INK, WARM_COLOUR, draws_in_style
from milopt.solving.options import Options

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from milopt.estimator.classifier import BagClassifier

BAR_COLOUR = (INK, 0.13)
"""Colour of bars behind a curve: the ink, nearly transparent, for light and dark pages."""
ZERO_GAP_TOLERANCE = 1e-14
"""Gaps up to this value are rounding errors and are not drawn on a logarithmic axis."""


@dataclass(frozen=True, eq=False)
class ConvergenceCurve:
    """Steps of one program. Values that a step does not have are NaN.

    Attributes
    ----------
    name : str
        Prefix of the labels in the legend.
    generated : bool
        Whether the program is solved by column generation, so that the objective of the master is a bound: a lower
        bound if the master is minimised, otherwise an upper bound.
    objective : ndarray of shape (n_steps,)
        Objective after each step.
    bound : ndarray of shape (n_steps,)
        Proved bound on the optimum.
    reached : ndarray of shape (n_steps,)
        Best value that an oracle found before each step. It is a bound only if the oracle is exact.
    changed : ndarray of shape (n_steps,)
        Number of witnesses that each step changed.
    ended : str
        Termination of an alternating scheme, otherwise "".
    result_step : int
        Step whose point is the result of an alternating scheme: the best step, or the last one at a fixed point.
    certificate : Certificate or None
        Certificate of the result.
    maximises : bool
        Whether the program, or the master of column generation, is maximised.
    """

    name: str
    generated: bool
    objective: Floats
    bound: Floats
    reached: Floats
    changed: Floats
    ended: str = ""
    result_step: int = -1
    certificate: Certificate | None = None
    maximises: bool = False

    @property
    def gap(self) -> Floats:
        """Distance of the objective to the proved bound, or, without a bound, to the best value of the oracles."""
        proved = np.abs(self.bound - self.objective)
        return np.where(np.isfinite(proved), proved, np.abs(self.reached - self.objective))


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """Plot of objective values and bounds by step.

    For a semi-infinite program, the objective of the master is a lower bound, which increases as rows are added. An
    upper bound is drawn if every oracle proves one (`oracle="exact"`, or the one-hot class, which is searched
    completely). The best value that an oracle found before a step is not a bound, but at the end it agrees with the
    objective up to the tolerance. For an alternating scheme over witnesses, the title states the termination, a ring
    marks the step that is the result, and bars on a second axis show how many witnesses each step changed. With more
    than two classes, every program has its own curves. A program that was solved in one step has no curve; then the
    residuals of its certificate are drawn, with the tolerance that they must not exceed.

    Parameters
    ----------
    curves : tuple of ConvergenceCurve
        Steps of each program.

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
    >>> from milopt.display import ConvergenceDisplay
    >>> from milopt.models import MISVM
    >>> data = toy_bags("clusters", bags=20)
    >>> model = MISVM(solver="clarabel", positive=1).fit(data.bags, data.labels)
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel()
    'step'
    """

    curves: tuple[ConvergenceCurve, ...]

    @classmethod
    def from_estimator(cls, model: BagClassifier, *, scale: str = "linear", ax: Axes | None = None) -> Self:
        """Draw the convergence of a fitted model.

        Parameters
        ----------
        model : BagClassifier
            Fitted model whose scheme takes several steps.
        scale : {"linear", "log"}, default="linear"
            "linear" draws objectives and bounds, "log" the gap between them.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        ConvergenceDisplay
            The display that was drawn.
        """
        results, classes = model.results_, model.classes_.tolist()
        names = [""] if len(results) == 1 else [f"class {label}: " for label in classes]
        display = cls(tuple(_make_curve(result, name) for result, name in zip(results, names, strict=True)))
        return display.plot(ax, scale=scale)

    @classmethod
    def from_result(cls, result: Result, *, scale: str = "linear", ax: Axes | None = None) -> Self:
        """Draw the convergence of a result.

        Parameters
        ----------
        result : Result
            Result of a scheme that takes several steps.
        scale : {"linear", "log"}, default="linear"
            "linear" draws objectives and bounds, "log" the gap between them.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        ConvergenceDisplay
            The display that was drawn.
        """
        return cls((_make_curve(result, ""),)).plot(ax, scale=scale)

    @draws_in_style
    def plot(self, ax: Axes | None = None, *, scale: str = "linear") -> Self:
        """Draw into the given Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.
        scale : {"linear", "log"}, default="linear"
            "linear" draws objectives and bounds, "log" the gap between them.

        Returns
        -------
        ConvergenceDisplay
            The display itself, with `ax_` and `figure_` set.
        """
        check_choice("scale", scale, ("linear", "log"))
        certificates = {curve.name: curve.certificate for curve in self.curves if curve.certificate is not None}
        if all(curve.objective.size == 1 for curve in self.curves) and len(certificates) == len(self.curves):
            return self._plot_one_step(ax, certificates)
        axes = use_or_create_axes(ax, 6.4, 3.8)
        from matplotlib.ticker import MaxNLocator

        for k, curve in enumerate(self.curves):
            colour = COLOURS[k % len(COLOURS)]
            if scale == "log":
                _draw_gap(axes, curve, colour)
            else:
                _draw_values(axes, curve, colour, COLOURS[1] if len(self.curves) == 1 else colour)
        if scale == "linear" and len(self.curves) == 1 and self.curves[0].ended:
            _annotate_alternating_scheme(axes, self.curves[0])
        if scale == "log":
            axes.set_yscale("log")
        axes.set_xlabel("step")
        axes.set_ylabel("gap" if scale == "log" else "objective")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend()
        hide_upper_right_borders(axes)
        return self._set_axes(axes)

    def _plot_one_step(self, ax: Axes | None, certificates: Mapping[str, Certificate]) -> Self:
        """Draw the residuals of programs that were solved in one step, which has no convergence to draw."""
        axes = use_or_create_axes(ax, 6.4, 2.3 + 0.3 * (len(certificates) - 1))
        draw_residuals(axes, certificates, Options().tolerance)
        values = ", ".join(f"{curve.objective[0]:.8g}" for curve in self.curves)
        set_title(axes, f"solved in one step; objective {values}")
        return self._set_axes(axes)


def _draw_values(axes: Axes, curve: ConvergenceCurve, colour: str, other: str) -> None:
    """Draw objectives in `colour`, and proved bounds in the colour `other`, of one program by step."""
    steps = np.arange(1, curve.objective.size + 1)
    mark = "o" if steps.size <= 40 else ""
    of_master, proved = ("upper", "lower") if curve.maximises else ("lower", "upper")
    word = f"master ({of_master} bound)" if curve.generated else "objective"
    axes.plot(steps, curve.objective, color=colour, marker=mark, markersize=3, label=f"{curve.name}{word}")
    if np.isfinite(curve.bound).any():
        word = f"{proved} bound, proved" if curve.generated else "bound, proved"
        label = f"{curve.name}{word}"
        axes.step(steps, curve.bound, where="post", color=other, linestyle="--", label=label)
    if np.isfinite(curve.reached).any():
        word = "best edge found (no bound)"
        axes.plot(steps, curve.reached, color="0.6", linestyle=":", marker=mark, markersize=2, label=curve.name + word)


def _annotate_alternating_scheme(axes: Axes, curve: ConvergenceCurve) -> None:
    """Mark the step that is the result, state the termination, and draw how many witnesses each step changed."""
    from matplotlib.ticker import MaxNLocator

    steps, step = np.arange(1, curve.objective.size + 1), curve.result_step
    place = ([step + 1], [curve.objective[step]])
    axes.scatter(*place, s=60, facecolors="none", edgecolors=WARM_COLOUR, zorder=3, label=f"kept, step {step + 1}")
    ended = "fixed point" if curve.ended == "stationary" else curve.ended
    set_title(axes, f"{ended} after {steps.size} step{'' if steps.size == 1 else 's'}")
    second_axes = axes.twinx()
    second_axes.bar(steps, curve.changed, color=BAR_COLOUR, width=0.6)
    second_axes.set_ylabel("witnesses changed", color=FAINT_INK)
    second_axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    second_axes.tick_params(axis="y", colors=FAINT_INK)
    second_axes.spines[["top"]].set_visible(False)
    # Draw the curve in front of the bars.
    axes.set_zorder(second_axes.get_zorder() + 1)
    axes.patch.set_visible(False)


def _draw_gap(axes: Axes, curve: ConvergenceCurve, colour: str) -> None:
    """Draw the gap of one program by step; without bounds, draw the distance of the objective to its last value."""
    gap = curve.gap
    steps, word = np.arange(1, gap.size + 1), "bound − value" if np.isfinite(curve.bound[-1]) else "best edge − value"
    if not np.isfinite(gap).any():
        # A descent without bounds: draw the distance to its last objective.
        gap, word = np.abs(curve.objective - curve.objective[-1])[:-1], "value − last value"
        steps = steps[:-1]
    axes.plot(
        steps,
        np.where(gap > ZERO_GAP_TOLERANCE, gap, np.nan),
        color=colour,
        marker="o",
        markersize=3,
        label=curve.name + word,
    )


def _make_curve(result: Result, name: str) -> ConvergenceCurve:
    """Return the curve of a result; `name` is the prefix in the legend. Raise an error if there are no steps."""
    if not any(np.isfinite(step.objective) for step in result.history):
        if result.certificate is None or not np.isfinite(result.objective):
            why = result.message or f"it ended as {result.termination}, without a point"
            raise MiloptError(f"{result.program.name!r} has no steps to draw: {why.rstrip('.')}.")
        unknown, objective = np.array([np.nan]), np.array([result.objective])
        return ConvergenceCurve(name, False, objective, unknown, unknown, unknown, certificate=result.certificate)
    bound = _replace_non_finite_by_nan([step.bound for step in result.history])
    if result.bound is not None:
        # At the end, with all rows present, a better bound may have been proved than after the last step.
        bound[-1] = result.bound
    objective = _replace_non_finite_by_nan([step.objective for step in result.history])
    alternates = result.scheme in ("ccp", "representatives")
    settled = result.termination is Termination.STATIONARY
    rises = result.program.core.maximizes
    best = objective.size - 1 if settled else int((np.nanargmax if rises else np.nanargmin)(objective))
    return ConvergenceCurve(
        name,
        bool(result.program.oracles),
        objective,
        bound,
        _replace_non_finite_by_nan([step.reached for step in result.history]),
        _replace_non_finite_by_nan([step.changed for step in result.history]),
        str(result.termination) if alternates else "",
        best,
        result.certificate,
        rises,
    )


def _replace_non_finite_by_nan(values: Sequence[float | None]) -> Floats:
    """Return numbers as an array, with NaN for None and infinite values."""
    numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers
