"""Regularisation paths: `milopt.path` in one warm run against separate fits, and selection with and without warm runs.

A bag has 5 to 15 instances of 10 normal features, and one instance of each positive bag is shifted by 1 in every
feature.
Processor seconds of seven values of the hyper-parameter, with the largest relative difference of the objectives.
"""

from __future__ import annotations

import warnings

import numpy as np
from miles_columns import make_bags
from timing import single_thread, table, time_call

import milopt
from milopt import BagClassifier, Linear
from milopt.errors import MiloptWarning
from milopt.evaluation import selection
from milopt.evaluation.selection import WarmGroup, grid_combinations, select_candidate
from milopt.models import LSSVM, MILES, MISVM, SetKernelSVM

CASES: tuple[tuple[type[BagClassifier], dict[str, object], str, int], ...] = (
    (SetKernelSVM, {}, "C", 300),
    (SetKernelSVM, {"kernel": Linear()}, "C", 3000),
    (LSSVM, {}, "C", 300),
    (MISVM, {"kernel": Linear()}, "C", 1000),
    (MILES, {}, "lam", 100),
)
VALUES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def compare(cls: type[BagClassifier], fixed: dict[str, object], name: str, count: int) -> list[object]:
    """Fit all values in both ways, and return a row of the table."""
    bags, y = make_bags(count, 10)
    values = [value / 10 for value in VALUES] if cls is MILES else list(VALUES)
    together, path = time_call(milopt.path, cls(**fixed), bags, y, **{name: values})
    alone, single = time_call(lambda: [cls(**fixed, **{name: value}).fit(bags, y) for value in values])
    objectives = np.array([[model.result_.objective for model in models] for models in (path, single)])
    difference = float((np.abs(objectives[0] - objectives[1]) / np.maximum(1.0, np.abs(objectives[1]))).max())
    title = f"{cls.__name__}{', linear' if fixed else ''}"
    return [title, count, together, alone, alone / together, difference]


def compare_selection(cls: type[BagClassifier], fixed: dict[str, object], count: int) -> list[object]:
    """Select C by an inner cross-validation in both ways, and return a row of the table."""
    instances, y = make_bags(count, 10)
    bags, grid = milopt.as_bags(instances), grid_combinations({"C": VALUES})
    together, warm = time_call(select_candidate, cls, fixed, grid, bags, y, 0)
    original = selection.group_for_warm_runs
    selection.group_for_warm_runs = lambda _, grid: [WarmGroup("", (index,)) for index in range(len(grid))]
    alone, cold = time_call(select_candidate, cls, fixed, grid, bags, y, 0)
    selection.group_for_warm_runs = original
    difference = max(abs(a.correct - b.correct) for a, b in zip(warm.candidates, cold.candidates, strict=True))
    return [f"selection, {cls.__name__}, linear", count, together, alone, alone / together, difference]


def main() -> None:
    """Print the table."""
    single_thread()
    warnings.simplefilter("ignore", MiloptWarning)
    for cls, fixed, _, _ in CASES:
        bags, y = make_bags(20, 10)
        cls(**fixed).fit(bags, y)  # load the algorithms
    linear = {"kernel": Linear()}
    heads = ["model", "bags", "path s", "separate s", "ratio", "difference"]
    table(heads, (compare(*case) for case in CASES))
    table(
        [*heads[:-1], "bags"],
        (compare_selection(cls, linear, count) for cls, count in ((SetKernelSVM, 1000), (MISVM, 200))),
    )


if __name__ == "__main__":
    main()
