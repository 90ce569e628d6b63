"""Problems with known answers for schemes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from milopt import Linear, Program, Termination, as_bags, bag_max, bag_mean, sum_squares
from milopt.declaration.programs.problem import Problem
from milopt.declaration.programs.semi_infinite import Oracle, SemiInfinite
from milopt.testing.known_programs import KNOWN_PROGRAMS

DC_PROGRAMS = ("dc, two ends", "dc, margins on a line", "dc, 1-norm ball", "dc, Hilbert ball", "dc, infeasible")
"""Names of the known DC programs that schemes have to solve."""
CONVEX_PROGRAMS = ("lp", "qp", "milp, knapsack", "lp, infeasible", "lp, unbounded")
"""Names of the known programs without a concave side that schemes have to solve; one of them has integers."""


@dataclass(frozen=True)
class SchemeProblem:
    """Named problem: `make` returns (problem, optimal value), and `termination` is the correct termination."""

    name: str
    make: Callable[[], tuple[Problem, float]]
    termination: Termination = Termination.OPTIMAL


def scheme_problems() -> list[SchemeProblem]:
    """Return the problems that a scheme has to solve."""
    problems = []
    for name in (*DC_PROGRAMS, *CONVEX_PROGRAMS):
        known = next(entry for entry in KNOWN_PROGRAMS if entry.name == name)

        def build_problem(make: Callable[[], object] = known.make) -> tuple[Problem, float]:
            expected = make()
            return expected.program, expected.objective  # type: ignore[attr-defined]

        problems.append(SchemeProblem(name, build_problem, known.termination))
    return [*problems, SchemeProblem("semi-infinite, simplex game", _simplex_game)]


def many_step_program() -> Program:
    """Return a DC program for which a local scheme needs several steps, and a global search hours."""
    rng = np.random.default_rng(1)
    bags = as_bags([rng.normal(size=(8, 5)) for _ in range(40)])
    y = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    program = Program("many steps")
    w, b = program.variable("w", 5), program.variable("b")
    slack = program.variable("slack", 40, lower=0)
    program.minimize(0.5 * sum_squares(w) + 10 * slack.sum())
    program.subject_to(y * (bag_max(bags.instances @ w, bags) + b) >= 1 - slack, name="margin")
    return program


def _simplex_game() -> tuple[Problem, float]:
    """Return (problem, optimum) of a semi-infinite game between bag weights d and linear functions u.

    min gamma s.t. (y h)'d <= gamma for all h, d on the simplex, where h are the bag means of a function u, ||u|| <= 1.

    The optimum is min_d || sum_i d_i v_i || with v_i = y_i mean_i; the v_i are (1, 0), (0, 1) and (2, 2), so it is
    1 / sqrt(2).
    """
    y = np.array([1.0, -1.0, 1.0])
    bags = as_bags([np.array([[0.5, 0.5], [1.5, -0.5]]), np.array([[0.0, -1.0]]), np.array([[2.0, 2.0]])])
    master = Program("simplex game")
    d = master.variable("d", 3, lower=0)
    gamma = master.variable("gamma")
    master.minimize(gamma)
    master.subject_to(d.sum() == 1, name="simplex")
    family = master.family("edge", lambda h: (y * h) @ d <= gamma)
    program = Program("best direction")
    u = program.function("u", Linear())
    p = program.parameter("d", 3, sign=+1)
    program.maximize((y * p) @ bag_mean(u(bags)))
    program.subject_to(u.norm() <= 1, name="ball")
    oracle = Oracle(program, {p: d}, lambda new: bag_mean(u(new)), lambda x: u(x))
    return SemiInfinite(master, family, oracle, bags, {d: np.full(3, 1 / 3)}), float(np.sqrt(0.5))
