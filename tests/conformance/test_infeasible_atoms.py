"""Programs that are infeasible because of their atoms are proved infeasible."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import milopt
from milopt import RBF, Program, entropy, exp, log1mexp, logistic, relative_entropy, square
from milopt.compilation.status import Termination

POINTS = np.random.default_rng(0).normal(size=(5, 2))


def entropy_above_its_maximum(program: Program) -> None:
    x = program.variable("x", 2)
    program.minimize(x.sum())
    program.subject_to(entropy(x) >= 5)


def logarithm_above_zero(program: Program) -> None:
    x = program.variable("x", 2)
    program.minimize(x.sum())
    program.subject_to(log1mexp(x) >= 1)


def negative_divergence(program: Program) -> None:
    x, y = program.variable("x", 2), program.variable("y", 2)
    program.minimize(x.sum())
    program.subject_to(relative_entropy(x, y).sum() <= -1)
    program.subject_to(x.sum() == 1)
    program.subject_to(y.sum() == 1)


def negative_exponentials(program: Program) -> None:
    x = program.variable("x", 2)
    program.minimize(x.sum())
    program.subject_to(exp(x).sum() + logistic(x).sum() <= -1)


def short_function(program: Program) -> None:
    f, t = program.function("f", RBF(1.0)), program.variable("t", 2, upper=2)
    program.minimize(t.sum())
    program.subject_to(f(POINTS) >= 3)
    program.subject_to(f.norm() + exp(t[0]) <= 1)
    program.subject_to(f.norm() <= t[1])


def two_short_functions(program: Program) -> None:
    f, g, t = program.function("f", RBF(1.0)), program.function("g", RBF(0.5)), program.variable("t")
    program.minimize(t)
    program.subject_to(f(POINTS) + g(POINTS) >= 3)
    program.subject_to(f.norm() + g.norm() <= t)
    program.subject_to(t <= 1)


def short_square(program: Program) -> None:
    f, t = program.function("f", RBF(1.0)), program.variable("t")
    program.minimize(t)
    program.subject_to(f(POINTS) >= 3)
    program.subject_to(square(f.norm()) + exp(t) <= 1)


DECLARATIONS = [
    entropy_above_its_maximum,
    logarithm_above_zero,
    negative_divergence,
    negative_exponentials,
    short_function,
    two_short_functions,
    short_square,
]


@pytest.mark.parametrize("solver", ["clarabel", "ecos"])
@pytest.mark.parametrize("declare", DECLARATIONS, ids=lambda declare: declare.__name__)
def test_an_infeasible_program_is_proved_to_be_infeasible(declare: Callable[[Program], None], solver: str) -> None:
    program = Program("infeasible")
    declare(program)
    assert milopt.solve(program, solver).termination is Termination.INFEASIBLE
