"""Check that an affine function is a minorant of an atom, that is, nowhere above it."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom
from milopt.testing.atom_error import require_at_most


def require_minorant(
    atom: Atom, value: Vector, g: Vector, e: Vector, others: list[Vector], tolerance: float, sentence: str
) -> None:
    """Raise an error unless value + g'(e' - e) is at most the value of the atom at each point e' of `others`.

    `value` is the value of the atom at e, and g are the slopes to test. The inequality must hold for each run of the
    argument, within `tolerance`; `sentence` is for the error.
    """
    at = atom.segments
    for other in others:
        above = atom.value(other, at)
        scale = np.abs(value) + np.abs(above) + at.sum(np.abs(g * (other - e)))
        bound = value + at.sum(g * (other - e))
        require_at_most(atom, bound, above, scale, tolerance, other, sentence + " at {}", e)
