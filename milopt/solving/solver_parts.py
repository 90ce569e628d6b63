"""One flag for a scheme with two parts: `highs` for both, `master=highs,oracle=native` apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from milopt.errors import ParameterError
from milopt.names import unknown
from milopt.solving.solver import Solver

PARTS = ("master", "oracle")

Choice: TypeAlias = str | tuple[str, ...]
"""One solver or a flag of parts, or several to try in order."""


@dataclass(frozen=True)
class SolverParts:
    """Which solver takes which part."""

    master: str | Solver = "auto"
    oracle: str | Solver = "auto"

    @classmethod
    def of(cls, solver: object) -> SolverParts:
        """From a flag, a solver, or parts as they are."""
        if isinstance(solver, SolverParts):
            return solver
        if isinstance(solver, Solver):
            return cls(solver, solver)
        if not isinstance(solver, str):
            raise ParameterError(
                "A semi-infinite program is solved by one solver, or by one for each part, such as "
                f"'master=highs,oracle=native', not by {solver!r}."
            )
        if "=" not in solver:
            return cls(solver, solver)
        chosen: dict[str, str] = {}
        for pair in solver.split(","):
            part, equals, name = (text.strip() for text in pair.partition("="))
            if not equals or not name:
                raise ParameterError(f"{pair!r} is no part of a solver: write master=NAME,oracle=NAME.")
            if part not in PARTS:
                raise unknown("part", part, list(PARTS))
            if part in chosen:
                raise ParameterError(f"The {part} has two solvers, {chosen[part]} and {name}: name one for each part.")
            chosen[part] = name
        return cls(**chosen)


def solver_names(choice: Choice) -> tuple[str, ...]:
    """Every solver that a choice names."""
    flags = (choice,) if isinstance(choice, str) else choice
    parts = [(one.master, one.oracle) for one in map(SolverParts.of, flags)]
    return tuple(dict.fromkeys(str(name) for pair in parts for name in pair))
