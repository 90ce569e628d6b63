"""The error of a failed check, and comparisons that raise it."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom

ROUNDING_TOLERANCE = 1e-9
"""Relative difference between members that are computed by formulas."""
SOLVER_TOLERANCE = 2e-6
"""Relative difference between a formula and the solution of a program."""


class AtomError(AssertionError):
    """A member of an atom disagrees with another member; the message states which, where and by how much."""


def fail(atom: Atom, sentence: str) -> NoReturn:
    """Raise an error about an atom."""
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
    """Raise an error unless small <= large entry by entry, within a tolerance relative to 1 + scale; NaN is an error.

    The sentence has a pair of braces for each of the other points.
    """
    excess = np.asarray(small - large)
    wrong = ~(excess <= tolerance * (1.0 + np.abs(scale)))
    if wrong.any():
        entry = int(np.flatnonzero(wrong)[0])
        stated = sentence.format(*(spelled(other) for other in others))
        fail(atom, f"{stated}: entry {entry} at the point {spelled(point)} is off by {float(excess[entry]):.4g}.")


def require_equal(
    atom: Atom, left: Vector, right: Vector, scale: Vector, tolerance: float, point: Vector, sentence: str
) -> None:
    """Raise an error unless left == right entry by entry, within a tolerance relative to 1 + scale; NaN is an error."""
    if left.shape != right.shape:
        fail(atom, f"{sentence}: the shapes {left.shape} and {right.shape} differ at the point {spelled(point)}.")
    require_at_most(atom, np.abs(left - right), np.zeros(left.shape), scale, tolerance, point, sentence)


def spelled(point: Vector) -> str:
    """Return a point as short text."""
    return np.array2string(point, precision=4, threshold=8)
