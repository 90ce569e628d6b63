"""Quadratic programs: portfolios, projections, classifiers."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import milopt
from tests.peers.problem import peer


def random_quadratic_program():
    """Return the numbers of cvxpy's page."""
    random = np.random.RandomState(1)
    P = random.randn(10, 10)
    q, G = random.randn(10), random.randn(15, 10)
    h = G @ random.randn(10)
    return P.T @ P, q, G, h, random.randn(5, 10), random.randn(5)


@peer("cvxpy: Quadratic program", known="86.891415")
def quadratic_program_milopt():
    P, q, G, h, A, b = random_quadratic_program()
    program = milopt.Program()
    x = program.variable("x", 10)
    program.minimize(0.5 * milopt.quad_form(x, P) + q @ x)
    program.subject_to([G @ x <= h, A @ x == b])
    result = milopt.solve(program)
    return result, result.values[x]


def quadratic_program_cvxpy():
    P, q, G, h, A, b = random_quadratic_program()
    x = cp.Variable(10)
    problem = cp.Problem(cp.Minimize(0.5 * cp.quad_form(x, P) + q @ x), [G @ x <= h, A @ x == b])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


QPSOLVERS_M = np.array([[1.0, 2.0, 0.0], [-8.0, 3.0, 2.0], [0.0, 1.0, 1.0]])
QPSOLVERS_G = np.array([[1.0, 2.0, 1.0], [2.0, 0.0, 1.0], [-1.0, 2.0, -1.0]])
QPSOLVERS_H = np.array([3.0, 2.0, -2.0])


@peer("qpsolvers: Quadratic programming, the first example")
def qpsolvers_example_milopt():
    M, G, h = QPSOLVERS_M, QPSOLVERS_G, QPSOLVERS_H
    program = milopt.Program()
    x = program.variable("x", 3)
    program.minimize(0.5 * milopt.quad_form(x, M.T @ M) + [3.0, 2.0, 3.0] @ (M @ x))
    program.subject_to([G @ x <= h, x.sum() == 1])
    result = milopt.solve(program)
    return result, result.values[x]


def qpsolvers_example_cvxpy():
    M, G, h = QPSOLVERS_M, QPSOLVERS_G, QPSOLVERS_H
    x = cp.Variable(3)
    objective = cp.Minimize(0.5 * cp.quad_form(x, M.T @ M) + np.array([3.0, 2.0, 3.0]) @ (M @ x))
    problem = cp.Problem(objective, [G @ x <= h, cp.sum(x) == 1])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("HiGHS: Guide, quadratic programming", known="-5.25")
def highs_quadratic_milopt():
    program = milopt.Program()
    x = program.variable("x", 3, lower=0)
    Q = np.array([[2, 0, -1], [0, 0.2, 0], [-1, 0, 2]])
    program.minimize(-x[1] - 3 * x[2] + 0.5 * milopt.quad_form(x, Q))
    program.subject_to(x[0] + x[2] <= 2)
    result = milopt.solve(program)
    return result, result.values[x]


def highs_quadratic_cvxpy():
    x = cp.Variable(3, nonneg=True)
    Q = np.array([[2, 0, -1], [0, 0.2, 0], [-1, 0, 2]])
    problem = cp.Problem(cp.Minimize(-x[1] - 3 * x[2] + 0.5 * cp.quad_form(x, Q)), [x[0] + x[2] <= 2])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("MathOptInterface: tests of quadratic programs, QP1", known="1.857142")
def moi_qp1_milopt():
    program = milopt.Program()
    x = program.variable("x", 3)
    program.minimize(0.5 * milopt.quad_form(x, [[2, 1, 0], [1, 2, 1], [0, 1, 2]]))
    program.subject_to([x[0] + 2 * x[1] + 3 * x[2] >= 4, x[0] + x[1] >= 1])
    result = milopt.solve(program)
    return result, result.values[x]


def moi_qp1_cvxpy():
    x = cp.Variable(3)
    objective = cp.Minimize(0.5 * cp.quad_form(x, np.array([[2, 1, 0], [1, 2, 1], [0, 1, 2]])))
    problem = cp.Problem(objective, [x[0] + 2 * x[1] + 3 * x[2] >= 4, x[0] + x[1] >= 1])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("MathOptInterface: tests of quadratic programs, QP with a linear term", known="2.875")
def moi_qp3_milopt():
    program = milopt.Program()
    v = program.variable("v", 2, lower=0)
    x, y = v[0], v[1]
    program.minimize(milopt.quad_form(v, [[2, 0.5], [0.5, 1]]) + x + y + 1)
    program.subject_to(x + y == 1)
    result = milopt.solve(program)
    return result, result.values[v]


def moi_qp3_cvxpy():
    v = cp.Variable(2, nonneg=True)
    x, y = v[0], v[1]
    objective = cp.Minimize(cp.quad_form(v, np.array([[2, 0.5], [0.5, 1]])) + x + y + 1)
    problem = cp.Problem(objective, [x + y == 1])
    problem.solve(solver=cp.CLARABEL)
    return problem, v.value


RANDOM = np.random.RandomState(1)
MU = np.abs(RANDOM.randn(10))
FACTORS = RANDOM.randn(10, 10)
SIGMA = FACTORS.T @ FACTORS


@peer("cvxpy: Portfolio optimization, long only")
def portfolio_milopt():
    program = milopt.Program("portfolio")
    w = program.variable("w", 10, lower=0)
    program.maximize(MU @ w - 0.5 * milopt.quad_form(w, SIGMA))
    program.subject_to(w.sum() == 1)
    result = milopt.solve(program)
    return result, result.values[w]


def portfolio_cvxpy():
    w = cp.Variable(10, nonneg=True)
    problem = cp.Problem(cp.Maximize(MU @ w - 0.5 * cp.quad_form(w, SIGMA)), [cp.sum(w) == 1])
    problem.solve(solver=cp.CLARABEL)
    return problem, w.value


@peer("cvxpy: Portfolio optimization, a leverage limit")
def leverage_milopt():
    program = milopt.Program("portfolio")
    w = program.variable("w", 10)
    program.maximize(MU @ w - 0.5 * milopt.quad_form(w, SIGMA))
    program.subject_to([w.sum() == 1, milopt.norm(w, 1) <= 2])
    result = milopt.solve(program)
    return result, result.values[w]


def leverage_cvxpy():
    w = cp.Variable(10)
    objective = cp.Maximize(MU @ w - 0.5 * cp.quad_form(w, SIGMA))
    problem = cp.Problem(objective, [cp.sum(w) == 1, cp.norm(w, 1) <= 2])
    problem.solve(solver=cp.CLARABEL)
    return problem, w.value


EXPOSURE = np.random.RandomState(2).randn(40, 4)
SPECIFIC = np.random.RandomState(3).uniform(0.2, 1.2, 40)
RETURNS = np.random.RandomState(4).randn(40) + 1.5


@peer("cvxpy: Portfolio optimization, a factor model")
def factor_model_milopt():
    program = milopt.Program("factors")
    w = program.variable("w", 40)
    f = program.variable("f", 4)
    program.maximize(RETURNS @ w - 0.1 * (4 * milopt.sum_squares(f) + milopt.quad_form(w, SPECIFIC)))
    program.subject_to([w.sum() == 1, f == EXPOSURE.T @ w, milopt.norm(w, 1) <= 2])
    result = milopt.solve(program)
    return result, result.values[w]


def factor_model_cvxpy():
    w = cp.Variable(40)
    f = cp.Variable(4)
    risk = 4 * cp.sum_squares(f) + cp.quad_form(w, np.diag(SPECIFIC))
    constraints = [cp.sum(w) == 1, f == EXPOSURE.T @ w, cp.norm(w, 1) <= 2]
    problem = cp.Problem(cp.Maximize(RETURNS @ w - 0.1 * risk), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem, w.value


POINTS = RANDOM.randn(60, 2) + np.repeat([[1.5, 1.0], [-1.0, -1.5]], 30, axis=0)
SIGNS = np.repeat([1.0, -1.0], 30)


@peer("cvxpy: ADMM for an SVM, its problem")
def svm_milopt():
    program = milopt.Program("SVM")
    w = program.variable("w", 2)
    b = program.variable("b")
    hinge = milopt.positive_part(1 - SIGNS * (POINTS @ w - b))
    program.minimize(0.5 * milopt.sum_squares(w) + hinge.sum())
    result = milopt.solve(program)
    return result, result.values[w], result.values[b]


def svm_cvxpy():
    w = cp.Variable(2)
    b = cp.Variable()
    hinge = cp.pos(1 - cp.multiply(SIGNS, POINTS @ w - b))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + cp.sum(hinge)))
    problem.solve(solver=cp.CLARABEL)
    return problem, w.value, b.value


@peer("cvxpy: SVM classifier with regularization")
def sparse_svm_milopt():
    program = milopt.Program("SVM")
    w = program.variable("w", 2)
    b = program.variable("b")
    loss = milopt.positive_part(1 - SIGNS * (POINTS @ w - b)).sum()
    program.minimize(loss / 60 + 0.1 * milopt.norm(w, 1))
    return (milopt.solve(program),)


def sparse_svm_cvxpy():
    w = cp.Variable(2)
    b = cp.Variable()
    loss = cp.sum(cp.pos(1 - cp.multiply(SIGNS, POINTS @ w - b)))
    problem = cp.Problem(cp.Minimize(loss / 60 + 0.1 * cp.norm(w, 1)))
    problem.solve(solver=cp.CLARABEL)
    return (problem,)


@peer("textbook: the dual of an SVM with a kernel")
def kernel_svm_dual_milopt():
    kernel = np.exp(-0.5 * ((POINTS[:, None] - POINTS[None]) ** 2).sum(axis=2))
    program = milopt.Program("SVM")
    alpha = program.variable("alpha", 60, lower=0, upper=1)
    program.maximize(alpha.sum() - 0.5 * milopt.quad_form(SIGNS * alpha, kernel))
    program.subject_to(SIGNS @ alpha == 0)
    return (milopt.solve(program),)


def kernel_svm_dual_cvxpy():
    kernel = np.exp(-0.5 * ((POINTS[:, None] - POINTS[None]) ** 2).sum(axis=2))
    alpha = cp.Variable(60, bounds=[0, 1])
    objective = cp.Maximize(cp.sum(alpha) - 0.5 * cp.quad_form(cp.multiply(SIGNS, alpha), cp.psd_wrap(kernel)))
    problem = cp.Problem(objective, [SIGNS @ alpha == 0])
    problem.solve(solver=cp.CLARABEL)
    return (problem,)


@peer("textbook: the projection on a simplex")
def simplex_projection_milopt():
    program = milopt.Program()
    x = program.variable("x", 10, lower=0)
    program.minimize(milopt.sum_squares(x - MU))
    program.subject_to(x.sum() == 1)
    result = milopt.solve(program)
    return result, result.values[x]


def simplex_projection_cvxpy():
    x = cp.Variable(10, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - MU)), [cp.sum(x) == 1])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("textbook: Boyd and Vandenberghe 8.2, the distance between two polyhedra")
def distance_of_polyhedra_milopt():
    program = milopt.Program()
    x, y = program.variable("x", 2), program.variable("y", 2)
    program.minimize(milopt.sum_squares(x - y))
    program.subject_to([abs(x) <= 1, x.sum() <= 1, y.sum() >= 4, y[0] - 2 * y[1] >= 1])
    result = milopt.solve(program)
    return result, result.values[x], result.values[y]


def distance_of_polyhedra_cvxpy():
    x, y = cp.Variable(2), cp.Variable(2)
    constraints = [cp.abs(x) <= 1, cp.sum(x) <= 1, cp.sum(y) >= 4, y[0] - 2 * y[1] >= 1]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - y)), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value, y.value
