"""Agreement of the solvers of one formulation, that is, of one model on one data set.

Two objectives a and b agree if |a - b| <= 1e-6 max(1, |b|). The reference is the objective that most other objectives
agree with, so that a single wrong solver is reported, and not all the others. Only these results are compared:
certified points, best iterates of cycles, and programs that are infeasible or unbounded (their objectives are
infinite).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milopt.comparison.cell import ComparisonCell
from milopt.compilation.status import Termination

INFEASIBLE_OR_UNBOUNDED = (Termination.INFEASIBLE, Termination.UNBOUNDED)
"""Terminations without a point that are compared, too; their objectives are infinite."""
RELATIVE_TOLERANCE = 1e-6
"""Largest relative difference of two objectives that agree."""


@dataclass(frozen=True)
class Agreement:
    """Comparison of the objectives that several solvers found for one formulation.

    Attributes
    ----------
    model : str
        Name of the formulation.
    solvers : tuple of str
        Solvers whose objective agrees with the reference, the objective that most others agree with.
    differs : tuple of (str, float)
        Compared solvers whose objective does not agree, each with its relative difference from the reference.
    spread : float
        Largest relative difference between the reference and the solvers that agree with it.
    stationary : bool
        True if some points are stationary and not proved optimal; then objectives may differ although all are correct.
    ended : str
        "infeasible" or "unbounded" if the reference has no point; otherwise empty.
    """

    model: str
    solvers: tuple[str, ...]
    differs: tuple[tuple[str, float], ...]
    spread: float
    stationary: bool
    ended: str = ""

    @property
    def agree(self) -> bool | None:
        """True if all compared objectives agree, False if not; None if fewer than two solvers can be compared."""
        return None if len(self.solvers) + len(self.differs) < 2 else not self.differs

    def __str__(self) -> str:
        """Return one sentence for the table."""
        if not self.solvers:
            return "no solver has a certified point"
        reference = self.solvers[0]
        if self.agree is None:
            return f"only {reference} {f'proves it {self.ended}' if self.ended else 'has a certified point'}"
        if self.agree and self.ended:
            return f"{len(self.solvers)} solvers agree: {self.ended}"
        if self.agree:
            return f"{len(self.solvers)} solvers agree: relative difference at most {max(self.spread, 1e-16):.0e}"
        if self.stationary and len(self.differs) == 1:
            solver, difference = self.differs[0]
            points = f"{solver} and {reference} found different stationary points"
            return f"objectives differ: {points} (relative difference {difference:.0e})"
        odd = ", ".join(f"{solver} by {difference:.1e}" for solver, difference in self.differs)
        points = ", different stationary points" if self.stationary else ""
        return f"objectives differ: {odd} (relative to {reference}{points})"

    def as_dict(self) -> dict[str, object]:
        """Return the agreement as plain JSON data."""
        return {
            "model": self.model,
            "agree": self.agree,
            "solvers": list(self.solvers),
            "spread": self.spread,
            "differs": dict(self.differs),
        }


def compare_objectives(model: str, cells: Sequence[ComparisonCell]) -> Agreement:
    """Compare the objectives of the cells of one formulation; see the module docstring for the cells that count."""
    proved = [cell for cell in cells if cell.is_acceptable or cell.termination in INFEASIBLE_OR_UNBOUNDED]
    objectives = [(cell.solver, cell.objective) for cell in proved if cell.objective is not None]
    stationary = any(cell.termination == "stationary" for cell in cells)
    if not objectives:
        return Agreement(model, (), (), 0.0, stationary)

    def count_agreeing(candidate: float) -> int:
        return sum(_relative_difference(value, candidate) <= RELATIVE_TOLERANCE for _, value in objectives)

    reference = max((value for _, value in objectives), key=count_agreeing)
    differences = {solver: _relative_difference(value, reference) for solver, value in objectives}
    agreeing = {solver: difference for solver, difference in differences.items() if difference <= RELATIVE_TOLERANCE}
    differs = tuple((solver, difference) for solver, difference in differences.items() if solver not in agreeing)
    ended = next(cell.termination or "" for cell in proved if cell.solver in agreeing) if np.isinf(reference) else ""
    return Agreement(model, tuple(agreeing), differs, max(agreeing.values()), stationary, ended)


def _relative_difference(value: float, reference: float) -> float:
    """Return |value - reference| / max(1, |reference|); 0 for equal values, and infinity if only one is infinite."""
    if value == reference:
        return 0.0
    if np.isinf(reference):
        return np.inf
    return abs(value - reference) / max(1.0, abs(reference))
