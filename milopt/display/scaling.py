"""Plot of time against size on logarithmic axes, with the exponent of a fitted power law c n^p."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.declaration.bags.bags import as_bags
from milopt.declaration.bags.labels import as_labels
from milopt.declaration.checks import check_integer
from milopt.display.canvas import label_logarithmic_axis, set_title, use_or_create_axes
from milopt.display.display import Display
from milopt.errors import ParameterError
from milopt.jit_time import jit_seconds
from milopt.picture_style import COLOURS, draws_in_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from milopt.estimator.classifier import BagClassifier

MARKERS = ("o", "s", "^", "D", "v", "P")


@dataclass(eq=False, repr=False)
class ScalingDisplay(Display):
    """Plot of time against size, with the exponent p of the power law c n^p that fits best.

    The exponent is the slope of a straight line through the logarithms (least squares). Small sizes, whose time is
    mostly a constant overhead, make it too small; give sizes that span at least a factor of 10.

    Parameters
    ----------
    sizes : ndarray of shape (n_sizes,)
        Sizes n.
    seconds : mapping of str to ndarray of shape (n_sizes,)
        Times by name; NaN where there is no time.
    size_name : str, default="size"
        Meaning of the sizes, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure of these axes.
    exponents_ : dict of str to float
        Fitted exponent by name; NaN if there are fewer than two times.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from milopt.display import ScalingDisplay
    >>> display = ScalingDisplay.from_seconds([100, 200, 400], {"fit": [0.1, 0.4, 1.6]})
    >>> round(display.exponents_["fit"], 3)
    2.0
    """

    sizes: Floats
    seconds: Mapping[str, Floats]
    size_name: str = "size"
    exponents_: dict[str, float] = field(init=False)

    @classmethod
    def from_seconds(
        cls,
        sizes: Sequence[float],
        seconds: Mapping[str, Sequence[float]],
        *,
        size_name: str = "size",
        ax: Axes | None = None,
    ) -> Self:
        """Draw measured times.

        Parameters
        ----------
        sizes : sequence of float
            Sizes, all above 0.
        seconds : mapping of str to sequence of float
            Times by name, one per size; NaN where there is no time.
        size_name : str, default="size"
            Meaning of the sizes, for the axis.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        ScalingDisplay
            The display that was drawn.

        Raises
        ------
        ParameterError
            If there are fewer than two sizes, or a name does not have one positive time per size.
        """
        measured = {name: np.asarray(times, dtype=np.float64) for name, times in seconds.items()}
        n = np.asarray(sizes, dtype=np.float64)
        if n.size < 2 or not (n > 0).all() or not measured:
            raise ParameterError("Give at least two sizes, all above 0, and the times of at least one name.")
        for name, times in measured.items():
            if times.shape != n.shape or (times <= 0).any():
                raise ParameterError(f"{name} needs one time above 0 per size, or NaN.")
        return cls(n, measured, size_name).plot(ax)

    @classmethod
    def from_estimators(
        cls,
        models: Mapping[str, BagClassifier],
        bags: object,
        y: npt.ArrayLike,
        sizes: Sequence[int],
        *,
        repeats: int = 1,
        ax: Axes | None = None,
    ) -> Self:
        """Fit models to growing parts of the bags, and draw the CPU time of the fits.

        Parameters
        ----------
        models : mapping of str to BagClassifier
            Models to clone and fit, by name.
        bags : bags
            Bags in any form that `milopt.as_bags` accepts.
        y : array-like of shape (n_bags,)
            Labels.
        sizes : sequence of int
            Number of bags of each part that is fitted; the classes have the same fractions in every part.
        repeats : int, default=1
            Number of fits per size, of which the fastest counts.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        ScalingDisplay
            The display that was drawn.

        Raises
        ------
        ParameterError
            If a size is below 2 or above the number of bags.
        """
        from sklearn.base import clone
        from sklearn.model_selection import train_test_split

        converted, labels = as_bags(bags), as_labels(y)
        check_integer("repeats", repeats, 1)
        for size in sizes:
            if not 2 <= check_integer("sizes", size, 2) <= len(converted):
                raise ParameterError(f"{size} bags cannot be chosen from {len(converted)}.")
        seconds: dict[str, list[float]] = {name: [] for name in models}
        for size in sizes:
            part = np.arange(len(converted))
            if size < part.size:
                part, _ = train_test_split(part, train_size=size, stratify=labels, random_state=0)
            part.sort()
            chosen = converted[part]
            for name, model in models.items():
                times = []
                for _ in range(repeats):
                    start, compiled = process_time(), jit_seconds()
                    clone(model).fit(chosen, labels[part])
                    times.append(max(1e-6, process_time() - start - (jit_seconds() - compiled)))
                seconds[name].append(min(times))
        return cls.from_seconds(sizes, seconds, size_name="bags", ax=ax)

    @draws_in_style
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into the given Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        ScalingDisplay
            The display itself, with `ax_`, `figure_` and `exponents_` set.
        """
        axes = use_or_create_axes(ax, 5.2, 3.6)
        self.exponents_ = {}
        for k, (name, times) in enumerate(self.seconds.items()):
            colour, marker = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]
            slope, intercept = _fit_power_law(self.sizes, times)
            self.exponents_[name] = slope
            label = name if np.isnan(slope) else f"{name}: $n^{{{slope:.2f}}}$"
            axes.plot(self.sizes, times, marker=marker, markersize=5, linestyle="none", color=colour, label=label)
            if not np.isnan(slope):
                axes.plot(self.sizes, np.exp(intercept) * self.sizes**slope, color=colour, linewidth=1, alpha=0.7)
        axes.set_xscale("log")
        axes.set_yscale("log")
        label_logarithmic_axis(axes.xaxis)
        label_logarithmic_axis(axes.yaxis)
        axes.set_xlabel(self.size_name)
        axes.set_ylabel("seconds")
        axes.grid(color="0.5", alpha=0.2, linewidth=0.5)
        axes.set_axisbelow(True)
        axes.legend(loc="upper left")
        set_title(axes, "time against size, with fitted exponents")
        return self._set_axes(axes)


def _fit_power_law(sizes: Floats, times: Floats) -> tuple[float, float]:
    """Return slope and intercept of the line through the logarithms; NaN if there are fewer than two times."""
    known = np.isfinite(times)
    if known.sum() < 2:
        return np.nan, np.nan
    slope, intercept = np.polyfit(np.log(sizes[known]), np.log(times[known]), 1)
    return float(slope), float(intercept)
