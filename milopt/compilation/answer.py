"""The answer of a solver to a flat program, before milopt has checked it."""

from __future__ import annotations

from dataclasses import dataclass

from milopt.arrays import Vector
from milopt.compilation.inertia import Inertia
from milopt.compilation.status import Termination


@dataclass(frozen=True)
class Answer:
    """What a solver said, in the standard form's columns and rows and in milopt's dual signs; nothing believed yet."""

    termination: Termination
    raw_status: str
    x: Vector | None = None
    z: Vector | None = None
    """Multipliers of all rows, in K*; None where the solver has none (integer programs)."""
    bound: float | None = None
    """A proved lower bound on the minimum, from a mixed-integer search."""
    iterations: int = 0
    log: str = ""
    interrupted: bool = False
    """Ended by Ctrl-C: a scheme must not go on."""
    inertia: Inertia | None = None
    """Of the form's Hessian on the subspace that its equalities leave, where the solver found it."""
