"""Conic programs: balls, distances, Hilbert balls, and optima at the apex of a cone."""

from __future__ import annotations

import numpy as np

from milopt import RBF, Program, norm, sum_squares
from milopt.testing.known_programs.known_program import (
    INFEASIBLE,
    SOCP,
    UNBOUNDED,
    ProgramWithAnswer,
    example_points,
    example_targets,
    rbf_gram,
    register_known_program,
)


@register_known_program("socp, ball", SOCP)
def _build_socp_ball() -> ProgramWithAnswer:
    c, centre, radius = np.array([3.0, -4.0, 12.0]), np.array([1.0, 2.0, -1.0]), 2.0
    program = Program("ball")
    x = program.variable("x", 3)
    program.minimize(c @ x)
    program.subject_to(norm(x - centre) <= radius, name="ball")
    return ProgramWithAnswer(
        program, float(c @ centre) - 13 * radius, {"x": centre - radius * c / 13}, {"ball": np.array(13.0)}
    )


@register_known_program("socp, squared ball", SOCP)
def _build_socp_squared_ball() -> ProgramWithAnswer:
    c = np.array([3.0, -4.0, 12.0])
    program = Program("squared ball")
    x = program.variable("x", 3)
    program.minimize(c @ x)
    program.subject_to(sum_squares(x) <= 4.0, name="ball")
    return ProgramWithAnswer(program, -26.0, {"x": -2 * c / 13}, {"ball": np.array(13.0 / 4)})


@register_known_program("socp, distance", SOCP)
def _build_socp_distance() -> ProgramWithAnswer:
    """Minimise the distance of a point to a half-space."""
    point, normal = np.array([1.0, -2.0, 0.5, 3.0]), np.array([2.0, 1.0, -2.0, 4.0])
    program = Program("distance")
    x = program.variable("x", 4)
    program.minimize(norm(x - point))
    program.subject_to(normal @ x >= 20, name="half-space")
    far = (20 - normal @ point) / 5.0
    return ProgramWithAnswer(program, float(far), {"x": point + far * normal / 5}, {"half-space": np.array(1 / 5)})


@register_known_program("socp, Hilbert ball", SOCP)
def _build_socp_hilbert() -> ProgramWithAnswer:
    X, v = example_points(), example_targets()
    program = Program("Hilbert ball")
    f = program.function("f", RBF(0.7))
    program.maximize(v @ f(X))
    program.subject_to(f.norm() <= 1.5, name="ball")
    length = float(np.sqrt(v @ rbf_gram(X, 0.7) @ v))
    return ProgramWithAnswer(program, 1.5 * length, {}, {"ball": np.array(length)})


@register_known_program("socp, one row", SOCP)
def _build_socp_one_row() -> ProgramWithAnswer:
    program = Program("one row")
    x = program.variable("x", 2)
    t = program.variable("t", upper=5)
    program.minimize(x[0] + 0 * t)
    program.subject_to(norm(x) <= t, name="cone")
    return ProgramWithAnswer(program, -5.0, {"x": np.array([-5.0, 0.0])}, {"cone": np.array(1.0)})


@register_known_program("socp, apex", SOCP)
def _build_socp_apex() -> ProgramWithAnswer:
    """Build a program whose optimum is the apex of the cone, where the multipliers are not unique."""
    program = Program("apex")
    x, t = program.variable("x", 3), program.variable("t")
    program.minimize(2 * t + x.sum())
    program.subject_to(norm(x) <= t, name="cone")
    return ProgramWithAnswer(program, 0.0)


@register_known_program("socp, scaled by 1e6", SOCP)
def _build_socp_scaled() -> ProgramWithAnswer:
    c, scales = np.array([3.0, -4.0, 12.0]), np.array([1.0, 1e3, 1e6])
    program = Program("scaled ball")
    x = program.variable("x", 3)
    program.minimize((c / scales) @ x)
    program.subject_to(norm(x / scales) <= 2, name="ball")
    return ProgramWithAnswer(program, -26.0, {}, {"ball": np.array(13.0)})


@register_known_program("socp, 5000 rows", SOCP)
def _build_socp_tall() -> ProgramWithAnswer:
    rng = np.random.default_rng(31)
    c, A = np.array([3.0, -4.0, 12.0]), rng.normal(size=(5000, 3))
    program = Program("ball among 5000 rows")
    x = program.variable("x", 3)
    program.minimize(c @ x)
    program.subject_to(norm(x) <= 2, name="ball")
    program.subject_to(A @ x <= 2 * np.linalg.norm(A, axis=1) + 0.1, name="idle")
    return ProgramWithAnswer(program, -26.0, {"x": -2 * c / 13}, {"ball": np.array(13.0), "idle": np.zeros(5000)})


@register_known_program("socp, infeasible", SOCP, INFEASIBLE, "far")
def _build_socp_infeasible() -> ProgramWithAnswer:
    program = Program("infeasible ball")
    x = program.variable("x", 2)
    program.minimize(x.sum())
    program.subject_to(norm(x) <= 1, name="ball")
    program.subject_to(x[0] >= 2, name="far")
    return ProgramWithAnswer(program)


@register_known_program("socp, unbounded", SOCP, UNBOUNDED, "runaway")
def _build_socp_unbounded() -> ProgramWithAnswer:
    program = Program("unbounded cone")
    x, t = program.variable("x", 2), program.variable("runaway")
    program.minimize(x[0] - t)
    program.subject_to(norm(x) <= t, name="cone")
    return ProgramWithAnswer(program)
