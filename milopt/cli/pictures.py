"""Pictures that commands write: the option `--plot`, its check before the work, and the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from milopt.comparison.comparison import Comparison


def check_picture(path: Path | None) -> None:
    """Raise an error if a picture cannot be written to `path`; do nothing for None."""
    from milopt.files import check_can_write
    from milopt.inspection.sparsity import check_image_file

    if path is not None:
        check_image_file(path)
        check_can_write(path, "The picture")


def write_picture(path: Path, width: float, height: float, draw: Callable[[Axes], object]) -> None:
    """Create a figure of this size in inches, draw into its Axes, and write it to a file."""
    from milopt.picture import create_figure, save_figure

    # Without pyplot, which may need a screen.
    figure = create_figure(width, height, in_pyplot=False)
    draw(figure.add_subplot())
    save_figure(figure, path)


def plot_comparison(comparison: Comparison, path: Path) -> None:
    """Plot the times of the solvers, and below them the accuracies of the models, to an image file."""
    from milopt.display import AccuracyStripsDisplay, SolverTimesDisplay
    from milopt.picture import create_figure, save_figure

    models = len({cell.model for cell in comparison.cells})
    solvers = len({cell.solver for cell in comparison.cells if cell.seconds is not None})
    heights = (0.9 + models * (0.25 + 0.055 * solvers), 0.9 + 0.42 * models)
    figure = create_figure(6.8, sum(heights), in_pyplot=False)
    above, below = figure.subplots(2, height_ratios=heights)
    SolverTimesDisplay.from_comparison(comparison, ax=above)
    AccuracyStripsDisplay.from_comparison(comparison, ax=below)
    save_figure(figure, path)
