"""Whether the solvers of a formulation found the same optimum.

Objectives a and b agree when |a - b| <= 1e-6 max(1, |b|). The reference is the objective that most others agree with,
so that one solver that is off is named, and not all the others. Only what is proved or promised has a say: certified
points, best iterates of cycles, and programs that are infeasible or unbounded, whose objectives are infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milopt.comparison.cell import Cell
from milopt.compilation.status import Termination

SETTLED = (Termination.INFEASIBLE, Termination.UNBOUNDED)
RELATIVE = 1e-6
"""How far objectives may differ."""


@dataclass(frozen=True)
class Agreement:
    """The verdict on one formulation."""

    model: str
    solvers: tuple[str, ...]
    """Those that agree with the reference, itself included."""
    differs: tuple[tuple[str, float], ...]
    """Certified solvers that do not, and by how much relative to the reference."""
    spread: float
    """The largest relative difference among those that agree."""
    stationary: bool
    """Points are stationary, not proved optimal: two may differ, and both be right."""
    ended: str = ""
    """How the reference ended if it has no point: infeasible or unbounded."""

    @property
    def agree(self) -> bool | None:
        """None where fewer than two solvers have a certified point."""
        return None if len(self.solvers) + len(self.differs) < 2 else not self.differs

    def __str__(self) -> str:
        if not self.solvers:
            return "no certified point"
        if self.agree is None:
            return f"{self.solvers[0]} alone {f'finds it {self.ended}' if self.ended else 'has a certified point'}"
        if self.agree and self.ended:
            return f"{len(self.solvers)} solvers agree: {self.ended}"
        if self.agree:
            return f"{len(self.solvers)} solvers agree, to {max(self.spread, 1e-16):.0e}"
        odd = ", ".join(f"{solver} by {difference:.1e}" for solver, difference in self.differs)
        why = "; another stationary point" if self.stationary else ""
        return f"not all agree with {self.solvers[0]}: {odd}{why}"

    def as_dict(self) -> dict[str, object]:
        """Plain JSON data."""
        return {
            "model": self.model,
            "agree": self.agree,
            "solvers": list(self.solvers),
            "spread": self.spread,
            "differs": dict(self.differs),
        }


def agreement(model: str, cells: Sequence[Cell]) -> Agreement:
    """The verdict on the cells of one formulation."""
    said = [cell for cell in cells if cell.kept or cell.termination in SETTLED]
    found = [(cell.solver, cell.objective) for cell in said if cell.objective is not None]
    stationary = any(cell.termination == "stationary" for cell in cells)
    if not found:
        return Agreement(model, (), (), 0.0, stationary)
    reference = max((value for _, value in found), key=lambda one: sum(_apart(v, one) <= RELATIVE for _, v in found))
    apart = {solver: _apart(value, reference) for solver, value in found}
    near = {solver: difference for solver, difference in apart.items() if difference <= RELATIVE}
    differs = tuple((solver, difference) for solver, difference in apart.items() if difference > RELATIVE)
    ended = next(cell.termination or "" for cell in said if cell.solver in near) if np.isinf(reference) else ""
    return Agreement(model, tuple(near), differs, max(near.values()), stationary, ended)


def _apart(value: float, reference: float) -> float:
    if value == reference:
        return 0.0  # Also of two that are infinite.
    if np.isinf(reference):
        return np.inf
    return abs(value - reference) / max(1.0, abs(reference))
