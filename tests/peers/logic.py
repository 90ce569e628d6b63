"""Indicators, disjunctions, semicontinuous variables and schedules."""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np

import milopt
from tests.peers.problem import peer


@peer("MathOptInterface: tests of indicators, indicator1", known="28.75")
def indicator_milopt():
    program = milopt.Program()
    x = program.variable("x", 2, lower=0, upper=10)
    z = program.variable("z", 2, binary=True)
    program.maximize(2 * x[0] + 3 * x[1])
    program.implies(z[0], x[1] <= 8)
    program.implies(z[1], x[1] + 0.2 * x[0] <= 9)
    program.subject_to([x.sum() <= 10, z.sum() >= 1])
    result = milopt.solve(program)
    return result, result.values[x]


def indicator_cvxpy():
    x = cp.Variable(2, bounds=[0, 10])
    z = cp.Variable(2, boolean=True)
    M = 100
    constraints = [x[1] <= 8 + M * (1 - z[0]), x[1] + 0.2 * x[0] <= 9 + M * (1 - z[1])]
    constraints += [cp.sum(x) <= 10, cp.sum(z) >= 1]
    problem = cp.Problem(cp.Maximize(2 * x[0] + 3 * x[1]), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


@peer("JuMP: Tips and tricks, an indicator constraint")
def sum_if_on_milopt():
    program = milopt.Program()
    x = program.variable("x", 2, lower=0, upper=10)
    z = program.variable("z", binary=True)
    program.maximize(x.sum() + 10 * z)
    program.subject_to(x[0] + 5 * z <= 6)
    program.implies(z, x.sum() <= 1)
    program.implies(1 - z, x.sum() <= 4)
    return (milopt.solve(program),)


def sum_if_on_cvxpy():
    x = cp.Variable(2, bounds=[0, 10])
    z = cp.Variable(boolean=True)
    constraints = [x[0] + 5 * z <= 6, cp.sum(x) <= 1 + 100 * (1 - z), cp.sum(x) <= 4 + 100 * z]
    problem = cp.Problem(cp.Maximize(cp.sum(x) + 10 * z), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


@peer("JuMP: Tips and tricks, a disjunction")
def disjunction_milopt():
    program = milopt.Program()
    x = program.variable("x", 2, lower=0, upper=10)
    y = program.variable("y", 2, binary=True)
    program.maximize(x.sum())
    program.implies(y, x <= [1, 2])
    program.subject_to(y.sum() == 1)
    result = milopt.solve(program)
    return result, result.values[x]


def disjunction_cvxpy():
    x = cp.Variable(2, bounds=[0, 10])
    y = cp.Variable(2, boolean=True)
    constraints = [x <= np.array([1, 2]) + 100 * (1 - y), cp.sum(y) == 1]
    problem = cp.Problem(cp.Maximize(cp.sum(x)), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


@peer("MathOptInterface: tests of semicontinuous variables", known="0")
def semicontinuous_milopt():
    program = milopt.Program()
    x = program.variable("x", lower=2, upper=3, semicontinuous=True)
    y = program.variable("y", lower=0)
    program.minimize(x)
    program.subject_to([y >= 0, x >= y])
    result = milopt.solve(program)
    return result, result.values[x]


def semicontinuous_cvxpy():
    x, is_on = cp.Variable(), cp.Variable(boolean=True)
    y = cp.Variable(nonneg=True)
    problem = cp.Problem(cp.Minimize(x), [x >= 2 * is_on, x <= 3 * is_on, x >= y])
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


@peer("MathOptInterface: tests of semicontinuous variables, with y of at least 1", known="2")
def semicontinuous_on_milopt():
    program = milopt.Program()
    x = program.variable("x", lower=2, upper=3, semicontinuous=True)
    y = program.variable("y", lower=1)
    program.minimize(x)
    program.subject_to(x >= y)
    result = milopt.solve(program)
    return result, result.values[x]


def semicontinuous_on_cvxpy():
    x, is_on = cp.Variable(), cp.Variable(boolean=True)
    y = cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [x >= 2 * is_on, x <= 3 * is_on, x >= y, y >= 1])
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


@peer("MathOptInterface: tests of semi-integer variables", known="3")
def semi_integer_milopt():
    program = milopt.Program()
    x = program.variable("x", lower=2, upper=3, semicontinuous=True, integer=True)
    y = program.variable("y", lower=2.5)
    program.minimize(x)
    program.subject_to(x >= y)
    result = milopt.solve(program)
    return result, result.values[x]


def semi_integer_cvxpy():
    x, is_on = cp.Variable(integer=True), cp.Variable(boolean=True)
    y = cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [x >= 2 * is_on, x <= 3 * is_on, x >= y, y >= 2.5])
    problem.solve(solver=cp.HIGHS)
    return problem, x.value


@peer("JuMP: Power systems, unit commitment", known="91000")
def unit_commitment_milopt():
    program = milopt.Program("unit commitment")
    g = program.variable("g", 2, lower=[0, 300], upper=1000, semicontinuous=True)
    w = program.variable("w", lower=0, upper=200)
    program.minimize([50, 100] @ g + 50 * w + [1000, 0] @ g.active)
    program.subject_to(g.sum() + w == 1500)
    result = milopt.solve(program)
    return result, result.values[g]


def unit_commitment_cvxpy():
    g = cp.Variable(2)
    w = cp.Variable(bounds=[0, 200])
    u = cp.Variable(2, boolean=True)
    cost = np.array([50, 100]) @ g + 50 * w + np.array([1000, 0]) @ u
    constraints = [cp.multiply([0, 300], u) <= g, g <= 1000 * u, cp.sum(g) + w == 1500]
    problem = cp.Problem(cp.Minimize(cost), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, g.value


RELEASE, DUE, TIME = [5, 15, 0, 30, 0, 0], [10, 36, 60, 45, 70, 30], [5, 6, 8, 4, 10, 3]


@peer("textbook: the schedule of one machine by disjunctions")
def machine_schedule_milopt():
    program = milopt.Program("machine")
    start = program.variable("start", 6, lower=RELEASE, upper=100)
    late = program.variable("late", 6, lower=0)
    program.minimize(late.sum())
    program.subject_to(start + TIME <= DUE + late)
    for i, j in itertools.combinations(range(6), 2):
        first = program.variable(f"{i} before {j}", binary=True)
        program.implies(first, start[i] + TIME[i] <= start[j])
        program.implies(1 - first, start[j] + TIME[j] <= start[i])
    return (milopt.solve(program),)


def machine_schedule_cvxpy():
    start = cp.Variable(6)
    late = cp.Variable(6, nonneg=True)
    constraints = [start >= RELEASE, start <= 100, start + TIME <= DUE + late]
    for i, j in itertools.combinations(range(6), 2):
        first = cp.Variable(boolean=True)
        constraints += [start[i] + TIME[i] <= start[j] + 200 * (1 - first)]
        constraints += [start[j] + TIME[j] <= start[i] + 200 * first]
    problem = cp.Problem(cp.Minimize(cp.sum(late)), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


# Per job, its machines in order and the time on each of them.
JOBS = [[(0, 3), (1, 2), (2, 2)], [(0, 2), (2, 1), (1, 4)], [(1, 4), (2, 3)]]


@peer("OR-Tools: The job shop problem", known="11")
def job_shop_milopt():
    program = milopt.Program("job shop")
    start = {(j, m): program.variable(f"{j} on {m}", lower=0, upper=30) for j, job in enumerate(JOBS) for m, _ in job}
    end = {(j, m): start[j, m] + time for j, job in enumerate(JOBS) for m, time in job}
    makespan = program.variable("makespan")
    program.minimize(makespan)
    program.subject_to([makespan >= e for e in end.values()])
    for j, job in enumerate(JOBS):
        program.subject_to([start[j, after] >= end[j, before] for (before, _), (after, _) in itertools.pairwise(job)])
    for (i, m), (j, n) in itertools.combinations(start, 2):
        if m == n:
            first = program.variable(f"{i} before {j} on {m}", binary=True)
            program.implies(first, start[j, m] >= end[i, m])
            program.implies(1 - first, start[i, m] >= end[j, m])
    return (milopt.solve(program),)


def job_shop_cvxpy():
    start = {(j, m): cp.Variable(nonneg=True) for j, job in enumerate(JOBS) for m, _ in job}
    end = {(j, m): start[j, m] + time for j, job in enumerate(JOBS) for m, time in job}
    makespan = cp.Variable()
    constraints = [makespan >= e for e in end.values()]
    for j, job in enumerate(JOBS):
        constraints += [start[j, after] >= end[j, before] for (before, _), (after, _) in itertools.pairwise(job)]
    for (i, m), (j, n) in itertools.combinations(start, 2):
        if m == n:
            first = cp.Variable(boolean=True)
            constraints += [start[j, m] >= end[i, m] - 30 * (1 - first), start[i, m] >= end[j, m] - 30 * first]
    problem = cp.Problem(cp.Minimize(makespan), constraints)
    problem.solve(solver=cp.HIGHS)
    return (problem,)


@peer(
    "JuMP: Tips and tricks, a piecewise linear function by SOS2",
    known="4",
    rewritten="there are no special ordered sets: binary variables choose the segment",
)
def piecewise_by_segments_milopt():
    at = np.arange(-1, 2.1, 0.5)
    program = milopt.Program()
    share = program.variable("share", 7, lower=0)
    segment = program.variable("segment", 6, binary=True)
    program.maximize(at**2 @ share)
    near = milopt.concatenate([segment, [0]]) + milopt.concatenate([[0], segment])
    program.subject_to([share.sum() == 1, segment.sum() == 1, share <= near])
    result = milopt.solve(program)
    return result, result.value(at @ share)


def piecewise_by_segments_cvxpy():
    at = np.arange(-1, 2.1, 0.5)
    share = cp.Variable(7, nonneg=True)
    segment = cp.Variable(6, boolean=True)
    near = cp.hstack([segment, 0]) + cp.hstack([0, segment])
    constraints = [cp.sum(share) == 1, cp.sum(segment) == 1, share <= near]
    problem = cp.Problem(cp.Maximize(at**2 @ share), constraints)
    problem.solve(solver=cp.HIGHS)
    return problem, (at @ share).value
