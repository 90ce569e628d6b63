"""Ranges of the coefficients of a program, and a warning if they are too wide."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.evaluation_form import EvaluationForm

MIN_WARNED_COEFFICIENT_RATIO = 1e6
"""Ratio of the largest to the smallest coefficient above which a warning is given, because solvers lose digits."""


@dataclass(frozen=True)
class CoefficientRange:
    """Smallest and largest absolute value of the nonzero coefficients of one kind.

    Attributes
    ----------
    kind : str
        Kind of coefficients, such as "the matrix".
    smallest, largest : float
        Extreme absolute values.
    """

    kind: str
    smallest: float
    largest: float

    @property
    def ratio(self) -> float:
        """Ratio largest / smallest."""
        return self.largest / self.smallest

    @property
    def is_wide(self) -> bool:
        """True if the ratio exceeds `MIN_WARNED_COEFFICIENT_RATIO`."""
        return self.ratio > MIN_WARNED_COEFFICIENT_RATIO

    def warning(self) -> str:
        """Return a sentence that states the range and recommends rescaling."""
        return (
            f"The coefficients of {self.kind} range from {self.smallest:.3g} to {self.largest:.3g}, a factor of "
            f"{self.ratio:.1e}: rescale the data or the units to come below {MIN_WARNED_COEFFICIENT_RATIO:.0e}."
        )


def coefficient_ranges(form: EvaluationForm) -> tuple[CoefficientRange, ...]:
    """Return the ranges of matrix, evaluations, objective, offsets and bounds, except for kinds that are all zero."""
    rows, o = form.rows, form.objective
    squares = [square.weight.ravel() for square in o.squares]
    candidates = [
        _measure_range("the matrix", [rows.A.data]),
        *(_measure_range(f"{s.function.name} in the rows", [e.data]) for s, e in zip(form.spaces, rows.E, strict=True)),
        _measure_range("the linear objective", [o.q, *o.p]),
        _measure_range("the quadratic objective", [np.array(o.ridge, dtype=float), *squares]),
        _measure_range("the offsets", [rows.g]),
        _measure_range("the bounds", [form.lower, form.upper]),
    ]
    return tuple(entry for entry in candidates if entry is not None)


def _measure_range(kind: str, parts: Iterable[Vector]) -> CoefficientRange | None:
    """Return the range of the absolute values of all nonzero finite values in `parts`, or None if there are none."""
    size = np.abs(np.concatenate([np.ravel(part) for part in parts]))
    used = size[np.isfinite(size) & (size > 0)]
    return CoefficientRange(kind, float(used.min()), float(used.max())) if used.size else None
