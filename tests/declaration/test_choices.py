"""Semicontinuous variables and conditional constraints agree with brute force over all choices."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import highspy
import numpy as np
import pytest
from scipy.optimize import linprog

import milopt
from milopt import Program
from milopt.compilation.features import Feature
from milopt.errors import DeclarationError
from milopt.solving import registry
from tests.conformance.solvers_under_test import solver_names

INTEGER = [name for name in solver_names() if Feature.INTEGER in registry.get_solver(name).features]


def test_some_solver_supports_integers() -> None:
    assert "highs" in INTEGER


def _semicontinuous_optimum(q: np.ndarray, A: np.ndarray, b: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Return min q'x  s.t.  A x >= b,  x_j = 0 or low_j <= x_j <= high_j, by trying all choices."""
    best = np.inf
    for active in product((0.0, 1.0), repeat=q.size):
        bounds = np.column_stack([low, high]) * np.array(active)[:, None]
        reference = linprog(q, A_ub=-A, b_ub=-b, bounds=bounds)
        best = min(best, reference.fun if reference.status == 0 else np.inf)
    return best


@pytest.mark.parametrize("solver", INTEGER)
@pytest.mark.parametrize("seed", range(4))
def test_semicontinuous_variables_are_zero_or_between_their_bounds(seed: int, solver: str) -> None:
    generator = np.random.default_rng(seed)
    low, high = generator.uniform(1, 3, 5), generator.uniform(3, 6, 5)
    # One variable lies below 0, and 0 lies between the bounds of another.
    low[3], high[3], low[4] = -6.0, -2.0, -1.0
    q, A = generator.uniform(0.5, 2, 5), generator.uniform(0, 1, (3, 5))
    b = A @ np.array([2.0, 0.5, 0.0, -2.5, 0.5])
    program = Program("semicontinuous")
    x = program.variable("x", 5, lower=low, upper=high, semicontinuous=True)
    program.minimize(q @ x)
    program.subject_to(A @ x >= b, name="demand")
    result = milopt.solve(program, solver)
    assert result.termination == "optimal"
    assert result.point == "certified"
    assert result.objective == pytest.approx(_semicontinuous_optimum(q, A, b, low, high), abs=1e-6)
    assert x.active is not None
    values, active = result.values[x], result.values[x.active]
    assert np.where(active > 0.5, (values >= low - 1e-6) & (values <= high + 1e-6), np.abs(values) <= 1e-6).all()
    assert (result.value(program.constraints["x.range"]) >= -1e-6).all()


def test_a_semicontinuous_variable_may_be_scalar_and_integer() -> None:
    program = Program()
    x = program.variable("x", lower=2.5, upper=7, semicontinuous=True, integer=True)
    program.minimize(x)
    program.subject_to(x >= 1)
    result = milopt.solve(program, "highs")
    assert float(result.values["x"]) == pytest.approx(3.0)
    assert float(result.values["x.active"]) == pytest.approx(1.0)
    assert repr(program.constraints["x.range"]) == "2.5*x.active <= x <= 7*x.active"


@pytest.mark.parametrize(
    "settings",
    [{"lower": 1}, {"upper": 3}, {"lower": [1, -np.inf], "upper": 5}, {"lower": 0, "upper": 1, "binary": True}, {}],
)
def test_a_semicontinuous_variable_without_finite_bounds_raises_an_error(settings: dict[str, object]) -> None:
    program = Program()
    with pytest.raises(DeclarationError, match="'x' is semicontinuous: give finite bounds"):
        program.variable("x", 2, semicontinuous=True, **settings)  # type: ignore[arg-type]
    assert not program.variables


def test_a_semicontinuous_variable_raises_an_error_if_its_names_are_used() -> None:
    program = Program()
    program.variable("x.active")
    with pytest.raises(DeclarationError, match=r"'x\.active' is taken"):
        program.variable("x", lower=1, upper=2, semicontinuous=True)
    assert list(program.variables) == ["x.active"]


def _implied_optimum(q: np.ndarray, cost: np.ndarray, A: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Return the optimum of the conditional program by trying all b.

    min q'x + cost'b,  -2 <= x <= 3,  if b_i = 1 then low_i <= A_i x <= high_i,  if b = 0 then sum x = 1
    """
    best = np.inf
    for chosen in product((False, True), repeat=cost.size):
        on = np.array(chosen)
        equations = None if on.any() else np.ones((1, q.size))
        reference = linprog(
            q,
            A_ub=np.vstack([A[on], -A[on]]),
            b_ub=np.concatenate([high[on], -low[on]]),
            A_eq=equations,
            b_eq=None if equations is None else [1.0],
            bounds=[(-2, 3)] * q.size,
        )
        best = min(best, reference.fun + cost @ on if reference.status == 0 else np.inf)
    return best


@pytest.mark.parametrize("solver", INTEGER)
@pytest.mark.parametrize("seed", range(4))
def test_conditional_rows_hold_if_their_condition_is_one(seed: int, solver: str) -> None:
    generator = np.random.default_rng(seed)
    q, cost, A = generator.normal(size=3), -generator.uniform(0, 2, 4), generator.normal(size=(4, 3))
    low, high = generator.uniform(-1, 0, 4), generator.uniform(0, 1, 4)
    program = Program("implied")
    x, b = program.variable("x", 3, lower=-2, upper=3), program.variable("b", 4, binary=True)
    none = program.variable("none", binary=True)
    program.minimize(q @ x + cost @ b)
    program.implies(b, A @ x >= low, name="above")
    program.implies(b, A @ x <= high, name="below")
    program.implies(none, x.sum() == 1, name="sum")
    # `none` is 1 if no other condition is chosen.
    program.subject_to(none >= 1 - b.sum())
    program.implies(none, b.sum() <= 0)
    result = milopt.solve(program, solver)
    assert result.point == "certified"
    assert result.objective == pytest.approx(_implied_optimum(q, cost, A, low, high), abs=1e-6)


def test_conditions_and_rows_broadcast() -> None:
    program = Program()
    x, b = program.variable("x", 3, lower=0, upper=[1, 2, 3]), program.variable("b", 3, binary=True)
    assert program.implies(b[0], x <= 0.5, name="one for all").shape == (3,)
    assert program.implies(b, x.sum() <= 0.5, name="all for one").shape == (3,)
    assert program.implies(1 - b, x == [0.5, 1, 2], name="equations").shape == (3,)
    absent = program.implies(b, x <= [0.5, np.inf, 0.25], name="absent")
    assert absent.shape == (3,)
    assert absent.expression.size == 2
    program.maximize(x.sum() + 10 * b[0] - 5 * b[1:].sum())
    result = milopt.solve(program, "highs")
    best = max(
        _broadcast_optimum(np.array(chosen)) + 10 * chosen[0] - 5 * sum(chosen[1:])
        for chosen in product((0, 1), repeat=3)
    )
    assert result.objective == pytest.approx(best, abs=1e-6)
    assert result.value(absent)[1] == np.inf


def _broadcast_optimum(b: np.ndarray) -> float:
    upper = np.array([1.0, 2.0, 3.0])
    if b[0]:
        upper = np.minimum(upper, 0.5)
    upper = np.where(b == 1, np.minimum(upper, [0.5, np.inf, 0.25]), upper)
    fixed = np.array([0.5, 1.0, 2.0])
    if (fixed[b == 0] > upper[b == 0]).any():
        return -np.inf
    bounds = [(f, f) if not on else (0.0, u) for f, on, u in zip(fixed, b, upper, strict=True)]
    rows = {"A_ub": np.ones((1, 3)), "b_ub": [0.5]} if b.any() else {}
    reference = linprog(-np.ones(3), bounds=bounds, **rows)
    return -reference.fun if reference.status == 0 else -np.inf


@pytest.mark.parametrize(
    ("atom", "largest"),
    [
        (milopt.norm, np.sqrt(4 + 9 + 1)),
        (milopt.norm1, 6.0),
        (milopt.norm_inf, 3.0),
        (milopt.sum_squares, 14.0),
        (lambda e: milopt.quad_form(e, np.diag([1.0, 2.0, 3.0])), 4 + 18 + 3),
        (lambda e: milopt.sum_largest(e, 2), 3.0),
        (lambda e: milopt.log_sum_exp(e), np.log(np.exp(1) + np.exp(2) + np.exp(1))),
        (lambda e: milopt.huber(e).sum(), 1.5 + 2.5 + 0.5),
        (lambda e: milopt.huber(-e).sum(), 1.5 + 2.5 + 0.5),
    ],
)
def test_big_m_constant_is_the_largest_value_of_the_atom(atom: object, largest: float) -> None:
    """Check with -2 <= x_0 <= 1, -3 <= x_1 <= 2, -1 <= x_2 <= 1."""
    program = Program()
    x = program.variable("x", 3, lower=[-2, -3, -1], upper=[1, 2, 1])
    b = program.variable("b", binary=True)
    row = program.implies(b, atom(x) <= 1, name="rows")  # type: ignore[operator]
    # 1 - atom >= (1 - largest) (1 - b).
    assert row.expression.constant[0] == pytest.approx(1.0 - min(1.0 - largest, 0.0), rel=1e-12)
    corners = np.array(list(product([-2.0, 1.0], [-3.0, 2.0], [-1.0, 1.0])))
    worst = min(_row_value(row, x, b, corner) for corner in corners)
    assert worst >= -1e-9


def _row_value(row: object, x: object, b: object, corner: np.ndarray) -> float:
    """Return the value of the row at a corner with b = 0."""

    def value(leaf: object) -> np.ndarray:
        if leaf is x:
            return corner
        if leaf is b:
            return np.zeros(1)
        return leaf.value(leaf.argument.evaluate(value), leaf.segments)  # type: ignore[attr-defined]

    return float(row.expression.evaluate(value)[0])  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda p, x, b, z, q: p.implies(b[0], z <= 3), "z has no finite upper bound: declare it with upper="),
        (lambda p, x, b, z, q: p.implies(b[0], z >= 3), "z has no finite lower bound"),
        (lambda p, x, b, z, q: p.implies(b[0], x[0] - 2 * z >= 3), "z has no finite upper bound"),
        (lambda p, x, b, z, q: p.implies(b[0], milopt.norm(x + z) <= 3), "z has no finite lower bound"),
        (lambda p, x, b, z, q: p.implies(b[0], x[0] <= q), "parameter 'q' may change them"),
        (lambda p, x, b, z, q: p.implies(x, x <= 3), "x, which is not a variable with binary=True"),
        (lambda p, x, b, z, q: p.implies(b == 1, x <= 3), r"program\.implies\(b, x <= 3\) for b == 1"),
        (lambda p, x, b, z, q: p.implies(b.sum(), x <= 3), "may have values other than 0 and 1"),
        (lambda p, x, b, z, q: p.implies(0.5 * b, x <= 3), "may have values other than 0 and 1"),
        (lambda p, x, b, z, q: p.implies(True, x <= 3), "a binary variable b or 1 - b, not True"),
        (lambda p, x, b, z, q: p.implies(b[0], x), "must be a comparison"),
        (lambda p, x, b, z, q: p.implies(b, p.function("f", milopt.Linear())(np.eye(2)) <= 3), "no known upper bound"),
    ],
)
def test_conditions_and_rows_without_known_bounds_raise_an_error(declare: object, message: str) -> None:
    program = Program()
    x, b = program.variable("x", 2, lower=-1, upper=1), program.variable("b", 2, binary=True)
    z, q = program.variable("z"), program.parameter("q")
    q.value = 1.0
    with pytest.raises(DeclarationError, match=message):
        declare(program, x, b, z, q)  # type: ignore[operator]
    assert not program.constraints


def test_new_columns_cannot_enter_a_conditional_row() -> None:
    program = Program()
    x, b = program.variable("x", lower=0, upper=5), program.variable("b", binary=True)
    program.implies(b, x <= 1, name="rows")
    with milopt.Session(program, "highs") as session, pytest.raises(DeclarationError, match="hold under a condition"):
        session.variable("y", 1, rows={"rows": [1.0]})


def _choices() -> Program:
    program = Program("choices")
    x = program.variable("x", 2, lower=[1, 2], upper=4, semicontinuous=True)
    b = program.variable("b", 2, binary=True)
    program.maximize(x.sum() - 3 * b.sum())
    program.implies(1 - b, x <= 3, name="small")
    program.between(-1, x[0] - x[1], 0.5, name="near")
    return program


def test_conditional_constraints_are_displayed_and_exported(tmp_path: Path) -> None:
    program = _choices()
    expected = milopt.solve(program, "highs").objective
    assert expected == pytest.approx(6.0)
    for writer, suffix in ((program.to_lp, "lp"), (program.to_mps, "mps")):
        path = tmp_path / f"choices.{suffix}"
        writer(path)
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.readModel(str(path))
        highs.run()
        assert abs(highs.getInfo().objective_function_value) == pytest.approx(expected)
    assert "INT" in program.to_cbf()
    problem = program.to_cvxpy()
    problem.solve(solver="HIGHS")
    assert abs(problem.value) == pytest.approx(expected)
    latex, summary = program.to_latex(), program.summary()
    assert r"1 - b_{i} = 1 \implies x_{i} \leq 3" in latex
    assert (
        r"a^{\mathrm{x.range},\mathrm{x.active}}_{i} \mathrm{x.active}_{i} \leq x_{i} \leq 4 \mathrm{x.active}_{i}"
        in latex
    )
    assert r"-1 \leq " in latex
    assert "two sides" in summary
    assert "MILP" in summary


@pytest.mark.parametrize("solver", INTEGER)
@pytest.mark.parametrize("seed", range(3))
def test_conditional_rows_with_polyhedral_atoms(seed: int, solver: str) -> None:
    """Compare with brute force over b.

    max q'x + gain b,  |x| <= 3,  b = 1 implies ||x||_1 <= 2,  b = 0 implies ||x - 1||_inf <= 1/2
    """
    q, gain = np.random.default_rng(seed).normal(size=3), 2.0
    program = Program("atoms")
    x, b = program.variable("x", 3, lower=-3, upper=3), program.variable("b", binary=True)
    program.maximize(q @ x + gain * b)
    program.implies(b, milopt.norm1(x) <= 2, name="diamond")
    program.implies(1 - b, milopt.norm_inf(x - 1) <= 0.5, name="box")
    result = milopt.solve(program, solver)
    best = max(gain + 2 * np.abs(q).max(), q.sum() + 0.5 * np.abs(q).sum())
    assert result.point == "certified"
    assert result.objective == pytest.approx(best, abs=1e-6)
