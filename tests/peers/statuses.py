"""Programs without a solution: infeasible and unbounded ones, with proofs."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import milopt
from tests.peers.problem import peer


@peer("cvxpy: What is CVXPY, an infeasible problem", known="infeasible")
def no_number_milopt():
    program = milopt.Program()
    x = program.variable("x")
    program.minimize(x)
    program.subject_to([x >= 1, x <= 0])
    return (milopt.solve(program),)


def no_number_cvxpy():
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [x >= 1, x <= 0])
    problem.solve(solver=cp.HIGHS)
    return (problem,)


@peer("cvxpy: What is CVXPY, an unbounded problem", known="unbounded")
def no_limit_milopt():
    program = milopt.Program()
    x = program.variable("x")
    program.minimize(x)
    return (milopt.solve(program),)


def no_limit_cvxpy():
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(x))
    problem.solve(solver=cp.CLARABEL)
    return (problem,)


@peer("JuMP: Debugging, an infeasible model", known="infeasible")
def infeasible_bound_milopt():
    program = milopt.Program()
    x = program.variable("x", lower=0)
    program.maximize(2 * x + 1)
    program.subject_to(2 * x - 1 <= -2)
    return (milopt.solve(program),)


def infeasible_bound_cvxpy():
    x = cp.Variable(nonneg=True)
    problem = cp.Problem(cp.Maximize(2 * x + 1), [2 * x - 1 <= -2])
    problem.solve(solver=cp.CLARABEL)
    return (problem,)


@peer("JuMP: Debugging, an unbounded model", known="unbounded")
def unbounded_maximum_milopt():
    program = milopt.Program()
    x = program.variable("x", lower=0)
    program.maximize(2 * x + 1)
    return (milopt.solve(program),)


def unbounded_maximum_cvxpy():
    x = cp.Variable(nonneg=True)
    problem = cp.Problem(cp.Maximize(2 * x + 1))
    problem.solve(solver=cp.CLARABEL)
    return (problem,)


@peer("MathOptInterface: tests of linear programs, a certificate of infeasibility", known="infeasible")
def farkas_milopt():
    program = milopt.Program()
    x = program.variable("x", 2, lower=0)
    program.minimize(x[0])
    row = program.subject_to(2 * x[0] + x[1] <= -1)
    result = milopt.solve(program)
    proof = result.farkas[row] / abs(result.farkas[row])
    return result, proof


def farkas_cvxpy():
    x = cp.Variable(2, nonneg=True)
    row = 2 * x[0] + x[1] <= -1
    problem = cp.Problem(cp.Minimize(x[0]), [row])
    problem.solve(solver=cp.CLARABEL)
    proof = row.dual_value / abs(row.dual_value)
    return problem, proof


@peer("MathOptInterface: tests of linear programs, a certificate of unboundedness", known="unbounded")
def ray_milopt():
    program = milopt.Program()
    x = program.variable("x", 2, lower=0)
    program.minimize(-x[0] - x[1])
    program.subject_to(-x[0] + 2 * x[1] == 0)
    result = milopt.solve(program)
    ray = result.ray[x]
    return result, ray / np.abs(ray).max()


def ray_cvxpy():
    x = cp.Variable(2, nonneg=True)
    problem = cp.Problem(cp.Minimize(-x[0] - x[1]), [-x[0] + 2 * x[1] == 0])
    problem.solve(solver=cp.CLARABEL)
    # cvxpy returns no rays; this is the only one.
    return problem, np.array([1.0, 0.5])


@peer("MathOptInterface: tests of conic programs, SOC3", known="infeasible")
def infeasible_cone_milopt():
    program = milopt.Program()
    x, y = program.variable("x"), program.variable("y")
    program.subject_to([y >= 2, x <= 1, abs(y) <= x])
    return (milopt.solve(program),)


def infeasible_cone_cvxpy():
    x, y = cp.Variable(), cp.Variable()
    problem = cp.Problem(cp.Minimize(0), [y >= 2, x <= 1, cp.abs(y) <= x])
    problem.solve(solver=cp.CLARABEL)
    return (problem,)


@peer("textbook: no integer between two bounds", known="infeasible")
def no_integer_milopt():
    program = milopt.Program()
    x = program.variable("x", integer=True)
    program.minimize(x)
    program.between(0.2, x, 0.8)
    return (milopt.solve(program),)


def no_integer_cvxpy():
    x = cp.Variable(integer=True)
    problem = cp.Problem(cp.Minimize(x), [x >= 0.2, x <= 0.8])
    problem.solve(solver=cp.HIGHS)
    return (problem,)


@peer("textbook: two balls that do not meet", known="infeasible")
def two_balls_milopt():
    program = milopt.Program()
    x = program.variable("x", 2)
    program.minimize(x.sum())
    program.subject_to([milopt.norm(x) <= 1, milopt.norm(x - [3, 3]) <= 2])
    return (milopt.solve(program),)


def two_balls_cvxpy():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x) <= 1, cp.norm(x - np.array([3, 3])) <= 2])
    problem.solve(solver=cp.CLARABEL)
    return (problem,)
