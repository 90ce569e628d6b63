"""The oracle over the 1-norm ball: the native game solver against a persistent HiGHS model and against cvxpy.

    max  sum_i y_i d_i max_{x in B_i} u(x)   over  u = sum_z a_z K(z, .),  ||a||_1 <= 1

over 100 k-means centroids, at the prices d of the first rounds of a boosted fit (soft margin with nu = 0.3 and a bias),
which both methods of milopt get in the same order. Each price is a whole descent from the best centroid with certified
convex steps; `a step` is the time per step. The first price, a cold start, is not counted. cvxpy builds and solves one
convex step from the best centroid each time. `difference` is the largest difference of the optima of three such steps.
Kernel values are computed before the measurement.

The cached similarities, 8 k N bytes, are 0.8 GB for a million windows and 100 centroids.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from data_sets import data_set
from sklearn.cluster import KMeans
from timing import single_thread, table, time_call

from milopt import RBF, Bags, Options, Program, as_bags, bag_max, get_solver, load_data, norm1, solve
from milopt.declaration.kernels.kernel import Kernel
from milopt.declaration.programs.leaves import Parameter
from milopt.declaration.programs.semi_infinite import Oracle, SemiInfinite
from milopt.schemes.column_generation import ColumnGeneration
from milopt.schemes.oracle_program import ProgramPricing
from milopt.solvers.native.l1_ball.descent import descend
from milopt.solvers.native.l1_ball.l1_ball import l1_ball_pricing
from milopt.solvers.native.l1_ball.native_matrix_game import empty_matrix_game
from milopt.solvers.native.l1_ball.similarities import Similarities, compute_similarities
from milopt.solving.clock import Clock
from milopt.solving.pricing import Pricing, PricingResult

Array = npt.NDArray[np.float64]
CENTROIDS, NU, ROUNDS, BY_CVXPY = 100, 0.3, 30, 3


@dataclass
class TimedOracle(Pricing):
    """Oracle that records its prices, their times and its steps."""

    pricing: Pricing
    prices: list[Array] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    solver = "recorded"

    def price(self, prices: Mapping[Parameter, Array], start_count: int, clock: Clock) -> PricingResult:
        """Return the columns of the inner oracle."""
        seconds, pricing_result = time_call(self.pricing.price, prices, start_count, clock)
        if start_count == 1:
            self.prices += prices.values()
            self.seconds.append(seconds)
            self.steps.append(pricing_result.columns[0].steps)
        return pricing_result


class Learner:
    """Bags of a data set, their centroids, and the weak learner over them."""

    def __init__(self, name: str) -> None:
        self.bags, self.y = _bags(name)
        self.kernel: Kernel = RBF("median").fitted(self.bags.instances)
        k_means = KMeans(CENTROIDS, n_init=1, random_state=0).fit(np.asarray(self.bags.instances))
        self.Z: Array = k_means.cluster_centers_
        self.rows = int(self.bags.sizes[self.y < 0].sum())

    def problem(self, similar: Similarities) -> SemiInfinite:
        """Declare soft-margin boosting over all weak learners."""
        m, y, bags = len(self.bags), self.y, self.bags
        master, program = Program("soft margin"), Program("weak learning")
        d = master.variable("d", m, lower=0, upper=1 / (NU * m))
        gamma = master.variable("gamma")
        master.minimize(gamma)
        master.subject_to(d.sum() == 1, name="simplex")
        master.subject_to(y @ d == 0, name="balance")
        u = program.function("u", self.kernel, dictionary=self.Z)
        p = program.parameter("d", m, sign=+1)
        program.maximize((y * p) @ bag_max(u(bags)))
        program.subject_to(norm1(u.coefficients) <= 1, name="ball")

        def starts(prices: Mapping[Parameter, Array]) -> list[Array]:
            order = np.argsort(-(y * prices[p]) @ similar.largest, kind="stable")
            return [similar.K[z] if z < CENTROIDS else -similar.K[z - CENTROIDS] for z in order]

        oracle = Oracle(program, {p: d}, lambda new: bag_max(u(new)), starts=starts)
        start = np.where(y > 0, 0.5 / (y > 0).sum(), 0.5 / (y < 0).sum())
        return SemiInfinite(master, master.family("edge", lambda h: (y * h) @ d <= gamma), oracle, bags, {d: start})

    def step_by_highs(self, d: Array, c: Array) -> float:
        """Return the optimum of a convex step; its program is declared each time."""
        program = Program("convex step")
        u = program.function("u", self.kernel, dictionary=self.Z)
        program.minimize(np.where(self.y < 0, d, 0.0) @ bag_max(u(self.bags)) - c @ u.coefficients)
        program.subject_to(norm1(u.coefficients) <= 1)
        return solve(program, "highs").objective

    def step_by_cvxpy(self, d: Array, c: Array, similar: Similarities) -> float:
        """Return the optimum of the same step, written in cvxpy."""
        inside = np.flatnonzero((self.y < 0)[self.bags.bag_of])
        a, top = cp.Variable(CENTROIDS), cp.Variable(len(self.y))
        rows = [similar.K.T[inside] @ a <= top[self.bags.bag_of[inside]], cp.norm1(a) <= 1]
        worth = np.where(self.y < 0, d, 0.0) @ top - c @ a
        value = cp.Problem(cp.Minimize(worth), [*rows, top[np.flatnonzero(self.y > 0)] == 0]).solve(solver=cp.HIGHS)
        return float(value)


def _bags(name: str) -> tuple[Bags, Array]:
    if name != "GunPoint":
        instances, y = data_set(name)
        return as_bags(instances), y
    data = load_data(name, window=0.2)
    return data.bags, np.where(data.labels == data.labels.max(), 1.0, -1.0)


def measure(name: str) -> list[object]:
    """Return one row of the table."""
    learner = Learner(name)
    similar = compute_similarities(learner.kernel, learner.Z, learner.bags)
    problem = learner.problem(similar)
    [oracle], options, clock = problem.oracles, Options(), Clock(None)
    [p] = oracle.prices
    native = l1_ball_pricing(oracle, learner.bags, options)
    assert native is not None
    native.price({p: next(iter(problem.start.values()))}, 1, clock)  # compile, or load from the cache
    games = TimedOracle(native)
    ColumnGeneration(max_rounds=ROUNDS).run_with_pricings(problem, get_solver("highs"), [games], options)
    programs = TimedOracle(ProgramPricing(oracle, learner.bags, get_solver("highs"), options))
    for d in games.prices:
        programs.price({p: d}, 1, clock)
    programs.pricing.close()
    cvxpy, differences = [], []
    for d in games.prices[:BY_CVXPY]:
        z = int(np.argmax((learner.y * d) @ similar.largest))
        c = similar.K[:, similar.witness[:, z]] @ np.where(learner.y > 0, d, 0.0)
        largest = float(np.abs(similar.K).max())
        ended = descend(empty_matrix_game(len(d), CENTROIDS, largest), similar, learner.y * d, z, 1, 0)
        seconds, plain = time_call(learner.step_by_cvxpy, d, c, similar)
        cvxpy.append(seconds)
        differences.append(max(abs(ended.upper - plain), abs(ended.upper - learner.step_by_highs(d, c))))
    return [
        f"{name}, {learner.rows} rows",
        1e3 * statistics.mean(games.seconds[1:]),
        1e3 * sum(games.seconds[1:]) / sum(games.steps[1:]),
        1e3 * statistics.mean(programs.seconds[1:]),
        1e3 * sum(programs.seconds[1:]) / sum(programs.steps[1:]),
        1e3 * statistics.median(cvxpy),
        max(differences),
        native.fallbacks,
    ]


def rows() -> Iterator[list[object]]:
    """Yield one row per data set."""
    for name in ("musk1", "GunPoint", "musk2"):
        yield measure(name)


if __name__ == "__main__":
    single_thread()
    heads = ["ms", "native price", "a step", "highs price", "a step", "cvxpy step", "difference", "fallbacks"]
    table(heads, rows(), first=22)
