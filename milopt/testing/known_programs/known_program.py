"""Programs with known answers: a named program, the features that a solver needs, and the correct answer.

Optima are known in closed form, by enumeration, or because the program was built around a chosen optimum. No solver is
called here.
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
"""Features and cones that a solver needs for programs of each kind."""

OPTIMAL, INFEASIBLE, UNBOUNDED = Termination.OPTIMAL, Termination.INFEASIBLE, Termination.UNBOUNDED


@dataclass(frozen=True)
class ProgramWithAnswer:
    """Program with its correct answer.

    Attributes
    ----------
    program : Program
        The program.
    objective : float
        Optimal value; NaN if the program has no optimum.
    values : mapping of str to array
        Optimal values by variable, for variables whose optimal values are unique and known.
    duals : mapping of str to array
        Multipliers by constraint, for constraints whose multipliers are unique and known.
    """

    program: Program
    objective: float = float("nan")
    values: Mapping[str, Vector] = field(default_factory=dict)
    duals: Mapping[str, Vector] = field(default_factory=dict)


@dataclass(frozen=True)
class KnownProgram:
    """Named program with the features that a solver needs and the correct termination.

    Attributes
    ----------
    name : str
        Name of the program.
    needs : frozenset of Feature or str
        Features and names of cones that a solver needs.
    make : callable
        Function that returns the program with its answer.
    termination : Termination
        Correct termination.
    blamed_name : str
        Name of a constraint or variable that the message about an infeasible or unbounded program must contain.
    scheme : str or None
        Scheme that solves the program; None for the default.
    """

    name: str
    needs: frozenset[Feature | str]
    make: Callable[[], ProgramWithAnswer]
    termination: Termination = OPTIMAL
    blamed_name: str = ""
    scheme: str | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def features(self) -> frozenset[Feature]:
        """Features that a solver needs, without cones."""
        return frozenset(need for need in self.needs if isinstance(need, Feature))

    @property
    def cones(self) -> frozenset[str]:
        """Names of the cones that a solver needs."""
        return frozenset(need for need in self.needs if isinstance(need, str))


KNOWN_PROGRAMS: list[KnownProgram] = []
"""All programs with known answers, in the order of their definition."""


def register_known_program(
    name: str,
    needs: frozenset[Feature | str],
    termination: Termination = OPTIMAL,
    blamed_name: str = "",
    scheme: str | None = None,
) -> Callable[[Callable[[], ProgramWithAnswer]], Callable[[], ProgramWithAnswer]]:
    """Return a decorator for functions that build a program with its answer; it adds them to `KNOWN_PROGRAMS`."""

    def register_builder(make: Callable[[], ProgramWithAnswer]) -> Callable[[], ProgramWithAnswer]:
        KNOWN_PROGRAMS.append(KnownProgram(name, needs, make, termination, blamed_name, scheme))
        return make

    return register_builder


def small_bags() -> Bags:
    """Return four bags of one to four instances in the plane."""
    rng = np.random.default_rng(51)
    return as_bags([rng.normal(size=(size, 2)) for size in (3, 2, 4, 1)])


def example_points() -> Vector:
    """Return nine points in the plane."""
    return np.random.default_rng(52).normal(size=(9, 2))


def example_targets() -> Vector:
    """Return nine target values."""
    return np.random.default_rng(53).normal(size=9)


def rbf_gram(X: Vector, s: float) -> Vector:
    """Return exp(-s ||x - z||^2) for all pairs of points, computed from the definition."""
    squared = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    return np.asarray(np.exp(-s * squared))
