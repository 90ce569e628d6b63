"""Musk2 (102 bags, 6598 instances) with every solver: one CCP step of MI-SVM, and a fit of the set-kernel SVM.

Each solve runs in a separate process: wall-clock seconds from declaration to certificate, including the kernel; the
number of rows that the solver got; and the largest resident memory of that process and its children, including
interpreter and data. The limits are 60 s and 2 GB, with a certificate of 1e-6. Needs MILOPT_DATA.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

from data_sets import data_set
from timing import single_thread, table

import milopt
from milopt import RBF, BagClassifier
from milopt.models.mi_svm import MISVM
from milopt.models.set_kernel_svm import SetKernelSVM
from milopt.solving.step_session import StepSession

MODELS: dict[str, BagClassifier] = {
    "MI-SVM, one step": MISVM(C=1.0, kernel=RBF()),
    "set-kernel SVM": SetKernelSVM(C=1.0, kernel=RBF()),
}
SOLVERS = ("highs", "clarabel", "ecos")


def measure(model: str, solver: str) -> dict[str, object]:
    """Measure one solve in this process; the first step of CCP uses the mean of each bag as its witness."""
    bags, y = data_set("musk2")
    began = time.perf_counter()
    with StepSession(MODELS[model].program(bags, y), milopt.get_solver(solver)) as session:
        outcome = session.solve()
        seconds = time.perf_counter() - began
        used, rows = session.live.rows.active.size, session.form.rows.count
    certificate = outcome.certificate
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {
        "seconds": seconds,
        "solver": outcome.solve_seconds,
        "rows": f"{used} of {rows}",
        "gigabytes": peak * 1024 / 1e9,
        "certificate": certificate.worst if certificate is not None else float("inf"),
        "objective": outcome.objective,
    }


def results() -> Iterator[tuple[object, ...]]:
    """Yield one row per model and solver."""
    for model in MODELS:
        for solver in SOLVERS:
            command = [sys.executable, __file__, model, solver]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            if ended.returncode:
                yield f"{model}, {solver}", *("-",) * 6, ended.stderr.strip().splitlines()[-1]
                continue
            measured = json.loads(ended.stdout)
            within = measured["seconds"] < 60 and measured["gigabytes"] < 2 and measured["certificate"] <= 1e-6
            yield f"{model}, {solver}", *measured.values(), "yes" if within else "NO"


def main() -> None:
    """Print the table; with a model and a solver as arguments, measure only these."""
    if len(sys.argv) == 3:
        print(json.dumps(measure(*sys.argv[1:])))
        return
    single_thread()
    heads = ["seconds", "in solver", "rows used", "peak GB", "certificate", "objective", "within limits"]
    table(["Musk2", *heads], results())


if __name__ == "__main__":
    main()
