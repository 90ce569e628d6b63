"""A linear program with 3000 epigraph rows, solved again after its objective changed: milopt against cvxpy.

The weak learner of boosting over the 1-norm ball, with fixed witnesses of the positive bags:

    min  sum_{I-} d_i max_{x in B_i} f(x) - sum_{I+} d_i f(x_i*)   s.t.  f = sum_z a_z K(z, .),  ||a||_1 <= 1

over 25 negative series of 120 windows and 100 atoms. Every round has a new d: the previous one with each weight changed
by a random step, or an independent one. milopt keeps one model in HiGHS, adds only violated rows, and certifies each
answer with all rows. cvxpy with HiGHS is built again in each round, or once with d as a parameter (DPP); HiGHS then
also starts from its last basis. Kernel values are computed before the measurement on both sides.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from timing import single_thread, table, time_call

from milopt import RBF, Program, as_bags, bag_max, get_solver, norm1
from milopt.compilation.status import PointStatus
from milopt.solving.step_session import StepSession

Array = npt.NDArray[np.float64]
NEGATIVE, POSITIVE, WINDOWS, LENGTH, ATOMS, ROUNDS = 25, 25, 120, 30, 100, 15


class Data:
    """Normalised windows of random walks; the positive series contain a bump."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        series = rng.normal(size=(NEGATIVE + POSITIVE, WINDOWS + LENGTH - 1)).cumsum(axis=1)
        at = rng.integers(0, WINDOWS, size=POSITIVE)
        for row, start in enumerate(at):
            series[NEGATIVE + row, start : start + LENGTH] += 8 * np.sin(np.linspace(0, 2 * np.pi, LENGTH))
        windows = np.lib.stride_tricks.sliding_window_view(series, LENGTH, axis=1)
        windows = windows - windows.mean(axis=2, keepdims=True)
        windows /= windows.std(axis=2, keepdims=True)
        self.negative = list(windows[:NEGATIVE])
        self.witnesses = windows[NEGATIVE + np.arange(POSITIVE), at]
        self.atoms = rng.permutation(windows.reshape(-1, LENGTH))[:ATOMS]
        self.kernel = RBF(1.0 / LENGTH)


def declare_program(data: Data) -> Program:
    """Declare the program with d as a parameter; negative bags come first."""
    program = Program("weak learner")
    f = program.function("f", data.kernel, dictionary=data.atoms)
    d = program.parameter("d", NEGATIVE + POSITIVE, sign=+1)
    program.minimize(d[:NEGATIVE] @ bag_max(f(as_bags(data.negative))) - d[NEGATIVE:] @ f(data.witnesses))
    program.subject_to(norm1(f.coefficients) <= 1, name="ball")
    return program


def cvxpy_problem(rows: Array, witnesses: Array, d: Array | cp.Parameter) -> cp.Problem:
    """Declare the same program in cvxpy, with all rows."""
    a, top = cp.Variable(ATOMS), cp.Variable(NEGATIVE)
    of_row = np.repeat(np.arange(NEGATIVE), WINDOWS)
    objective = d[:NEGATIVE] @ top - d[NEGATIVE:] @ (witnesses @ a)
    return cp.Problem(cp.Minimize(objective), [rows @ a <= top[of_row], cp.norm1(a) <= 1])


def random_weights(step: float) -> Array:
    """Return the weights of all rounds: a random walk of their logarithms, or independent if `step` is infinite."""
    rng = np.random.default_rng(1)
    if np.isinf(step):
        return rng.dirichlet(np.ones(NEGATIVE + POSITIVE), size=ROUNDS + 1)
    walk = np.exp(step * rng.normal(size=(ROUNDS + 1, NEGATIVE + POSITIVE)).cumsum(axis=0))
    return np.asarray(walk / walk.sum(axis=1, keepdims=True))


def rounds(weights: Array, solve: Callable[[Array], float]) -> tuple[float, Array]:
    """Return the median milliseconds of a round without the first one, and the optimal values."""
    pairs = [time_call(solve, d) for d in weights][1:]
    return 1e3 * statistics.median(seconds for seconds, _ in pairs), np.array([value for _, value in pairs])


def results(data: Data) -> Iterator[tuple[object, ...]]:
    """Yield one row per step size."""
    rows = data.kernel(np.concatenate(data.negative), data.atoms)
    witnesses = data.kernel(data.witnesses, data.atoms)
    parameter = cp.Parameter(NEGATIVE + POSITIVE, nonneg=True)
    kept = cvxpy_problem(rows, witnesses, parameter)

    def rebuild(d: Array) -> float:
        return float(cvxpy_problem(rows, witnesses, d).solve(solver=cp.HIGHS))

    def solve_with_parameter(d: Array) -> float:
        parameter.value = d
        return float(kept.solve(solver=cp.HIGHS))

    for change, step in {"each weight moved by 10 %": 0.1, "by 30 %": 0.3, "drawn again": np.inf}.items():
        weights = random_weights(step)
        program = declare_program(data)
        program.parameters["d"].value = weights[0]
        with StepSession(program, get_solver("highs")) as session:

            def ours(d: Array, session: StepSession = session) -> float:
                session.set_parameter(session.program.parameters["d"], d)
                outcome = session.solve()
                assert outcome.status is PointStatus.CERTIFIED, outcome.message
                return outcome.objective

            mine, values = rounds(weights, ours)
            used, rebuilds = f"{session.live.rows.active.size} of {session.form.rows.count}", session.rebuilds
        new, others = rounds(weights, rebuild)
        dpp, _ = rounds(weights, solve_with_parameter)
        apart = float(np.abs(values - others).max())
        yield change, mine, new, new / mine, dpp, dpp / mine, used, rebuilds, apart


def main() -> None:
    """Print the table with times in milliseconds per round."""
    single_thread()
    heads = [
        "d in each round",
        "milopt",
        "cvxpy",
        "ratio",
        "cvxpy DPP",
        "ratio",
        "rows used",
        "rebuilds",
        "values apart",
    ]
    table(heads, results(Data()))


if __name__ == "__main__":
    main()
