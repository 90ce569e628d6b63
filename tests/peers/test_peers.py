"""Every problem has the same status, optimum and unique answers in milopt, in cvxpy and on its page.

If the page states no optimum, milopt finds the one that numpy and scipy derive from the same data.
"""

from __future__ import annotations

from decimal import Decimal

import cvxpy as cp
import numpy as np
import pytest

import milopt
from tests.peers.problem import FAMILIES, PeerProblem, derived_values, problems

OBJECTIVE = 1e-6
ANSWERS = 1e-4
"""Relative tolerance of answers other than the optimum; a solver stops at 1e-8 in the optimum."""
PROBLEMS = problems()
DERIVED = [problem for problem in PROBLEMS if problem.derived]
pytestmark = pytest.mark.filterwarnings(
    "ignore::RuntimeWarning:cvxpy", "ignore:The problem has an expression:UserWarning"
)


@pytest.mark.parametrize("problem", PROBLEMS, ids=[problem.name for problem in PROBLEMS])
def test_milopt_and_cvxpy_agree(problem: PeerProblem) -> None:
    result, *ours = problem.milopt()
    reference, *theirs = problem.cvxpy()
    assert isinstance(result, milopt.Result)
    assert isinstance(reference, cp.Problem)
    assert result.termination == reference.status
    if result.termination == "optimal":
        assert result.point == "certified", str(result)
    assert agree(result.objective, reference.value, OBJECTIVE)
    if problem.known:
        assert_known(problem.known, result)
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        assert np.shape(our) == np.shape(their)
        assert agree(our, their, ANSWERS), (our, their)


@pytest.mark.parametrize("problem", DERIVED, ids=[problem.name for problem in DERIVED])
def test_milopt_finds_the_derived_optimum(problem: PeerProblem) -> None:
    assert problem.derived is not None
    result, *_ = problem.milopt()
    assert result.objective == pytest.approx(problem.derived(), rel=OBJECTIVE, abs=0.0)


def agree(ours: object, theirs: object, tolerance: float) -> bool:
    """Return True if numbers differ by little, relative to the largest of them."""
    a, b = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    if not np.isfinite(b).all():
        return bool((a == b).all())
    return bool(np.abs(a - b).max() <= tolerance * max(1.0, np.abs(b).max()))


def assert_known(known: str, result: milopt.Result) -> None:
    """Check the status or the optimum that a page states; its last digit may be off by one."""
    if known in ("infeasible", "unbounded"):
        assert result.termination == known
    else:
        exponent = Decimal(known).as_tuple().exponent
        assert isinstance(exponent, int)
        assert abs(result.objective - float(known)) <= 10.0**exponent + OBJECTIVE * abs(float(known))


def test_there_are_enough_problems_and_few_of_them_are_rewritten() -> None:
    assert len({problem.name for problem in PROBLEMS}) == len(PROBLEMS)
    assert sum(problem.is_documented for problem in PROBLEMS) >= 100
    assert sum(bool(problem.rewritten) for problem in PROBLEMS) <= 0.05 * len(PROBLEMS)


def test_every_documented_problem_has_an_answer_that_is_neither_of_milopt_nor_of_cvxpy() -> None:
    documented = [problem for problem in PROBLEMS if problem.is_documented]
    assert [problem.name for problem in documented if not problem.has_answer] == []
    assert sum(problem.has_answer for problem in documented) >= 100


def test_every_derivation_belongs_to_a_problem() -> None:
    names = {(problem.family, problem.name) for problem in PROBLEMS}
    unused = [(family, name) for family in FAMILIES for name in derived_values(family) if (family, name) not in names]
    assert unused == []
