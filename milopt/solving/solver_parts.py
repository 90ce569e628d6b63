"""Solvers for the two parts of a semi-infinite program: `highs` for both, or `master=highs,oracle=native`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from milopt.errors import ParameterError, UnknownNameError
from milopt.name_suggestions import close_matches, quote, unknown_name_error
from milopt.solving.solver import Solver

PART_NAMES = ("master", "oracle")
"""Names of the parts of a semi-infinite program."""

SolverChoice: TypeAlias = str | tuple[str, ...]
"""A text such as "highs" or "master=highs,oracle=native", or several such texts to try in order."""


@dataclass(frozen=True)
class SolverParts:
    """Solvers of the master and of the oracles."""

    master: str | Solver = "auto"
    oracle: str | Solver = "auto"

    @classmethod
    def parse(cls, solver: object) -> SolverParts:
        """Return the solvers of both parts for a solver, its name, or a text such as "master=highs,oracle=native".

        A part that the text omits is "auto". `SolverParts` are returned as they are.
        """
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
                raise ParameterError(f"{pair!r} is not a part with its solver: write master=NAME,oracle=NAME.")
            if part not in PART_NAMES:
                if close_matches(part, PART_NAMES):
                    raise unknown_name_error("part", part, list(PART_NAMES))
                raise UnknownNameError(
                    f"Unknown part {quote(part)} of a solver choice: write a solver name, or master=NAME,oracle=NAME."
                )
            if part in chosen:
                raise ParameterError(f"The {part} has two solvers, {chosen[part]} and {name}: name one for each part.")
            chosen[part] = name
        return cls(**chosen)


def solvers_in_choice(choice: SolverChoice) -> tuple[str, ...]:
    """Return the names of all solvers in a choice, without duplicates."""
    flags = (choice,) if isinstance(choice, str) else choice
    parts = [(choice.master, choice.oracle) for choice in map(SolverParts.parse, flags)]
    return tuple(dict.fromkeys(str(name) for pair in parts for name in pair))
