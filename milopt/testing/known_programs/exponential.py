"""Programs with exponential cones: entropies, sums of exponentials, an infeasible and an unbounded program."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from milopt import Program, entropy, exp, log_sum_exp, logistic
from milopt.testing.known_programs.known_program import (
    EXPONENTIAL_PROGRAM,
    INFEASIBLE,
    UNBOUNDED,
    ProgramWithAnswer,
    register_known_program,
)


@register_known_program("exponential, above a bound", EXPONENTIAL_PROGRAM)
def _build_exponential_above_bound() -> ProgramWithAnswer:
    program = Program("above a bound")
    x = program.variable("x")
    program.minimize(exp(x))
    program.subject_to(x >= 1, name="bound")
    return ProgramWithAnswer(program, float(np.e), {"x": np.array(1.0)}, {"bound": np.array(np.e)})


@register_known_program("exponential, entropy", EXPONENTIAL_PROGRAM)
def _build_entropy() -> ProgramWithAnswer:
    """Minimise sum_i x_i log x_i + c_i x_i over the simplex: the optimum x is proportional to exp(-c)."""
    c = np.array([0.3, -1.0, 2.0, 0.0])
    program = Program("entropy")
    x = program.variable("x", 4)
    program.minimize(c @ x - entropy(x).sum())
    program.subject_to(x.sum() == 1, name="simplex")
    total = float(logsumexp(-c))
    return ProgramWithAnswer(program, -total, {"x": np.exp(-c - total)}, {"simplex": np.array(1 - total)})


@register_known_program("exponential, sum of exponentials", EXPONENTIAL_PROGRAM)
def _build_sum_of_exponentials() -> ProgramWithAnswer:
    """Minimise log sum_i exp(x_i) with a fixed mean of x: all entries are equal at the optimum."""
    program = Program("sum of exponentials")
    x = program.variable("x", 5)
    program.minimize(log_sum_exp(x))
    program.subject_to(x.mean() == 2, name="mean")
    return ProgramWithAnswer(program, 2 + float(np.log(5)), {"x": np.full(5, 2.0)}, {"mean": np.array(1.0)})


@register_known_program("exponential, logistic loss", EXPONENTIAL_PROGRAM)
def _build_logistic() -> ProgramWithAnswer:
    """Minimise log(1 + exp(x - 1)) + log(1 + exp(1 - x)): the optimum is x = 1, where both terms are equal."""
    program = Program("logistic loss")
    x = program.variable("x")
    program.minimize(logistic(x - 1) + logistic(1 - x))
    return ProgramWithAnswer(program, 2 * float(np.log(2)), {"x": np.array(1.0)})


@register_known_program("exponential, infeasible", EXPONENTIAL_PROGRAM, INFEASIBLE, "above")
def _build_exponential_infeasible() -> ProgramWithAnswer:
    program = Program("infeasible exponential")
    x = program.variable("x")
    program.minimize(x)
    program.subject_to(exp(x) <= 1, name="below")
    program.subject_to(x >= 1, name="above")
    return ProgramWithAnswer(program)


@register_known_program("exponential, unbounded", EXPONENTIAL_PROGRAM, UNBOUNDED, "runaway")
def _build_exponential_unbounded() -> ProgramWithAnswer:
    program = Program("unbounded exponential")
    x, t = program.variable("x"), program.variable("runaway")
    program.minimize(x - t)
    program.subject_to(exp(x) <= t, name="below")
    program.subject_to(x >= 0, name="above")
    return ProgramWithAnswer(program)
