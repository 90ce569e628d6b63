"""Linear programs."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import milopt
from tests.peers.problem import peer

# Per food: cost; calories, protein, fat and sodium.
FOOD_COST = np.array([2.49, 2.89, 1.50, 1.89, 2.09, 1.99, 2.49, 0.89, 1.59])
NUTRIENTS = np.array(
    [
        [410, 420, 560, 380, 320, 320, 320, 100, 330],
        [24, 32, 20, 4, 12, 15, 31, 8, 8],
        [26, 10, 32, 19, 10, 12, 12, 2.5, 10],
        [730, 1190, 1800, 270, 930, 820, 1230, 125, 180],
    ]
)
NUTRIENTS_LOW, NUTRIENTS_HIGH = np.array([1800, 91, 0, 0]), np.array([2200, np.inf, 65, 1779])


@peer("JuMP: The diet problem", known="11.8288")
def diet_milopt():
    program = milopt.Program("diet")
    x = program.variable("x", 9, lower=0)
    program.minimize(FOOD_COST @ x)
    program.between(NUTRIENTS_LOW, NUTRIENTS @ x, NUTRIENTS_HIGH)
    result = milopt.solve(program)
    return result, result.values[x]


def diet_cvxpy():
    x = cp.Variable(9, nonneg=True)
    is_limited = np.isfinite(NUTRIENTS_HIGH)
    constraints = [NUTRIENTS @ x >= NUTRIENTS_LOW, NUTRIENTS[is_limited] @ x <= NUTRIENTS_HIGH[is_limited]]
    problem = cp.Problem(cp.Minimize(FOOD_COST @ x), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


@peer("JuMP: Getting started with JuMP", known="205")
def getting_started_milopt():
    program = milopt.Program()
    x = program.variable("x", lower=0)
    y = program.variable("y", lower=0, upper=3)
    program.minimize(12 * x + 20 * y)
    program.subject_to([6 * x + 8 * y >= 100, 7 * x + 12 * y >= 120])
    result = milopt.solve(program)
    return result, result.values[x], result.values[y]


def getting_started_cvxpy():
    x = cp.Variable(nonneg=True)
    y = cp.Variable(nonneg=True)
    constraints = [y <= 3, 6 * x + 8 * y >= 100, 7 * x + 12 * y >= 120]
    problem = cp.Problem(cp.Minimize(12 * x + 20 * y), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, x.value, y.value


@peer("HiGHS: Guide, a first model", known="5.75")
def highs_first_model_milopt():
    program = milopt.Program()
    x = program.variable("x", 2, lower=[0, 1], upper=[4, np.inf])
    program.minimize(x.sum() + 3)
    program.subject_to([x[1] <= 7, 3 * x[0] + 2 * x[1] >= 6])
    program.between(5, x[0] + 2 * x[1], 15)
    result = milopt.solve(program)
    return result, result.values[x]


def highs_first_model_cvxpy():
    x = cp.Variable(2)
    constraints = [x[0] >= 0, x[0] <= 4, x[1] >= 1, x[1] <= 7, x[0] + 2 * x[1] >= 5, x[0] + 2 * x[1] <= 15]
    constraints += [3 * x[0] + 2 * x[1] >= 6]
    problem = cp.Problem(cp.Minimize(cp.sum(x) + 3), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


@peer("Pyomo: Simple models, a concrete model", known="0.6667")
def pyomo_concrete_model_milopt():
    program = milopt.Program()
    x = program.variable("x", 2, lower=0)
    program.minimize(2 * x[0] + 3 * x[1])
    program.subject_to(3 * x[0] + 4 * x[1] >= 1)
    result = milopt.solve(program)
    return result, result.values[x]


def pyomo_concrete_model_cvxpy():
    x = cp.Variable(2, nonneg=True)
    problem = cp.Problem(cp.Minimize(2 * x[0] + 3 * x[1]), [3 * x[0] + 4 * x[1] >= 1])
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


@peer("MathOptInterface: tests of linear programs, two crops", known="71818.18182")
def two_crops_milopt():
    program = milopt.Program()
    x = program.variable("x", lower=30)
    y = program.variable("y", lower=0)
    program.maximize(1000 * x + 350 * y)
    program.subject_to([x - 1.5 * y >= 0, 12 * x + 8 * y <= 1000, 1000 * x + 300 * y <= 70000])
    result = milopt.solve(program)
    return result, result.values[x], result.values[y]


def two_crops_cvxpy():
    x, y = cp.Variable(), cp.Variable()
    constraints = [x >= 30, y >= 0, x - 1.5 * y >= 0, 12 * x + 8 * y <= 1000, 1000 * x + 300 * y <= 70000]
    problem = cp.Problem(cp.Maximize(1000 * x + 350 * y), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, x.value, y.value


@peer("JuMP: Financial modeling problems, short-term financing", known="92.4969")
def financing_milopt():
    program = milopt.Program()
    u = program.variable("credit", 5, lower=0, upper=100)
    v = program.variable("paper", 3, lower=0)
    w = program.variable("excess", 5, lower=0)
    m = program.variable("wealth")
    program.maximize(m)
    program.subject_to(u[0] + v[0] - w[0] == 150)
    program.subject_to(u[1] + v[1] - w[1] - 1.01 * u[0] + 1.003 * w[0] == 100)
    program.subject_to(u[2] + v[2] - w[2] - 1.01 * u[1] + 1.003 * w[1] == -200)
    program.subject_to(u[3] - w[3] - 1.02 * v[0] - 1.01 * u[2] + 1.003 * w[2] == 200)
    program.subject_to(u[4] - w[4] - 1.02 * v[1] - 1.01 * u[3] + 1.003 * w[3] == -50)
    program.subject_to(-m - 1.02 * v[2] - 1.01 * u[4] + 1.003 * w[4] == -300)
    result = milopt.solve(program)
    return result, result.values[m]


def financing_cvxpy():
    u = cp.Variable(5, nonneg=True)
    v = cp.Variable(3, nonneg=True)
    w = cp.Variable(5, nonneg=True)
    m = cp.Variable()
    constraints = [
        u <= 100,
        u[0] + v[0] - w[0] == 150,
        u[1] + v[1] - w[1] - 1.01 * u[0] + 1.003 * w[0] == 100,
        u[2] + v[2] - w[2] - 1.01 * u[1] + 1.003 * w[1] == -200,
        u[3] - w[3] - 1.02 * v[0] - 1.01 * u[2] + 1.003 * w[2] == 200,
        u[4] - w[4] - 1.02 * v[1] - 1.01 * u[3] + 1.003 * w[3] == -50,
        -m - 1.02 * v[2] - 1.01 * u[4] + 1.003 * w[4] == -300,
    ]
    problem = cp.Problem(cp.Maximize(m), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, m.value


def random_linear_program():
    """Return the numbers of cvxpy's page: an LP with a known point and multipliers."""
    random = np.random.RandomState(1)
    s = random.randn(15)
    multipliers, s = np.maximum(-s, 0), np.maximum(s, 0)
    x = random.randn(10)
    A = random.randn(15, 10)
    return A, A @ x + s, -A.T @ multipliers


@peer("cvxpy: Linear program", known="-15.220912604")
def linear_program_milopt():
    A, b, c = random_linear_program()
    program = milopt.Program()
    x = program.variable("x", 10)
    program.minimize(c @ x)
    rows = program.subject_to(A @ x <= b)
    result = milopt.solve(program)
    return result, result.values[x], result.duals[rows]


def linear_program_cvxpy():
    A, b, c = random_linear_program()
    x = cp.Variable(10)
    problem = cp.Problem(cp.Minimize(c @ x), [A @ x <= b])
    problem.solve(solver=cp.HIGHS)
    return problem, x.value, problem.constraints[0].dual_value


@peer("cvxpy: Chebyshev center")
def chebyshev_centre_milopt():
    A, b = np.array([[2, -1, 2, -1], [1, 1, -1, -1]]).T, np.array([1, 1, 1, 1])
    program = milopt.Program()
    r = program.variable("r")
    x = program.variable("x", 2)
    program.maximize(r)
    program.subject_to(A @ x + np.linalg.norm(A, axis=1) * r <= b)
    result = milopt.solve(program)
    return result, result.values[x]


def chebyshev_centre_cvxpy():
    A, b = np.array([[2, -1, 2, -1], [1, 1, -1, -1]]).T, np.array([1, 1, 1, 1])
    r = cp.Variable()
    x = cp.Variable(2)
    problem = cp.Problem(cp.Maximize(r), [A @ x + np.linalg.norm(A, axis=1) * r <= b])
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


PAYOFF = np.array([[3, -1, -3], [-2, 4, 1], [-5, -6, 2]])


@peer("textbook: Boyd and Vandenberghe 5.2.5, a matrix game")
def matrix_game_milopt():
    program = milopt.Program()
    p = program.variable("p", 3, lower=0)
    program.minimize((PAYOFF.T @ p).max())
    program.subject_to(p.sum() == 1)
    result = milopt.solve(program)
    return result, result.values[p]


def matrix_game_cvxpy():
    p = cp.Variable(3, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.max(PAYOFF.T @ p)), [cp.sum(p) == 1])
    problem.solve(solver=cp.HIGHS)
    return problem, p.value


ROCK_PAPER_SCISSORS = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])


@peer("textbook: rock, paper, scissors as a zero-sum game", known="0")
def rock_paper_scissors_milopt():
    program = milopt.Program()
    x = program.variable("x", 3, lower=0)
    v = program.variable("v")
    program.maximize(v)
    program.subject_to([ROCK_PAPER_SCISSORS.T @ x >= v, x.sum() == 1])
    result = milopt.solve(program)
    return result, result.values[x]


def rock_paper_scissors_cvxpy():
    x = cp.Variable(3, nonneg=True)
    v = cp.Variable()
    problem = cp.Problem(cp.Maximize(v), [ROCK_PAPER_SCISSORS.T @ x >= v, cp.sum(x) == 1])
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


RANDOM = np.random.RandomState(0)
MEASURED = RANDOM.randn(20, 40)
SIGNAL = np.where(RANDOM.rand(40) < 0.1, RANDOM.randn(40), 0.0)


@peer("cvxpy: Computing a sparse solution, the l1 norm")
def basis_pursuit_milopt():
    program = milopt.Program()
    x = program.variable("x", 40)
    program.minimize(milopt.norm(x, 1))
    program.subject_to(MEASURED @ x == MEASURED @ SIGNAL)
    result = milopt.solve(program)
    return result, result.values[x]


def basis_pursuit_cvxpy():
    x = cp.Variable(40)
    problem = cp.Problem(cp.Minimize(cp.norm(x, 1)), [MEASURED @ x == MEASURED @ SIGNAL])
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


@peer("cvxpy: Penalty functions (examples/basic), the l-infinity norm")
def minimax_fit_milopt():
    program = milopt.Program()
    x = program.variable("x", 20)
    program.minimize(milopt.norm(MEASURED.T @ x - SIGNAL, np.inf))
    result = milopt.solve(program)
    return result, result.values[x]


def minimax_fit_cvxpy():
    x = cp.Variable(20)
    problem = cp.Problem(cp.Minimize(cp.norm(MEASURED.T @ x - SIGNAL, "inf")))
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


@peer("cvxpy: Penalty functions (examples/basic), the deadzone penalty")
def deadzone_milopt():
    program = milopt.Program()
    x = program.variable("x", 20)
    program.minimize(milopt.positive_part(abs(MEASURED.T @ x - SIGNAL) - 0.05).sum())
    return (milopt.solve(program),)


def deadzone_cvxpy():
    x = cp.Variable(20)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.pos(cp.abs(MEASURED.T @ x - SIGNAL) - 0.05))))
    problem.solve(solver=cp.HIGHS)
    return (problem,)


@peer("textbook: Boyd and Vandenberghe 4.3.1, piecewise-linear minimisation")
def piecewise_linear_milopt():
    program = milopt.Program()
    x = program.variable("x", 5, lower=-1, upper=1)
    program.minimize((MEASURED[:, :5] @ x + MEASURED[:, 5]).max() + 0.1 * x.sum())
    result = milopt.solve(program)
    return result, result.values[x]


def piecewise_linear_cvxpy():
    x = cp.Variable(5, bounds=[-1, 1])
    problem = cp.Problem(cp.Minimize(cp.max(MEASURED[:, :5] @ x + MEASURED[:, 5]) + 0.1 * cp.sum(x)))
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


# Per ingredient: cost, protein, fat, fibre and salt of 1 g.
WHISKAS = np.array(
    [
        [0.013, 0.008, 0.010, 0.002, 0.005, 0.001],
        [0.100, 0.200, 0.150, 0.000, 0.040, 0.000],
        [0.080, 0.100, 0.110, 0.010, 0.010, 0.000],
        [0.001, 0.005, 0.003, 0.100, 0.150, 0.000],
        [0.002, 0.005, 0.007, 0.002, 0.008, 0.000],
    ]
)


@peer("PuLP: A blending problem (Whiskas)", known="0.52")
def blending_milopt():
    cost, protein, fat, fibre, salt = WHISKAS
    program = milopt.Program("Whiskas")
    x = program.variable("x", 6, lower=0)
    program.minimize(cost @ x)
    program.subject_to([x.sum() == 100, protein @ x >= 8, fat @ x >= 6, fibre @ x <= 2, salt @ x <= 0.4])
    result = milopt.solve(program)
    return result, result.values[x]


def blending_cvxpy():
    cost, protein, fat, fibre, salt = WHISKAS
    x = cp.Variable(6, nonneg=True)
    constraints = [cp.sum(x) == 100, protein @ x >= 8, fat @ x >= 6, fibre @ x <= 2, salt @ x <= 0.4]
    problem = cp.Problem(cp.Minimize(cost @ x), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


PIE_DEMAND = 150 + 100 * np.sort(np.random.RandomState(3).triangular(0, 0.5, 1, 100))


@peer("JuMP: Two-stage stochastic programs, sample average")
def two_stage_milopt():
    program = milopt.Program("pies")
    x = program.variable("x", lower=0)
    y = program.variable("y", 100, lower=0, upper=PIE_DEMAND)
    program.subject_to(y <= x)
    program.maximize(-2 * x + (5 * y - 0.1 * (x - y)).mean())
    result = milopt.solve(program)
    return result, result.values[x]


def two_stage_cvxpy():
    x = cp.Variable(nonneg=True)
    y = cp.Variable(100, nonneg=True)
    problem = cp.Problem(cp.Maximize(-2 * x + cp.mean(5 * y - 0.1 * (x - y))), [y <= PIE_DEMAND, y <= x])
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


@peer("JuMP: Two-stage stochastic programs, conditional value at risk")
def risk_averse_milopt():
    program = milopt.Program("pies")
    x = program.variable("x", lower=0)
    y = program.variable("y", 100, lower=0, upper=PIE_DEMAND)
    xi = program.variable("xi")
    program.subject_to(y <= x)
    profit = 5 * y - 0.1 * (x - y)
    program.maximize(-2 * x + xi - milopt.positive_part(xi - profit).mean() / 0.4)
    return (milopt.solve(program),)


def risk_averse_cvxpy():
    x = cp.Variable(nonneg=True)
    y = cp.Variable(100, nonneg=True)
    xi = cp.Variable()
    profit = 5 * y - 0.1 * (x - y)
    objective = cp.Maximize(-2 * x + xi - cp.mean(cp.pos(xi - profit)) / 0.4)
    problem = cp.Problem(objective, [y <= PIE_DEMAND, y <= x])
    problem.solve(solver=cp.HIGHS)
    return (problem,)


@peer("JuMP: Power systems, economic dispatch", known="90000")
def economic_dispatch_milopt():
    program = milopt.Program("dispatch")
    g = program.variable("g", 2, lower=[0, 300], upper=1000)
    w = program.variable("w", lower=0, upper=200)
    program.minimize([50, 100] @ g + 50 * w)
    program.subject_to(g.sum() + w == 1500)
    result = milopt.solve(program)
    return result, result.values[g], result.values[w]


def economic_dispatch_cvxpy():
    g = cp.Variable(2, bounds=[[0, 300], 1000])
    w = cp.Variable(bounds=[0, 200])
    problem = cp.Problem(cp.Minimize(np.array([50, 100]) @ g + 50 * w), [cp.sum(g) + w == 1500])
    problem.solve(solver=cp.HIGHS)
    return problem, g.value, w.value


DEMAND = np.array([100, 150, 120, 180])
UNIT_COST = np.array([10, 12, 11, 14])


@peer("textbook: production planning over several periods")
def production_planning_milopt():
    program = milopt.Program()
    make = program.variable("make", 4, lower=0, upper=150)
    stock = program.variable("stock", 5, lower=0)
    program.minimize(UNIT_COST @ make + 1.5 * stock.sum())
    program.subject_to([stock[0] == 20, stock[1:] == stock[:-1] + make - DEMAND])
    result = milopt.solve(program)
    return result, result.values[make]


def production_planning_cvxpy():
    make = cp.Variable(4, nonneg=True)
    stock = cp.Variable(5, nonneg=True)
    constraints = [make <= 150, stock[0] == 20, stock[1:] == stock[:-1] + make - DEMAND]
    problem = cp.Problem(cp.Minimize(UNIT_COST @ make + 1.5 * cp.sum(stock)), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, make.value
