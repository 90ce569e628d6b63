"""Agreement of all solvers on the programs of boosted shapelets on Musk1 and GunPoint.

For both balls, columns are generated natively for 15 rounds. Then, at the prices of the last master,

    master   the linear program over these columns
    oracle   the convex step of the weak learner, at the witnesses of the column that native pricing found there

are solved by each solver. `apart` is the relative difference from the optimum of the first solver, the three residuals
are those of the certificate, and `point` is the point status. The native oracle does not return a single step: its row
has the edge of its best column whose descent has ended, which is the optimum of the step.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from timing import single_thread, table, time_call

from milopt import get_solver, load_data, solve
from milopt.compilation.minorant import one_hot_minorant
from milopt.compilation.sides import other_side_atoms
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.models import ShapeletBoost
from milopt.outcome.certificate import Certificate
from milopt.schemes.column_generation import ColumnGeneration
from milopt.schemes.oracle_pricing import choose_oracle_pricing
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.pricing import MAX_STEPS, PricedColumn
from milopt.solving.step_session import StepSession

ROUNDS, STARTS = 15, 10
MASTERS = ("highs", "native", "clarabel", "ecos", "cvxpy:SCS")
STEPS = {"l1": ("highs", "clarabel", "ecos", "cvxpy:SCS"), "hilbert": ("clarabel", "ecos", "cvxpy:SCS")}
LIMIT = 100.0
"""Time limit in seconds of one solve; the status shows if it was reached."""


def generate_columns(name: str, ball: str) -> SemiInfinite:
    """Return the program of a data set after some rounds; its oracles have the prices of the master."""
    data = load_data(name)
    problem = ShapeletBoost(ball=ball, random_state=0).program(data.bags, data.labels)
    assert isinstance(problem, SemiInfinite)
    result = solve(problem, "native", ColumnGeneration(max_rounds=ROUNDS, idle=0))
    for oracle in problem.oracles:
        for parameter, variable in oracle.prices.items():
            parameter.value = np.clip(result.values[variable.name], variable.lower, variable.upper)
    return problem


def native_column(problem: SemiInfinite) -> PricedColumn:
    """Return the best column of the native oracle at the prices of the first oracle, among descents that have ended."""
    oracle = problem.oracles[0]
    live = choose_oracle_pricing(problem, oracle, "native", Options())
    prices = {parameter: np.asarray(parameter.value) for parameter in oracle.prices}
    return next(column for column in live.price(prices, STARTS, Clock(None)).columns if column.steps < MAX_STEPS)


def solve_step(problem: SemiInfinite, column: PricedColumn, solver: str) -> tuple[float, Certificate | None, str]:
    """Return edge, certificate and status of the convex step at the witnesses of a column."""
    program = problem.oracles[0].program
    (atom,) = other_side_atoms(program)
    u = program.functions["u"]
    points, coefficients = column.functions.get("u", (u.dictionary, column.values.get("u.coefficients")))
    values = u.kernel(atom.argument_bags.instances, points) @ coefficients
    witnesses = {atom: one_hot_minorant(atom, atom.segments.argmax(values))}
    with StepSession(program, get_solver(solver), Options(time_limit=LIMIT), witnesses=witnesses) as session:
        outcome = session.solve()
    return -outcome.objective, outcome.certificate, str(outcome.status)


def results() -> Iterator[tuple[object, ...]]:
    """Yield one row per program and solver."""
    for name in ("musk1", "gunpoint"):
        for ball in ("l1", "hilbert"):
            problem = generate_columns(name, ball)
            first = np.nan
            for solver in MASTERS:
                seconds, result = time_call(solve, problem.master, solver, time_limit=LIMIT)
                first = result.objective if np.isnan(first) else first
                yield line(
                    f"{name}, {ball}, master",
                    solver,
                    result.objective,
                    first,
                    result.certificate,
                    result.point,
                    seconds,
                )
            seconds, column = time_call(native_column, problem)
            case = f"{name}, {ball}, oracle"
            yield line(case, "native", column.value, column.value, column.certificate, "certified", seconds)
            for solver in STEPS[ball]:
                seconds, (edge, certificate, status) = time_call(solve_step, problem, column, solver)
                yield line(case, solver, edge, column.value, certificate, status, seconds)


def line(
    case: str, solver: str, value: float, first: float, proof: Certificate | None, point: object, seconds: float
) -> tuple[object, ...]:
    """Return one row of the table."""
    residuals = ("-",) * 3 if proof is None else (proof.primal, proof.dual, proof.gap)
    return case, solver, f"{value:.9f}", abs(value - first) / abs(first), *residuals, str(point), seconds


def main() -> None:
    """Print the table; seconds are processor time, including the compilation of native code."""
    single_thread()
    heads = "program", "solver", "optimum", "apart", "primal", "dual", "gap", "point", "seconds"
    table(heads, results(), first=26, least=13)


if __name__ == "__main__":
    main()
