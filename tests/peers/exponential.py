"""Exponential cones: logarithms, entropies, exponentials."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import milopt
from tests.peers.problem import peer

RANDOM = np.random.RandomState(1)
POINTS = RANDOM.randn(50, 6)
LABELS = (POINTS @ RANDOM.randn(6) + 0.5 * RANDOM.randn(50) > 0).astype(float)


@peer("cvxpy: Logistic regression with l1 regularisation")
def logistic_regression_milopt():
    program = milopt.Program("logistic regression")
    beta = program.variable("beta", 6)
    likelihood = (LABELS * (POINTS @ beta) - milopt.logistic(POINTS @ beta)).sum()
    program.maximize(likelihood / 50 - 0.01 * milopt.norm(beta, 1))
    result = milopt.solve(program)
    return result, result.values[beta]


def logistic_regression_cvxpy():
    beta = cp.Variable(6)
    likelihood = cp.sum(cp.multiply(LABELS, POINTS @ beta) - cp.logistic(POINTS @ beta))
    problem = cp.Problem(cp.Maximize(likelihood / 50 - 0.01 * cp.norm(beta, 1)))
    problem.solve(solver=cp.CLARABEL)
    return problem, beta.value


@peer("JuMP: Logistic regression with l2 regularisation")
def logistic_ridge_milopt():
    program = milopt.Program("logistic regression")
    beta = program.variable("beta", 6)
    margins = (2 * LABELS - 1) * (POINTS @ beta)
    program.minimize(milopt.logistic(-margins).sum() + 2.0 * milopt.norm(beta))
    result = milopt.solve(program)
    return result, result.values[beta]


def logistic_ridge_cvxpy():
    beta = cp.Variable(6)
    margins = cp.multiply(2 * LABELS - 1, POINTS @ beta)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.logistic(-margins)) + 2.0 * cp.norm(beta)))
    problem.solve(solver=cp.CLARABEL)
    return problem, beta.value


CLASSES = np.argmax(POINTS[:, :3] + 0.5 * RANDOM.randn(50, 3), axis=1)


@peer("textbook: multinomial logistic regression")
def softmax_regression_milopt():
    program = milopt.Program("softmax")
    W = program.variable("W", (6, 3))
    scores = POINTS @ W
    loss = (milopt.log_sum_exp(scores, axis=1) - scores[np.arange(50), CLASSES]).sum()
    program.minimize(loss + milopt.sum_squares(W))
    result = milopt.solve(program)
    return result, result.values[W]


def softmax_regression_cvxpy():
    W = cp.Variable((6, 3))
    scores = POINTS @ W
    loss = cp.sum(cp.log_sum_exp(scores, axis=1) - scores[np.arange(50), CLASSES])
    problem = cp.Problem(cp.Minimize(loss + cp.sum_squares(W)))
    problem.solve(solver=cp.CLARABEL)
    return problem, W.value


NOISE = np.array([0.8, 1.0, 1.2])


@peer("cvxpy: Water filling in communications")
def water_filling_milopt():
    program = milopt.Program("water filling")
    x = program.variable("x", 3, lower=0)
    program.maximize(milopt.log(NOISE + x).sum())
    program.subject_to(x.sum() == 1)
    result = milopt.solve(program)
    return result, result.values[x]


def water_filling_cvxpy():
    x = cp.Variable(3, nonneg=True)
    problem = cp.Problem(cp.Maximize(cp.sum(cp.log(NOISE + x))), [cp.sum(x) == 1])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


CHANNEL = np.array([[0.75, 0.25], [0.25, 0.75]])


@peer("cvxpy: Computing the capacity of a channel", known="0.1887")
def channel_capacity_milopt():
    c = (CHANNEL * np.log2(CHANNEL)).sum(axis=0)
    program = milopt.Program("capacity")
    x = program.variable("x", 2, lower=0)
    program.maximize(c @ x + milopt.entropy(CHANNEL @ x) / np.log(2))
    program.subject_to(x.sum() == 1)
    result = milopt.solve(program)
    return result, result.values[x]


def channel_capacity_cvxpy():
    c = (CHANNEL * np.log2(CHANNEL)).sum(axis=0)
    x = cp.Variable(2, nonneg=True)
    problem = cp.Problem(cp.Maximize(c @ x + cp.sum(cp.entr(CHANNEL @ x)) / np.log(2)), [cp.sum(x) == 1])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


CHANNEL_GAINS = np.array([1.0, 1.5, 2.0, 2.5, 3.0])


@peer("cvxpy: Optimal power and bandwidth allocation in a Gaussian broadcast channel")
def power_allocation_milopt():
    program = milopt.Program("channel")
    P, W = program.variable("P", 5), program.variable("W", 5)
    program.minimize(milopt.relative_entropy(W, W + CHANNEL_GAINS * P))
    program.subject_to([P >= 0, W >= 0, P.sum() == 0.5, W.sum() == 1.0])
    return (milopt.solve(program),)


def power_allocation_cvxpy():
    P, W = cp.Variable(5), cp.Variable(5)
    rates = cp.sum(cp.rel_entr(W, W + cp.multiply(CHANNEL_GAINS, P)))
    problem = cp.Problem(cp.Minimize(rates), [P >= 0, W >= 0, cp.sum(P) == 0.5, cp.sum(W) == 1.0])
    problem.solve(solver=cp.CLARABEL)
    return (problem,)


A_ENTROPY, X_ENTROPY = RANDOM.rand(4, 8), RANDOM.rand(8)
F_ENTROPY = RANDOM.randn(2, 8)


@peer("cvxpy: Entropy maximization")
def max_entropy_milopt():
    program = milopt.Program("entropy")
    x = program.variable("x", 8)
    program.maximize(milopt.entropy(x))
    program.subject_to([A_ENTROPY @ x == A_ENTROPY @ X_ENTROPY, F_ENTROPY @ x <= F_ENTROPY @ X_ENTROPY + 0.1])
    result = milopt.solve(program)
    return result, result.values[x]


def max_entropy_cvxpy():
    x = cp.Variable(8)
    constraints = [A_ENTROPY @ x == A_ENTROPY @ X_ENTROPY, F_ENTROPY @ x <= F_ENTROPY @ X_ENTROPY + 0.1]
    problem = cp.Problem(cp.Maximize(cp.sum(cp.entr(x))), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer("JuMP: Conic tips and tricks, entropy maximisation on a simplex")
def entropy_on_simplex_milopt():
    program = milopt.Program("entropy")
    x = program.variable("x", 8)
    program.maximize(milopt.entropy(x))
    program.subject_to([x.sum() == 1, F_ENTROPY @ x <= -0.2])
    result = milopt.solve(program)
    return result, result.values[x]


def entropy_on_simplex_cvxpy():
    x = cp.Variable(8)
    problem = cp.Problem(cp.Maximize(cp.sum(cp.entr(x))), [cp.sum(x) == 1, F_ENTROPY @ x <= -0.2])
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


PRIOR = RANDOM.dirichlet(np.ones(6))


@peer("textbook: the Kullback-Leibler projection of a distribution")
def kl_projection_milopt():
    program = milopt.Program("KL")
    p = program.variable("p", 6, lower=0)
    program.minimize(milopt.relative_entropy(p, PRIOR))
    program.subject_to([p.sum() == 1, np.arange(6) @ p == 3.5])
    result = milopt.solve(program)
    return result, result.values[p]


def kl_projection_cvxpy():
    p = cp.Variable(6, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.kl_div(p, PRIOR))), [cp.sum(p) == 1, np.arange(6) @ p == 3.5])
    problem.solve(solver=cp.CLARABEL)
    return problem, p.value


@peer(
    "MathOptInterface: tests of conic programs, Exp1",
    known="6.297442541",
    rewritten="cones are not declared by hand: y exp(x / y) <= z is written as a relative entropy",
)
def moi_exp1_milopt():
    program = milopt.Program()
    x, y, z = (program.variable(name) for name in "xyz")
    program.minimize(x + y + z)
    program.subject_to([x == 1, y == 2, milopt.relative_entropy(y, z) <= -x])
    result = milopt.solve(program)
    return result, result.values[z]


def moi_exp1_cvxpy():
    x, y, z = cp.Variable(), cp.Variable(), cp.Variable()
    problem = cp.Problem(cp.Minimize(x + y + z), [x == 1, y == 2, cp.ExpCone(x, y, z)])
    problem.solve(solver=cp.CLARABEL)
    return problem, z.value


@peer("MathOptInterface: tests of conic programs, RelativeEntropyCone", known="-0.1461")
def moi_relative_entropy_milopt():
    program = milopt.Program()
    u = program.variable("u")
    program.minimize(u)
    program.subject_to(milopt.relative_entropy([2.0, 3.0], [1.0, 5.0]) <= u)
    return (milopt.solve(program),)


def moi_relative_entropy_cvxpy():
    u = cp.Variable()
    problem = cp.Problem(cp.Minimize(u), [cp.sum(cp.rel_entr([2.0, 3.0], [1.0, 5.0])) <= u])
    problem.solve(solver=cp.CLARABEL)
    return (problem,)


ODDS = np.array([[4.0, 0.0, 0.0], [0.0, 3.5, 0.0], [0.0, 0.0, 2.0], [1.0, 1.0, 1.0]]).T
CHANCES = np.array([0.3, 0.3, 0.4])


@peer("cvxpy: Kelly gambling")
def kelly_gambling_milopt():
    program = milopt.Program("Kelly")
    b = program.variable("b", 4, lower=0)
    program.maximize(CHANCES @ milopt.log(ODDS @ b))
    program.subject_to(b.sum() == 1)
    return (milopt.solve(program),)


def kelly_gambling_cvxpy():
    b = cp.Variable(4, nonneg=True)
    problem = cp.Problem(cp.Maximize(CHANCES @ cp.log(ODDS @ b)), [cp.sum(b) == 1])
    problem.solve(solver=cp.CLARABEL)
    return (problem,)


HALFSPACES = np.array([[2, 1], [2, -1], [-1, 2], [-1, -1], [1, 0]])


@peer("cvxpy: Analytic center (examples/advanced)")
def analytic_centre_milopt():
    program = milopt.Program("analytic centre")
    x = program.variable("x", 2)
    program.maximize(milopt.log(1 - HALFSPACES @ x).sum())
    result = milopt.solve(program)
    return result, result.values[x]


def analytic_centre_cvxpy():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Maximize(cp.sum(cp.log(1 - HALFSPACES @ x))))
    problem.solve(solver=cp.CLARABEL)
    return problem, x.value


@peer(
    "cvxpy: Maximizing the volume of a box",
    rewritten="there is no geometric programming: the problem is written in logarithms",
)
def largest_box_milopt():
    program = milopt.Program("box")
    w, h, d = (program.variable(name) for name in "whd")
    program.maximize(w + h + d)
    program.subject_to([milopt.log_sum_exp(np.log(2) + h + w, np.log(2) + h + d) <= np.log(200), w + d <= np.log(60)])
    program.subject_to([np.log(0.8) <= h - w, h - w <= np.log(1.2), np.log(0.5) <= d - w, d - w <= np.log(2)])
    result = milopt.solve(program)
    return result, result.value(milopt.exp(w + h + d))


def largest_box_cvxpy():
    w, h, d = cp.Variable(), cp.Variable(), cp.Variable()
    wall = cp.log_sum_exp(cp.hstack([np.log(2) + h + w, np.log(2) + h + d]))
    constraints = [wall <= np.log(200), w + d <= np.log(60), np.log(0.8) <= h - w, h - w <= np.log(1.2)]
    constraints += [np.log(0.5) <= d - w, d - w <= np.log(2)]
    problem = cp.Problem(cp.Maximize(w + h + d), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem, cp.exp(w + h + d).value


COUNTS = RANDOM.poisson(np.exp(0.3 * POINTS[:, 0] + 0.5)).astype(float)


@peer("textbook: Poisson regression")
def poisson_regression_milopt():
    program = milopt.Program("Poisson")
    beta = program.variable("beta", 6)
    rate = POINTS @ beta
    program.minimize((milopt.exp(rate) - COUNTS * rate).sum())
    result = milopt.solve(program)
    return result, result.values[beta]


def poisson_regression_cvxpy():
    beta = cp.Variable(6)
    rate = POINTS @ beta
    problem = cp.Problem(cp.Minimize(cp.sum(cp.exp(rate) - cp.multiply(COUNTS, rate))))
    problem.solve(solver=cp.CLARABEL)
    return problem, beta.value
