"""Exact searches by SCIP agree with HiGHS, with branching over witnesses, and with enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import milopt
from milopt import RBF, Linear, Program, as_bags, bag_max, norm1, sum_squares
from milopt.compilation.sides import maxima_on_other_side
from milopt.compilation.status import PointStatus, Termination
from milopt.outcome.result import Result
from milopt.schemes.branch_and_bound import BranchAndBound
from milopt.schemes.ceilings import CUTOFF_MARGIN, wide_ranges, with_objective_cutoff
from milopt.solving.clock import Clock

pytest.importorskip("pyscipopt", reason="an extra")


def mi_svm(seed: int, kernel: milopt.Kernel) -> Program:
    rng = np.random.default_rng(seed)
    bags = as_bags([rng.normal(size=(int(rng.integers(1, 4)), 2)) for _ in range(6)])
    y = np.where(np.arange(6) % 2 == 0, 1.0, -1.0)
    program = Program("MI-SVM")
    f, b = program.function("f", kernel), program.variable("b")
    slack = program.variable("slack", 6, lower=0)
    program.minimize(0.5 * f.norm_squared() + slack.sum())
    program.subject_to(y * (bag_max(f(bags)) + b) >= 1 - slack, name="margin")
    return program


def largest_maxima(seed: int) -> Program:
    """Return a linear DC program, for which HiGHS and SCIP solve the same MILP."""
    rng = np.random.default_rng(seed)
    bags = as_bags([rng.normal(size=(3, 2)) for _ in range(4)])
    program = Program("maxima")
    w = program.variable("w", 2, lower=-2, upper=2)
    program.maximize(bag_max(bags.instances @ w, bags).sum() - w.sum())
    program.subject_to(norm1(w) <= 1.5, name="ball")
    program.subject_to(bag_max(bags.instances @ w, bags)[:2] >= 0.1, name="some")
    return program


@pytest.fixture
def no_branching(monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_error(*_: object) -> None:
        raise AssertionError("milopt branched over witnesses itself")

    monkeypatch.setattr(BranchAndBound, "search", raise_error)


def check(result: Result, objective: float) -> None:
    assert (result.termination, result.point) == (Termination.OPTIMAL, PointStatus.CERTIFIED), str(result)
    assert result.solver == "scip"
    assert result.scheme == "exact"
    assert result.objective == pytest.approx(objective, rel=3e-6, abs=3e-6)
    assert result.bound == pytest.approx(objective, rel=3e-6, abs=3e-6)
    assert result.objective == pytest.approx(float(result.value(result.program.objective)), rel=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_linear_programs_have_the_same_optimum_as_with_highs(seed: int, no_branching: None) -> None:
    expected = milopt.solve(largest_maxima(seed), "highs", scheme="exact").require_certified()
    check(milopt.solve(largest_maxima(seed), "scip", scheme="exact"), expected.objective)


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_mi_svm_is_a_mixed_integer_qp(seed: int, kernel: milopt.Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    program = mi_svm(seed, kernel)
    expected = milopt.solve(program, "clarabel", scheme="exact").require_certified()
    monkeypatch.setattr(BranchAndBound, "search", None)
    result = milopt.solve(program, "scip", scheme="exact")
    check(result, expected.objective)
    assert result.message == f"The program with these witnesses fixed was solved by {_step_solver(program)}."
    assert result.value(program.constraints["margin"].expression).min() >= -1e-6


def test_mi_svm_agrees_with_enumeration(no_branching: None) -> None:
    """Each choice of witnesses leaves a QP, written here without any maximum on its other side."""
    rng = np.random.default_rng(7)
    positive, negative = rng.normal(size=(3, 2, 2)), rng.normal(size=(3, 2, 2))
    bags = as_bags([*positive, *negative])
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    program = Program("linear MI-SVM")
    w, b, slack = program.variable("w", 2), program.variable("b"), program.variable("slack", 6, lower=0)
    program.minimize(0.5 * sum_squares(w) + 2 * slack.sum())
    program.subject_to(y * (bag_max(bags.instances @ w, bags) + b) >= 1 - slack, name="margin")
    best = np.inf
    for choice in product(range(2), repeat=3):
        chosen = positive[np.arange(3), list(choice)]
        fixed = Program("fixed")
        v, a, room = fixed.variable("w", 2), fixed.variable("b"), fixed.variable("slack", 6, lower=0)
        fixed.minimize(0.5 * sum_squares(v) + 2 * room.sum())
        fixed.subject_to(chosen @ v + a >= 1 - room[:3], name="positive")
        fixed.subject_to(negative.reshape(6, 2) @ v + a <= np.repeat(np.eye(3), 2, axis=0) @ room[3:] - 1, name="neg")
        best = min(best, milopt.solve(fixed, "clarabel").require_certified().objective)
    check(milopt.solve(program, "scip", scheme="exact"), best)


@pytest.mark.parametrize("seed", range(3))
def test_values_inside_maxima_are_bounded_by_the_objective_cutoff(seed: int) -> None:
    program = mi_svm(seed, RBF(0.5))
    known = milopt.solve(program, "clarabel", scheme="ccp")
    best = milopt.solve(program, "clarabel", scheme="exact").require_certified()
    better = with_objective_cutoff(program, known)
    row = better.constraints["no worse"].expression
    assert known.value(row) == pytest.approx(CUTOFF_MARGIN * (1 + known.objective), rel=1e-6)
    (maximum,) = maxima_on_other_side(program, "exact")
    solver, options = milopt.get_solver("clarabel"), milopt.Options()
    ((low, high),) = wide_ranges(better, [maximum], solver, options, Clock(None)).values()
    inside = best.value(maximum.argument)
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()
    assert (low < inside).all()
    assert (inside < high).all()


def test_time_limit_keeps_a_feasible_point() -> None:
    rng = np.random.default_rng(1)
    bags = as_bags([rng.normal(size=(8, 5)) for _ in range(60)])
    y = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
    program = Program("hard")
    w, b, slack = program.variable("w", 5), program.variable("b"), program.variable("slack", 60, lower=0)
    program.minimize(0.5 * sum_squares(w) + 10 * slack.sum())
    program.subject_to(y * (bag_max(bags.instances @ w, bags) + b) >= 1 - slack, name="margin")
    result = milopt.solve(program, "scip", scheme="exact", time_limit=3.0)
    assert result.termination is Termination.LIMIT
    assert result.solver in ("scip", _step_solver(program))
    assert result.point is not PointStatus.CERTIFIED
    assert result.bound is None or result.bound <= result.objective
    if result.values:
        assert result.value(program.constraints["margin"].expression).min() >= -1e-5


def test_point_of_the_convex_concave_procedure_is_kept_if_a_search_finds_no_better_one() -> None:
    program = mi_svm(0, RBF(0.5))
    known = milopt.solve(program, "clarabel", scheme="ccp").require_certified()
    result = milopt.solve(program, "scip", scheme="exact", extra={"limits/solutions": 1, "presolving/maxrounds": 0})
    assert (result.termination, result.point) == (Termination.LIMIT, PointStatus.FEASIBLE)
    assert result.solver == "scip"
    assert result.objective == pytest.approx(known.objective, rel=1e-6)
    assert result.bound is not None
    assert result.bound < result.objective


def test_infeasible_program_is_proved_infeasible() -> None:
    rng = np.random.default_rng(2)
    bags = as_bags([rng.normal(size=(2, 2)) for _ in range(2)])
    program = Program("out of reach")
    w = program.variable("w", 2, lower=-1, upper=1)
    program.minimize(sum_squares(w))
    program.subject_to(bag_max(bags.instances @ w, bags) >= 100, name="far")
    assert milopt.solve(program, "scip", scheme="exact").termination is Termination.INFEASIBLE


def _step_solver(program: Program) -> str:
    from milopt.schemes.automatic import automatic_solver

    return automatic_solver(program).name
