"""Multipliers, shadow prices and reduced costs.

The multipliers of milopt belong to rows as they are declared in a minimisation: those of an equation are the derivative
of the optimum by its right side. Those of cvxpy have the opposite sign for equations.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import milopt
from tests.peers.linear import FOOD_COST, NUTRIENTS
from tests.peers.problem import peer


@peer("cvxpy: What is CVXPY, a first problem with two variables", known="1")
def first_problem_milopt():
    program = milopt.Program()
    x, y = program.variable("x"), program.variable("y")
    program.minimize((x - y) ** 2)
    equation, inequality = program.subject_to([x + y == 1, x - y >= 1])
    result = milopt.solve(program)
    return result, result.values[x], result.values[y], result.duals[equation], result.duals[inequality]


def first_problem_cvxpy():
    x, y = cp.Variable(), cp.Variable()
    equation, inequality = x + y == 1, x - y >= 1
    problem = cp.Problem(cp.Minimize((x - y) ** 2), [equation, inequality])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value, y.value, equation.dual_value, inequality.dual_value


@peer("JuMP: Sensitivity analysis of a linear program", known="204")
def sensitivity_milopt():
    program = milopt.Program()
    x = program.variable("x", lower=0)
    y = program.variable("y", lower=0, upper=3)
    z = program.variable("z", upper=1)
    program.minimize(12 * x + 20 * y - z)
    rows = program.subject_to([6 * x + 8 * y >= 100, 7 * x + 12 * y >= 120, x + y <= 20])
    result = milopt.solve(program)
    return result, [result.duals[row] for row in rows], result.reduced_costs[z], result.value(rows[2])


def sensitivity_cvxpy():
    x, y, z = cp.Variable(nonneg=True), cp.Variable(nonneg=True), cp.Variable()
    rows = [6 * x + 8 * y >= 100, 7 * x + 12 * y >= 120, x + y <= 20]
    bounds = [y <= 3, z <= 1]
    problem = cp.Problem(cp.Minimize(12 * x + 20 * y - z), rows + bounds)
    problem.solve(solver=cp.HIGHS)
    return problem, [row.dual_value for row in rows], -bounds[1].dual_value, (20 - x - y).value


@peer("JuMP: The diet problem, the prices of nutrients")
def nutrient_prices_milopt():
    program = milopt.Program("diet")
    x = program.variable("x", 9, lower=0)
    program.minimize(FOOD_COST @ x)
    least = program.subject_to(NUTRIENTS[:2] @ x >= [1800, 91])
    most = program.subject_to(NUTRIENTS[2:] @ x <= [65, 1779])
    result = milopt.solve(program)
    return result, result.duals[least], result.duals[most], result.reduced_costs[x]


def nutrient_prices_cvxpy():
    x = cp.Variable(9)
    least, most, sign = NUTRIENTS[:2] @ x >= [1800, 91], NUTRIENTS[2:] @ x <= [65, 1779], x >= 0
    problem = cp.Problem(cp.Minimize(FOOD_COST @ x), [least, most, sign])
    problem.solve(solver=cp.HIGHS)
    return problem, least.dual_value, most.dual_value, sign.dual_value


@peer("JuMP: Computing the duals of a mixed-integer program, the price of power")
def power_price_milopt():
    program = milopt.Program("dispatch")
    g = program.variable("g", 2, lower=[0, 300], upper=1000)
    w = program.variable("w", lower=0, upper=200)
    program.minimize([50, 100] @ g)
    balance = program.subject_to(g.sum() + w == 1500)
    result = milopt.solve(program)
    return result, result.duals[balance]


def power_price_cvxpy():
    g = cp.Variable(2)
    w = cp.Variable()
    balance = cp.sum(g) + w == 1500
    bounds = [g >= [0, 300], g <= 1000, w >= 0, w <= 200]
    problem = cp.Problem(cp.Minimize(np.array([50, 100]) @ g), [balance, *bounds])
    problem.solve(solver=cp.HIGHS)
    return problem, -balance.dual_value


@peer("MathOptInterface: tests of linear programs, linear1 with an added variable", known="2")
def moi_linear_duals_milopt():
    program = milopt.Program()
    x = program.variable("x", 3, lower=0)
    program.maximize(x[0] + 2 * x[2])
    row = program.subject_to(x.sum() <= 1)
    result = milopt.solve(program)
    return result, result.values[x], result.duals[row], result.reduced_costs[x]


def moi_linear_duals_cvxpy():
    x = cp.Variable(3)
    row, sign = cp.sum(x) <= 1, x >= 0
    problem = cp.Problem(cp.Maximize(x[0] + 2 * x[2]), [row, sign])
    problem.solve(solver=cp.HIGHS)
    return problem, x.value, row.dual_value, sign.dual_value


@peer("textbook: the multipliers of a ball and of a plane")
def cone_multipliers_milopt():
    program = milopt.Program()
    x = program.variable("x", 3)
    program.minimize([1.0, 2.0, -1.0] @ x)
    ball = program.subject_to(milopt.norm(x - 1) <= 2)
    plane = program.subject_to(x.sum() == 4)
    result = milopt.solve(program)
    return result, result.values[x], result.duals[ball], result.duals[plane]


def cone_multipliers_cvxpy():
    x = cp.Variable(3)
    ball, plane = cp.norm(x - 1) <= 2, cp.sum(x) == 4
    problem = cp.Problem(cp.Minimize(np.array([1.0, 2.0, -1.0]) @ x), [ball, plane])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value, ball.dual_value, -plane.dual_value


@peer("textbook: the multipliers of a box")
def quadratic_multipliers_milopt():
    program = milopt.Program()
    x = program.variable("x", 3)
    program.minimize(milopt.sum_squares(x - [1, 2, 3]))
    limits = program.between([0, 0, 0], x, [2, 1, 1.5])
    result = milopt.solve(program)
    return result, result.values[x], result.duals[limits]


def quadratic_multipliers_cvxpy():
    x = cp.Variable(3)
    low, high = x >= 0, x <= np.array([2, 1, 1.5])
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - np.array([1, 2, 3]))), [low, high])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value, low.dual_value - high.dual_value
