"""How far apart the coefficients of a program are, and when that is a reason to rescale it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.evaluation_form import EvaluationForm

WIDE = 1e6
"""Coefficients of one sort that differ by more than this factor lose digits in every solver."""


@dataclass(frozen=True)
class Range:
    """The smallest and the largest absolute value of the non-zero coefficients of one sort."""

    what: str
    smallest: float
    largest: float

    @property
    def ratio(self) -> float:
        """largest / smallest."""
        return self.largest / self.smallest

    @property
    def is_wide(self) -> bool:
        """Whether it deserves a warning."""
        return self.ratio > WIDE

    def warning(self) -> str:
        """One sentence on what to do."""
        return (
            f"The coefficients of {self.what} range from {self.smallest:.3g} to {self.largest:.3g}, a factor of "
            f"{self.ratio:.1e}: rescale the data or the units to come below {WIDE:.0e}."
        )


def ranges(form: EvaluationForm) -> tuple[Range, ...]:
    """Of matrix, evaluations, objective, offsets and bounds; a sort without non-zeros is left out."""
    rows, o = form.rows, form.objective
    squares = [square.weight.ravel() for square in o.squares]
    found = [
        _range("the matrix", [rows.A.data]),
        *(_range(f"{s.function.name} in the rows", [e.data]) for s, e in zip(form.spaces, rows.E, strict=True)),
        _range("the linear objective", [o.q, *o.p]),
        _range("the quadratic objective", [np.array(o.ridge, dtype=float), *squares]),
        _range("the offsets", [rows.g]),
        _range("the bounds", [form.lower, form.upper]),
    ]
    return tuple(one for one in found if one is not None)


def _range(what: str, parts: Iterable[Vector]) -> Range | None:
    size = np.abs(np.concatenate([np.ravel(part) for part in parts]))
    used = size[np.isfinite(size) & (size > 0)]
    return Range(what, float(used.min()), float(used.max())) if used.size else None
