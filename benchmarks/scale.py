"""Boosted shapelets at scale: 1,000 series of 1,000 samples, about a million windows of 100, 100 k-means atoms.

The series are random walks; those of one class contain a pattern at a random place. Each fit (1-norm ball, native, nu =
0.3, bias, two-sided) runs in a separate process: processor and wall-clock seconds from bags to a fitted model, and the
largest resident memory of that process, including interpreter and data. The limits are 300 s and 4 GB; no N x N matrix
is computed. Further rows, with fewer series, show the growth of the cost with N. numba compiles in a first fit of few
series, before the measurement.

    python benchmarks/scale.py [--series 10 100 1000] [--rounds 30]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from timing import single_thread, table

from milopt import Bags
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.schemes.column_generation import ColumnGeneration

SAMPLES, WINDOW, ATOMS = 1000, 100, 100


def random_series(count: int, seed: int = 0) -> tuple[Bags, npt.NDArray[np.float64]]:
    """Return random walks and labels; every second walk contains two periods of a sine."""
    rng = np.random.default_rng(seed)
    walks = 0.2 * rng.normal(size=(count, SAMPLES)).cumsum(axis=1)
    y = np.where(np.arange(count) % 2, 1.0, -1.0)
    pattern = 3.0 * np.sin(np.linspace(0.0, 4.0 * np.pi, WINDOW))
    for i in np.flatnonzero(y > 0):
        start = rng.integers(SAMPLES - WINDOW)
        walks[i, start : start + WINDOW] = walks[i, start] + pattern + 0.2 * rng.normal(size=WINDOW)
    return Bags(walks.reshape(-1, 1), np.arange(count + 1) * SAMPLES), y


def measure(count: int, rounds: int) -> dict[str, object]:
    """Measure one fit in this process."""
    model = ShapeletBoost(
        window=WINDOW,
        atoms=ATOMS,
        scale="none",
        solver="native",
        scheme=ColumnGeneration(max_rounds=rounds),
        random_state=0,
    )
    model.fit(*random_series(4))
    bags, y = random_series(count)
    began, work = time.perf_counter(), time.process_time()
    model.fit(bags, y)
    work, seconds = time.process_time() - work, time.perf_counter() - began
    result = model.result_
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "windows": count * (SAMPLES - WINDOW + 1),
        "rounds": len(result.history),
        "gamma": result.objective,
        "boosting": result.seconds.total,
        "processor": work,
        "seconds": seconds,
        "gigabytes": peak * 1024 / 1e9,
        "within": "yes" if seconds < 300 and peak * 1024 < 4e9 else "NO",
    }


def results(counts: list[int], rounds: int) -> Iterator[tuple[object, ...]]:
    """Yield one row per number of series."""
    for count in counts:
        command = [sys.executable, "-W", "ignore", __file__, "--measure", str(count), "--rounds", str(rounds)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            sys.exit(ended.stderr)
        measured = json.loads(ended.stdout)
        yield f"{count} series", *measured.values(), 1e6 * measured["processor"] / measured["windows"]


def main() -> None:
    """Print the table; with `--measure`, measure one fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, nargs="+", default=[11, 111, 1000])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure, arguments.rounds)))
        return
    single_thread()
    heads = ["windows", "rounds", "gamma", "boosting s", "processor s", "seconds", "peak GB", "within", "us a window"]
    table(["fit", *heads], results(arguments.series, arguments.rounds), first=14, least=10)


if __name__ == "__main__":
    main()
