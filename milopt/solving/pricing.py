"""An oracle at work: given prices, the columns that a master's rows are most violated by."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milopt.arrays import Points, Vector
from milopt.declaration.programs.leaves import Parameter
from milopt.errors import MiloptError
from milopt.outcome.certificate import Certificate
from milopt.solving.clock import Clock

MAX_STEPS = 10
"""Convex steps of a descent, at most."""
RELATIVE_DECREASE = 1e-6
"""Of the value, in a step: a descent that gains no more has come to its end."""


@dataclass(frozen=True)
class Priced:
    """A column that an oracle found, and the solution behind it."""

    column: Vector
    """One entry a training bag."""
    values: Mapping[str, Vector]
    """The oracle's variables by name."""
    functions: Mapping[str, tuple[Points, Vector]]
    """Its functions without a dictionary: points and coefficients of sum_p a_p K(x_p, .)."""
    value: float
    """The oracle's objective at this column, as declared."""
    certificate: Certificate | None
    """Of the last convex step behind it."""
    steps: int = 1

    @cached_property
    def size(self) -> float:
        """The largest entry of the column."""
        return float(np.abs(self.column).max(initial=0.0))


@dataclass(frozen=True)
class Found:
    """What an oracle found at some prices: columns, best first, and what no column exceeds, where that is known."""

    columns: tuple[Priced, ...]
    bound: float | None = None
    failure: str = ""
    """In words, why better columns may have been missed: not one of its searches ended certified."""


class Pricing(ABC):
    """A live oracle: what it keeps between prices makes the next ones cheaper."""

    solver: str
    """The name of the solver behind it."""
    fallbacks: int = 0
    """How often it had to leave its own way for another solver's."""
    _other: Pricing | None = None
    """What it left it for."""

    @property
    def solvers(self) -> tuple[str, ...]:
        """Its solver, and the one behind what it fell back on."""
        return (self.solver,) if self._other is None else (self.solver, *self._other.solvers)

    @abstractmethod
    def price(self, prices: Mapping[Parameter, Vector], starts: int, clock: Clock) -> Found:
        """The best columns at these prices, from so many starts."""

    def close(self) -> None:
        """Give back what it holds, and what it fell back on."""
        if self._other is not None:
            self._other.close()


def priced_by(other: Callable[[], Pricing], prices: Mapping[Parameter, Vector], starts: int, clock: Clock) -> Found:
    """What another pricing finds; where it fails too, its reason and no column."""
    try:
        return other().price(prices, starts, clock)
    except MiloptError as error:
        return Found((), None, f"The oracle failed: {str(error).rstrip('.')}")
