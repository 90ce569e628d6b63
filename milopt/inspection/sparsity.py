"""Plot of the sparsity pattern of a program in standard form: P (if nonzero) above F, with lines between the blocks."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Matrix
from milopt.compilation.standard_form import StandardForm
from milopt.errors import MiloptError, ParameterError
from milopt.picture_style import MATPLOTLIB_MISSING, apply_style_settings, draws_in_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MAX_CELLS = 600
"""Maximum number of cells per axis. A larger pattern is drawn as its density on a grid of this size."""

FIGURE_INCHES = 7.0
"""Width of the figure in inches."""
MIN_NAME_DISTANCE = 0.025
"""Minimum distance between the names of blocks, as a fraction of the axis. Of two closer names, one is omitted."""
ROTATION_DISTANCE = 0.15
"""Distance between the names of column blocks, as a fraction of the axis, below which the names are rotated."""


def spy(form: StandardForm, target: str | PathLike[str] | Axes | None = None) -> Figure:
    """Draw the sparsity pattern of [P; F]: the quadratic objective P (if nonzero) above the matrix F of the rows.

    Parameters
    ----------
    form : StandardForm
        Program in standard form.
    target : str, path-like, matplotlib Axes or None, default=None
        File (its ending selects the format) or Axes to draw into. None only returns the figure.

    Returns
    -------
    matplotlib Figure
        Figure with the plot.
    """
    if target is not None and not isinstance(target, str | PathLike):
        _draw(form, target)
        return cast("Figure", target.figure)
    if target is not None:
        check_image_file(target)
    with apply_style_settings():
        from milopt.picture import create_figure, save_figure

        figure = create_figure(FIGURE_INCHES, FIGURE_INCHES * _aspect_ratio(form), in_pyplot=False)
        _draw(form, figure.add_subplot())
    if target is not None:
        save_figure(figure, target)
    return figure


def check_image_file(path: str | PathLike[str]) -> None:
    """Raise an error if matplotlib is missing or the ending of the file is not a supported image format."""
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MiloptError(MATPLOTLIB_MISSING) from missing
    # The format PGF is excluded, because it needs a LaTeX installation.
    known = sorted(Figure().canvas.get_supported_filetypes().keys() - {"pgf"})
    if Path(path).suffix.lower().removeprefix(".") not in known:
        raise ParameterError(f"{path} does not end like an image file: use one of .{', .'.join(known)}.")


def _aspect_ratio(form: StandardForm) -> float:
    """Return the ratio of height to width of the figure: that of the pattern, clipped to [0.45, 1.6]."""
    height = form.m + (0 if form.P.is_zero else form.n)
    return float(np.clip(height / max(form.n, 1), 0.45, 1.6))


@draws_in_style
def _draw(form: StandardForm, axes: Axes) -> None:
    """Draw the sparsity pattern with lines and names of the blocks into the Axes."""
    head = 0 if form.P.is_zero else form.n
    pattern = sp.coo_array(sp.vstack([form.P.sparse, form.F])) if head else sp.coo_array(form.F)
    height, width = head + form.m, form.n
    # The square root makes nearly empty cells visible, and vmin < 0 keeps all nonempty cells from being white.
    shade = np.sqrt(_cell_densities(pattern))
    extent = (-0.5, width - 0.5, height - 0.5, -0.5)
    shown = np.ma.masked_equal(shade, 0)
    axes.imshow(shown, extent=extent, aspect="auto", interpolation="nearest", cmap="Blues", vmin=-0.4, vmax=1.2)
    columns = [(block.name, block.start, block.stop) for block in form.columns]
    rows = [(f"P: {name}", start, stop) for name, start, stop in columns] if head else []
    rows += [(block.name, head + block.start, head + block.stop) for block in form.rows]
    for _, start, _ in columns[1:]:
        axes.axvline(start - 0.5, color="0.6", linewidth=0.6)
    for _, start, _ in rows[1:]:
        bold = head > 0 and start == head
        axes.axhline(start - 0.5, color="0.1" if bold else "0.6", linewidth=1.4 if bold else 0.6)
    _label_blocks(axes.yaxis, rows, height)
    middles = _label_blocks(axes.xaxis, columns, width)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=8)
    if (np.diff(middles) < ROTATION_DISTANCE * width).any():
        axes.tick_params(axis="x", labelrotation=60)
    title = f"{form.name}: {form.n} columns, {form.m} rows, {form.F.nnz} non-zeros"
    axes.set_xlabel(f"{title}, P has {form.P.sparse.nnz}" if head else title)


def _cell_densities(pattern: sp.coo_array) -> Matrix:
    """Return the fraction of nonzeros in each cell of a grid of at most `MAX_CELLS` x `MAX_CELLS` cells."""
    height, width = (max(1, side) for side in pattern.shape)
    high, wide = min(height, MAX_CELLS), min(width, MAX_CELLS)
    used = pattern.data != 0
    cell = (pattern.row[used].astype(np.int64) * high // height) * wide + pattern.col[used].astype(
        np.int64
    ) * wide // width
    counts = np.bincount(cell, minlength=high * wide).reshape(high, wide)
    size = np.outer(np.bincount(np.arange(height) * high // height), np.bincount(np.arange(width) * wide // width))
    return np.asarray(counts / size, dtype=np.float64)


def _label_blocks(axis: Axis, blocks: list[tuple[str, int, int]], length: int) -> list[float]:
    """Write the names of blocks (name, start, stop) along an axis, each at the middle of its block.

    A name is omitted if it is too close (`MIN_NAME_DISTANCE`) to the name of a larger block. Return the middles of the
    blocks whose names were written.
    """
    named: dict[float, str] = {}
    for name, start, stop in sorted(blocks, key=lambda block: block[1] - block[2]):
        middle = (start + stop - 1) / 2
        if all(abs(middle - other) >= MIN_NAME_DISTANCE * length for other in named):
            named[middle] = name
    middles = sorted(named)
    axis.set_ticks(middles, [named[middle] for middle in middles])
    return middles
