"""Second-order cone programs: norms, robust constraints, roots and quotients."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import milopt
from tests.peers.problem import peer


def random_second_order_program():
    """Return the numbers of cvxpy's page."""
    random = np.random.RandomState(2)
    f = random.randn(10)
    A, b, c, d = [], [], [], []
    x = random.randn(10)
    for _ in range(3):
        A.append(random.randn(5, 10))
        b.append(random.randn(5))
        c.append(random.randn(10))
        # The page uses the norm of a matrix here; it only matters that x is feasible.
        d.append(np.linalg.norm(A[-1] @ x + b, 2) - c[-1].T @ x)
    F = random.randn(5, 10)
    return f, A, b, c, d, F, F @ x


@peer("cvxpy: Second-order cone program", known="-9.58269571")
def second_order_program_milopt():
    f, A, b, c, d, F, g = random_second_order_program()
    program = milopt.Program()
    x = program.variable("x", 10)
    program.minimize(f @ x)
    program.subject_to([milopt.norm(A[i] @ x + b[i]) <= c[i] @ x + d[i] for i in range(3)])
    program.subject_to(F @ x == g)
    result = milopt.solve(program)
    return result, result.values[x]


def second_order_program_cvxpy():
    f, A, b, c, d, F, g = random_second_order_program()
    x = cp.Variable(10)
    constraints = [cp.SOC(c[i] @ x + d[i], A[i] @ x + b[i]) for i in range(3)]
    problem = cp.Problem(cp.Minimize(f @ x), [*constraints, F @ x == g])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("MathOptInterface: tests of conic programs, SOC1", known="1.414214")
def moi_soc1_milopt():
    program = milopt.Program()
    x, y, z = (program.variable(name) for name in "xyz")
    program.maximize(y + z)
    program.subject_to([x == 1, milopt.norm(milopt.hstack([y, z])) <= x])
    result = milopt.solve(program)
    return result, result.values[y], result.values[z]


def moi_soc1_cvxpy():
    x, y, z = cp.Variable(), cp.Variable(), cp.Variable()
    problem = cp.Problem(cp.Maximize(y + z), [x == 1, cp.norm(cp.hstack([y, z])) <= x])
    problem.solve(solver=cp.CLARABEL)
    return problem, y.value, z.value


@peer("MathOptInterface: tests of conic programs, a hyperbolic constraint", known="1.414214")
def moi_rotated_milopt():
    program = milopt.Program()
    x = program.variable("x", 2)
    program.maximize(x.sum())
    program.subject_to(milopt.sum_squares(x) <= 2 * 0.5 * 1.0)
    result = milopt.solve(program)
    return result, result.values[x]


def moi_rotated_cvxpy():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Maximize(cp.sum(x)), [cp.sum_squares(x) <= 2 * 0.5 * 1.0])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("JuMP: Conic tips and tricks, the second-order cone", known="0.57735")
def jump_soc_milopt():
    program = milopt.Program()
    x = program.variable("x", 3)
    t = program.variable("t")
    program.minimize(t)
    program.subject_to([x.sum() == 1, milopt.norm(x) <= t])
    result = milopt.solve(program)
    return result, result.values[x]


def jump_soc_cvxpy():
    x = cp.Variable(3)
    t = cp.Variable()
    problem = cp.Problem(cp.Minimize(t), [cp.sum(x) == 1, cp.norm(x) <= t])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


JUMP_INPUT, JUMP_OUTPUT = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.45, 1.04, 1.51, 1.97])


@peer("JuMP: Conic tips and tricks, the rotated second-order cone")
def jump_rotated_soc_milopt():
    program = milopt.Program()
    theta = program.variable("theta")
    t = program.variable("t")
    program.minimize(t)
    program.subject_to(milopt.quad_over_lin(theta * JUMP_INPUT - JUMP_OUTPUT, 1.0) <= t)
    result = milopt.solve(program)
    return result, result.values[theta]


def jump_rotated_soc_cvxpy():
    theta = cp.Variable()
    t = cp.Variable()
    problem = cp.Problem(cp.Minimize(t), [cp.quad_over_lin(theta * JUMP_INPUT - JUMP_OUTPUT, 1.0) <= t])
    problem.solve(solver=cp.CLARABEL)
    return problem, theta.value


RANDOM = np.random.RandomState(7)
ROWS, LIMITS = RANDOM.randn(8, 3), 1 + RANDOM.rand(8)


@peer("cvxpy: Second-order cone program, a robust linear program")
def robust_linear_program_milopt():
    program = milopt.Program("robust")
    x = program.variable("x", 3)
    program.maximize(x.sum())
    program.subject_to(ROWS @ x + 0.3 * milopt.norm(x) <= LIMITS)
    result = milopt.solve(program)
    return result, result.values[x]


def robust_linear_program_cvxpy():
    x = cp.Variable(3)
    problem = cp.Problem(cp.Maximize(cp.sum(x)), [ROWS @ x + 0.3 * cp.norm(x) <= LIMITS])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


CLIENTS = RANDOM.uniform(0, 10, (12, 2))


@peer("textbook: Boyd and Vandenberghe 8.7, one facility")
def fermat_weber_milopt():
    program = milopt.Program("facility")
    x = program.variable("x", 2)
    program.minimize(milopt.norm(x - CLIENTS, axis=1).sum())
    result = milopt.solve(program)
    return result, result.values[x]


def fermat_weber_cvxpy():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.norm(x[None, :] - CLIENTS, axis=1))))
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("textbook: Boyd and Vandenberghe 8.4, the smallest ball around points")
def enclosing_ball_milopt():
    program = milopt.Program("ball")
    x = program.variable("x", 2)
    program.minimize(milopt.norm(x - CLIENTS, axis=1).max())
    result = milopt.solve(program)
    return result, result.values[x]


def enclosing_ball_cvxpy():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.max(cp.norm(x[None, :] - CLIENTS, axis=1))))
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


# Facilities 0 to 3 are free, 4 to 7 are given; links between them.
LINKS = np.array([[0, 4], [0, 5], [1, 5], [1, 6], [2, 6], [3, 7], [0, 1], [1, 2], [2, 3], [3, 0]])
GIVEN = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])


@peer("textbook: Boyd and Vandenberghe 8.7.3, placement of several facilities")
def placement_milopt():
    program = milopt.Program("placement")
    x = program.variable("x", (4, 2))
    points = milopt.vstack([x, GIVEN])
    program.minimize((milopt.norm(points[LINKS[:, 0]] - points[LINKS[:, 1]], axis=1) ** 2).sum())
    result = milopt.solve(program)
    return result, result.values[x]


def placement_cvxpy():
    x = cp.Variable((4, 2))
    points = cp.vstack([x, GIVEN])
    problem = cp.Problem(cp.Minimize(cp.sum(cp.norm(points[LINKS[:, 0]] - points[LINKS[:, 1]], axis=1) ** 2)))
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


DESIGN, TARGET = RANDOM.randn(30, 9), RANDOM.randn(30)


@peer("textbook: Boyd and Vandenberghe 6.4, robust least squares")
def robust_least_squares_milopt():
    program = milopt.Program()
    x = program.variable("x", 9)
    program.minimize(milopt.norm(DESIGN @ x - TARGET) + 0.5 * milopt.norm(x))
    result = milopt.solve(program)
    return result, result.values[x]


def robust_least_squares_cvxpy():
    x = cp.Variable(9)
    problem = cp.Problem(cp.Minimize(cp.norm(DESIGN @ x - TARGET) + 0.5 * cp.norm(x)))
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("textbook: the group lasso")
def group_lasso_milopt():
    program = milopt.Program()
    x = program.variable("x", 9)
    penalty = milopt.norm(x.reshape(3, 3), axis=1).sum()
    program.minimize(milopt.sum_squares(DESIGN @ x - TARGET) + 4.0 * penalty)
    result = milopt.solve(program)
    return result, result.values[x]


def group_lasso_cvxpy():
    x = cp.Variable(9)
    penalty = cp.sum(cp.norm(cp.reshape(x, (3, 3), order="C"), axis=1))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(DESIGN @ x - TARGET) + 4.0 * penalty))
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("textbook: a portfolio with a limit of its standard deviation")
def risk_limit_milopt():
    mean, factors = np.linspace(0.02, 0.12, 9), 0.1 * DESIGN / np.sqrt(30)
    program = milopt.Program("portfolio")
    w = program.variable("w", 9, lower=0)
    program.maximize(mean @ w)
    program.subject_to([w.sum() == 1, milopt.norm(factors @ w) <= 0.04])
    result = milopt.solve(program)
    return result, result.values[w]


def risk_limit_cvxpy():
    mean, factors = np.linspace(0.02, 0.12, 9), 0.1 * DESIGN / np.sqrt(30)
    w = cp.Variable(9, nonneg=True)
    problem = cp.Problem(cp.Maximize(mean @ w), [cp.sum(w) == 1, cp.norm(factors @ w) <= 0.04])
    problem.solve(solver=cp.CLARABEL)
    return problem, w.value


# A linear array of antennas, half a wavelength apart; real and imaginary parts of the response per angle.
ANGLES = np.radians(np.arange(0, 181, 5))
STEERING = np.exp(1j * np.pi * np.outer(np.cos(ANGLES), np.arange(12)))
SIDE = np.abs(np.degrees(ANGLES) - 60) >= 20
TOWARDS = np.flatnonzero(np.degrees(ANGLES).round() == 60)[0]


@peer("cvxpy: Antenna array design")
def antenna_milopt():
    re, im = STEERING.real, STEERING.imag
    program = milopt.Program("antenna")
    a, b = program.variable("a", 12), program.variable("b", 12)
    side = milopt.stack([re[SIDE] @ a - im[SIDE] @ b, im[SIDE] @ a + re[SIDE] @ b])
    program.minimize(milopt.norm(side, axis=0).max())
    program.subject_to([re[TOWARDS] @ a - im[TOWARDS] @ b == 1, im[TOWARDS] @ a + re[TOWARDS] @ b == 0])
    return (milopt.solve(program),)


def antenna_cvxpy():
    re, im = STEERING.real, STEERING.imag
    a, b = cp.Variable(12), cp.Variable(12)
    side = cp.vstack([re[SIDE] @ a - im[SIDE] @ b, im[SIDE] @ a + re[SIDE] @ b])
    constraints = [re[TOWARDS] @ a - im[TOWARDS] @ b == 1, im[TOWARDS] @ a + re[TOWARDS] @ b == 0]
    problem = cp.Problem(cp.Minimize(cp.max(cp.norm(side, axis=0))), constraints)
    problem.solve(solver=cp.CLARABEL)
    return (problem,)


FREQUENCIES = np.linspace(0, np.pi, 80)
RESPONSE = np.exp(-1j * np.outer(FREQUENCIES, np.arange(10)))
WANTED = np.exp(-1j * 4.5 * FREQUENCIES) * (FREQUENCIES < 1.2)


@peer("cvxpy: Chebychev design of an FIR filter")
def fir_filter_milopt():
    program = milopt.Program("filter")
    h = program.variable("h", 10)
    error = milopt.stack([RESPONSE.real @ h - WANTED.real, RESPONSE.imag @ h - WANTED.imag])
    program.minimize(milopt.norm(error, axis=0).max())
    result = milopt.solve(program)
    return result, result.values[h]


def fir_filter_cvxpy():
    h = cp.Variable(10)
    error = cp.vstack([RESPONSE.real @ h - WANTED.real, RESPONSE.imag @ h - WANTED.imag])
    problem = cp.Problem(cp.Minimize(cp.max(cp.norm(error, axis=0))))
    problem.solve(solver=cp.CLARABEL)
    return problem, h.value


@peer("textbook: allocation with square roots as utilities")
def root_utility_milopt():
    program = milopt.Program("utility")
    x = program.variable("x", 4, lower=0)
    program.maximize([1.0, 2.0, 3.0, 4.0] @ milopt.sqrt(x))
    program.subject_to([x.sum() <= 10, x[3] <= 4])
    result = milopt.solve(program)
    return result, result.values[x]


def root_utility_cvxpy():
    x = cp.Variable(4)
    objective = cp.Maximize(np.array([1.0, 2.0, 3.0, 4.0]) @ cp.sqrt(x))
    problem = cp.Problem(objective, [cp.sum(x) <= 10, x[3] <= 4])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("textbook: delays of queues")
def queues_milopt():
    load = np.array([1.0, 2.0, 4.0])
    program = milopt.Program("queues")
    capacity = program.variable("capacity", 3)
    program.minimize((load * milopt.inv_pos(capacity - load)).sum() + 2 * capacity.sum())
    result = milopt.solve(program)
    return result, result.values[capacity]


def queues_cvxpy():
    load = np.array([1.0, 2.0, 4.0])
    capacity = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(load, cp.inv_pos(capacity - load))) + 2 * cp.sum(capacity)))
    problem.solve(solver=cp.CLARABEL)
    return problem, capacity.value


@peer("JuMP: Conic tips and tricks, the geometric mean", known="0.25")
def geometric_mean_milopt():
    program = milopt.Program()
    x = program.variable("x", 4)
    program.maximize(milopt.geo_mean(x))
    program.subject_to(x.sum() == 1)
    result = milopt.solve(program)
    return result, result.values[x]


def geometric_mean_cvxpy():
    x = cp.Variable(4)
    problem = cp.Problem(cp.Maximize(cp.geo_mean(x)), [cp.sum(x) == 1])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value
