"""A scheme: an algorithm over programs that calls a solver for convex steps, within one time limit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from milopt.declaration.program import Program
from milopt.errors import ParameterError
from milopt.outcome.result import Result
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver


def at_least_one(name: str, value: object) -> None:
    """Check a number of steps."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ParameterError(f"{name} must be an integer of at least 1, not {value!r}.")


class Scheme(ABC):
    """Runs a program to a result; parameters are its own fields."""

    name: ClassVar[str]

    @abstractmethod
    def run(self, program: Program, solver: Solver, options: Options, clock: Clock | None = None) -> Result:
        """The result, best point kept at a limit or Ctrl-C; a scheme within a scheme shares its clock."""
