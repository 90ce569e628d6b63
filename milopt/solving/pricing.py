"""Pricing: given prices, find the columns whose rows in the master are violated most.

A column is a weak learner with one value per training bag. The prices are the values of the master's variables that
enter the oracle's program as parameters.
"""

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

MAX_DESCENT_STEPS = 10
"""Maximum number of convex steps of one descent."""
MIN_RELATIVE_DECREASE = 1e-6
"""A descent ends if a step decreases the objective by no more than this fraction of it."""


@dataclass(frozen=True)
class PricedColumn:
    """A column (weak learner) that an oracle found, and the solution of the oracle's program that defines it."""

    column: Vector
    """Entries of the column, one per training bag."""
    values: Mapping[str, Vector]
    """Values of the oracle's variables by name."""
    functions: Mapping[str, tuple[Points, Vector]]
    """Functions without a dictionary by name: points x_p and coefficients a_p of sum_p a_p K(x_p, .)."""
    value: float
    """Objective of the oracle's program at this column, with the sign as declared."""
    certificate: Certificate | None
    """Certificate of the last convex step that led to the column."""
    steps: int = 1

    @cached_property
    def size(self) -> float:
        """Largest absolute entry of the column."""
        return float(np.abs(self.column).max(initial=0.0))


@dataclass(frozen=True)
class PricingResult:
    """Columns that an oracle found at some prices, best first."""

    columns: tuple[PricedColumn, ...]
    bound: float | None = None
    """Bound on the value of all columns, proved or from a solver's integer search; None if there is none."""
    failure: str = ""
    """Why better columns may have been missed, in words; empty if at least one search ended with a certificate."""


class Pricing(ABC):
    """Search of one oracle for columns; data are kept between calls, so that later searches take less time."""

    solver: str
    """Name of the solver that is used."""
    fallbacks: int = 0
    """Number of calls in which another solver had to replace the pricing's own algorithm."""
    _fallback_pricing: Pricing | None = None
    """Pricing by another solver, used when the own algorithm fails; None if it was never needed."""

    @property
    def solvers(self) -> tuple[str, ...]:
        """Name of the solver, followed by the name of the solver that replaced it in some calls, if any."""
        return (self.solver,) if self._fallback_pricing is None else (self.solver, *self._fallback_pricing.solvers)

    @abstractmethod
    def price(self, prices: Mapping[Parameter, Vector], start_count: int, clock: Clock) -> PricingResult:
        """Return the best columns at the given prices.

        Parameters
        ----------
        prices : mapping from Parameter to ndarray
            Values of the oracle's price parameters.
        start_count : int
            Number of starting points of a local method.
        clock : Clock
            Time that is left.

        Returns
        -------
        PricingResult
            Columns, best first, and a bound if one is proved.
        """

    def close(self) -> None:
        """Release all resources, including those of `_fallback_pricing`."""
        if self._fallback_pricing is not None:
            self._fallback_pricing.close()


def price_or_report(
    make_pricing: Callable[[], Pricing], prices: Mapping[Parameter, Vector], start_count: int, clock: Clock
) -> PricingResult:
    """Create a pricing and return its columns; after an error, return no columns and the message as `failure`."""
    try:
        return make_pricing().price(prices, start_count, clock)
    except MiloptError as error:
        return PricingResult((), None, f"The oracle failed: {str(error).rstrip('.')}")
