"""Pictures of a report, as SVG markup inside the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from milopt.arrays import Floats
from milopt.comparison.comparison import Comparison
from milopt.display.accuracy_strips import AccuracyStripsDisplay
from milopt.display.convergence import ConvergenceCurve, ConvergenceDisplay
from milopt.display.critical_difference import CriticalDifferenceDisplay
from milopt.display.margins import Margins, MarginsDisplay
from milopt.display.performance_profile import PerformanceProfileDisplay
from milopt.display.solver_times import SolverTimesDisplay
from milopt.errors import MiloptError
from milopt.estimator.report import Report
from milopt.evaluation.ranking import Ranking
from milopt.evaluation.summary import EvaluationReport
from milopt.html import Html, element
from milopt.outcome.certificate import Certificate
from milopt.picture import create_figure, figure_svg
from milopt.picture_style import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAGE_PICTURE_SCALE = 0.85
"""Size of a picture in the page relative to that of a saved one: smaller, so that its text is larger on the screen."""
ALTERNATING_SCHEMES = ("ccp", "representatives")


class Pictures:
    """Maker of the pictures of one page, which gives each of them unique ids."""

    def __init__(self) -> None:
        self._count = 0

    def convergence(self, report: Report) -> Html:
        """Return the picture of the steps of a fit, or of the residuals of its certificate if it had one step."""
        programs = report.content["programs"]
        several = len(programs) > 1
        curves = tuple(
            _as_curve(program, f"class {program['class']}: " if several else "")
            for program in programs
            if program["objective"] is not None
        )
        height = 2.4 if all(curve.objective.size == 1 for curve in curves) else 3.6
        return self._draw(6.4, height, lambda axes: ConvergenceDisplay(curves).plot(axes), "Convergence of the fit")

    def margins(self, report: Report) -> Html:
        """Return the picture of the distribution of the margins of the training bags."""
        programs = [program for program in report.content["programs"] if program["margins"]]
        several = len(programs) > 1
        margins = tuple(
            Margins(
                f"class {program['class']}" if several else report.content["model"],
                np.asarray(program["margins"], dtype=np.float64),
            )
            for program in programs
        )
        height = 3.0 + 0.3 * len(margins)
        return self._draw(6.4, height, lambda axes: MarginsDisplay(margins).plot(axes), "Margins of the training bags")

    def times(self, comparison: Comparison) -> Html:
        """Return the picture of the times of the solvers by formulation."""
        models = len({cell.model for cell in comparison.cells})
        solvers = len({cell.solver for cell in comparison.cells if cell.seconds is not None})
        height = 1.1 + models * (0.25 + 0.055 * solvers)
        return self._draw(
            6.8, height, lambda axes: SolverTimesDisplay.from_comparison(comparison, ax=axes), "Times of the solvers"
        )

    def profile(self, comparisons: Sequence[Comparison]) -> Html:
        """Return the picture of the performance profiles of the solvers over all comparisons."""
        return self._draw(
            6.4,
            3.4,
            lambda axes: PerformanceProfileDisplay.from_comparisons(comparisons, ax=axes),
            "Performance profiles of the solvers",
        )

    def strips(self, content: Comparison | EvaluationReport) -> Html:
        """Return the picture of the accuracies over the folds."""
        if isinstance(content, Comparison):
            rows = len({cell.model for cell in content.cells if cell.accuracies})
        else:
            rows = len(content.table)

        def draw(axes: Axes) -> object:
            if isinstance(content, Comparison):
                return AccuracyStripsDisplay.from_comparison(content, ax=axes)
            return AccuracyStripsDisplay.from_report(content, ax=axes)

        return self._draw(6.4, 1.0 + 0.42 * rows, draw, "Accuracy of every fold")

    def ranks(self, ranking: Ranking) -> Html:
        """Return the critical-difference diagram."""
        display = CriticalDifferenceDisplay(ranking)
        return self._draw(*display.figure_size(), display.plot, "Mean ranks and critical difference")

    def _draw(self, width: float, height: float, draw: Callable[[Axes], object], description: str) -> Html:
        """Return a picture as a figure of the page, or the reason in one sentence if there is nothing to draw."""
        self._count += 1
        with style():
            figure = create_figure(PAGE_PICTURE_SCALE * width, PAGE_PICTURE_SCALE * height, in_pyplot=False)
            try:
                draw(figure.add_subplot())
            except MiloptError as reason:
                return element("p", f"{description}: {reason}", class_="missing")
            markup = figure_svg(figure, f"picture{self._count}", description)
        return element("figure", markup, element("figcaption", description))


def _as_curve(program: Mapping[str, Any], name: str) -> ConvergenceCurve:
    """Return the steps of one program of the JSON data of a fit."""
    residuals = program["certificate"]
    certificate = None if residuals is None else Certificate.from_residuals(residuals)
    steps = [step for step in program["history"] if step["objective"] is not None]
    if not steps:
        unknown = np.array([np.nan])
        return ConvergenceCurve(
            name, False, np.array([program["objective"]]), unknown, unknown, unknown, certificate=certificate
        )
    bound = _as_floats(steps, "bound")
    if program["bound"] is not None:
        bound[-1] = program["bound"]
    alternates = program["scheme"] in ALTERNATING_SCHEMES
    objective = _as_floats(steps, "objective")
    kept = int(np.abs(objective - program["objective"]).argmin())
    return ConvergenceCurve(
        name,
        program["scheme"] == "column-generation",
        objective,
        bound,
        _as_floats(steps, "reached"),
        _as_floats(steps, "changed"),
        program["status"] if alternates else "",
        objective.size - 1 if program["status"] == "stationary" else kept,
        certificate,
    )


def _as_floats(steps: Sequence[Mapping[str, Any]], name: str) -> Floats:
    """Return one number of every step, with NaN for null."""
    return np.array([np.nan if step[name] is None else step[name] for step in steps], dtype=np.float64)
