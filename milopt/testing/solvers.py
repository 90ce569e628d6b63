"""Conformance check of solvers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from milopt.errors import ParameterError
from milopt.solving import registry
from milopt.solving.solver import Solver
from milopt.testing.conformance import ConformanceCase, ConformanceReport, run_cases
from milopt.testing.solver_answers import answer_cases
from milopt.testing.solver_limits import limit_cases
from milopt.testing.solver_members import member_cases
from milopt.testing.solver_programs import program_cases
from milopt.testing.solver_sessions import session_cases


def check_solver(
    solver: Solver | str, *, except_for: Mapping[str, str] | None = None, only: Collection[str] | None = None
) -> ConformanceReport:
    """Check that a solver does what milopt relies on.

    The cases are: the members of the class, its rank, availability and options; known programs of all kinds that its
    features and cones allow (also badly scaled, degenerate, infeasible and unbounded ones), with known optimum,
    multipliers and status; reasons for unsupported programs; the raw answers of its engine, with the signs of
    multipliers; changes in a session; a time limit, and Ctrl-C. `solver_case_names` lists the cases. The check waits
    for each solve, so a solver should have a limit of iterations.

    Parameters
    ----------
    solver : Solver or str
        Solver, which must be installed, or the name of a registered solver.
    except_for : mapping of str to str, optional
        Cases that the solver does not pass, with the reason. Known programs among them have a time limit of ten
        seconds. Such a case may fail, but not by a wrong answer: a point that is called optimal or certified and is
        not, a feasible program that is called infeasible, or a bounded program that is called unbounded. If such a case
        passes or does not apply, a warning is given.
    only : collection of str, optional
        Names of the cases to run. By default, all cases are run.

    Returns
    -------
    ConformanceReport
        Cases that passed, that were excepted, and that do not apply, with reasons.

    Raises
    ------
    ConformanceError
        If a case fails. The message has one sentence per failed case.

    Examples
    --------
    >>> from milopt.testing import check_solver
    >>> report = check_solver("highs", only=["lp", "socp, ball"])
    >>> report.passed, list(report.left_out)
    (['lp'], ['socp, ball'])
    """
    chosen = _as_solver(solver)
    return run_cases(chosen.name, _all_cases(chosen), except_for, only)


def solver_case_names(solver: Solver | str) -> list[str]:
    """Return the names of the cases of `check_solver`."""
    return [case.name for case in _all_cases(_as_solver(solver))]


def _as_solver(solver: object) -> Solver:
    """Return a solver, given as an object or by name; raise an error if it is neither."""
    if isinstance(solver, str):
        return registry.require_solver(solver)
    if not isinstance(solver, Solver):
        raise ParameterError(f"check_solver needs a solver, as in check_solver(MySolver()), not {solver!r}.")
    return solver


def _all_cases(solver: Solver) -> list[ConformanceCase]:
    """Return all cases of a solver."""
    return [
        *member_cases(solver),
        *program_cases(solver),
        *answer_cases(solver),
        *session_cases(solver),
        *limit_cases(solver),
    ]
