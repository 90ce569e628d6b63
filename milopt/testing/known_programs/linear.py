"""Linear programs: with planted optima, degenerate, badly scaled, tall, empty, infeasible, unbounded."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from milopt import Program, bag_max
from milopt.testing.known_programs.known_program import (
    INFEASIBLE,
    LP,
    UNBOUNDED,
    ProgramWithAnswer,
    register_known_program,
    small_bags,
)
from milopt.testing.known_programs.planted import plant_program


@register_known_program("lp", LP)
def _build_lp() -> ProgramWithAnswer:
    plan = plant_program(1)
    return ProgramWithAnswer(plan.declare("lp"), plan.objective, {"x": plan.x}, plan.duals)


@register_known_program("lp, maximised", LP)
def _build_lp_maximised() -> ProgramWithAnswer:
    plan = plant_program(2)
    return ProgramWithAnswer(plan.declare("lp", maximize=True), -plan.objective, {"x": plan.x}, plan.duals)


@register_known_program("lp, one row", LP)
def _build_lp_one_row() -> ProgramWithAnswer:
    program = Program("one row")
    x = program.variable("x", 3, lower=0)
    program.minimize(np.array([3.0, 1.0, 2.0]) @ x)
    program.subject_to(x.sum() >= 2, name="total")
    return ProgramWithAnswer(program, 2.0, {"x": np.array([0.0, 2.0, 0.0])}, {"total": np.array(1.0)})


@register_known_program("lp, no rows", LP)
def _build_lp_no_rows() -> ProgramWithAnswer:
    program = Program("no rows")
    x = program.variable("x", 3, lower=-1, upper=[4, 5, 6])
    program.minimize(np.array([1.0, -2.0, 3.0]) @ x + 2)
    return ProgramWithAnswer(program, -12.0, {"x": np.array([-1.0, 5.0, -1.0])})


@register_known_program("lp, empty blocks", LP)
def _build_lp_empty_blocks() -> ProgramWithAnswer:
    plan = plant_program(3)
    program = plan.declare("empty blocks")
    nothing = program.variable("nothing", 0, lower=0)
    program.subject_to(nothing >= 0, name="empty rows")
    program.subject_to(np.zeros((0, plan.q.size)) @ program.variables["x"] == np.zeros(0), name="no equations")
    return ProgramWithAnswer(
        program, plan.objective, {"x": plan.x, "nothing": np.zeros(0)}, {**plan.duals, "empty rows": np.zeros(0)}
    )


@register_known_program("lp, degenerate", LP)
def _build_lp_degenerate() -> ProgramWithAnswer:
    cost = np.random.default_rng(7).integers(1, 30, size=(5, 5)).astype(float)
    program = Program("assignment")
    x = program.variable("x", 25, lower=0)
    program.minimize(cost.ravel() @ x)
    program.subject_to(np.kron(np.eye(5), np.ones(5)) @ x == 1, name="workers")
    program.subject_to(np.kron(np.ones(5), np.eye(5)) @ x == 1, name="jobs")
    return ProgramWithAnswer(program, float(cost[linear_sum_assignment(cost)].sum()))


@register_known_program("lp, rows scaled by 1e6", LP)
def _build_lp_rows_scaled() -> ProgramWithAnswer:
    plan = plant_program(4, row_scale=(1.0, 1e6))
    return ProgramWithAnswer(plan.declare("rows scaled"), plan.objective, {"x": plan.x}, plan.duals)


@register_known_program("lp, columns scaled by 1e6", LP)
def _build_lp_columns_scaled() -> ProgramWithAnswer:
    plan = plant_program(5, column_scale=(1.0, 1e6))
    return ProgramWithAnswer(plan.declare("columns scaled"), plan.objective, {"x": plan.x})


@register_known_program("lp, 5000 rows", LP)
def _build_lp_tall() -> ProgramWithAnswer:
    plan = plant_program(6, columns=12, active=(4, 3, 1), idle=2496)
    return ProgramWithAnswer(plan.declare("5000 rows"), plan.objective, {"x": plan.x}, plan.duals)


@register_known_program("lp, equations only", LP)
def _build_lp_equations() -> ProgramWithAnswer:
    """Build a program whose rows are a square system of equations with free variables, which has one solution."""
    rng = np.random.default_rng(8)
    E, point = rng.normal(size=(4, 4)), np.array([1.0, -2.0, 0.5, 3.0])
    multipliers = np.array([1.0, -1.0, 2.0, 0.5])
    program = Program("equations only")
    x = program.variable("x", 4)
    program.minimize((E.T @ multipliers) @ x)
    program.subject_to(E @ x == E @ point, name="system")
    return ProgramWithAnswer(program, float(multipliers @ E @ point), {"x": point}, {"system": multipliers})


@register_known_program("lp, free variables", LP)
def _build_lp_free() -> ProgramWithAnswer:
    """Build a program with free variables that have both signs (and 0) at the optimal vertex."""
    rng = np.random.default_rng(9)
    A, point, multipliers = rng.normal(size=(3, 3)), np.array([-4.0, 0.0, 5.0]), np.array([1.0, 2.0, 0.5])
    program = Program("free variables")
    x = program.variable("x", 3)
    program.minimize((A.T @ multipliers) @ x)
    program.subject_to(A @ x >= A @ point, name="rows")
    return ProgramWithAnswer(program, float(multipliers @ A @ point), {"x": point}, {"rows": multipliers})


@register_known_program("lp, rows without coefficients", LP)
def _build_lp_empty_rows() -> ProgramWithAnswer:
    """Build a program with the empty rows 0 >= -1 and 0 = 0, which always hold."""
    program = Program("rows without coefficients")
    x = program.variable("x", 2, lower=0)
    program.minimize(x.sum())
    program.subject_to(np.array([[0.0, 0.0], [1.0, 2.0]]) @ x >= np.array([-1.0, 2.0]), name="rows")
    program.subject_to(np.array([[0.0, 0.0], [1.0, -1.0]]) @ x == np.array([0.0, -1.0]), name="equations")
    return ProgramWithAnswer(program, 1.0, {"x": np.array([0.0, 1.0])})


@register_known_program("lp, fixed variables", LP)
def _build_lp_fixed() -> ProgramWithAnswer:
    program = Program("fixed variables")
    x = program.variable("x", 3, lower=[1, 0, -2], upper=[1, 5, -2])
    program.minimize(np.array([1.0, 1.0, 1.0]) @ x)
    program.subject_to(x.sum() >= 2, name="total")
    return ProgramWithAnswer(program, 2.0, {"x": np.array([1.0, 3.0, -2.0])}, {"total": np.array(1.0)})


@register_known_program("lp, maxima of bags", LP)
def _build_lp_maxima() -> ProgramWithAnswer:
    """Minimise bag maxima plus shifts, where the maximum of a bag is at most 1 plus its shift; bounds fix w."""
    bags = small_bags()
    program = Program("maxima of bags")
    w = program.variable("w", 2, lower=1, upper=1)
    shift = program.variable("shift", len(bags), lower=0)
    program.minimize(bag_max(bags.instances @ w - 0.25, bags).sum() + shift.sum())
    program.subject_to(bag_max(bags.instances @ w, bags) <= 1 + shift, name="cap")
    scores = bags.max(bags.instances.sum(axis=1))
    excess = np.maximum(scores - 1, 0)
    return ProgramWithAnswer(
        program,
        float((scores - 0.25).sum() + excess.sum()),
        {"shift": np.asarray(excess, dtype=np.float64)},
        {"cap": (excess > 0).astype(np.float64)},
    )


@register_known_program("lp, infeasible", LP, INFEASIBLE, "ceiling")
def build_infeasible_lp() -> ProgramWithAnswer:
    """Return a program whose rows contradict each other."""
    program = Program("infeasible")
    x = program.variable("x", 2, lower=0)
    program.minimize(x.sum())
    program.subject_to(x[0] - x[1] >= -5, name="innocent")
    program.subject_to(x.sum() <= -1, name="ceiling")
    return ProgramWithAnswer(program)


@register_known_program("lp, unbounded", LP, UNBOUNDED, "runaway")
def build_unbounded_lp() -> ProgramWithAnswer:
    """Return a program whose objective decreases without limit."""
    program = Program("unbounded")
    x = program.variable("runaway", 2, lower=0)
    kept = program.variable("kept", lower=0, upper=1)
    program.minimize(-x.sum() + kept)
    program.subject_to(x[0] - x[1] <= 1, name="tilt")
    return ProgramWithAnswer(program)
