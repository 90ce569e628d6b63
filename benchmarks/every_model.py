"""Every model at 120,000 instances with three kernels that have features, and the growth of its time up to 10^6.

The bags are those of `linear_scale.py`. Each fit is a process of its own and has one thread: processor seconds of the
whole fit (checks, scaling, declaration, all steps, certificates, training scores), the state of the point, the residual
of its certificate, and the peak memory with the interpreter and the data. A fit has a time limit, and keeps its best
point; `point` is then not "certified".

Two models are left out, because they do not compare instances with a kernel that has features: the box-counting SVM
(`box-svm`) compares bags by counts of boxes, and boosted shapelets (`shapelet-boost`) compare windows of series with a
dictionary (see `scale.py`). MILES chooses 300 landmarks as its dictionary, and the second stage of `soft-ksc` has a
`Nystrom` kernel of rank 50 over the memberships of bags.

    python benchmarks/every_model.py [--bags 12000] [--features 100] [--models ...] [--kernels ...] [--limit 300]
    python benchmarks/every_model.py --growth [--sizes 1000 10000 100000] [--features 50]
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import warnings
from collections.abc import Iterator
from time import perf_counter, process_time
from typing import Any

from linear_scale import make_bags
from timing import single_thread, table

from milopt import RBF, BagClassifier, Bags, Linear, Nystrom, Options, RandomFourier
from milopt.declaration.kernels.kernel import Kernel
from milopt.errors import UncertifiedError
from milopt.solving.registry import model_class

KERNELS: dict[str, Kernel] = {
    "linear": Linear(),
    "nystrom": Nystrom(RBF("median"), 300),
    "fourier": RandomFourier(RBF("median"), 1000),
}
MODELS: dict[str, dict[str, Any]] = {
    "mi-svm": {},
    "mirsvm": {},
    "miordm": {},
    "set-kernel-svm": {},
    "ls-svm": {},
    "odm": {},
    "safe": {},
    "soft-ksc": {"bag_kernel": Nystrom(RBF("median"), 50)},
    "miles": {"dictionary": "kmeans", "atoms": 300, "lam": 20.0},
}
"""Parameters by the name of the model, besides the kernel."""
FIGURES = ("CPU s", "seconds", "steps", "point", "residual", "GB")


def make_model(name: str, kernel: str, **given: Any) -> BagClassifier:
    """Return a model with a kernel of `KERNELS`."""
    model: BagClassifier = model_class(name)(kernel=KERNELS[kernel], **MODELS[name] | given)
    return model


def measure(name: str, kernel: str, count: int, features: int, given: dict[str, Any]) -> dict[str, object]:
    """Fit one model in this process, and return the figures of a row; `given` are further parameters."""
    limit = given.pop("limit")
    warnings.simplefilter("ignore")
    few = make_bags(60, features)
    make_model(name, kernel, **given).fit(Bags(*few[:2]), few[2])  # load the algorithms
    model = make_model(name, kernel, options=Options(time_limit=limit), **given)
    X, offsets, y = make_bags(count, features)
    began, work = perf_counter(), process_time()
    try:
        result = model.fit(Bags(X, offsets), y).result_
        figures = (
            len(result.history),
            str(result.point),
            f"{result.certificate.worst:.0e}" if result.certificate else "-",
        )
    except UncertifiedError:  # the fit ended without a point
        figures = (0, "none", "-")
    work, seconds = process_time() - work, perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return dict(zip(FIGURES, (work, seconds, *figures, memory), strict=True)) | {"instances": X.shape[0]}


def run(
    name: str, kernel: str, count: int, features: int, given: dict[str, Any], seconds: float | None = None
) -> dict[str, Any]:
    """Return the figures of a fit in a process of its own; only `point` if it failed or took more than `seconds`."""
    case = json.dumps([name, kernel, count, features, given])
    command = [sys.executable, __file__, "--measure", case]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
        if ended.returncode == 0:
            figures: dict[str, Any] = json.loads(ended.stdout)
            return figures
        why = (ended.stderr.strip().splitlines() or [f"ended with {ended.returncode}"])[-1]
    except subprocess.TimeoutExpired:
        why = f"stopped after {seconds:.0f} s"
    return dict.fromkeys(FIGURES, math.nan) | {"point": why, "steps": 0, "residual": "-", "instances": 0}


def rows_of_kernels(asked: argparse.Namespace) -> Iterator[list[object]]:
    """Yield one row per model and kernel."""
    for name in asked.models:
        for kernel in asked.kernels:
            found = run(name, kernel, asked.bags, asked.features or 100, {"limit": asked.limit})
            yield [name, kernel, *(found[figure] for figure in FIGURES)]


def rows_of_growth(asked: argparse.Namespace) -> Iterator[list[object]]:
    """Yield one row per model and size; the exponent is that of the time since the row above and since the first."""
    for name in asked.models:
        seen: list[tuple[int, float]] = []
        for count in asked.sizes:
            found = run(name, asked.kernels[0], count, asked.features or 50, {"limit": asked.limit})
            seen.append((found["instances"], found["CPU s"]))
            since = [_exponent(seen[k], seen[-1]) if len(seen) > 1 else "" for k in (-2 if len(seen) > 1 else 0, 0)]
            yield [name, found["instances"], *(found[figure] for figure in FIGURES), *since]


def _exponent(first: tuple[int, float], last: tuple[int, float]) -> str:
    """Return the exponent of the time in the number of instances, as text."""
    if not first[0] or not last[0]:
        return "-"
    return f"{math.log(last[1] / first[1]) / math.log(last[0] / first[0]):.2f}"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--growth", action="store_true", help="growth with the number of bags, for the first kernel")
    parser.add_argument("--bags", type=int, default=12_000, help="number of bags; a bag has 10 instances on average")
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 10_000, 100_000], help="numbers of bags")
    parser.add_argument("--features", type=int, help="default: 100, or 50 with --growth")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--kernels", nargs="+", choices=list(KERNELS), default=list(KERNELS))
    parser.add_argument("--limit", type=float, default=300.0, help="time limit of a fit in seconds")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure(*json.loads(asked.measure))))
    elif asked.growth:
        heads = ["model", "instances", *FIGURES, "exponent", "in all"]
        table(heads, rows_of_growth(asked), first=16, least=11)
    else:
        table(["model", "kernel", *FIGURES], rows_of_kernels(asked), first=16, least=11)


if __name__ == "__main__":
    single_thread()
    main()
