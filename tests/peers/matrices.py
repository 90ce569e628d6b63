"""Variables that are matrices or have three axes."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import milopt
from tests.peers.problem import peer

PLANTS, MARKETS = np.array([350, 600]), np.array([300, 300, 300])
CANNERY = np.array([[2.5, 1.7, 1.8], [2.5, 1.8, 1.4]])


@peer("JuMP: The cannery problem", known="1680")
def cannery_milopt():
    program = milopt.Program("cannery")
    x = program.variable("x", (2, 3), lower=0)
    program.minimize((CANNERY * x).sum())
    program.subject_to([x.sum(axis=1) <= PLANTS, x.sum(axis=0) >= MARKETS])
    return (milopt.solve(program),)


def cannery_cvxpy():
    x = cp.Variable((2, 3), nonneg=True)
    constraints = [cp.sum(x, axis=1) <= PLANTS, cp.sum(x, axis=0) >= MARKETS]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(CANNERY, x))), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


CLUES = np.zeros((9, 9), dtype=int)
CLUES[[0, 0, 0, 1, 1, 1, 1, 2, 2, 2], [0, 1, 4, 0, 3, 4, 5, 1, 2, 7]] = 5, 3, 7, 6, 1, 9, 5, 9, 8, 6
CLUES[[3, 3, 3, 4, 4, 4, 4, 5, 5, 5], [0, 4, 8, 0, 3, 5, 8, 0, 4, 8]] = 8, 6, 3, 4, 8, 3, 1, 7, 2, 6
CLUES[[6, 6, 6, 7, 7, 7, 7, 8, 8, 8], [1, 6, 7, 3, 4, 5, 8, 4, 7, 8]] = 6, 2, 8, 4, 1, 9, 5, 8, 7, 9


@peer("JuMP: Sudoku", known="0")
def sudoku_milopt():
    program = milopt.Program("sudoku")
    x = program.variable("x", (9, 9, 9), binary=True)
    program.subject_to([x.sum(axis=k) == 1 for k in range(3)])
    for i in range(0, 9, 3):
        for j in range(0, 9, 3):
            program.subject_to(x[i : i + 3, j : j + 3].sum(axis=(0, 1)) == 1)
    row, column = np.nonzero(CLUES)
    program.subject_to(x[row, column, CLUES[row, column] - 1] == 1)
    result = milopt.solve(program)
    return result, result.values[x].argmax(axis=2) + 1


def sudoku_cvxpy():
    x = cp.Variable((9, 9, 9), boolean=True)
    constraints = [cp.sum(x, axis=k) == 1 for k in range(3)]
    for i in range(0, 9, 3):
        for j in range(0, 9, 3):
            constraints += [cp.sum(x[i : i + 3, j : j + 3], axis=(0, 1)) == 1]
    row, column = np.nonzero(CLUES)
    constraints += [x[r, c, CLUES[r, c] - 1] == 1 for r, c in zip(row, column, strict=True)]
    problem = cp.Problem(cp.Minimize(0), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, x.value.argmax(axis=2) + 1


RANDOM = np.random.RandomState(11)
INPUTS, OUTPUTS = RANDOM.randn(40, 5), RANDOM.randn(40, 3)


@peer("textbook: ridge regression with several outputs")
def matrix_regression_milopt():
    program = milopt.Program()
    B = program.variable("B", (5, 3))
    program.minimize(milopt.sum_squares(INPUTS @ B - OUTPUTS) + 2 * milopt.sum_squares(B))
    result = milopt.solve(program)
    return result, result.values[B]


def matrix_regression_cvxpy():
    B = cp.Variable((5, 3))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(INPUTS @ B - OUTPUTS) + 2 * cp.sum_squares(B)))
    problem.solve(solver=cp.CLARABEL)
    return problem, B.value


@peer("textbook: rows of a matrix chosen by their norms")
def multi_task_lasso_milopt():
    program = milopt.Program()
    B = program.variable("B", (5, 3))
    program.minimize(0.5 * milopt.sum_squares(INPUTS @ B - OUTPUTS) + 8 * milopt.norm(B, axis=1).sum())
    result = milopt.solve(program)
    return result, result.values[B]


def multi_task_lasso_cvxpy():
    B = cp.Variable((5, 3))
    loss = 0.5 * cp.sum_squares(INPUTS @ B - OUTPUTS)
    problem = cp.Problem(cp.Minimize(loss + 8 * cp.sum(cp.norm(B, axis=1))))
    problem.solve(solver=cp.CLARABEL)
    return problem, B.value


HEIGHTS = np.abs(RANDOM.randn(6, 4))
WIDTHS = np.abs(RANDOM.randn(4, 5))


@peer("cvxpy: Nonnegative matrix factorization, one half-step")
def factorization_step_milopt():
    program = milopt.Program()
    X = program.variable("X", (4, 5), lower=0)
    program.minimize(milopt.norm(HEIGHTS @ (WIDTHS + 1) - HEIGHTS @ X - 1))
    result = milopt.solve(program)
    return result, result.values[X]


def factorization_step_cvxpy():
    X = cp.Variable((4, 5), nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.norm(HEIGHTS @ (WIDTHS + 1) - HEIGHTS @ X - 1, "fro")))
    problem.solve(solver=cp.CLARABEL)
    return problem, X.value


IMAGE = np.kron(np.array([[1.0, 3.0], [2.0, 0.0]]), np.ones((5, 5))) + 0.1 * RANDOM.randn(10, 10)
SEEN = RANDOM.rand(10, 10) < 0.6


@peer(
    "cvxpy: Total variation in-painting",
    rewritten="there is no total variation of a matrix: the norms of its differences are written out",
)
def inpainting_milopt():
    program = milopt.Program("in-painting")
    U = program.variable("U", (10, 10))
    slopes = milopt.stack([U[1:, :-1] - U[:-1, :-1], U[:-1, 1:] - U[:-1, :-1]])
    program.minimize(milopt.norm(slopes, axis=0).sum())
    program.subject_to(U[SEEN] == IMAGE[SEEN])
    return (milopt.solve(program),)


def inpainting_cvxpy():
    U = cp.Variable((10, 10))
    problem = cp.Problem(cp.Minimize(cp.tv(U)), [cp.multiply(SEEN, U) == cp.multiply(SEEN, IMAGE)])
    problem.solve(solver=cp.CLARABEL)
    return (problem,)


@peer("textbook: the nearest doubly stochastic matrix")
def doubly_stochastic_milopt():
    program = milopt.Program()
    X = program.variable("X", (4, 4), lower=0)
    program.minimize(milopt.sum_squares(X - HEIGHTS[:4]))
    program.subject_to([X.sum(axis=0) == 1, X.sum(axis=1) == 1])
    result = milopt.solve(program)
    return result, result.values[X]


def doubly_stochastic_cvxpy():
    X = cp.Variable((4, 4), nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X - HEIGHTS[:4])), [cp.sum(X, 0) == 1, cp.sum(X, 1) == 1])
    problem.solve(solver=cp.CLARABEL)
    return problem, X.value


MASS, PLACES = np.array([0.2, 0.5, 0.3]), np.array([0.4, 0.1, 0.25, 0.25])
MOVING = np.abs(np.arange(3)[:, None] - np.array([0.5, 1.0, 1.5, 2.5]))


@peer("textbook: optimal transport between two distributions")
def optimal_transport_milopt():
    program = milopt.Program("transport")
    P = program.variable("P", (3, 4), lower=0)
    program.minimize((MOVING * P).sum())
    program.subject_to([P.sum(axis=1) == MASS, P.sum(axis=0) == PLACES])
    return (milopt.solve(program),)


def optimal_transport_cvxpy():
    P = cp.Variable((3, 4), nonneg=True)
    constraints = [cp.sum(P, axis=1) == MASS, cp.sum(P, axis=0) == PLACES]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(MOVING, P))), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


@peer("textbook: optimal transport with an entropy")
def entropic_transport_milopt():
    program = milopt.Program("transport")
    P = program.variable("P", (3, 4), lower=0)
    program.minimize((MOVING * P).sum() - 0.2 * milopt.entropy(P))
    program.subject_to([P.sum(axis=1) == MASS, P.sum(axis=0) == PLACES])
    result = milopt.solve(program)
    return result, result.values[P]


def entropic_transport_cvxpy():
    P = cp.Variable((3, 4), nonneg=True)
    constraints = [cp.sum(P, axis=1) == MASS, cp.sum(P, axis=0) == PLACES]
    objective = cp.Minimize(cp.sum(cp.multiply(MOVING, P)) - 0.2 * cp.sum(cp.entr(P)))
    problem = cp.Problem(objective, constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem, P.value


REVENUE = RANDOM.uniform(0.1, 2.0, (4, 12))
VIEWS = RANDOM.uniform(1.0, 5.0, 12)


@peer("cvxpy: Optimal advertising")
def advertising_milopt():
    program = milopt.Program("advertising")
    D = program.variable("D", (4, 12), lower=0)
    income = (REVENUE * D).sum(axis=1)
    program.maximize(milopt.minimum(income, [5, 4, 6, 3]).sum())
    program.subject_to([D.sum(axis=0) <= VIEWS, D.sum(axis=1) >= 1])
    return (milopt.solve(program),)


def advertising_cvxpy():
    D = cp.Variable((4, 12), nonneg=True)
    income = cp.sum(cp.multiply(REVENUE, D), axis=1)
    constraints = [cp.sum(D, axis=0) <= VIEWS, cp.sum(D, axis=1) >= 1]
    problem = cp.Problem(cp.Maximize(cp.sum(cp.minimum(income, np.array([5, 4, 6, 3])))), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)
