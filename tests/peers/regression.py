"""Regression, smoothing and classification: least squares and other losses."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import milopt
from tests.peers.problem import peer


def front_page():
    """Return the numbers of cvxpy's front page."""
    random = np.random.RandomState(1)
    return random.randn(30, 20), random.randn(30)


@peer("cvxpy: Introduction, least squares in a box", known="19.831263706")
def box_least_squares_milopt():
    A, b = front_page()
    program = milopt.Program()
    x = program.variable("x", 20, lower=0, upper=1)
    program.minimize(milopt.sum_squares(A @ x - b))
    result = milopt.solve(program)
    return result, result.values[x]


def box_least_squares_cvxpy():
    A, b = front_page()
    x = cp.Variable(20)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b)), [x >= 0, x <= 1])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("cvxpy: Least squares", known="7.005909828")
def least_squares_milopt():
    random = np.random.RandomState(1)
    A, b = random.randn(20, 15), random.randn(20)
    program = milopt.Program()
    x = program.variable("x", 15)
    program.minimize(milopt.sum_squares(A @ x - b))
    result = milopt.solve(program)
    return result, result.values[x]


def least_squares_cvxpy():
    random = np.random.RandomState(1)
    A, b = random.randn(20, 15), random.randn(20)
    x = cp.Variable(15)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b)))
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


RANDOM = np.random.RandomState(5)
X = RANDOM.randn(50, 12)
BETA = np.where(np.arange(12) < 4, RANDOM.randn(12), 0.0)
Y = X @ BETA + 0.3 * RANDOM.randn(50)


@peer("cvxpy: Ridge regression")
def ridge_milopt():
    program = milopt.Program("ridge")
    beta = program.variable("beta", 12)
    program.minimize(milopt.sum_squares(X @ beta - Y) + 2.0 * milopt.sum_squares(beta))
    result = milopt.solve(program)
    return result, result.values[beta]


def ridge_cvxpy():
    beta = cp.Variable(12)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X @ beta - Y) + 2.0 * cp.sum_squares(beta)))
    problem.solve(solver=cp.CLARABEL)
    return problem, beta.value


@peer("cvxpy: Lasso regression")
def lasso_milopt():
    program = milopt.Program("lasso")
    beta = program.variable("beta", 12)
    program.minimize(milopt.sum_squares(X @ beta - Y) + 5.0 * milopt.norm(beta, 1))
    result = milopt.solve(program)
    return result, result.values[beta]


def lasso_cvxpy():
    beta = cp.Variable(12)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X @ beta - Y) + 5.0 * cp.norm(beta, 1)))
    problem.solve(solver=cp.CLARABEL)
    return problem, beta.value


@peer("textbook: the elastic net")
def elastic_net_milopt():
    program = milopt.Program("elastic net")
    beta = program.variable("beta", 12)
    penalty = 3.0 * milopt.norm(beta, 1) + milopt.sum_squares(beta)
    program.minimize(milopt.sum_squares(X @ beta - Y) / 2 + penalty)
    result = milopt.solve(program)
    return result, result.values[beta]


def elastic_net_cvxpy():
    beta = cp.Variable(12)
    penalty = 3.0 * cp.norm(beta, 1) + cp.sum_squares(beta)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X @ beta - Y) / 2 + penalty))
    problem.solve(solver=cp.CLARABEL)
    return problem, beta.value


@peer("cvxpy: Huber regression")
def huber_milopt():
    program = milopt.Program("Huber")
    beta = program.variable("beta", 12)
    program.minimize(2 * milopt.huber(X @ beta - Y, 0.2).sum())
    result = milopt.solve(program)
    return result, result.values[beta]


def huber_cvxpy():
    beta = cp.Variable(12)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.huber(X @ beta - Y, 0.2))))
    problem.solve(solver=cp.CLARABEL)
    return problem, beta.value


@peer("cvxpy: Quantile regression")
def quantile_regression_milopt():
    program = milopt.Program("quantiles")
    beta = program.variable("beta", 12)
    r = Y - X @ beta
    program.minimize((0.5 * abs(r) + (0.9 - 0.5) * r).sum())
    return (milopt.solve(program),)


def quantile_regression_cvxpy():
    beta = cp.Variable(12)
    r = Y - X @ beta
    problem = cp.Problem(cp.Minimize(cp.sum(0.5 * cp.abs(r) + (0.9 - 0.5) * r)))
    problem.solve(solver=cp.HIGHS)
    return (problem,)


@peer("cvxpy: Fitting censored data")
def censored_data_milopt():
    limit = np.median(Y)
    known = limit > Y
    program = milopt.Program("censored")
    c = program.variable("c", 12)
    program.minimize(milopt.sum_squares(Y[known] - X[known] @ c))
    program.subject_to(X[~known] @ c >= limit)
    result = milopt.solve(program)
    return result, result.values[c]


def censored_data_cvxpy():
    limit = np.median(Y)
    known = limit > Y
    c = cp.Variable(12)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(Y[known] - X[known] @ c)), [X[~known] @ c >= limit])
    problem.solve(solver=cp.CLARABEL)
    return problem, c.value


SERIES = np.cumsum(0.3 * RANDOM.randn(60)) + 0.1 * RANDOM.randn(60)


@peer("cvxpy: l1 trend filtering")
def trend_filter_milopt():
    program = milopt.Program("trend")
    x = program.variable("x", 60)
    program.minimize(0.5 * milopt.sum_squares(SERIES - x) + 0.8 * milopt.norm(np.diff(x, 2), 1))
    result = milopt.solve(program)
    return result, result.values[x]


def trend_filter_cvxpy():
    x = cp.Variable(60)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(SERIES - x) + 0.8 * cp.norm(cp.diff(x, 2), 1)))
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("textbook: Boyd and Vandenberghe 6.3.3, total variation denoising")
def total_variation_milopt():
    program = milopt.Program("denoising")
    x = program.variable("x", 60)
    program.minimize(milopt.sum_squares(x - SERIES) + 0.5 * milopt.norm1(np.diff(x)))
    result = milopt.solve(program)
    return result, result.values[x]


def total_variation_cvxpy():
    x = cp.Variable(60)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - SERIES) + 0.5 * cp.tv(x)))
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("textbook: Boyd and Vandenberghe 6.3.3, quadratic smoothing")
def smoothing_milopt():
    program = milopt.Program("smoothing")
    x = program.variable("x", 60)
    program.minimize(milopt.norm(x - SERIES))
    program.subject_to(milopt.sum_squares(np.diff(x, 2)) <= 0.05)
    result = milopt.solve(program)
    return result, result.values[x]


def smoothing_cvxpy():
    x = cp.Variable(60)
    problem = cp.Problem(cp.Minimize(cp.norm(x - SERIES)), [cp.sum_squares(cp.diff(x, 2)) <= 0.05])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("textbook: isotonic regression")
def isotonic_milopt():
    program = milopt.Program("isotonic")
    x = program.variable("x", 60)
    program.minimize(milopt.sum_squares(x - SERIES))
    program.subject_to(np.diff(x) >= 0)
    result = milopt.solve(program)
    return result, result.values[x]


def isotonic_cvxpy():
    x = cp.Variable(60)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - SERIES)), [cp.diff(x) >= 0])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("textbook: Boyd and Vandenberghe 6.5.5, a convex function fitted to points")
def convex_fit_milopt():
    t = np.linspace(-1, 1, 30)
    target = t**4 - 0.5 * t + 0.1 * np.sin(20 * t)
    program = milopt.Program("convex fit")
    y = program.variable("y", 30)
    program.minimize(milopt.sum_squares(y - target))
    program.subject_to(np.diff(y, 2) >= 0)
    result = milopt.solve(program)
    return result, result.values[y]


def convex_fit_cvxpy():
    t = np.linspace(-1, 1, 30)
    target = t**4 - 0.5 * t + 0.1 * np.sin(20 * t)
    y = cp.Variable(30)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(y - target)), [cp.diff(y, 2) >= 0])
    problem.solve(solver=cp.CLARABEL)
    return problem, y.value
