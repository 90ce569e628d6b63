"""Picture of a certificate: its residuals on a logarithmic axis, and the tolerance that they must not exceed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from milopt.outcome.certificate import Certificate
from milopt.picture_style import COLOURS, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RESIDUALS = ("primal", "dual", "gap")
RESIDUAL_MEANINGS = ("primal: rows and bounds hold", "dual: gradient is zero", "gap: objective is optimal")
MIN_DRAWN_RESIDUAL = 1e-17
"""Residuals up to this value, 0 among them, are drawn here: the axis is logarithmic."""


def draw_residuals(axes: Axes, certificates: Mapping[str, Certificate], tolerance: float) -> None:
    """Draw the residuals of certificates, by the names of their programs, and the tolerance."""
    shift = 0.5 / max(1, len(certificates))
    for k, (name, certificate) in enumerate(certificates.items()):
        colour = COLOURS[k % len(COLOURS)]
        values = [max(MIN_DRAWN_RESIDUAL, getattr(certificate, residual)) for residual in RESIDUALS]
        rows = [row + (k - (len(certificates) - 1) / 2) * shift for row in range(len(RESIDUALS))]
        axes.hlines(rows, MIN_DRAWN_RESIDUAL, values, color=colour, linewidth=2)
        axes.scatter(values, rows, s=30, color=colour, zorder=3, label=name.rstrip(": "))
        for value, row in zip(values, rows, strict=True):
            text = f"{value:.0e}" if value > MIN_DRAWN_RESIDUAL else "0"
            axes.annotate(text, (value, row), (6, 0), textcoords="offset points", va="center", fontsize=7.5)
    axes.axvline(tolerance, color=INK, linewidth=1, linestyle="--")
    axes.annotate(
        "tolerance", (tolerance, 1.0), (3, -2), xycoords=("data", "axes fraction"), textcoords="offset points", va="top"
    )
    axes.set_xscale("log")
    axes.set_xlim(MIN_DRAWN_RESIDUAL, max(1e-2, tolerance * 1e4))
    axes.set_ylim(len(RESIDUALS) - 0.4, -0.6)
    axes.set_yticks(range(len(RESIDUALS)), RESIDUAL_MEANINGS)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("residual")
    if len(certificates) > 1:
        axes.legend(loc="center right")
