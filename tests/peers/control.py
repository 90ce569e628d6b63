"""Optimal control and estimation of linear systems; states are the columns of a matrix."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import milopt
from tests.peers.problem import peer

RANDOM = np.random.RandomState(1)
A = np.eye(8) + 0.2 * RANDOM.randn(8, 8)
B = 5 * RANDOM.randn(8, 2)
START = 5 * RANDOM.randn(8)
T = 20


@peer("cvxpy: Control")
def control_milopt():
    program = milopt.Program("control")
    x = program.variable("x", (8, T + 1))
    u = program.variable("u", (2, T))
    program.minimize(milopt.sum_squares(x[:, 1:]) + milopt.sum_squares(u))
    program.subject_to([x[:, 1:] == A @ x[:, :-1] + B @ u, abs(u) <= 1, x[:, 0] == START, x[:, T] == 0])
    result = milopt.solve(program)
    return result, result.values[u]


def control_cvxpy():
    x = cp.Variable((8, T + 1))
    u = cp.Variable((2, T))
    constraints = [x[:, 1:] == A @ x[:, :-1] + B @ u, cp.abs(u) <= 1, x[:, 0] == START, x[:, T] == 0]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x[:, 1:]) + cp.sum_squares(u)), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem, u.value


@peer("cvxpy: Control, declared step by step")
def control_by_steps_milopt():
    program = milopt.Program("control")
    x = program.variable("x", (8, T + 1))
    u = program.variable("u", (2, T))
    cost = 0
    program.subject_to([x[:, T] == 0, x[:, 0] == START])
    for t in range(T):
        cost += milopt.sum_squares(x[:, t + 1]) + milopt.sum_squares(u[:, t])
        program.subject_to([x[:, t + 1] == A @ x[:, t] + B @ u[:, t], milopt.norm(u[:, t], np.inf) <= 1])
    program.minimize(cost)
    result = milopt.solve(program)
    return result, result.values[u]


def control_by_steps_cvxpy():
    x = cp.Variable((8, T + 1))
    u = cp.Variable((2, T))
    cost = 0
    constraints = [x[:, T] == 0, x[:, 0] == START]
    for t in range(T):
        cost += cp.sum_squares(x[:, t + 1]) + cp.sum_squares(u[:, t])
        constraints += [x[:, t + 1] == A @ x[:, t] + B @ u[:, t], cp.norm(u[:, t], "inf") <= 1]
    problem = cp.Problem(cp.Minimize(cost), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem, u.value


DT, DAMPING = 0.1, 0.05
GLIDE_A = np.block([[np.eye(2), DT * np.eye(2)], [np.zeros((2, 2)), (1 - DT * DAMPING) * np.eye(2)]])
GLIDE_B = np.vstack([0.5 * DT**2 * np.eye(2), DT * np.eye(2)])
TARGET = np.array([2.0, 3.0, 0.0, 0.0])


@peer("cvxpy: Minimum-fuel optimal control")
def least_fuel_milopt():
    program = milopt.Program("vehicle")
    x = program.variable("x", (4, 31))
    u = program.variable("u", (2, 30))
    program.minimize(milopt.norm(u, axis=0).sum())
    program.subject_to([x[:, 1:] == GLIDE_A @ x[:, :-1] + GLIDE_B @ u, x[:, 0] == 0, x[:, 30] == TARGET])
    program.subject_to(milopt.norm(u, axis=0) <= 4)
    return (milopt.solve(program),)


def least_fuel_cvxpy():
    x = cp.Variable((4, 31))
    u = cp.Variable((2, 30))
    constraints = [x[:, 1:] == GLIDE_A @ x[:, :-1] + GLIDE_B @ u, x[:, 0] == 0, x[:, 30] == TARGET]
    constraints += [cp.norm(u, axis=0) <= 4]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.norm(u, axis=0))), constraints)
    problem.solve(solver=cp.CLARABEL)
    return (problem,)


MEASURED = np.cumsum(RANDOM.randn(2, 30), axis=1) + np.where(RANDOM.rand(2, 30) < 0.1, 10.0, 0.1) * RANDOM.randn(2, 30)
SENSOR = np.hstack([np.eye(2), np.zeros((2, 2))])


@peer("cvxpy: Robust Kalman filtering, least squares")
def kalman_milopt():
    program = milopt.Program("Kalman")
    x = program.variable("x", (4, 31))
    w = program.variable("w", (2, 30))
    v = program.variable("v", (2, 30))
    program.minimize(milopt.sum_squares(w) + 0.2 * milopt.sum_squares(v))
    program.subject_to([x[:, 1:] == GLIDE_A @ x[:, :-1] + GLIDE_B @ w, SENSOR @ x[:, :-1] + v == MEASURED])
    result = milopt.solve(program)
    return result, result.values[w]


def kalman_cvxpy():
    x = cp.Variable((4, 31))
    w = cp.Variable((2, 30))
    v = cp.Variable((2, 30))
    objective = cp.Minimize(cp.sum_squares(w) + 0.2 * cp.sum_squares(v))
    constraints = [x[:, 1:] == GLIDE_A @ x[:, :-1] + GLIDE_B @ w, SENSOR @ x[:, :-1] + v == MEASURED]
    problem = cp.Problem(objective, constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem, w.value


@peer("cvxpy: Robust Kalman filtering, the Huber loss of norms")
def robust_kalman_milopt():
    program = milopt.Program("robust Kalman")
    x = program.variable("x", (4, 31))
    w = program.variable("w", (2, 30))
    v = program.variable("v", (2, 30))
    program.minimize(milopt.sum_squares(w) + 2.0 * 2 * milopt.huber(milopt.norm(v, axis=0), 2.0).sum())
    program.subject_to([x[:, 1:] == GLIDE_A @ x[:, :-1] + GLIDE_B @ w, SENSOR @ x[:, :-1] + v == MEASURED])
    result = milopt.solve(program)
    return result, result.values[w]


def robust_kalman_cvxpy():
    x = cp.Variable((4, 31))
    w = cp.Variable((2, 30))
    v = cp.Variable((2, 30))
    objective = cp.Minimize(cp.sum_squares(w) + 2.0 * cp.sum(cp.huber(cp.norm(v, axis=0), 2.0)))
    constraints = [x[:, 1:] == GLIDE_A @ x[:, :-1] + GLIDE_B @ w, SENSOR @ x[:, :-1] + v == MEASURED]
    problem = cp.Problem(objective, constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem, w.value


@peer("textbook: a rocket that must reach a height, as a linear program")
def rocket_milopt():
    program = milopt.Program("rocket")
    height = program.variable("height", 41, lower=0)
    speed = program.variable("speed", 41)
    thrust = program.variable("thrust", 40, lower=0, upper=30)
    program.minimize(0.25 * thrust.sum())
    program.subject_to([height[0] == 0, speed[0] == 0, height[40] >= 120, speed[40] == 0])
    program.subject_to([np.diff(height) == 0.25 * speed[:-1], np.diff(speed) == 0.25 * (thrust - 9.81)])
    return (milopt.solve(program),)


def rocket_cvxpy():
    height = cp.Variable(41, nonneg=True)
    speed = cp.Variable(41)
    thrust = cp.Variable(40, bounds=[0, 30])
    constraints = [height[0] == 0, speed[0] == 0, height[40] >= 120, speed[40] == 0]
    constraints += [cp.diff(height) == 0.25 * speed[:-1], cp.diff(speed) == 0.25 * (thrust - 9.81)]
    problem = cp.Problem(cp.Minimize(0.25 * cp.sum(thrust)), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)
