"""The LPBoost master with one hypothesis more each round: milopt's session against cvxpy -> HiGHS built anew.

    min  gamma   s.t.  sum_i y_i d_i h_t(B_i) <= gamma  (t = 1..T),  1'd = 1,  0 <= d <= 1/(nu m)

for m = 200 bags of 7 instances with 100 features, measured at T = 51..100. The hypotheses are those
of boosting with one-hot atoms, h(B) = +-max_{x in B} K(z, x): each round the atom and sign whose edge at the last d is
largest. Both sides solve the same masters; milopt's time contains the certificate of every answer.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from timing import single_thread, table, timed

from milopt import RBF, Program, as_bags, get
from milopt.outcome.outcome import Outcome
from milopt.outcome.status import PointStatus
from milopt.solving.session import Session

Array = npt.NDArray[np.float64]
BAGS, SIZE, FEATURES, FIRST, LAST = 200, 7, 100, 50, 100


def candidates() -> Array:
    """y_i h(B_i) for every atom and sign, a row each: a positive bag has one instance near one of three points."""
    rng = np.random.default_rng(0)
    instances = rng.normal(size=(BAGS, SIZE, FEATURES))
    y = np.where(np.arange(BAGS) % 2, 1.0, -1.0)
    near = rng.normal(size=(3, FEATURES))[rng.integers(3, size=BAGS)] + 0.7 * rng.normal(size=(BAGS, FEATURES))
    instances[y > 0, 0] = near[y > 0]
    bags = as_bags(list(instances))
    gram = np.asarray(RBF(1.0 / FEATURES)(bags.instances, bags.instances))
    tops = np.array([bags.max(row) for row in gram])
    return np.concatenate([tops, -tops]) * y


def master(row: Array, cap: float) -> Program:
    """The program over its first hypothesis."""
    program = Program("master")
    gamma = program.variable("gamma")
    d = program.variable("d", BAGS, lower=0, upper=cap)
    program.minimize(gamma)
    program.subject_to(d.sum() == 1, name="simplex")
    program.subject_to(row @ d <= gamma, name="first")
    return program


def next_round(session: Session, row: Array) -> Outcome:
    """One hypothesis more, solved again and proved."""
    d, gamma = session.program.variables["d"], session.program.variables["gamma"]
    session.add_rows(row @ d <= gamma)
    outcome = session.solve()
    assert outcome.status is PointStatus.CERTIFIED, outcome.message
    return outcome


def by_cvxpy(rows: Array, cap: float) -> float:
    """The same master, built and solved."""
    gamma, d = cp.Variable(), cp.Variable(BAGS)
    problem = cp.Problem(cp.Minimize(gamma), [rows @ d <= gamma, cp.sum(d) == 1, d >= 0, d <= cap])
    return float(problem.solve(solver=cp.HIGHS))


def results() -> Iterator[tuple[object, ...]]:
    """A row for each nu."""
    rows = candidates()
    for nu in (0.1, 0.3, 0.5):
        cap = 1.0 / (nu * BAGS)
        chosen = [int(rows.mean(axis=1).argmax())]
        ours, theirs, apart = [], [], 0.0
        with Session(master(rows[chosen[0]], cap), get("highs")) as session:
            outcome = session.solve()
            while len(chosen) < LAST:
                assert outcome.point is not None
                edges = rows @ outcome.point.x[1:]
                edges[chosen] = -np.inf
                chosen.append(int(edges.argmax()))
                seconds, outcome = timed(next_round, session, rows[chosen[-1]])
                if len(chosen) > FIRST:
                    ours.append(1e3 * seconds)
                    seconds, value = timed(by_cvxpy, rows[chosen], cap)
                    theirs.append(1e3 * seconds)
                    apart = max(apart, abs(value - outcome.objective))
            mine, new = statistics.median(ours), statistics.median(theirs)
            yield f"nu = {nu}", mine, new, new / mine, session.rebuilds, apart


def main() -> None:
    """Print the table, times in milliseconds a round."""
    single_thread()
    table(["200 bags, 51 to 100 rows", "milopt", "cvxpy", "ratio", "rebuilds", "values apart"], results())


if __name__ == "__main__":
    main()
