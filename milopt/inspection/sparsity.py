"""A picture of where a flat program has its numbers: the pattern of P over that of F, cut at the named blocks."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Matrix
from milopt.compilation.standard_form import StandardForm
from milopt.errors import MiloptError, ParameterError
from milopt.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

BINS = 600
"""A pattern larger than this many rows or columns is drawn as its density on a grid of so many cells."""

INCHES = 7.0
NEAREST = 0.025
"""Names nearer to each other than this share of their axis would overlap: the smaller block goes without its name."""
LEVEL = 0.15
"""Names of columns nearer than this share of the axis are turned."""


def spy(form: StandardForm, target: str | PathLike[str] | Axes) -> Axes:
    """Draw the pattern of [P; F] into a file (its ending says which) or into a matplotlib Axes; return the Axes."""
    if not isinstance(target, str | PathLike):
        _draw(form, target)
        return target
    check_picture(target)
    from matplotlib.figure import Figure

    # A figure of its own, without pyplot: no display, no global state.
    figure = Figure(figsize=(INCHES, INCHES * _aspect(form)), layout="constrained")
    axes = figure.add_subplot()
    _draw(form, axes)
    write_whole(target, lambda beside: figure.savefig(beside, dpi=150))
    return axes


def check_picture(path: str | PathLike[str]) -> None:
    """Say so where a picture cannot be drawn: no matplotlib, or a file whose ending names no format of its own."""
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MiloptError("A picture needs matplotlib; run: pip install 'milopt[plot]'") from missing
    # PGF is drawn by a LaTeX that may not be there.
    known = sorted(Figure().canvas.get_supported_filetypes().keys() - {"pgf"})
    if Path(path).suffix.lower().removeprefix(".") not in known:
        raise ParameterError(f"{path} has no ending that a picture can have: give one of .{', .'.join(known)}.")


def _aspect(form: StandardForm) -> float:
    height = form.m + (0 if form.P.is_zero else form.n)
    return float(np.clip(height / max(form.n, 1), 0.45, 1.6))


def _draw(form: StandardForm, axes: Axes) -> None:
    head = 0 if form.P.is_zero else form.n
    pattern = sp.coo_array(sp.vstack([form.P.sparse, form.F])) if head else sp.coo_array(form.F)
    height, width = head + form.m, form.n
    # The root shows a nearly empty cell beside a full one; vmin < 0 keeps every cell with a number in it off white.
    shade = np.sqrt(_density(pattern))
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
    _label(axes.yaxis, rows, height)
    middles = _label(axes.xaxis, columns, width)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=8)
    if (np.diff(middles) < LEVEL * width).any():
        axes.tick_params(axis="x", labelrotation=60)
    title = f"{form.name}: {form.n} columns, {form.m} rows, {form.F.nnz} non-zeros"
    axes.set_xlabel(f"{title}, P has {form.P.sparse.nnz}" if head else title)


def _density(pattern: sp.coo_array) -> Matrix:
    """The share of non-zeros in each cell of a grid of at most `BINS` cells a side."""
    height, width = (max(1, side) for side in pattern.shape)
    high, wide = min(height, BINS), min(width, BINS)
    used = pattern.data != 0
    cell = (pattern.row[used].astype(np.int64) * high // height) * wide + pattern.col[used].astype(
        np.int64
    ) * wide // width
    counts = np.bincount(cell, minlength=high * wide).reshape(high, wide)
    size = np.outer(np.bincount(np.arange(height) * high // height), np.bincount(np.arange(width) * wide // width))
    return np.asarray(counts / size, dtype=np.float64)


def _label(axis: Axis, blocks: list[tuple[str, int, int]], length: int) -> list[float]:
    """Block names at the middle of their ranges, the largest blocks first while there is room; returns the middles."""
    named: dict[float, str] = {}
    for name, start, stop in sorted(blocks, key=lambda block: block[1] - block[2]):
        middle = (start + stop - 1) / 2
        if all(abs(middle - other) >= NEAREST * length for other in named):
            named[middle] = name
    middles = sorted(named)
    axis.set_ticks(middles, [named[middle] for middle in middles])
    return middles
