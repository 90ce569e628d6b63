"""Parameters, and programs that change between solves."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import milopt
from tests.peers.linear import FOOD_COST, NUTRIENTS, NUTRIENTS_HIGH, NUTRIENTS_LOW
from tests.peers.problem import peer
from tests.peers.quadratic import MU, SIGMA
from tests.peers.regression import X, Y


@peer("cvxpy: Lasso regression, the path of its weight as a parameter")
def lasso_path_milopt():
    program = milopt.Program("lasso")
    beta = program.variable("beta", 12)
    weight = program.parameter("weight", sign=1)
    program.minimize(milopt.sum_squares(X @ beta - Y) + weight * milopt.norm(beta, 1))
    path = []
    for weight.value in np.logspace(-1, 2, 5):
        result = milopt.solve(program)
        path.append(result.values[beta])
    return result, path


def lasso_path_cvxpy():
    beta = cp.Variable(12)
    weight = cp.Parameter(nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X @ beta - Y) + weight * cp.norm(beta, 1)))
    path = []
    for weight.value in np.logspace(-1, 2, 5):
        problem.solve(solver=cp.CLARABEL)
        path.append(beta.value)
    return problem, path


@peer("cvxpy: Portfolio optimization, the trade-off of risk and return")
def trade_off_milopt():
    program = milopt.Program("portfolio")
    w = program.variable("w", 10, lower=0)
    gamma = program.parameter("gamma", sign=1)
    risk = milopt.quad_form(w, SIGMA)
    program.maximize(MU @ w - gamma * risk)
    program.subject_to(w.sum() == 1)
    curve = []
    for gamma.value in np.logspace(-1, 1, 4):
        result = milopt.solve(program)
        curve.append([result.value(MU @ w), np.sqrt(result.value(risk))])
    return result, curve


def trade_off_cvxpy():
    w = cp.Variable(10, nonneg=True)
    gamma = cp.Parameter(nonneg=True)
    risk = cp.quad_form(w, SIGMA)
    problem = cp.Problem(cp.Maximize(MU @ w - gamma * risk), [cp.sum(w) == 1])
    curve = []
    for gamma.value in np.logspace(-1, 1, 4):
        problem.solve(solver=cp.CLARABEL)
        curve.append([(MU @ w).value, np.sqrt(risk.value)])
    return problem, curve


A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.005], [0.1]])


@peer("qpsolvers: Model predictive control, the state as a parameter")
def predictive_control_milopt():
    program = milopt.Program("MPC")
    x, u = program.variable("x", (2, 16)), program.variable("u", (1, 15), lower=-1, upper=1)
    start = program.parameter("start", 2)
    program.minimize(milopt.sum_squares(x) + 0.1 * milopt.sum_squares(u))
    program.subject_to([x[:, 0] == start, x[:, 1:] == A @ x[:, :-1] + B @ u])
    state, states = np.array([1.0, 0.0]), []
    for _ in range(4):
        start.value = state
        result = milopt.solve(program)
        state = A @ state + B @ result.values[u][:, 0]
        states.append(state)
    return result, states


def predictive_control_cvxpy():
    x, u = cp.Variable((2, 16)), cp.Variable((1, 15), bounds=[-1, 1])
    start = cp.Parameter(2)
    constraints = [x[:, 0] == start, x[:, 1:] == A @ x[:, :-1] + B @ u]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x) + 0.1 * cp.sum_squares(u)), constraints)
    state, states = np.array([1.0, 0.0]), []
    for _ in range(4):
        start.value = state
        problem.solve(solver=cp.CLARABEL)
        state = A @ state + B @ u.value[:, 0]
        states.append(state)
    return problem, states


@peer("JuMP: Power systems, the dispatch with other costs in one model")
def other_costs_milopt():
    program = milopt.Program("dispatch")
    g = program.variable("g", 2, lower=[0, 300], upper=1000)
    w = program.variable("w", lower=0, upper=200)
    program.subject_to(g.sum() + w == 1500)
    costs = []
    for scale in np.arange(0.5, 3.0, 0.5):
        program.minimize([50 * scale, 100] @ g + 50 * w)
        result = milopt.solve(program)
        costs.append(result.objective)
    return result, costs


def other_costs_cvxpy():
    g = cp.Variable(2, bounds=[[0, 300], 1000])
    w = cp.Variable(bounds=[0, 200])
    costs = []
    for scale in np.arange(0.5, 3.0, 0.5):
        problem = cp.Problem(cp.Minimize(np.array([50 * scale, 100]) @ g + 50 * w), [cp.sum(g) + w == 1500])
        problem.solve(solver=cp.HIGHS)
        costs.append(problem.value)
    return problem, costs


@peer("JuMP: The diet problem, a limit of dairy added afterwards", known="infeasible")
def dairy_limit_milopt():
    program = milopt.Program("diet")
    x = program.variable("x", 9, lower=0)
    program.minimize(FOOD_COST @ x)
    program.between(NUTRIENTS_LOW, NUTRIENTS @ x, NUTRIENTS_HIGH)
    first = milopt.solve(program)
    program.subject_to(x[7] + x[8] <= 6)
    return milopt.solve(program), first.objective


def dairy_limit_cvxpy():
    x = cp.Variable(9, nonneg=True)
    is_limited = np.isfinite(NUTRIENTS_HIGH)
    constraints = [NUTRIENTS @ x >= NUTRIENTS_LOW, NUTRIENTS[is_limited] @ x <= NUTRIENTS_HIGH[is_limited]]
    first = cp.Problem(cp.Minimize(FOOD_COST @ x), constraints)
    first.solve(solver=cp.HIGHS)
    problem = cp.Problem(cp.Minimize(FOOD_COST @ x), [*constraints, x[7] + x[8] <= 6])
    problem.solve(solver=cp.HIGHS)
    return problem, first.value


@peer("JuMP: Benders decomposition, iterative method", known="4")
def benders_milopt():
    A1, A2, b = np.array([[1, -3], [-1, -3]]), np.array([[1, -2], [-1, -1]]), np.array([-2, -3])
    first = milopt.Program("first stage")
    x, theta = first.variable("x", 2, lower=0, integer=True), first.variable("theta", lower=-1000)
    first.minimize([1, 4] @ x + theta)
    second = milopt.Program("second stage")
    y, fixed = second.variable("y", 2, lower=0), second.parameter("fixed", 2)
    second.minimize([2, 3] @ y)
    rows = second.subject_to(A2 @ y <= b - A1 @ fixed)
    while True:
        result = milopt.solve(first)
        fixed.value = result.values[x]
        cost = milopt.solve(second)
        if result.values[theta] >= cost.objective - 1e-6:
            return result, result.values[x]
        first.subject_to(theta >= cost.objective + cost.duals[rows] @ A1 @ (x - result.values[x]))


def benders_cvxpy():
    A1, A2, b = np.array([[1, -3], [-1, -3]]), np.array([[1, -2], [-1, -1]]), np.array([-2, -3])
    x, theta = cp.Variable(2, integer=True), cp.Variable()
    constraints = [x >= 0, theta >= -1000]
    y, fixed = cp.Variable(2, nonneg=True), cp.Parameter(2)
    rows = A2 @ y <= b - A1 @ fixed
    cost = cp.Problem(cp.Minimize(np.array([2, 3]) @ y), [rows])
    while True:
        problem = cp.Problem(cp.Minimize(np.array([1, 4]) @ x + theta), constraints)
        problem.solve(solver=cp.HIGHS)
        fixed.value = x.value
        cost.solve(solver=cp.HIGHS)
        if theta.value >= cost.value - 1e-6:
            return problem, x.value
        constraints += [theta >= cost.value + rows.dual_value @ A1 @ (x - x.value)]


PIECES = np.array([[75.0, 38], [53.8, 33], [53.0, 36], [51.0, 41], [50.2, 35], [32.2, 37], [30.8, 44], [20.1, 37]])


@peer("JuMP: Column generation for the cutting stock problem, fewer pieces")
def cutting_stock_milopt():
    width, demand = PIECES.T
    patterns = np.diag(np.floor(100 / width))
    while True:
        program = milopt.Program("patterns")
        x = program.variable("x", patterns.shape[1], lower=0)
        program.minimize(x.sum())
        rows = program.subject_to(patterns @ x >= demand)
        result = milopt.solve(program)
        pricing = milopt.Program("pricing")
        y = pricing.variable("y", 8, lower=0, integer=True)
        pricing.maximize(result.duals[rows] @ y)
        pricing.subject_to(width @ y <= 100)
        pricing_result = milopt.solve(pricing)
        if pricing_result.objective <= 1 + 1e-8:
            return (result,)
        patterns = np.column_stack([patterns, pricing_result.values[y]])


def cutting_stock_cvxpy():
    width, demand = PIECES.T
    patterns = np.diag(np.floor(100 / width))
    while True:
        x = cp.Variable(patterns.shape[1], nonneg=True)
        rows = patterns @ x >= demand
        problem = cp.Problem(cp.Minimize(cp.sum(x)), [rows])
        problem.solve(solver=cp.HIGHS)
        y = cp.Variable(8, integer=True)
        pricing = cp.Problem(cp.Maximize(rows.dual_value @ y), [y >= 0, width @ y <= 100])
        pricing.solve(solver=cp.HIGHS)
        if pricing.value <= 1 + 1e-8:
            return (problem,)
        patterns = np.column_stack([patterns, y.value])


@peer("MathOptInterface: tests of modifications, another right side", known="2")
def right_side_milopt():
    program = milopt.Program()
    x = program.variable("x", 2, lower=0)
    program.maximize(x.sum())
    limit = program.parameter("limit")
    program.subject_to(x[0] + 2 * x[1] <= limit)
    limit.value = 1
    first = milopt.solve(program)
    limit.value = 2
    return milopt.solve(program), first.objective


def right_side_cvxpy():
    x = cp.Variable(2, nonneg=True)
    limit = cp.Parameter()
    problem = cp.Problem(cp.Maximize(cp.sum(x)), [x[0] + 2 * x[1] <= limit])
    limit.value = 1
    first = problem.solve(solver=cp.HIGHS)
    limit.value = 2
    problem.solve(solver=cp.HIGHS)
    return problem, first
