"""Quadratic programs: definite and singular, boxes, equations, functions of a kernel's space."""

from __future__ import annotations

import numpy as np

from milopt import RBF, Linear, Program, quad_form, sum_squares
from milopt.testing.known_programs import linear
from milopt.testing.known_programs.known_program import (
    INFEASIBLE,
    QP,
    UNBOUNDED,
    ProgramWithAnswer,
    example_points,
    example_targets,
    rbf_gram,
    register_known_program,
)
from milopt.testing.known_programs.planted import plant_program


@register_known_program("qp", QP)
def _build_qp() -> ProgramWithAnswer:
    plan = plant_program(11, rank=8, at_bounds=2)
    return ProgramWithAnswer(plan.declare("qp"), plan.objective, {"x": plan.x}, plan.duals)


@register_known_program("qp, maximised", QP)
def _build_qp_maximised() -> ProgramWithAnswer:
    plan = plant_program(12, rank=8, at_bounds=2)
    return ProgramWithAnswer(plan.declare("qp", maximize=True), -plan.objective, {"x": plan.x}, plan.duals)


@register_known_program("qp, singular P", QP)
def _build_qp_singular() -> ProgramWithAnswer:
    plan = plant_program(13, rank=2)
    return ProgramWithAnswer(plan.declare("singular P"), plan.objective, {"x": plan.x}, plan.duals)


@register_known_program("qp, one row", QP)
def _build_qp_one_row() -> ProgramWithAnswer:
    program = Program("one row")
    x = program.variable("x", 4)
    program.minimize(0.5 * sum_squares(x))
    program.subject_to(x.sum() >= 2, name="total")
    return ProgramWithAnswer(program, 0.5, {"x": np.full(4, 0.5)}, {"total": np.array(0.5)})


@register_known_program("qp, empty blocks", QP)
def _build_qp_empty_blocks() -> ProgramWithAnswer:
    plan = plant_program(14, rank=8, at_bounds=2)
    program = plan.declare("empty blocks")
    nothing = program.variable("nothing", 0)
    program.subject_to(nothing >= 0, name="empty rows")
    return ProgramWithAnswer(program, plan.objective, {"x": plan.x}, plan.duals)


@register_known_program("qp, degenerate", QP)
def _build_qp_degenerate() -> ProgramWithAnswer:
    """Build a program with every >= row and every equation twice: the optimum is unique, the multipliers are not."""
    plan = plant_program(15, rank=8, at_bounds=2)
    program = plan.declare("every row twice")
    program.subject_to(plan.A @ program.variables["x"] >= plan.a, name="again")
    program.subject_to(plan.E @ program.variables["x"] == plan.e, name="equal again")
    return ProgramWithAnswer(program, plan.objective, {"x": plan.x})


@register_known_program("qp, rows scaled by 1e6", QP)
def _build_qp_rows_scaled() -> ProgramWithAnswer:
    plan = plant_program(16, rank=8, at_bounds=2, row_scale=(1.0, 1e6))
    return ProgramWithAnswer(plan.declare("rows scaled"), plan.objective, {"x": plan.x}, plan.duals)


@register_known_program("qp, objective scaled by 1e6", QP)
def _build_qp_objective_scaled() -> ProgramWithAnswer:
    plan = plant_program(17, rank=8, at_bounds=2)
    program = plan.declare("objective scaled")
    program.minimize(1e6 * program.objective)
    return ProgramWithAnswer(program, 1e6 * plan.objective, {"x": plan.x}, {k: 1e6 * z for k, z in plan.duals.items()})


@register_known_program("qp, 5000 rows", QP)
def _build_qp_tall() -> ProgramWithAnswer:
    plan = plant_program(18, columns=12, rank=12, active=(4, 3, 1), at_bounds=2, idle=2496)
    return ProgramWithAnswer(plan.declare("5000 rows"), plan.objective, {"x": plan.x}, plan.duals)


@register_known_program("box qp", QP)
def _build_box_qp() -> ProgramWithAnswer:
    plan = plant_program(19, columns=30, rank=30, active=(0, 0, 0), idle=0, at_bounds=15)
    program = Program("box")
    x = program.variable("x", 30, lower=plan.lower, upper=plan.upper)
    program.minimize(0.5 * quad_form(x, np.asarray(plan.P)) + plan.q @ x)
    return ProgramWithAnswer(program, plan.objective, {"x": plan.x})


@register_known_program("box qp, singular P", QP)
def _build_box_qp_singular() -> ProgramWithAnswer:
    plan = plant_program(20, columns=20, rank=3, active=(0, 0, 0), idle=0, at_bounds=20)
    program = Program("box")
    x = program.variable("x", 20, lower=plan.lower, upper=plan.upper)
    program.minimize(0.5 * quad_form(x, np.asarray(plan.P)) + plan.q @ x)
    return ProgramWithAnswer(program, plan.objective, {"x": plan.x})


@register_known_program("qp, equations only", QP)
def _build_qp_equations() -> ProgramWithAnswer:
    """Minimise 1/2 ||x - c||^2 s.t. E x = e, the projection of c onto an affine subspace."""
    rng = np.random.default_rng(21)
    E, e, c = rng.normal(size=(3, 7)), rng.normal(size=3), rng.normal(size=7)
    program = Program("projection")
    x = program.variable("x", 7)
    program.minimize(0.5 * sum_squares(x - c))
    program.subject_to(E @ x == e, name="plane")
    multiplier = np.linalg.solve(E @ E.T, e - E @ c)
    nearest = c + E.T @ multiplier
    return ProgramWithAnswer(
        program,
        0.5 * float((nearest - c) @ (nearest - c)),
        {"x": np.asarray(nearest, dtype=np.float64)},
        {"plane": np.asarray(multiplier, dtype=np.float64)},
    )


@register_known_program("qp, kernel ridge", QP)
def _build_kernel_ridge() -> ProgramWithAnswer:
    X, y = example_points(), example_targets()
    program = Program("kernel ridge")
    f = program.function("f", RBF(0.7))
    program.minimize(0.5 * 0.3 * f.norm_squared() + 0.5 * sum_squares(f(X) - y))
    a = np.linalg.solve(rbf_gram(X, 0.7) + 0.3 * np.eye(len(X)), y)
    return ProgramWithAnswer(program, 0.5 * 0.3 * float(y @ a))


@register_known_program("qp, separable svm", QP)
def _build_svm() -> ProgramWithAnswer:
    """Build an SVM whose two nearest points of different classes have the distance 2d: its weight has the norm 1/d."""
    X = np.array([[0.5, 0.0], [-0.5, 0.0], [2.0, 1.0], [-3.0, 1.0], [1.0, -4.0], [-1.5, 2.0]])
    y = np.sign(X[:, 0])
    program = Program("svm")
    f, b = program.function("f", Linear()), program.variable("b")
    slack = program.variable("slack", 6, lower=0)
    program.minimize(0.5 * f.norm_squared() + 10 * slack.sum())
    program.subject_to(y * (f(X) + b) >= 1 - slack, name="margin")
    return ProgramWithAnswer(
        program,
        2.0,
        {"slack": np.zeros(6), "b": np.array(0.0)},
        {"margin": np.array([2.0, 2.0, 0.0, 0.0, 0.0, 0.0])},
    )


@register_known_program("qp, infeasible", QP, INFEASIBLE, "ceiling")
def _build_qp_infeasible() -> ProgramWithAnswer:
    expected = linear.build_infeasible_lp()
    expected.program.minimize(sum_squares(expected.program.variables["x"]))
    return expected


@register_known_program("qp, unbounded", QP, UNBOUNDED, "runaway")
def _build_qp_unbounded() -> ProgramWithAnswer:
    expected = linear.build_unbounded_lp()
    x = expected.program.variables["runaway"]
    expected.program.minimize(sum_squares(x[0] - x[1]) - x.sum())
    return expected


@register_known_program("qp, unbounded function", QP, UNBOUNDED, "b")
def _build_qp_unbounded_function() -> ProgramWithAnswer:
    program = Program("unbounded bias")
    f, b = program.function("f", RBF(1.0)), program.variable("b")
    program.minimize(0.5 * f.norm_squared() + b)
    program.subject_to(f(example_points()) + b <= 1, name="cap")
    return ProgramWithAnswer(program)
