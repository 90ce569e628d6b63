"""Integer programs: knapsacks, covers, schedules, tours."""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np

import milopt
from tests.peers.problem import peer

PROFIT, WEIGHT = np.array([5, 3, 2, 7, 4]), np.array([2, 8, 4, 2, 5])


@peer("JuMP: The knapsack problem", known="16")
def knapsack_milopt():
    program = milopt.Program("knapsack")
    x = program.variable("x", 5, binary=True)
    program.maximize(PROFIT @ x)
    program.subject_to(WEIGHT @ x <= 10)
    result = milopt.solve(program)
    return result, result.values[x]


def knapsack_cvxpy():
    x = cp.Variable(5, boolean=True)
    problem = cp.Problem(cp.Maximize(PROFIT @ x), [WEIGHT @ x <= 10])
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


@peer("Pyomo: Cookbook, a knapsack of tools", known="25")
def tools_milopt():
    value = {"hammer": 8, "wrench": 3, "screwdriver": 6, "towel": 11}
    weight = {"hammer": 5, "wrench": 7, "screwdriver": 4, "towel": 3}
    program = milopt.Program("tools")
    x = {item: program.variable(item, binary=True) for item in value}
    program.maximize(sum(value[item] * x[item] for item in value))
    program.subject_to(sum(weight[item] * x[item] for item in value) <= 14)
    result = milopt.solve(program)
    return result, [result.values[item] for item in value]


def tools_cvxpy():
    value = {"hammer": 8, "wrench": 3, "screwdriver": 6, "towel": 11}
    weight = {"hammer": 5, "wrench": 7, "screwdriver": 4, "towel": 3}
    x = {item: cp.Variable(boolean=True) for item in value}
    total = sum(weight[item] * x[item] for item in value)
    problem = cp.Problem(cp.Maximize(sum(value[item] * x[item] for item in value)), [total <= 14])
    problem.solve(solver=cp.HIGHS)
    return problem, [x[item].value for item in value]


@peer("JuMP: Financial modeling problems, a combinatorial auction", known="21")
def auction_milopt():
    bids, items = np.array([6, 3, 12, 12, 8, 16]), [[0], [1], [2, 3], [0, 2], [1, 3], [0, 2, 3]]
    program = milopt.Program("auction")
    y = program.variable("y", 6, binary=True)
    program.maximize(bids @ y)
    program.subject_to([sum(y[j] for j in range(6) if i in items[j]) <= 1 for i in range(4)])
    result = milopt.solve(program)
    return result, result.values[y]


def auction_cvxpy():
    bids, items = np.array([6, 3, 12, 12, 8, 16]), [[0], [1], [2, 3], [0, 2], [1, 3], [0, 2, 3]]
    y = cp.Variable(6, boolean=True)
    constraints = [sum(y[j] for j in range(6) if i in items[j]) <= 1 for i in range(4)]
    problem = cp.Problem(cp.Maximize(bids @ y), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, y.value


@peer("JuMP: N-Queens", known="8")
def queens_milopt():
    program = milopt.Program("queens")
    x = program.variable("x", (8, 8), binary=True)
    program.maximize(x.sum())
    program.subject_to([x.sum(axis=0) == 1, x.sum(axis=1) == 1])
    for k in range(-7, 8):
        program.subject_to([np.diag(x, k).sum() <= 1, np.diag(np.fliplr(x), k).sum() <= 1])
    return (milopt.solve(program),)


def queens_cvxpy():
    x = cp.Variable((8, 8), boolean=True)
    constraints = [cp.sum(x, axis=0) == 1, cp.sum(x, axis=1) == 1]
    for k in range(-7, 8):
        constraints += [cp.sum(cp.diag(x, k)) <= 1, cp.sum(cp.diag(x[:, ::-1], k)) <= 1]
    problem = cp.Problem(cp.Maximize(cp.sum(x)), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


COVERS = np.array(
    [
        [1, 0, 0, 1, 0, 0, 1],
        [1, 1, 0, 0, 0, 1, 0],
        [0, 1, 1, 0, 0, 0, 1],
        [0, 0, 1, 1, 1, 0, 0],
        [0, 0, 0, 1, 1, 1, 0],
        [1, 0, 1, 0, 0, 1, 1],
    ]
)


@peer("textbook: set covering")
def set_cover_milopt():
    program = milopt.Program("cover")
    x = program.variable("x", 7, binary=True)
    program.minimize([3, 2, 4, 3, 2, 3, 5] @ x)
    program.subject_to(COVERS @ x >= 1)
    return (milopt.solve(program),)


def set_cover_cvxpy():
    x = cp.Variable(7, boolean=True)
    problem = cp.Problem(cp.Minimize(np.array([3, 2, 4, 3, 2, 3, 5]) @ x), [COVERS @ x >= 1])
    problem.solve(solver=cp.HIGHS)
    return (problem,)


RANDOM = np.random.RandomState(314)
DISTANCE = np.linalg.norm(RANDOM.rand(12, 1, 2) - RANDOM.rand(1, 5, 2), axis=2)
CLIENT_DEMAND, SITE_CAPACITY = RANDOM.randint(1, 4, 12), RANDOM.randint(7, 11, 5)


@peer("JuMP: The facility location problem, without capacities")
def facility_location_milopt():
    program = milopt.Program("facilities")
    y = program.variable("y", 5, binary=True)
    x = program.variable("x", (12, 5), binary=True)
    program.minimize(y.sum() + (DISTANCE * x).sum())
    program.subject_to([x.sum(axis=1) == 1, x <= y])
    result = milopt.solve(program)
    return result, result.values[y]


def facility_location_cvxpy():
    y = cp.Variable(5, boolean=True)
    x = cp.Variable((12, 5), boolean=True)
    constraints = [cp.sum(x, axis=1) == 1, x <= y[None, :]]
    problem = cp.Problem(cp.Minimize(cp.sum(y) + cp.sum(cp.multiply(DISTANCE, x))), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, y.value


@peer("JuMP: The facility location problem, with capacities")
def capacitated_location_milopt():
    program = milopt.Program("facilities")
    y = program.variable("y", 5, binary=True)
    x = program.variable("x", (12, 5), binary=True)
    program.minimize(y.sum() + (DISTANCE * x).sum())
    program.subject_to([x.sum(axis=1) == 1, CLIENT_DEMAND @ x <= SITE_CAPACITY * y])
    return (milopt.solve(program),)


def capacitated_location_cvxpy():
    y = cp.Variable(5, boolean=True)
    x = cp.Variable((12, 5), boolean=True)
    constraints = [cp.sum(x, axis=1) == 1, CLIENT_DEMAND @ x <= cp.multiply(SITE_CAPACITY, y)]
    problem = cp.Problem(cp.Minimize(cp.sum(y) + cp.sum(cp.multiply(DISTANCE, x))), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


CITIES = RANDOM.rand(7, 2)
MILES = np.linalg.norm(CITIES[:, None] - CITIES[None], axis=2)


def shortest_cycle(chosen):
    """Return the cities of the shortest cycle of a set of successors."""
    following = np.argmax(chosen, axis=1)
    cycles = []
    for start in range(len(following)):
        cycle = [start]
        while following[cycle[-1]] != start:
            cycle.append(int(following[cycle[-1]]))
        cycles.append(cycle)
    return min(cycles, key=len)


@peer("JuMP: Traveling salesperson problem, subtours excluded one after the other")
def tour_milopt():
    program = milopt.Program("tour")
    x = program.variable("x", (7, 7), binary=True)
    program.minimize((MILES * x).sum())
    program.subject_to([x.sum(axis=0) == 1, x.sum(axis=1) == 1, np.diag(x) == 0])
    while True:
        result = milopt.solve(program)
        cycle = shortest_cycle(result.values[x])
        if len(cycle) == 7:
            return (result,)
        program.subject_to(x[np.ix_(cycle, cycle)].sum() <= len(cycle) - 1)


def tour_cvxpy():
    x = cp.Variable((7, 7), boolean=True)
    constraints = [cp.sum(x, axis=0) == 1, cp.sum(x, axis=1) == 1, cp.diag(x) == 0]
    while True:
        problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(MILES, x))), constraints)
        problem.solve(solver=cp.HIGHS)
        cycle = shortest_cycle(x.value)
        if len(cycle) == 7:
            return (problem,)
        constraints += [cp.sum(x[np.ix_(cycle, cycle)]) <= len(cycle) - 1]


@peer("cvxpy: Multiple traveling salesman, with one salesman")
def tour_with_orders_milopt():
    program = milopt.Program("tour")
    x = program.variable("x", (7, 7), binary=True)
    u = program.variable("u", 7, lower=0, upper=6)
    program.minimize((MILES * x).sum())
    program.subject_to([x.sum(axis=0) == 1, x.sum(axis=1) == 1, np.diag(x) == 0, u[0] == 0])
    pairs = itertools.permutations(range(1, 7), 2)
    program.subject_to([u[i] - u[j] + 7 * x[i, j] <= 6 for i, j in pairs])
    return (milopt.solve(program),)


def tour_with_orders_cvxpy():
    x = cp.Variable((7, 7), boolean=True)
    u = cp.Variable(7, bounds=[0, 6])
    constraints = [cp.sum(x, axis=0) == 1, cp.sum(x, axis=1) == 1, cp.diag(x) == 0, u[0] == 0]
    pairs = itertools.permutations(range(1, 7), 2)
    constraints += [u[i] - u[j] + 7 * x[i, j] <= 6 for i, j in pairs]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(MILES, x))), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


@peer(
    "JuMP: Constraint programming, bin packing",
    known="3",
    rewritten="there is no set for bin packing: binary variables assign items to bins",
)
def bin_packing_milopt():
    weights = np.array([1, 1, 2, 2, 3])
    program = milopt.Program("bins")
    put = program.variable("put", (5, 4), binary=True)
    used = program.variable("used", 4, binary=True)
    program.minimize(used.sum())
    program.subject_to([put.sum(axis=1) == 1, weights @ put <= 3 * used])
    return (milopt.solve(program),)


def bin_packing_cvxpy():
    weights = np.array([1, 1, 2, 2, 3])
    put = cp.Variable((5, 4), boolean=True)
    used = cp.Variable(4, boolean=True)
    problem = cp.Problem(cp.Minimize(cp.sum(used)), [cp.sum(put, axis=1) == 1, weights @ put <= 3 * used])
    problem.solve(solver=cp.HIGHS)
    return (problem,)


FACTORY_LOW = np.array([[20000] * 12, [20000] * 4 + [0] + [20000] * 7])
FACTORY_HIGH = 1000 * np.array(
    [[100, 110, 120, 145, 160, 140, 155, 200, 210, 197, 80, 150], [50, 55, 60, 100, 0, 70, 60, 100, 100, 100, 120, 150]]
)
FACTORY_FIXED = np.array([[500] * 12, [600] * 4 + [0] + [600] * 7])
FACTORY_COST = np.array([[10, 11, 12, 9, 8, 8, 5, 7, 9, 10, 8, 8], [5, 4, 3, 5, 0, 6, 4, 6, 8, 11, 10, 12]])
FACTORY_DEMAND = 1000 * np.array([120, 100, 130, 130, 140, 130, 150, 170, 200, 190, 140, 100])


@peer("JuMP: The factory schedule example", known="12906400")
def factory_schedule_milopt():
    program = milopt.Program("factories")
    status = program.variable("status", (2, 12), binary=True)
    production = program.variable("production", (2, 12), integer=True)
    unmet = program.variable("unmet", 12, lower=0)
    program.minimize(10000 * unmet.sum() + (FACTORY_FIXED * status + FACTORY_COST * production).sum())
    program.subject_to(production.sum(axis=0) + unmet == FACTORY_DEMAND)
    program.between(FACTORY_LOW * status, production, FACTORY_HIGH * status)
    return (milopt.solve(program),)


def factory_schedule_cvxpy():
    status = cp.Variable((2, 12), boolean=True)
    production = cp.Variable((2, 12), integer=True)
    unmet = cp.Variable(12, nonneg=True)
    cost = 10000 * cp.sum(unmet) + cp.sum(cp.multiply(FACTORY_FIXED, status) + cp.multiply(FACTORY_COST, production))
    constraints = [cp.sum(production, axis=0) + unmet == FACTORY_DEMAND]
    constraints += [production <= cp.multiply(FACTORY_HIGH, status), production >= cp.multiply(FACTORY_LOW, status)]
    problem = cp.Problem(cp.Minimize(cost), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


@peer("JuMP: The urban planning problem", known="14")
def urban_planning_milopt():
    program = milopt.Program("urban planning")
    x = program.variable("x", (5, 5), binary=True)
    good = program.variable("good", (3, 10), binary=True)
    bad = program.variable("bad", (3, 10), binary=True)
    program.maximize([1, 1, 3] @ good.sum(axis=1) - [3, 1, 1] @ bad.sum(axis=1))
    lots = milopt.concatenate([x.sum(axis=1), x.sum(axis=0)])
    program.subject_to([x.sum() == 12, good <= lots / np.array([[5], [4], [3]])])
    program.subject_to(bad >= 1 - lots / np.array([[3], [2], [1]]))
    return (milopt.solve(program),)


def urban_planning_cvxpy():
    x = cp.Variable((5, 5), boolean=True)
    good = cp.Variable((3, 10), boolean=True)
    bad = cp.Variable((3, 10), boolean=True)
    value = np.array([1, 1, 3]) @ cp.sum(good, axis=1) - np.array([3, 1, 1]) @ cp.sum(bad, axis=1)
    lots = cp.hstack([cp.sum(x, axis=1), cp.sum(x, axis=0)])[None, :]
    constraints = [cp.sum(x) == 12, good <= np.array([[1 / 5], [1 / 4], [1 / 3]]) @ lots]
    constraints += [bad >= 1 - np.array([[1 / 3], [1 / 2], [1]]) @ lots]
    problem = cp.Problem(cp.Maximize(value), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


EDGES = np.array([[0, 1], [0, 2], [1, 2], [1, 3], [2, 4], [3, 4], [3, 5], [4, 5], [5, 6], [4, 6]])


@peer("textbook: the colours of a graph")
def colouring_milopt():
    program = milopt.Program("colours")
    x = program.variable("x", (7, 4), binary=True)
    used = program.variable("used", 4, binary=True)
    program.minimize(used.sum())
    program.subject_to([x.sum(axis=1) == 1, x[EDGES[:, 0]] + x[EDGES[:, 1]] <= used])
    return (milopt.solve(program),)


def colouring_cvxpy():
    x = cp.Variable((7, 4), boolean=True)
    used = cp.Variable(4, boolean=True)
    constraints = [cp.sum(x, axis=1) == 1, x[EDGES[:, 0]] + x[EDGES[:, 1]] <= used[None, :]]
    problem = cp.Problem(cp.Minimize(cp.sum(used)), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


@peer("JuMP: Benders decomposition, the whole program", known="4")
def garfinkel_milopt():
    A, B = np.array([[1, -3], [-1, -3]]), np.array([[1, -2], [-1, -1]])
    program = milopt.Program()
    x = program.variable("x", 2, lower=0, integer=True)
    y = program.variable("y", 2, lower=0)
    program.minimize([1, 4] @ x + [2, 3] @ y)
    program.subject_to(A @ x + B @ y <= [-2, -3])
    result = milopt.solve(program)
    return result, result.values[x], result.values[y]


def garfinkel_cvxpy():
    A, B = np.array([[1, -3], [-1, -3]]), np.array([[1, -2], [-1, -1]])
    x = cp.Variable(2, integer=True)
    y = cp.Variable(2, nonneg=True)
    cost = np.array([1, 4]) @ x + np.array([2, 3]) @ y
    problem = cp.Problem(cp.Minimize(cost), [x >= 0, A @ x + B @ y <= np.array([-2, -3])])
    problem.solve(solver=cp.HIGHS)
    return problem, x.value, y.value


@peer("MathOptInterface: tests of integer programs, int1", known="19.4")
def moi_integer_milopt():
    program = milopt.Program()
    x = program.variable("x", lower=0, upper=10)
    y = program.variable("y", lower=0, integer=True)
    z = program.variable("z", binary=True)
    program.maximize(1.1 * x + 2 * y + 5 * z)
    program.subject_to([x + y + z <= 10, x + 2 * y + z <= 15])
    result = milopt.solve(program)
    return result, result.values[x], result.values[y], result.values[z]


def moi_integer_cvxpy():
    x = cp.Variable(bounds=[0, 10])
    y = cp.Variable(integer=True)
    z = cp.Variable(boolean=True)
    constraints = [y >= 0, x + y + z <= 10, x + 2 * y + z <= 15]
    problem = cp.Problem(cp.Maximize(1.1 * x + 2 * y + 5 * z), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, x.value, y.value, z.value
