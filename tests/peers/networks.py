"""Flows, paths and assignments in networks."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import milopt
from tests.peers.problem import peer

ARC_COST = np.array([[0, 100, 30, 0, 0], [0, 0, 20, 0, 0], [0, 0, 0, 10, 60], [0, 15, 0, 0, 50], [0, 0, 0, 0, 0]])


@peer("JuMP: Network flow problems, shortest path", known="55")
def shortest_path_milopt():
    program = milopt.Program("shortest path")
    x = program.variable("x", (5, 5), binary=True)
    program.minimize((ARC_COST * x).sum())
    program.subject_to([x[ARC_COST == 0] == 0, x.sum(axis=1) - x.sum(axis=0) == [1, -1, 0, 0, 0]])
    result = milopt.solve(program)
    return result, result.values[x]


def shortest_path_cvxpy():
    x = cp.Variable((5, 5), boolean=True)
    constraints = [x[ARC_COST == 0] == 0, cp.sum(x, axis=1) - cp.sum(x, axis=0) == [1, -1, 0, 0, 0]]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(ARC_COST, x))), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


BENEFIT = np.array([[6, 4, 5, 0], [0, 3, 6, 0], [5, 0, 4, 3], [7, 5, 5, 5]])


@peer("JuMP: Network flow problems, assignment", known="20")
def assignment_milopt():
    program = milopt.Program("assignment")
    y = program.variable("y", (4, 4), binary=True)
    program.maximize((BENEFIT * y).sum())
    program.subject_to([y.sum(axis=0) == 1, y.sum(axis=1) == 1])
    return (milopt.solve(program),)


def assignment_cvxpy():
    y = cp.Variable((4, 4), boolean=True)
    constraints = [cp.sum(y, axis=0) == 1, cp.sum(y, axis=1) == 1]
    problem = cp.Problem(cp.Maximize(cp.sum(cp.multiply(BENEFIT, y))), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


CAPACITY = np.zeros((8, 8))
CAPACITY[0, 1:4] = 3, 2, 2
CAPACITY[1, 4:6] = 5, 1
CAPACITY[2, 4:7] = 1, 3, 1
CAPACITY[3, 5] = 1
CAPACITY[4:7, 7] = 4, 2, 4


@peer("JuMP: Network flow problems, maximum flow", known="6")
def max_flow_milopt():
    program = milopt.Program("max flow")
    f = program.variable("f", (8, 8), lower=0, upper=CAPACITY)
    program.maximize(f[0].sum())
    program.subject_to(f.sum(axis=1)[1:-1] == f.sum(axis=0)[1:-1])
    return (milopt.solve(program),)


def max_flow_cvxpy():
    f = cp.Variable((8, 8), nonneg=True)
    constraints = [f <= CAPACITY, cp.sum(f, axis=1)[1:-1] == cp.sum(f, axis=0)[1:-1]]
    problem = cp.Problem(cp.Maximize(cp.sum(f[0])), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


# Arcs of a network with nodes 0 to 4: from, to, cost.
ARCS = np.array([[0, 0, 1, 1, 1, 2, 2, 3, 4], [1, 2, 2, 3, 4, 3, 4, 4, 2], [4, 4, 2, 2, 6, 1, 3, 2, 3]]).T
ARC_CAPACITY = np.array([15, 8, 20, 4, 10, 15, 4, 20, 5])
SUPPLY = np.array([20, 0, 0, -5, -15])
INCIDENCE = np.zeros((5, 9))
INCIDENCE[ARCS[:, 0], np.arange(9)] = 1
INCIDENCE[ARCS[:, 1], np.arange(9)] = -1


@peer("OR-Tools: Minimum cost flows", known="150")
def min_cost_flow_milopt():
    program = milopt.Program("min-cost flow")
    f = program.variable("f", 9, lower=0, upper=ARC_CAPACITY)
    program.minimize(ARCS[:, 2] @ f)
    program.subject_to(INCIDENCE @ f == SUPPLY)
    return (milopt.solve(program),)


def min_cost_flow_cvxpy():
    f = cp.Variable(9, nonneg=True)
    problem = cp.Problem(cp.Minimize(ARCS[:, 2] @ f), [f <= ARC_CAPACITY, INCIDENCE @ f == SUPPLY])
    problem.solve(solver=cp.HIGHS)
    return (problem,)


@peer("textbook: a minimum cut as the dual of JuMP's maximum flow", known="6")
def min_cut_milopt():
    program = milopt.Program("min cut")
    is_cut = program.variable("is_cut", (8, 8), lower=0)
    side = program.variable("side", 8)
    program.minimize((CAPACITY * is_cut).sum())
    program.subject_to([is_cut >= side[:, None] - side[None, :], side[0] - side[7] >= 1])
    return (milopt.solve(program),)


def min_cut_cvxpy():
    is_cut = cp.Variable((8, 8), nonneg=True)
    side = cp.Variable(8)
    constraints = [is_cut >= side[:, None] - side[None, :], side[0] - side[7] >= 1]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(CAPACITY, is_cut))), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


# Per commodity: where it enters and leaves, and how much of it.
COMMODITIES = np.array([[8, 0, 0, 0, -8], [0, 5, 0, -5, 0]]).T


@peer("cvxpy: Multi-commodity flow (examples/flows)")
def multi_commodity_flow_milopt():
    program = milopt.Program("multi-commodity flow")
    f = program.variable("f", (9, 2), lower=0)
    program.minimize((ARCS[:, 2] @ f).sum())
    program.subject_to([INCIDENCE @ f == COMMODITIES, f.sum(axis=1) <= ARC_CAPACITY])
    return (milopt.solve(program),)


def multi_commodity_flow_cvxpy():
    f = cp.Variable((9, 2), nonneg=True)
    constraints = [INCIDENCE @ f == COMMODITIES, cp.sum(f, axis=1) <= ARC_CAPACITY]
    problem = cp.Problem(cp.Minimize(cp.sum(ARCS[:, 2] @ f)), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


# Shipping costs, supplies and demands of the AMPL book; -1 stands for an arc that does not exist.
SHIPPING = np.array([[39, 14, 11, 14, 16, 82, 8], [27, -1, 12, -1, 26, 95, 17], [24, 14, 17, 13, 28, 99, 20]])
SUPPLIES, DEMANDS = np.array([1400, 2600, 2900]), np.array([900, 1200, 600, 400, 1700, 1100, 1000])


@peer("JuMP: The transportation problem")
def transportation_milopt():
    program = milopt.Program("transportation")
    x = program.variable("x", (3, 7), lower=0, upper=np.where(SHIPPING < 0, 0, np.inf))
    program.minimize((SHIPPING * x).sum())
    program.subject_to([x.sum(axis=1) <= SUPPLIES, x.sum(axis=0) == DEMANDS])
    return (milopt.solve(program),)


def transportation_cvxpy():
    x = cp.Variable((3, 7), nonneg=True)
    constraints = [x[SHIPPING < 0] == 0, cp.sum(x, axis=1) <= SUPPLIES, cp.sum(x, axis=0) == DEMANDS]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(SHIPPING, x))), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


PRODUCT_COST = np.array(
    [
        [[30, 10, 8, 10, 11, 71, 6], [22, 7, 10, 7, 21, 82, 13], [19, 11, 12, 10, 25, 83, 15]],
        [[39, 14, 11, 14, 16, 82, 8], [27, 9, 12, 9, 26, 95, 17], [24, 14, 17, 13, 28, 99, 20]],
        [[41, 15, 12, 16, 17, 86, 8], [29, 9, 13, 9, 28, 99, 18], [26, 14, 17, 13, 31, 104, 20]],
    ]
)
PRODUCT_SUPPLY = np.array([[400, 700, 800], [800, 1600, 1800], [200, 300, 300]])
PRODUCT_DEMAND = np.array(
    [[300, 300, 100, 75, 650, 225, 250], [500, 750, 400, 250, 950, 850, 500], [100, 100, 0, 50, 200, 100, 250]]
)


@peer("JuMP: Working with SQLite, multi-commodity transportation", known="225700")
def multi_commodity_transport_milopt():
    program = milopt.Program("multi")
    x = program.variable("x", (3, 3, 7), lower=0)
    program.maximize((PRODUCT_COST * x).sum())
    program.subject_to([x.sum(axis=2) <= PRODUCT_SUPPLY, x.sum(axis=1) == PRODUCT_DEMAND, x.sum(axis=0) <= 625])
    return (milopt.solve(program),)


def multi_commodity_transport_cvxpy():
    x = cp.Variable((3, 3, 7), nonneg=True)
    constraints = [cp.sum(x, 2) <= PRODUCT_SUPPLY, cp.sum(x, 1) == PRODUCT_DEMAND, cp.sum(x, 0) <= 625]
    problem = cp.Problem(cp.Maximize(cp.sum(cp.multiply(PRODUCT_COST, x))), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


DURATION = np.array([3, 2, 4, 2, 5, 1])
BEFORE, AFTER = np.array([[0, 2], [0, 3], [1, 3], [2, 4], [3, 4], [3, 5], [4, 5]]).T


@peer("textbook: the critical path of a project")
def critical_path_milopt():
    program = milopt.Program("project")
    start = program.variable("start", 6, lower=0)
    program.minimize((start + DURATION).max())
    program.subject_to(start[AFTER] >= start[BEFORE] + DURATION[BEFORE])
    return (milopt.solve(program),)


def critical_path_cvxpy():
    start = cp.Variable(6, nonneg=True)
    constraints = [start[AFTER] >= start[BEFORE] + DURATION[BEFORE]]
    problem = cp.Problem(cp.Minimize(cp.max(start + DURATION)), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)
