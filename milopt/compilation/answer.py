"""Answer of a solver to a program in standard form, before milopt has checked it."""

from __future__ import annotations

from dataclasses import dataclass

from milopt.arrays import Vector
from milopt.compilation.inertia import Inertia
from milopt.compilation.status import Termination


@dataclass(frozen=True)
class Answer:
    """Answer of a solver, in the columns and rows of the standard form and with milopt's signs of multipliers.

    Answers are unverified claims of the solver: statuses and numbers are checked before they reach a `Result`.
    """

    termination: Termination
    raw_status: str
    """Status as the solver reports it."""
    x: Vector | None = None
    """Values of the columns; None if the solver returned no point."""
    z: Vector | None = None
    """Multipliers of all rows, in the dual cone K*; None if the solver returned none (as for integer programs)."""
    bound: float | None = None
    """Lower bound on the minimum that a mixed-integer solver claims to have proved; None if there is no such bound."""
    iterations: int = 0
    log: str = ""
    interrupted: bool = False
    """True if the user interrupted the solver with Ctrl-C; a scheme that solves several programs must then stop."""
    inertia: Inertia | None = None
    """Inertia of the form's Hessian P on the null space of its equalities; None if the solver did not compute it."""
