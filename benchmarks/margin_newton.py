"""Fits with linear kernels: Newton's method in features against the dual of the kernel matrix, both through milopt.

A bag has 5 to 15 instances of 50 normal features, and one instance of each positive bag is shifted by 3. The whole fit
is measured: declaration, lowering, all steps of the scheme, certificates and the result. Each line compares the fit
that `native` makes in evaluation form (`auto`) with the fit of Clarabel in dual form, and prints the ratio of the
processor times and the relative difference of the objectives. The sizes in `FEATURES_ONLY` are fitted in features only,
because the other way needs gigabytes; the last column is the exponent of the time in the number of instances.

`python benchmarks/margin_newton.py MODEL BAGS ...` fits one model, such as `MISVM 1000 3000`, in features only.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

import numpy as np
from timing import single_thread, table, time_call

from milopt import BagClassifier, Linear, Result
from milopt.arrays import Matrix
from milopt.models import MIORDM, MISVM, SetKernelSVM

MODELS = (MISVM, SetKernelSVM, MIORDM)
BOTH_WAYS = {MISVM: (30, 100), SetKernelSVM: (100, 300, 1000), MIORDM: (30, 100)}
"""Numbers of bags that are fitted in both ways."""
FEATURES_ONLY = (300, 1000, 3000)
"""Numbers of bags that are fitted in features only."""
FEATURES, SHIFT = 50, 3.0


def make_bags(count: int) -> tuple[list[Matrix], np.ndarray]:
    """Return bags and their labels."""
    rng = np.random.default_rng(0)
    sizes, y = rng.integers(5, 16, count), np.where(np.arange(count) % 2, 1, -1)
    direction = rng.normal(size=FEATURES)
    bags = [rng.normal(size=(size, FEATURES)) for size in sizes]
    for bag, label in zip(bags, y, strict=True):
        if label > 0:
            bag[0] += SHIFT * direction / np.linalg.norm(direction)
    return bags, y


def fit(model: BagClassifier, count: int) -> tuple[float, Result]:
    """Return the processor time of a fit, and its result."""
    bags, y = make_bags(count)
    seconds, fitted = time_call(model.fit, bags, y)
    return seconds, fitted.result_


def compare(model: type[BagClassifier], count: int) -> list[str]:
    """Fit in both ways, and return a row of the table."""
    seconds, result = fit(model(kernel=Linear()), count)
    before, other = fit(model(kernel=Linear(), solver="clarabel", form="dual"), count)
    difference = abs(result.objective - other.objective) / (1.0 + abs(other.objective))
    return [
        model.__name__,
        str(count),
        f"{seconds:.2f}",
        f"{before:.2f}",
        f"{before / seconds:.0f}",
        f"{difference:.0e}",
        f"{result.certificate.worst:.0e}" if result.certificate else "-",
    ]


def grow(model: type[BagClassifier], counts: tuple[int, ...]) -> Iterator[list[str]]:
    """Fit in features at increasing sizes, and yield rows of the table."""
    last = 0, 0.0
    for count in counts:
        seconds, result = fit(model(kernel=Linear()), count)
        exponent = math.log(seconds / last[1]) / math.log(count / last[0]) if last[0] else math.nan
        proof = f"{result.certificate.worst:.0e}" if result.certificate else "-"
        yield [model.__name__, str(count), f"{seconds:.2f}", str(len(result.history)), proof, f"{exponent:.2f}"]
        last = count, seconds


def main() -> None:
    """Print the tables."""
    single_thread()
    if len(sys.argv) > 1:
        chosen = next(model for model in MODELS if model.__name__ == sys.argv[1])
        sizes = tuple(int(word) for word in sys.argv[2:])
        fit(chosen(kernel=Linear()), 100)
        table(["model", "bags", "s", "steps", "residual", "exponent"], grow(chosen, sizes))
        return
    for model in MODELS:
        fit(model(kernel=Linear()), 50)  # load the algorithms
    heads = ["model", "bags", "features s", "dual s", "ratio", "difference", "residual"]
    table(heads, (compare(model, count) for model in MODELS for count in BOTH_WAYS[model]))
    heads = ["model", "bags", "s", "steps", "residual", "exponent"]
    table(heads, (row for model in MODELS for row in grow(model, FEATURES_ONLY)))


if __name__ == "__main__":
    main()
