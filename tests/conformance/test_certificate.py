"""The certificate, recomputed from its definition, and its change if the point is moved.

With left = P x + q - F'z - r and z >= 0, the largest of each of

    primal = violation_i / (1 + |g_i|)
    dual   = |left_j| / (max(|q_j|, |Px|_j, |F_j|'|z|) + 1e-4 max_k(|q_k|, |Px|_k) + 1e-7), 1e-3 if q_j = 0
    gap    = max(|p - d| + |left|'|x|, |z|'violation + |r|'violation of bounds) / (1 + |p|)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import milopt
from milopt import RBF, Program, norm
from milopt.arrays import Vector
from milopt.compilation.compiled_form import PrimalDualPoint
from milopt.outcome.certificate import Certificate, certify, evaluate
from milopt.solving import registry
from milopt.solving.step_session import StepSession
from milopt.testing.known_programs.planted import PlantedProgram, plant_program


def _inf(*parts: Vector) -> float:
    return max((float(np.abs(part).max(initial=0.0)) for part in parts), default=0.0)


def _by_definition(
    plan: PlantedProgram, x: Vector, above: Vector, below: Vector, equal: Vector
) -> tuple[float, float, float]:
    """Return (primal, dual, gap) of a planted program, computed from the definition."""
    P = np.zeros((x.size, x.size)) if plan.P is None else plan.P
    above, below = np.maximum(above, 0), np.maximum(below, 0)
    low, high = np.isfinite(plan.lower), np.isfinite(plan.upper)
    wrong = np.minimum(plan.A @ x - plan.a, 0), np.minimum(plan.b - plan.B @ x, 0), plan.E @ x - plan.e
    primal = max(
        _inf(wrong[0] / (1 + np.abs(plan.a))),
        _inf(wrong[1] / (1 + np.abs(plan.b))),
        _inf(wrong[2] / (1 + np.abs(plan.e))),
        _inf(np.maximum(plan.lower - x, 0)[low] / (1 + np.abs(plan.lower[low]))),
        _inf(np.maximum(x - plan.upper, 0)[high] / (1 + np.abs(plan.upper[high]))),
    )
    reduced = P @ x + plan.q - plan.A.T @ above + plan.B.T @ below - plan.E.T @ equal
    up = np.where(np.isfinite(plan.lower), np.maximum(reduced, 0), 0)
    down = np.where(np.isfinite(plan.upper), np.maximum(-reduced, 0), 0)
    left = reduced - up + down
    terms = np.maximum(np.abs(plan.q), np.abs(P @ x))
    held = np.abs(plan.A).T @ above + np.abs(plan.B).T @ below + np.abs(plan.E).T @ np.abs(equal)
    dual = _inf(left / (np.maximum(terms, held) + np.where(plan.q != 0, 1e-4, 1e-3) * terms.max() + 1e-7))
    objective = 0.5 * x @ P @ x + plan.q @ x
    bound = -0.5 * x @ P @ x + plan.a @ above - plan.b @ below + plan.e @ equal
    bound += up[up > 0] @ plan.lower[up > 0] - down[down > 0] @ plan.upper[down > 0]
    paid = sum(float(np.abs(z) @ np.abs(v)) for z, v in zip((above, below, equal), wrong, strict=True))
    outside = np.maximum(np.maximum(plan.lower - x, x - plan.upper), 0.0)
    paid += float((up + down) @ outside)
    error = max(abs(objective - bound) + np.abs(left) @ np.abs(x), paid)
    return primal, dual, float(error / (1 + abs(objective)))


def _by_milopt(plan: PlantedProgram, x: Vector, above: Vector, below: Vector, equal: Vector) -> Certificate:
    with StepSession(plan.declare("planted"), registry.get_solver("clarabel")) as session:
        point = PrimalDualPoint(x, (), np.concatenate([above, below, equal]))
        return certify(session.form, session.spaces, point, evaluate(session.form, session.spaces, point))


@pytest.mark.parametrize("rank", [None, 2, 8], ids=["lp", "singular qp", "qp"])
@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-2, 1.0])
def test_certificate_is_its_definition(rank: int | None, noise: float) -> None:
    plan = plant_program(61, rank=rank)
    rng = np.random.default_rng(62)

    def near(exact: Vector) -> Vector:
        return exact + noise * rng.normal(size=exact.size)

    at = (near(plan.x), near(plan.above), near(plan.below), near(plan.equal))
    certificate = _by_milopt(plan, *at)
    assert (certificate.primal, certificate.dual, certificate.gap) == pytest.approx(
        _by_definition(plan, *at), rel=1e-9, abs=1e-14
    )
    assert certificate.holds(1e-6) is (noise == 0.0)


@pytest.mark.parametrize("rank", [None, 8], ids=["lp", "qp"])
@pytest.mark.parametrize("part", range(4), ids=["x", "above", "below", "equal"])
def test_moving_any_part_of_a_point_invalidates_the_certificate(rank: int | None, part: int) -> None:
    plan = plant_program(63, rank=rank)
    at = [plan.x, plan.above, plan.below, plan.equal]
    assert _by_milopt(plan, *at).holds(1e-9)
    for step in (1e-3, -1e-3):
        moved = [value + step if k == part else value for k, value in enumerate(at)]
        assert not _by_milopt(plan, *moved).holds(1e-6)


@pytest.mark.parametrize("factor", [1e-3, 1e3, 1e6])
def test_scaling_of_the_objective_leaves_the_dual_residual(factor: float) -> None:
    """The dual residual is relative to the numbers that cancel in it; the gap is divided by 1 + |objective|."""
    plan = plant_program(64, rank=8)
    program = plan.declare("scaled")
    program.minimize(factor * program.objective)
    move = np.random.default_rng(65).normal(size=plan.x.size) * 1e-2
    multipliers = np.concatenate([plan.above, plan.below, plan.equal])
    with StepSession(program, registry.get_solver("clarabel")) as session:
        point = PrimalDualPoint(plan.x + move, (), factor * multipliers)
        certificate = certify(session.form, session.spaces, point, evaluate(session.form, session.spaces, point))
    moved = plan.x + move
    larger = replace(plan, P=None if plan.P is None else factor * plan.P, q=factor * plan.q)
    above, below, equal = factor * plan.above, factor * plan.below, factor * plan.equal
    primal, dual, _ = _by_definition(larger, moved, above, below, equal)
    gap = _by_definition(plan, moved, plan.above, plan.below, plan.equal)[2]
    assert plan.P is not None
    objective = float(0.5 * moved @ plan.P @ moved + plan.q @ moved)
    assert certificate.primal == pytest.approx(primal, rel=1e-9)
    assert certificate.dual == pytest.approx(dual, rel=1e-9)
    assert dual == pytest.approx(_by_definition(plan, moved, plan.above, plan.below, plan.equal)[1], rel=1e-3)
    assert certificate.gap == pytest.approx(
        gap * (1 + abs(objective)) * factor / (1 + factor * abs(objective)), rel=1e-7
    )


def test_a_second_order_cone_is_certified_as_defined() -> None:
    """Solve min c'x s.t. ||x|| <= r: s = (r, x), z = (w, v) with ||v|| <= w and c = v; dual value -r w."""
    c, radius = np.array([3.0, -4.0, 12.0]), 2.0
    program = Program("ball")
    x = program.variable("x", 3)
    program.minimize(c @ x)
    program.subject_to(norm(x) <= radius, name="ball")
    with StepSession(program, registry.get_solver("clarabel")) as session:

        def residuals(x: Vector, w: float, v: Vector) -> Certificate:
            point = PrimalDualPoint(x, (), np.concatenate([[w], v]))
            return certify(session.form, session.spaces, point, evaluate(session.form, session.spaces, point))

        best = -radius * c / 13
        assert residuals(best, 13.0, c).holds(1e-12)
        outside = residuals(1.1 * best, 13.0, c)
        assert outside.primal == pytest.approx(0.1 * radius / (1 + radius))
        thin = residuals(best, 12.0, c)
        assert thin.dual == pytest.approx(2.0 / 27.0)  # ||c|| - t = 13 - 12, times r, over 1 + |objective|
        assert thin.gap == pytest.approx(4.0 / 27.0)  # the gap of 2, and the distance of 1 times the head r = 2
        inside = residuals(0.9 * best, 13.0, c)
        assert inside.primal == 0
        assert inside.dual == pytest.approx(0.0, abs=1e-14)
        assert inside.gap == pytest.approx(0.1 * 26 / (1 + 0.9 * 26))
        turned = residuals(best, 13.0, c[::-1].copy())
        assert turned.dual == pytest.approx(9.0 / 12.0012)  # the first column: 3 - 12, over 12 + 1e-4 max |q|


def test_a_hilbert_ball_is_certified_as_defined() -> None:
    """For max v'f(X) s.t. ||f|| <= r the solution is f = r K v / sqrt(v'Kv).

    The residual of the gradient is measured in the norm of the space.
    """
    rng = np.random.default_rng(66)
    X, v, radius = rng.normal(size=(7, 2)), rng.normal(size=7), 1.5
    gram = np.exp(-0.8 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    length = np.sqrt(v @ gram @ v)
    program = Program("Hilbert ball")
    f = program.function("f", RBF(0.8))
    program.maximize(v @ f(X))
    program.subject_to(f.norm() <= radius, name="ball")
    result = milopt.solve(program, "clarabel").require_certified()
    assert result.objective == pytest.approx(radius * length, rel=1e-7)
    assert result.functions["f"](X) == pytest.approx(radius * gram @ v / length, abs=1e-6)
    assert result.functions["f"].norm_squared == pytest.approx(radius**2, rel=1e-7)
    with StepSession(program, registry.get_solver("clarabel")) as session:
        session.solve()

        def residuals(a: Vector, w: float) -> Certificate:
            point = PrimalDualPoint(np.zeros(0), (a,), np.array([w]))
            return certify(session.form, session.spaces, point, evaluate(session.form, session.spaces, point))

        best = radius * v / length
        assert residuals(best, length).holds(1e-9)
        assert residuals(1.2 * best, length).primal == pytest.approx(0.2 * radius / (1 + radius))
        # The gradient is -v over the points: its norm in the space must not exceed the multiplier.
        assert residuals(best, 0.9 * length).dual == pytest.approx(0.1 * length * radius / (1 + radius * length))
        assert residuals(0.5 * best, length).gap == pytest.approx(
            0.5 * radius * length / (1 + 0.5 * radius * length), rel=1e-9
        )


def test_every_residual_must_hold() -> None:
    assert Certificate(0.0, 0.0, 0.0, 0.0, 0.0).holds(1e-6)
    for bad in (1e-5, np.inf, np.nan):
        for place in range(3):
            primal, dual, gap = (bad if k == place else 0.0 for k in range(3))
            assert not Certificate(primal, dual, gap, 0.0, 0.0).holds(1e-6)
