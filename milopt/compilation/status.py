"""The two statuses of a result: why the algorithm ended (`Termination`), and whether its point is certified."""

from __future__ import annotations

from enum import StrEnum


class Termination(StrEnum):
    """Reason why an algorithm ended.

    Members are strings: ``result.termination == "optimal"`` is valid.

    Attributes
    ----------
    OPTIMAL : str
        "optimal": the point is a global optimum, and its certificate holds.
    INFEASIBLE : str
        "infeasible": milopt has proved that no point satisfies all constraints of the declared program. An infeasible
        convex step of a scheme is not such a proof.
    UNBOUNDED : str
        "unbounded": the objective of the declared program improves without limit over feasible points.
    LIMIT : str
        "limit": a time or iteration limit was reached, or Ctrl-C was pressed. The best point, if any, is returned.
    STALLED : str
        "stalled": the solver stopped without reaching the tolerance, or a scheme found neither a feasible point nor a
        proof that there is none.
    STATIONARY : str
        "stationary": the last convex step is certified and the witnesses repeat, or the point is a KKT point of a
        non-convex quadratic program.
    CYCLE : str
        "cycle": an alternating scheme returned to an earlier selection of witnesses. The best iterate is returned.
    ERROR : str
        "error": the solver failed.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("contradiction")
    >>> x = program.variable("x", lower=1)
    >>> rows = program.subject_to(x <= 0)
    >>> milopt.solve(program).termination
    <Termination.INFEASIBLE: 'infeasible'>
    """

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    LIMIT = "limit"
    STALLED = "stalled"
    STATIONARY = "stationary"
    CYCLE = "cycle"
    ERROR = "error"


class PointStatus(StrEnum):
    """Status of the point that a solve returned.

    Members are strings: ``result.point == "certified"`` is valid.

    Attributes
    ----------
    NONE : str
        "none": there is no point, or its rows and bounds do not hold at the tolerance.
    FEASIBLE : str
        "feasible": rows and bounds hold at the tolerance, but the dual or gap residual does not, or the scheme was
        stopped before its end.
    CERTIFIED : str
        "certified": the primal, dual and gap residuals, which milopt recomputes from the program, hold at the
        tolerance.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("line")
    >>> x = program.variable("x", lower=1)
    >>> program.minimize(x)
    >>> milopt.solve(program).point is milopt.PointStatus.CERTIFIED
    True
    """

    NONE = "none"
    FEASIBLE = "feasible"
    CERTIFIED = "certified"


def is_successful(termination: Termination, point: PointStatus) -> bool:
    """Return True if the point is certified, or is feasible and the best iterate of a scheme that ended in a cycle."""
    return point is PointStatus.CERTIFIED or (termination is Termination.CYCLE and point is PointStatus.FEASIBLE)
