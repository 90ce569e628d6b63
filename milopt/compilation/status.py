"""The two axes of an outcome: why the algorithm ended, and what is known about the point it left."""

from __future__ import annotations

from enum import StrEnum


class Termination(StrEnum):
    """Why the algorithm ended; equal to its name, as in `result.termination == "optimal"`."""

    OPTIMAL = "optimal"
    """A global optimum, and the certificate holds."""
    INFEASIBLE = "infeasible"
    """No point satisfies all constraints of the declared program; an infeasible step of a scheme is no such proof."""
    UNBOUNDED = "unbounded"
    """Feasible points of the declared program have objectives without limit."""
    LIMIT = "limit"
    """A time or iteration limit, or Ctrl-C; the best point is kept."""
    STALLED = "stalled"
    """The solver stopped without reaching its tolerance, or a scheme found no feasible point and no proof of why."""
    STATIONARY = "stationary"
    """The last convex step is certified and the witnesses repeat, or a KKT point of a non-convex quadratic."""
    CYCLE = "cycle"
    """An alternation came back to an earlier selection; the best iterate is kept."""
    ERROR = "error"


class PointStatus(StrEnum):
    """What is known about the point that came back; equal to its name, as in `result.point == "certified"`."""

    NONE = "none"
    """No point, or one whose rows and bounds do not hold at tolerance."""
    FEASIBLE = "feasible"
    """Rows and bounds hold at tolerance; dual or gap residuals do not, or the scheme had not come to its end."""
    CERTIFIED = "certified"
    """Primal, dual and gap residuals, recomputed from the program, hold at tolerance."""


def keeps_promise(termination: Termination, point: PointStatus) -> bool:
    """Whether a scheme came to an end that it has: a certified point, or the best iterate of an alternation's cycle."""
    return point is PointStatus.CERTIFIED or (termination is Termination.CYCLE and point is PointStatus.FEASIBLE)
