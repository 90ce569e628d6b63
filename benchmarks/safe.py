"""SAFE: its linear system against the dense system of the paper; with landmarks, up to 500,000 instances.

Exact: the corrected system  [I + G Omega, G1; 1', 0]  formed and solved as a dense system, against milopt's `native`
(seconds in the solver: system, solution and refinement; both sides get the Gram matrix). With the core of
spectral clustering, gamma = 0.3 is convex and solved by conjugate gradients; gamma = 1000 is a saddle, factorised as
LDL'. `apart` is the largest difference of instance scores. With m bags the dense system takes 8/3 N^3 + 2 m N^2
operations and LDL' N^3/3, so the factor for a saddle point is 8 + 6m/N if both run at the same speed.

Landmarks: toy bags of 25 instances in the plane whose classes span two clusters, `Nystrom` of rank 300; processor
seconds of the whole fit (k-means, features, degrees, system), accuracy on new bags (0.98 is the best possible), and the
largest resident memory, each in a separate process. The limits for 500,000 instances are 60 s and 4 GB. The exponents
are those of seconds against N, fitted by least squares.

    python benchmarks/safe.py [--sets musk1 elephant musk2] [--instances 50000 100000 200000 500000]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from data_sets import data_set
from timing import single_thread, table, time_call

from milopt import RBF, Bags, Nystrom, Precomputed, Program, as_bags, bag_sum, get_solver, quad_form, sum_squares
from milopt.data import toy_bags
from milopt.models import SAFE
from milopt.solving.step_session import StepSession

Array = npt.NDArray[np.float64]
RANK, SIZE = 300, 25
ACROSS = 0.41
"""Distance at which the mean of 25 instances is on the correct side for 98 of 100 bags."""


def literal(omega: Array, bags: Bags, y: Array, v: Array, gamma: float, rho: float) -> Array:
    """Return instance scores of the dense system of size N + 1."""
    J = bags.membership.toarray()
    G = rho * J @ J.T - gamma * np.diag(v)
    N = v.size
    ones = np.ones((N, 1))
    system = np.block([[np.eye(N) + G @ omega, G @ ones], [ones.T, np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(rho * J @ y, 0.0))
    return np.asarray(omega @ solution[:-1] + solution[-1])


def exact(name: str, gamma: float, rho: float = 1.0) -> tuple[object, ...]:
    """Measure both sides on one data set."""
    lists, y = data_set(name)
    data = as_bags(lists)
    omega = RBF("median").fitted(data.instances)(data.instances, data.instances)
    v = 1 / omega.sum(axis=1)
    theirs, due = time_call(literal, omega, data, y, v, gamma, rho)
    bags = Bags(np.arange(v.size, dtype=float)[:, None], data.offsets)
    program = Program("SAFE")
    f, b = program.function("f", Precomputed(omega)), program.variable("b")
    e = f(bags) + b
    program.minimize(0.5 * f.norm_squared() - 0.5 * gamma * quad_form(e, v) + 0.5 * rho * sum_squares(bag_sum(e) - y))
    with StepSession(program, get_solver("native")) as session:
        form = session.compiled.form
        ours, answer = time_call(lambda: get_solver("native").engine(form, session.options).solve(None))
        point = session.compiled.recover(answer.x, answer.z)
        scores = omega @ point.coefficients[0] + point.x[0]
        inertia = session.compiled.convert_inertia(answer.inertia)
    kind = "saddle" if inertia.is_saddle else "minimum"
    apart = float(np.abs(scores - due).max())
    return name, v.size, gamma, kind, theirs, ours, f"{theirs / ours:.1f}x", apart


def growth(sizes: tuple[int, ...] = (500, 1000, 2000, 4000)) -> tuple[list[float], list[float]]:
    """Return processor seconds of exact fits to toy bags, kernel and certificate included: minima, saddle points."""
    minima, saddles = [], []
    for count in sizes:
        data = toy_bags("spanning", count // SIZE, SIZE, share=0.5)
        model = SAFE(aggregation="sum", kernel=RBF(1.0), scale="none", on_nonconvex="allow")
        minima.append(time_call(model.fit, data.bags, data.labels)[0])
        saddles.append(time_call(model.set_params(gamma=1e4).fit, data.bags, data.labels)[0])
    return minima, saddles


def exponent(sizes: list[int] | tuple[int, ...], seconds: list[float]) -> float:
    """Return the exponent b of seconds = a N^b."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def with_landmarks(count: int) -> dict[str, float]:
    """Measure one fit in this process."""
    few = toy_bags("spanning")
    SAFE(kernel=Nystrom(RBF("median"), 10)).fit(few.bags, few.labels)
    known = toy_bags("spanning", count // SIZE, SIZE, seed=0, across=ACROSS, share=0.5)
    new = toy_bags("spanning", 5000, SIZE, seed=1, across=ACROSS, share=0.5)
    seconds, model = time_call(SAFE(kernel=Nystrom(RBF("median"), RANK)).fit, known.bags, known.labels)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": seconds, "accuracy": model.score(new.bags, new.labels), "GB": memory}


def rows(counts: list[int], measurements: dict[int, dict[str, float]]) -> Iterator[tuple[object, ...]]:
    """Yield one row per fit, each measured in a separate process."""
    for count in counts:
        command = [sys.executable, __file__, "--only", str(count)]
        measurements[count] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        measurement = measurements[count]
        yield f"{count:,} in {count // SIZE:,} bags", measurement["seconds"], measurement["accuracy"], measurement["GB"]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=["musk1", "elephant", "musk2"])
    parser.add_argument("--instances", nargs="*", type=int, default=[50_000, 100_000, 200_000, 500_000])
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only:
        print(json.dumps(with_landmarks(asked.only)))
        return
    # First, while this process is small, because a child process starts with the memory of its parent.
    measurements: dict[int, dict[str, float]] = {}
    table((f"rank {RANK}", "CPU s", "accuracy", "GB"), rows(asked.instances, measurements))
    if len(measurements) > 1:
        seconds = [measurement["seconds"] for measurement in measurements.values()]
        print(f"exponent with landmarks {exponent(list(measurements), seconds):.2f}")
    heads = ("exact, CPU s", "N", "gamma", "point", "dense", "native", "ratio", "apart")
    table(heads, (exact(name, gamma) for name in asked.sets for gamma in (0.3, 1e3)), first=16, least=10)
    sizes = (500, 1000, 2000, 4000)
    growth((500,))
    for kind, seconds in zip(("minimum", "saddle"), growth(sizes), strict=True):
        texts = ", ".join(f"{n}: {s:.2g}" for n, s in zip(sizes, seconds, strict=True))
        print(f"whole exact fit, {kind}: s by N {texts}; exponent {exponent(sizes, seconds):.2f}", flush=True)


if __name__ == "__main__":
    single_thread()
    main()
