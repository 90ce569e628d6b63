"""A family: a named program, what a solver needs to take it, and what the answer must be.

Optima are known in closed form or because they were planted; nothing here calls a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from milopt import Bags, Program, as_bags
from milopt.cones import SECOND_ORDER
from milopt.outcome.status import Termination
from milopt.solving.solver import Feature

Vector = npt.NDArray[np.float64]

LP = frozenset({Feature.LINEAR})
QP = LP | {Feature.QUADRATIC}
SOCP = LP | {SECOND_ORDER.name}
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
    """Where they are unique."""
    duals: Mapping[str, Vector] = field(default_factory=dict)
    """Where they are unique."""


@dataclass(frozen=True)
class Family:
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


FAMILIES: list[Family] = []


def family(
    name: str,
    needs: frozenset[Feature | str],
    termination: Termination = OPTIMAL,
    blames: str = "",
    scheme: str | None = None,
) -> Callable[[Callable[[], Expected]], Callable[[], Expected]]:
    """Enter a maker of programs into the list."""

    def enter(make: Callable[[], Expected]) -> Callable[[], Expected]:
        FAMILIES.append(Family(name, needs, make, termination, blames, scheme))
        return make

    return enter


def some_bags() -> Bags:
    rng = np.random.default_rng(51)
    return as_bags([rng.normal(size=(size, 2)) for size in (3, 2, 4, 1)])


def some_points() -> Vector:
    return np.random.default_rng(52).normal(size=(9, 2))


def some_targets() -> Vector:
    return np.random.default_rng(53).normal(size=9)


def rbf_gram(X: Vector, s: float) -> Vector:
    squared = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    return np.asarray(np.exp(-s * squared))
