"""Error of a failed check of an atom, and comparisons that raise it."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom

FORMULA_TOLERANCE = 1e-9
"""Relative tolerance between members of an atom that are computed by formulas."""
SOLVER_TOLERANCE = 2e-6
"""Relative tolerance between the value of a formula and the solution of a program by a solver."""


class AtomError(AssertionError):
    """Error for an atom whose members disagree or return wrong types; the message states which, and at which point."""


def fail(atom: Atom, sentence: str) -> NoReturn:
    """Raise an `AtomError` with the name of the atom and a sentence."""
    raise AtomError(f"{type(atom).__name__} ({atom.describe()}): {sentence}")


def require_at_most(
    atom: Atom,
    small: Vector,
    large: Vector,
    scale: Vector,
    tolerance: float,
    point: Vector,
    sentence: str,
    *others: Vector,
) -> None:
    """Raise an error unless small <= large elementwise, within a tolerance relative to 1 + scale; NaN is an error.

    The message contains `point` and `sentence`; each pair of braces in the sentence is replaced by one of the points
    `others`.
    """
    excess = np.asarray(small - large)
    wrong = ~(excess <= tolerance * (1.0 + np.abs(scale)))
    if wrong.any():
        entry = int(np.flatnonzero(wrong)[0])
        stated = sentence.format(*(format_point(other) for other in others))
        fail(atom, f"{stated}: entry {entry} at the point {format_point(point)} is off by {float(excess[entry]):.4g}.")


def require_equal(
    atom: Atom, left: Vector, right: Vector, scale: Vector, tolerance: float, point: Vector, sentence: str
) -> None:
    """Raise an error unless left == right elementwise, within a tolerance relative to 1 + scale; NaN is an error."""
    if left.shape != right.shape:
        fail(atom, f"{sentence}: the shapes {left.shape} and {right.shape} differ at the point {format_point(point)}.")
    require_at_most(atom, np.abs(left - right), np.zeros(left.shape), scale, tolerance, point, sentence)


def format_point(point: Vector) -> str:
    """Return a point as short text for a message."""
    return np.array2string(point, precision=4, threshold=8)
