"""The same work with this checkout and with another one: smallest processor seconds and their ratio.

usage: python benchmarks/two_checkouts.py OTHER_CHECKOUT [ROUNDS]

The checkouts alternate: each round starts one process per checkout, so that both meet the same load. The work: `import
milopt`, a master that grows by rows (HiGHS and `native`), boosted shapelets on GunPoint, MI-SVM on Musk1 (only
lowering, and whole fits), MIORDM's box QPs, the SVM of a set kernel, MILES. Only embedded data sets are used.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from timing import table

HERE = Path(__file__).resolve().parent.parent


def measure(checkout: str) -> None:
    """Print the seconds of each piece of work with one checkout, as JSON."""
    sys.path.insert(0, checkout)
    began = time.process_time()
    import milopt

    seconds_by_work = {"import milopt": time.process_time() - began}
    if not str(milopt.__file__).startswith(checkout):
        raise SystemExit(f"milopt was imported from {milopt.__file__}, not from {checkout}")
    warnings.simplefilter("ignore")
    seconds_by_work |= {name: smallest_seconds(run, count) for name, (run, count) in pieces().items()}
    print(json.dumps(seconds_by_work))


def smallest_seconds(run: Callable[[], object], count: int) -> float:
    """Return the smallest processor seconds of some calls, without the first one."""
    seconds = []
    for _ in range(1 + count):
        began = time.process_time()
        run()
        seconds.append(time.process_time() - began)
    return min(seconds[1:])


def pieces() -> dict[str, tuple[Callable[[], object], int]]:
    """Return each piece of work and its number of repetitions."""
    import numpy as np

    from milopt import RBF, ConvexConcave, Program, Session, load_data, models, solve
    from milopt.compilation.lowering import Lowering

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 60))

    def master(solver: str) -> None:
        program = Program("master")
        d, gamma = program.variable("d", 60, lower=0, upper=0.1), program.variable("gamma")
        program.minimize(gamma)
        program.subject_to(d.sum() == 1, name="simplex")
        with Session(program, solver) as session:
            # The method had another name before version 0.2.
            add = session.subject_to if hasattr(session, "subject_to") else session.add_rows
            for row in rows:
                add(row @ d <= gamma)
                session.solve()

    musk, musk2, gunpoint = load_data("musk1"), load_data("musk2"), load_data("gunpoint")
    misvm = models.MISVM(kernel=RBF(0.003), C=10.0).program(musk.bags, musk.labels)
    large = models.MISVM(C=1.0).program(musk2.bags, musk2.labels)
    miordm = models.MIORDM().program(musk.bags, musk.labels)
    miles = models.MILES().program(musk.bags, musk.labels)
    set_kernel = models.SetKernelSVM().program(musk.bags, musk.labels)
    boosted = models.ShapeletBoost().program(gunpoint.bags, gunpoint.labels)
    return {
        "master, highs": (lambda: master("highs"), 3),
        "master, native": (lambda: master("native"), 3),
        "boosted shapelets, auto": (lambda: solve(boosted, "auto"), 3),
        "MI-SVM, lowering alone": (lambda: Lowering(misvm).form(), 30),
        "MI-SVM, highs": (lambda: solve(misvm, "highs"), 3),
        "MI-SVM, first step, Musk2": (lambda: solve(large, "highs", scheme=ConvexConcave(max_steps=1)), 3),
        "MI-SVM, clarabel": (lambda: solve(misvm, "clarabel"), 3),
        "MIORDM, native": (lambda: solve(miordm, "native"), 10),
        "set kernel, clarabel": (lambda: solve(set_kernel, "clarabel"), 10),
        "MILES, highs": (lambda: solve(miles, "highs"), 5),
    }


def main(other: str, rounds: int) -> None:
    """Measure both checkouts alternately and print the ratios."""
    sides = {"other": str(Path(other).resolve()), "this": str(HERE)}
    best: dict[str, dict[str, float]] = {side: {} for side in sides}
    for _ in range(rounds):
        for side, checkout in sides.items():
            command = [sys.executable, __file__, "--measure", checkout]
            environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": checkout}
            reply = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=checkout)
            for name, seconds in json.loads(reply.stdout.splitlines()[-1]).items():
                best[side][name] = min(seconds, best[side].get(name, seconds))
    rows = [(name, best["other"][name], s, s / best["other"][name]) for name, s in best["this"].items()]
    table(("work", "other (s)", "this (s)", "ratio"), rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2])
    elif len(sys.argv) in (2, 3):
        main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 3)
    else:
        raise SystemExit("usage: python benchmarks/two_checkouts.py OTHER_CHECKOUT [ROUNDS]")
