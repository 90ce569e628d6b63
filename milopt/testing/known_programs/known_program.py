"""A known program: a named program, what a solver needs to take it, and what the answer must be.

Optima are known in closed form, by enumeration, or because they were planted; nothing here calls a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.features import Feature
from milopt.compilation.status import Termination
from milopt.cones import EXPONENTIAL, SECOND_ORDER
from milopt.declaration.bags.bags import Bags, as_bags
from milopt.declaration.programs.program import Program

LP = frozenset({Feature.LINEAR})
QP = LP | {Feature.QUADRATIC}
SOCP = LP | {SECOND_ORDER.name}
EXPONENTIAL_PROGRAM = LP | {EXPONENTIAL.name}
MILP = LP | {Feature.INTEGER}
MIQP = MILP | {Feature.INTEGER_QUADRATIC}
MISOCP = MILP | {SECOND_ORDER.name}

OPTIMAL, INFEASIBLE, UNBOUNDED = Termination.OPTIMAL, Termination.INFEASIBLE, Termination.UNBOUNDED


@dataclass(frozen=True)
class Expected:
    """A program and the answer."""

    program: Program
    objective: float = float("nan")
    values: Mapping[str, Vector] = field(default_factory=dict)
    """Values by variable, where they are unique."""
    duals: Mapping[str, Vector] = field(default_factory=dict)
    """Multipliers by constraint, where they are unique."""


@dataclass(frozen=True)
class KnownProgram:
    """A named program, what a solver needs to take it, and how it must end."""

    name: str
    needs: frozenset[Feature | str]
    """Features, and names of cones."""
    make: Callable[[], Expected]
    termination: Termination = OPTIMAL
    blames: str = ""
    """What the message of an infeasible or unbounded program must name."""
    scheme: str | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def features(self) -> frozenset[Feature]:
        """Return the features that a solver needs."""
        return frozenset(one for one in self.needs if isinstance(one, Feature))

    @property
    def cones(self) -> frozenset[str]:
        """Return the names of the cones that a solver needs."""
        return frozenset(one for one in self.needs if isinstance(one, str))


KNOWN_PROGRAMS: list[KnownProgram] = []


def known_program(
    name: str,
    needs: frozenset[Feature | str],
    termination: Termination = OPTIMAL,
    blames: str = "",
    scheme: str | None = None,
) -> Callable[[Callable[[], Expected]], Callable[[], Expected]]:
    """Add the function below, which makes a program and its answer, to the known programs."""

    def add(make: Callable[[], Expected]) -> Callable[[], Expected]:
        KNOWN_PROGRAMS.append(KnownProgram(name, needs, make, termination, blames, scheme))
        return make

    return add


def some_bags() -> Bags:
    """Return four bags of one to four instances in the plane."""
    rng = np.random.default_rng(51)
    return as_bags([rng.normal(size=(size, 2)) for size in (3, 2, 4, 1)])


def some_points() -> Vector:
    """Return nine points in the plane."""
    return np.random.default_rng(52).normal(size=(9, 2))


def some_targets() -> Vector:
    """Return nine numbers."""
    return np.random.default_rng(53).normal(size=9)


def rbf_gram(X: Vector, s: float) -> Vector:
    """Return exp(-s ||x - z||^2) for all pairs of points, computed here from its definition."""
    squared = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    return np.asarray(np.exp(-s * squared))
