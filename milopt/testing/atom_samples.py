"""Random points of the domain of an atom."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom
from milopt.testing.atom_error import fail

POINT_STANDARD_DEVIATIONS = (1.0, 0.05, 3.0, 0.4)
"""Standard deviations of random points, used in turn, so that points of all sizes test every branch of an atom."""
POINT_MEANS = (0.0, 0.0, -4.0, 0.0, 3.0)
"""Means of random points, used in turn."""
MAX_POINT_TRIES = 200
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

    def random_point(self, number: int) -> Vector:
        """Return a random point, maybe outside the domain, whose mean and size depend on `number`.

        In every third point, some entries are rounded to integers, so that equal entries occur.
        """
        size = self.atom.segments.entry_count
        point = POINT_MEANS[number % len(POINT_MEANS)] + POINT_STANDARD_DEVIATIONS[
            number % len(POINT_STANDARD_DEVIATIONS)
        ] * self.random.normal(size=size)
        if number % 3 == 2:
            return np.where(self.random.random(size) < 0.4, np.round(point), point)
        return point

    def point_in_domain(self, number: int) -> Vector:
        """Return a random point of the domain, maybe on its boundary; its size depends on `number`."""
        return self.atom.nearest(self.random_point(number), self.atom.segments)

    def point_with_slopes(self, number: int) -> Vector:
        """Return a random point with finite slopes: a point of the domain, averaged with other ones if necessary."""
        point = self.point_in_domain(number)
        trial = 0
        while not self.has_finite_slopes(point):
            if trial == MAX_POINT_TRIES:
                fail(self.atom, f"has_finite_slopes is False at {MAX_POINT_TRIES} points between points of the domain.")
            trial += 1
            point = 0.5 * (point + self.point_in_domain(number + trial))
        return point

    def has_finite_slopes(self, point: Vector) -> bool:
        """Return True if all slopes of the atom at a point are finite."""
        return self.atom.has_finite_slopes(point, point, self.atom.segments)

    def random_slopes(self, number: int) -> Vector:
        """Return random slopes, which need not be slopes of a minorant; ten times larger for every fourth `number`."""
        return np.asarray((10.0 if number % 4 == 3 else 1.0) * self.random.normal(size=self.atom.segments.entry_count))
