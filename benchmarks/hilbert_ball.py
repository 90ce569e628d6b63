"""The oracle over the Hilbert ball: `native` against Clarabel and ECOS on its program, and against cvxpy.

The prices are those of boosting with `native` over a dictionary of 100 instances (and, on Musk1, over all instances).
Then each method solves the oracle at the same prices from the same start, the best single pattern: milliseconds of
processor time per convex step without the first price (set-up, kernel, compilation), and the relative difference of its
edges from those of `native`. cvxpy solves one convex step, whitened and with all rows, declared again each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from data_sets import data_set
from timing import median, single_thread, table, time_call

import milopt
from milopt import RBF, Bags, Program, as_bags, bag_max
from milopt.data.loading import load_data
from milopt.declaration.programs.leaves import Parameter
from milopt.declaration.programs.semi_infinite import Oracle, SemiInfinite
from milopt.schemes.column_generation import ColumnGeneration
from milopt.schemes.oracle_program import ProgramPricing
from milopt.solvers.native.hilbert_ball.hilbert_ball import HilbertBallPricing, hilbert_ball_pricing
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.pricing import PricedColumn, Pricing, PricingResult

Array = npt.NDArray[np.float64]
Prices = Mapping[Parameter, Array]
ATOMS, NU, ROUNDS = 100, 0.3, 40


class RecordingOracle(Pricing):
    """Oracle that records the prices it is called with."""

    def __init__(self, inner: Pricing) -> None:
        self.solver, self.inner = inner.solver, inner
        self.asked: list[Prices] = []

    def price(self, prices: Prices, start_count: int, clock: Clock) -> PricingResult:
        """Return the columns of the inner oracle."""
        self.asked.append(prices)
        return self.inner.price(prices, start_count, clock)


def boosting(bags: Bags, y: Array, atoms: Array | None) -> SemiInfinite:
    """Declare soft-margin boosting over hypotheses in the Hilbert ball."""
    m, kernel = len(bags), RBF("median").fitted(bags.instances)
    master = Program("soft margin")
    d = master.variable("d", m, lower=0, upper=1 / (NU * m))
    gamma = master.variable("gamma")
    master.minimize(gamma)
    master.subject_to(d.sum() == 1, name="simplex")
    edge = master.family("edge", lambda h: (y * h) @ d <= gamma)
    program = Program("weak learning")
    u = program.function("u", kernel, dictionary=atoms)
    p = program.parameter("d", m, sign=+1)
    program.maximize((y * p) @ bag_max(u(bags)))
    program.subject_to(u.norm() <= 1, name="ball")
    one_sided = kernel(bags.instances, bags.instances if atoms is None else atoms)
    similarities = np.hstack([one_sided, -one_sided])
    largest = bags.max(similarities)

    def best(prices: Prices) -> list[Array]:
        return [similarities[:, int(np.argmax((y * prices[p]) @ largest))]]

    oracle = Oracle(program, {p: d}, lambda new: bag_max(u(new)), None, best)
    return SemiInfinite(master, edge, oracle, bags, {d: np.full(m, 1 / m)})


def time_pricing(pricing: Pricing, price_list: list[Prices]) -> tuple[float, list[PricedColumn | None]]:
    """Return milliseconds per convex step after the first price, and the columns (None without a certified point)."""
    every = [time_call(pricing.price, prices, 1, Clock(None)) for prices in price_list]
    columns = [result.columns[0] if result.columns else None for _, result in every]
    steps = sum(column.steps if column is not None else 1 for column in columns[1:])
    return 1e3 * sum(seconds for seconds, _ in every[1:]) / steps, columns


def largest_difference(others: list[PricedColumn | None], native: list[PricedColumn | None]) -> float | str:
    """Return the largest relative difference of edges from those of `native`."""
    pairs = [(a, b) for a, b in zip(others, native, strict=False) if a is not None and b is not None]
    return max((abs(a.value - b.value) / abs(b.value) for a, b in pairs), default="uncertified")


def by_cvxpy(native: HilbertBallPricing, bags: Bags, weights: Array, witnesses: npt.NDArray[np.intp]) -> float:
    """Solve one convex step with cvxpy and ECOS, in the same coordinates."""
    space = native.space
    x = space.table[:, : space.rank]
    u, top = cp.Variable(x.shape[1]), cp.Variable(len(bags))
    demand = np.maximum(-weights, 0.0)
    rows = np.flatnonzero(weights[bags.bag_of] < 0)
    constraints = [cp.norm(u) <= 1, x[rows] @ u <= top[bags.bag_of[rows]], top >= -10]
    pull = weights[weights > 0] @ x[witnesses]
    return float(cp.Problem(cp.Maximize(pull @ u - demand @ top), constraints).solve(solver=cp.ECOS))


def results() -> Iterator[tuple[object, ...]]:
    """Yield one row per data set."""
    gun_point = load_data("gunpoint", window=0.2)
    cases = [
        ("Musk1, k=100", *_bags("musk1"), ATOMS, 5),
        ("GunPoint, k=100", gun_point.bags, np.where(gun_point.labels == 1, 1.0, -1.0), ATOMS, 3),
        ("Musk2, k=100", *_bags("musk2"), ATOMS, 3),
        ("Musk1, all instances", *_bags("musk1"), 0, 5),
    ]
    for name, bags, y, k, others in cases:
        chosen = np.random.default_rng(0).choice(bags.instances.shape[0], k, replace=False)
        problem = boosting(bags, y, np.asarray(bags.instances)[chosen] if k else None)
        oracle = problem.oracles[0]
        first, native = (_native(oracle, bags) for _ in range(2))
        recorded = RecordingOracle(first)
        ColumnGeneration(max_rounds=ROUNDS).run_with_pricings(
            problem, milopt.get_solver("highs"), [recorded], Options()
        )
        ours, columns = time_pricing(native, recorded.asked)
        row: list[object] = [name, ours]
        for solver in ("clarabel", "ecos"):
            generic = ProgramPricing(oracle, bags, milopt.get_solver(solver), Options())
            theirs, other_columns = time_pricing(generic, recorded.asked[:others])
            generic.close()
            row += [theirs, theirs / ours, largest_difference(other_columns, columns)]
        last = recorded.asked[others]
        (weights,) = (y * d for d in last.values())
        step = native.run_convex_concave(weights, bags.offsets[:-1][weights > 0], Clock(None), set())
        assert step is not None
        slow = partial(by_cvxpy, native, bags, weights, bags.offsets[:-1][weights > 0])
        theirs = 1e3 * median(slow, runs=2, warm=0)
        yield (*row, theirs, theirs / ours, abs(slow() - step.trace[0]) / step.trace[0])


def _native(oracle: Oracle, bags: Bags) -> HilbertBallPricing:
    pricing = hilbert_ball_pricing(oracle, bags, Options())
    assert pricing is not None
    return pricing


def _bags(name: str) -> tuple[Bags, Array]:
    arrays, y = data_set(name)
    return as_bags(arrays), y


def main() -> None:
    """Print the table."""
    single_thread()
    others = [f"{solver} {what}" for solver in ("Clarabel", "ECOS", "cvxpy") for what in ("ms", "ratio", "apart")]
    table(["weak learning, ms a convex step", "native ms", *others], results())


if __name__ == "__main__":
    main()
