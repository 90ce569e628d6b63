"""The conformance check of solvers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from milopt.errors import ParameterError
from milopt.solving import registry
from milopt.solving.solver import Solver
from milopt.testing.conformance import Case, ConformanceReport, run_cases
from milopt.testing.solver_answers import answer_cases
from milopt.testing.solver_limits import limit_cases
from milopt.testing.solver_members import member_cases
from milopt.testing.solver_programs import program_cases
from milopt.testing.solver_sessions import session_cases


def check_solver(
    solver: Solver | str, *, except_for: Mapping[str, str] | None = None, only: Collection[str] | None = None
) -> ConformanceReport:
    """Raise an error if a solver does not do what milopt relies on.

    The cases are: the members of the class, its rank, availability and options; known programs of all kinds that its
    features and cones state, badly scaled, degenerate, infeasible and unbounded ones among them, each with the known
    optimum, multipliers and status; refusals of other programs; the raw answers of its engine, with the signs of
    multipliers; changes of a session; a time limit, and Ctrl-C. `solver_case_names` lists them. The check waits for
    each solve, so a solver should have a limit of iterations.

    Parameters
    ----------
    solver : Solver or str
        The solver, which must be installed, or the name of a registered one.
    except_for : mapping of str to str, optional
        Cases that the solver does not pass, with the reason. Such a case is run within a time limit of ten seconds. It
        may fail, but not by a wrong answer: a point that is called optimal and is not, or a wrong proof. A case that
        passes all the same is told by a warning.
    only : collection of str, optional
        The names of the cases to run; by default all of them.

    Returns
    -------
    ConformanceReport
        The cases that passed, that were excepted, and that do not concern the solver, each with the reason.

    Raises
    ------
    ConformanceError
        If a case fails; the message has one sentence per failed case.

    Examples
    --------
    >>> from milopt.testing import check_solver
    >>> report = check_solver("highs", only=["lp", "socp, ball"])
    >>> report.passed, list(report.left_out)
    (['lp'], ['socp, ball'])
    """
    chosen = _solver(solver)
    return run_cases(chosen.name, _cases(chosen), except_for, only)


def solver_case_names(solver: Solver | str) -> list[str]:
    """Return the names of the cases of `check_solver`."""
    return [case.name for case in _cases(_solver(solver))]


def _solver(solver: object) -> Solver:
    if isinstance(solver, str):
        return registry.require(solver)
    if not isinstance(solver, Solver):
        raise ParameterError(f"check_solver takes a solver, as in check_solver(MySolver()), not {solver!r}.")
    return solver


def _cases(solver: Solver) -> list[Case]:
    return [
        *member_cases(solver),
        *program_cases(solver),
        *answer_cases(solver),
        *session_cases(solver),
        *limit_cases(solver),
    ]
