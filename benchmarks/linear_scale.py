"""Fits with linear kernels up to a million instances, against linear models of scikit-learn that ignore the bags.

A bag has 5 to 15 instances with normal features, and one instance of each positive bag is shifted by 3. Both sides
scale the features to [0, 1]. The floor for models of instances is `LinearSVC(dual=False)` on all instances with the
labels of their bags; for models of bag means, it is `Ridge` on the means. Each row is a process of its own, so that its
peak memory is that of one fit, with the data: the array of instances, which is read-only and therefore not copied, and
its scaled copy. The whole fit is measured: checks, scaling, declaration, all steps of the scheme, certificates and
training scores. The last column is the exponent of the time in the number of instances since the row above, for equal
features.

`python benchmarks/linear_scale.py MODEL BAGS FEATURES` fits one model, such as `MISVM 10000 50`.
"""

from __future__ import annotations

import math
import resource
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
from timing import single_thread, table, time_call

import milopt
from milopt import models
from milopt.arrays import Matrix

CASES = (
    *(("MISVM", count, 50) for count in (1000, 10_000)),
    ("MISVM", 12_000, 100),
    *(("MISVM", count, 64) for count in (10_000, 100_000)),
    ("MIRSVM", 12_000, 100),
    *(("SetKernelSVM", count, 50) for count in (1000, 3000, 10_000)),
    *(("LSSVM", count, 50) for count in (1000, 10_000)),
    ("ODM", 12_000, 100),
    *(("MIORDM", count, 50) for count in (1000, 10_000)),
    ("MIORDM", 12_000, 100),
    *(("SAFE", count, 64) for count in (10_000, 100_000)),
)
"""Models with numbers of bags and of features; a bag has 10 instances on average."""
MODELS_OF_MEANS = ("SetKernelSVM", "LSSVM", "ODM")
"""Models that are compared with a ridge regression on bag means."""


def make_bags(count: int, features: int) -> tuple[Matrix, np.ndarray, np.ndarray]:
    """Return the instances of bags, the bounds of the bags, and their labels."""
    rng = np.random.default_rng(0)
    sizes, y = rng.integers(5, 16, count), np.where(np.arange(count) % 2, 1, -1)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X = rng.normal(size=(int(offsets[-1]), features))
    direction = rng.normal(size=features)
    X[offsets[:-1][y > 0]] += 3.0 * direction / np.linalg.norm(direction)
    X.flags.writeable = False
    return X, offsets, y


def fit_floor(name: str, X: Matrix, offsets: np.ndarray, y: np.ndarray) -> None:
    """Fit the linear model of scikit-learn."""
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import MinMaxScaler
    from sklearn.svm import LinearSVC

    scaled = MinMaxScaler().fit_transform(X)
    if name in MODELS_OF_MEANS:
        sizes = np.diff(offsets)
        Ridge().fit(np.add.reduceat(scaled, offsets[:-1]) / sizes[:, None], y)
    else:
        LinearSVC(dual=False).fit(scaled, np.repeat(y, np.diff(offsets)))


def measure(name: str, count: int, features: int) -> str:
    """Fit one model, then the floor; return the figures of a row as text."""
    model = getattr(models, name)(kernel=milopt.Linear())
    few = make_bags(60, features)
    model.fit(milopt.Bags(*few[:2]), few[2])  # load the algorithms
    fit_floor(name, *few)
    X, offsets, y = make_bags(count, features)
    seconds, fitted = time_call(lambda: model.fit(milopt.Bags(X, offsets), y))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    floor, _ = time_call(fit_floor, name, X, offsets, y)
    result = fitted.result_
    worst = result.certificate.worst if result.certificate else math.nan
    return f"{X.shape[0]} {seconds} {floor} {len(result.history)} {worst} {memory}"


def rows() -> Iterator[list[str]]:
    """Measure every case in a process of its own, and yield the rows of the table."""
    last: tuple[str, int, int, float] = "", 0, 0, 0.0
    for name, count, features in CASES:
        command = [sys.executable, __file__, name, str(count), str(features)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        size, seconds, floor, steps, worst, memory = (float(word) for word in output.split())
        same = last[0] == name and last[2] == features
        exponent = math.log(seconds / last[3]) / math.log(size / last[1]) if same else math.nan
        yield [
            name,
            f"{size:.0f} x {features}",
            f"{seconds:.3g}",
            f"{floor:.3g}",
            f"{seconds / floor:.1f}",
            f"{steps:.0f}",
            f"{worst:.0e}",
            f"{memory:.2f}",
            f"{exponent:.2f}" if same else "",
        ]
        last = name, int(size), features, seconds


def main() -> None:
    """Print the table, or the figures of one case."""
    single_thread()
    if len(sys.argv) > 1:
        print(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
        return
    table(["model", "size", "s", "floor s", "ratio", "steps", "residual", "GB", "exponent"], rows(), first=14)


if __name__ == "__main__":
    main()
