"""Conformance check of schemes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from milopt import ConvexConcave, Scheme
from milopt.errors import ParameterError
from milopt.solving import registry
from milopt.solving.solver import Solver
from milopt.testing.conformance import ConformanceReport, run_cases
from milopt.testing.scheme_cases import scheme_cases


def check_scheme(
    scheme: Scheme,
    *,
    solver: str | Solver = "clarabel",
    except_for: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
) -> ConformanceReport:
    """Check that a scheme does what milopt relies on.

    The cases are: problems with known optima (convex, DC, semi-infinite, infeasible and unbounded), for which a result
    must not be better than the optimum, must not be called optimal unless it is, and must have a point that satisfies
    the declared rows; stationary points, from which no convex step improves the objective; recorded steps, whose
    objective never gets worse if the scheme states that it `descends`; a time limit; problems that must not be changed;
    equal results of equal calls; reasons for unsupported problems; saving by name. `scheme_case_names` lists the cases.

    Parameters
    ----------
    scheme : Scheme
        Scheme with its parameters.
    solver : str or Solver, default="clarabel"
        Solver of the convex steps.
    except_for : mapping of str to str, optional
        Cases that the scheme does not pass, with the reason; no exception covers a wrong answer. If such a case passes
        or does not apply, a warning is given.
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
    >>> import milopt
    >>> from milopt.testing import check_scheme
    >>> report = check_scheme(milopt.ConvexConcave(), only=["descent", "time limit, between steps"])
    >>> report.passed
    ['time limit, between steps', 'descent']
    """
    if not isinstance(scheme, Scheme):
        raise ParameterError(f"check_scheme needs a scheme, as in check_scheme(MyScheme()), not {scheme!r}.")
    chosen = registry.require_solver(solver) if isinstance(solver, str) else solver
    return run_cases(
        str(getattr(scheme, "name", type(scheme).__name__)), scheme_cases(scheme, chosen), except_for, only
    )


def scheme_case_names() -> list[str]:
    """Return the names of the cases of `check_scheme`."""
    return [case.name for case in scheme_cases(ConvexConcave(), registry.get_solver("clarabel"))]
