"""The LPBoost master with one more hypothesis per round: a session of milopt against rebuilding it in cvxpy.

    min  gamma   s.t.  sum_i y_i d_i h_t(B_i) <= gamma  (t = 1..T),  1'd = 1,  0 <= d <= 1/(nu m)

at T = 91..110 for m = 200 bags: random bags of 7 instances with 100 features and, if MILOPT_DATA is set, elephant and
tiger. The hypotheses are those of boosting with one-hot atoms, h(B) = +-max_{x in B} K(z, x): each round the atom and
sign whose edge at the last d is largest. All sides solve the same masters; the times of milopt, with HiGHS and with the
native simplex method, include the certificate of every answer. `inside` is the time inside the solver; for HiGHS most
of it is the factorisation of a dense basis. `ratio` is cvxpy's time over milopt's.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from itertools import product

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from data_sets import data_set
from timing import single_thread, table, time_call

from milopt import RBF, Program, Result, Session, as_bags

Array = npt.NDArray[np.float64]
BAGS, SIZE, FEATURES, FIRST, LAST = 200, 7, 100, 90, 110


def candidates() -> Array:
    """Return hypotheses over random bags; a positive bag has one instance near one of three points."""
    rng = np.random.default_rng(0)
    instances = rng.normal(size=(BAGS, SIZE, FEATURES))
    y = np.where(np.arange(BAGS) % 2, 1.0, -1.0)
    near = rng.normal(size=(3, FEATURES))[rng.integers(3, size=BAGS)] + 0.7 * rng.normal(size=(BAGS, FEATURES))
    instances[y > 0, 0] = near[y > 0]
    return hypotheses(list(instances), y)


def hypotheses(instances: list[Array], y: Array) -> Array:
    """Return y_i h(B_i), one row per atom and sign."""
    bags = as_bags(instances)
    gram = np.asarray(RBF()(bags.instances, bags.instances))
    tops = np.array([bags.max(row) for row in gram])
    return np.concatenate([tops, -tops]) * y


def master(row: Array, cap: float) -> Program:
    """Declare the master with its first hypothesis."""
    program = Program("master")
    gamma = program.variable("gamma")
    d = program.variable("d", BAGS, lower=0, upper=cap)
    program.minimize(gamma)
    program.subject_to(d.sum() == 1, name="simplex")
    program.subject_to(row @ d <= gamma, name="first")
    return program


def next_round(session: Session, row: Array) -> Result:
    """Add one hypothesis, solve again and certify."""
    d, gamma = session.program.variables["d"], session.program.variables["gamma"]
    session.subject_to(row @ d <= gamma)
    return session.solve().require_certified()


def by_cvxpy(rows: Array, cap: float) -> float:
    """Build and solve the same master in cvxpy."""
    gamma, d = cp.Variable(), cp.Variable(BAGS)
    problem = cp.Problem(cp.Minimize(gamma), [rows @ d <= gamma, cp.sum(d) == 1, d >= 0, d <= cap])
    return float(problem.solve(solver=cp.HIGHS))


class GrowingMaster:
    """Master in one solver, with the times of its rounds."""

    def __init__(self, solver: str, row: Array, cap: float) -> None:
        self.session = Session(master(row, cap), solver)
        self.result = self.session.solve()
        self.times: list[float] = []
        self.inside: list[float] = []

    def grow(self, row: Array) -> None:
        """Run one more round."""
        seconds, self.result = time_call(next_round, self.session, row)
        self.times.append(1e3 * seconds)
        self.inside.append(1e3 * self.result.seconds.solve)

    def medians(self) -> tuple[float, float]:
        """Return median milliseconds of the last rounds: total, and inside the solver."""
        last = LAST - FIRST
        return statistics.median(self.times[-last:]), statistics.median(self.inside[-last:])


def results() -> Iterator[tuple[object, ...]]:
    """Yield one row per data set and nu."""
    sets = {"random": candidates()}
    if os.environ.get("MILOPT_DATA"):
        sets |= {name: hypotheses(*data_set(name)) for name in ("elephant", "tiger")}
    for name, nu in product(sets, (0.1, 0.3, 0.5)):
        rows, cap = sets[name], 1.0 / (nu * BAGS)
        chosen = [int(rows.mean(axis=1).argmax())]
        sides = [GrowingMaster(solver, rows[chosen[0]], cap) for solver in ("highs", "native")]
        theirs, apart = [], 0.0
        while len(chosen) < LAST:
            edges = rows @ sides[0].result.values["d"]
            edges[chosen] = -np.inf
            chosen.append(int(edges.argmax()))
            for side in sides:
                side.grow(rows[chosen[-1]])
            if len(chosen) > FIRST:
                seconds, value = time_call(by_cvxpy, rows[chosen], cap)
                theirs.append(1e3 * seconds)
                apart = max(apart, *(abs(value - side.result.objective) for side in sides))
        new, rebuilds = statistics.median(theirs), sum(side.session.rebuilds for side in sides)
        (highs, inside_highs), (native, inside_native) = (side.medians() for side in sides)
        for side in sides:
            side.session.close()
        case = f"{name}, nu = {nu}"
        yield case, new, highs, inside_highs, new / highs, native, inside_native, new / native, rebuilds, apart


def main() -> None:
    """Print the table with times in milliseconds per round."""
    single_thread()
    # numba compiles on first use, or loads compiled code from its cache.
    GrowingMaster("native", np.ones(BAGS), 1.0).grow(np.ones(BAGS))
    heads = "91 to 110 rows", "cvxpy", "highs", "inside", "ratio", "native", "inside", "ratio", "rebuilds", "apart"
    table(heads, results(), first=22, least=9)


if __name__ == "__main__":
    main()
