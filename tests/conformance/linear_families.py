"""Linear programs: planted, degenerate, badly scaled, tall, empty, infeasible, unbounded."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from milopt import Program, bag_max
from tests.conformance.family import INFEASIBLE, LP, UNBOUNDED, Expected, family, some_bags
from tests.conformance.planted import planted


@family("lp", LP)
def _lp() -> Expected:
    plan = planted(1)
    return Expected(plan.declare("lp"), plan.objective, {"x": plan.x}, plan.duals)


@family("lp, maximised", LP)
def _lp_maximised() -> Expected:
    plan = planted(2)
    return Expected(plan.declare("lp", maximize=True), -plan.objective, {"x": plan.x}, plan.duals)


@family("lp, one row", LP)
def _lp_one_row() -> Expected:
    program = Program("one row")
    x = program.variable("x", 3, lower=0)
    program.minimize(np.array([3.0, 1.0, 2.0]) @ x)
    program.subject_to(x.sum() >= 2, name="total")
    return Expected(program, 2.0, {"x": np.array([0.0, 2.0, 0.0])}, {"total": np.array(1.0)})


@family("lp, no rows", LP)
def _lp_no_rows() -> Expected:
    program = Program("no rows")
    x = program.variable("x", 3, lower=-1, upper=[4, 5, 6])
    program.minimize(np.array([1.0, -2.0, 3.0]) @ x + 2)
    return Expected(program, -12.0, {"x": np.array([-1.0, 5.0, -1.0])})


@family("lp, empty blocks", LP)
def _lp_empty_blocks() -> Expected:
    plan = planted(3)
    program = plan.declare("empty blocks")
    nothing = program.variable("nothing", 0, lower=0)
    program.subject_to(nothing >= 0, name="nobody")
    program.subject_to(np.zeros((0, plan.q.size)) @ program.variables["x"] == np.zeros(0), name="no equations")
    return Expected(
        program, plan.objective, {"x": plan.x, "nothing": np.zeros(0)}, {**plan.duals, "nobody": np.zeros(0)}
    )


@family("lp, degenerate", LP)
def _lp_degenerate() -> Expected:
    cost = np.random.default_rng(7).integers(1, 30, size=(5, 5)).astype(float)
    program = Program("assignment")
    x = program.variable("x", 25, lower=0)
    program.minimize(cost.ravel() @ x)
    program.subject_to(np.kron(np.eye(5), np.ones(5)) @ x == 1, name="workers")
    program.subject_to(np.kron(np.ones(5), np.eye(5)) @ x == 1, name="jobs")
    return Expected(program, float(cost[linear_sum_assignment(cost)].sum()))


@family("lp, rows scaled by 1e6", LP)
def _lp_rows_scaled() -> Expected:
    plan = planted(4, row_scale=(1.0, 1e6))
    return Expected(plan.declare("rows scaled"), plan.objective, {"x": plan.x}, plan.duals)


@family("lp, columns scaled by 1e6", LP)
def _lp_columns_scaled() -> Expected:
    plan = planted(5, column_scale=(1.0, 1e6))
    return Expected(plan.declare("columns scaled"), plan.objective, {"x": plan.x})


@family("lp, 5000 rows", LP)
def _lp_tall() -> Expected:
    plan = planted(6, columns=12, active=(4, 3, 1), idle=2496)
    return Expected(plan.declare("5000 rows"), plan.objective, {"x": plan.x}, plan.duals)


@family("lp, maxima of bags", LP)
def _lp_maxima() -> Expected:
    """min sum_i max_{x in B_i} (x - c) is a sum of maxima of numbers once w is fixed by its bounds."""
    bags = some_bags()
    program = Program("maxima of bags")
    w = program.variable("w", 2, lower=1, upper=1)
    shift = program.variable("shift", len(bags), lower=0)
    program.minimize(bag_max(bags.instances @ w - 0.25, bags).sum() + shift.sum())
    program.subject_to(bag_max(bags.instances @ w, bags) <= 1 + shift, name="cap")
    scores = bags.max(bags.instances.sum(axis=1))
    excess = np.maximum(scores - 1, 0)
    return Expected(
        program,
        float((scores - 0.25).sum() + excess.sum()),
        {"shift": np.asarray(excess, dtype=np.float64)},
        {"cap": (excess > 0).astype(np.float64)},
    )


@family("lp, infeasible", LP, INFEASIBLE, "ceiling")
def infeasible() -> Expected:
    program = Program("infeasible")
    x = program.variable("x", 2, lower=0)
    program.minimize(x.sum())
    program.subject_to(x[0] - x[1] >= -5, name="innocent")
    program.subject_to(x.sum() <= -1, name="ceiling")
    return Expected(program)


@family("lp, unbounded", LP, UNBOUNDED, "runaway")
def unbounded() -> Expected:
    program = Program("unbounded")
    x = program.variable("runaway", 2, lower=0)
    kept = program.variable("kept", lower=0, upper=1)
    program.minimize(-x.sum() + kept)
    program.subject_to(x[0] - x[1] <= 1, name="tilt")
    return Expected(program)
