"""Random points of the domain of an atom."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom
from milopt.testing.atom_error import fail

SPREADS = (1.0, 0.05, 3.0, 0.4)
"""Standard deviations of random points. Points differ in size and sign, so that every branch of an atom is tested."""
SHIFTS = (0.0, 0.0, -4.0, 0.0, 3.0)
"""Means of random points."""
MAX_TRIES = 200
"""Maximum number of attempts to find a point with finite slopes."""


class AtomSamples:
    """Source of random points for one atom.

    Parameters
    ----------
    atom : Atom
        The atom.
    seed : int
        Random seed. Equal seeds give equal points.
    """

    def __init__(self, atom: Atom, seed: int) -> None:
        self.atom = atom
        self.random = np.random.default_rng(seed)

    def anywhere(self, number: int) -> Vector:
        """Return random point `number`, maybe outside the domain; every third has entries rounded to integers."""
        size = self.atom.segments.entry_count
        point = SHIFTS[number % len(SHIFTS)] + SPREADS[number % len(SPREADS)] * self.random.normal(size=size)
        if number % 3 == 2:
            return np.where(self.random.random(size) < 0.4, np.round(point), point)
        return point

    def in_domain(self, number: int) -> Vector:
        """Return a random point of the domain, possibly on its boundary; `number` selects its size."""
        return self.atom.nearest(self.anywhere(number), self.atom.segments)

    def with_slopes(self, number: int) -> Vector:
        """Return a random point with finite slopes: a point of the domain, averaged with others if necessary."""
        point = self.in_domain(number)
        trial = 0
        while not self.has_slopes(point):
            if trial == MAX_TRIES:
                fail(self.atom, f"has_finite_slopes is False at {MAX_TRIES} points between points of the domain.")
            trial += 1
            point = 0.5 * (point + self.in_domain(number + trial))
        return point

    def has_slopes(self, point: Vector) -> bool:
        """Return True if the slopes at a point are finite."""
        return self.atom.has_finite_slopes(point, point, self.atom.segments)

    def slopes(self, number: int) -> Vector:
        """Return random slopes, which need not be slopes of a minorant; every fourth time they are ten times larger."""
        return np.asarray((10.0 if number % 4 == 3 else 1.0) * self.random.normal(size=self.atom.segments.entry_count))
