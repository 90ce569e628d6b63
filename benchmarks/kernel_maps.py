"""Nystrom approximations of an RBF kernel against the kernel itself: accuracy, AUC and cost over the rank.

Each model is fitted to five folds of repeated splits, the same for all kernels, with its default parameters. A row has
the mean over the repetitions, and their standard deviation after "±"; accuracies and AUCs are first averaged over the
folds of a repetition. The seconds are processor seconds per fit, scaling and landmarks included, and those to score the
bags of the test fold. The table is markdown. The data sets are looked for in the folder that MILOPT_DATA names.

    python benchmarks/kernel_maps.py [--sets musk2 birds_brown_creeper protein] [--models set-kernel-svm mi-svm]
                                     [--ranks 25 50 100 200 400] [--repetitions 5] [--without-exact]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt
from data_sets import data_set
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from timing import single_thread, time_call

from milopt import RBF, Bags, Nystrom, as_bags
from milopt.declaration.kernels.kernel import Kernel
from milopt.solving.registry import model_class

Array = npt.NDArray[np.float64]
FOLDS = 5
HEADS = ("data", "bags", "instances", "model", "kernel", "accuracy", "AUC", "fit s", "score s")


def evaluate_fold(name: str, kernel: Kernel, bags: Bags, y: Array, train: Array, test: Array) -> list[float]:
    """Return accuracy, AUC, and processor seconds of the fit and of the scores, for one fold."""
    model = model_class(name)(kernel=kernel)
    fit_seconds, _ = time_call(model.fit, bags[train], y[train])
    score_seconds, scores = time_call(model.decision_function, bags[test])
    accuracy = float(np.mean((scores > 0) == (y[test] > 0)))
    return [accuracy, float(roc_auc_score(y[test], scores)), fit_seconds, score_seconds]


def evaluate_kernel(name: str, kernel: Kernel, bags: Bags, y: Array, repetitions: int) -> tuple[Array, Array]:
    """Return means and standard deviations, over the repetitions, of the figures of `evaluate_fold`."""
    figures = []
    for seed in range(repetitions):
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y)
        figures.append(np.mean([evaluate_fold(name, kernel, bags, y, *fold) for fold in folds], axis=0))
    return np.mean(figures, axis=0), np.std(figures, axis=0, ddof=1 if repetitions > 1 else 0)


def rows(asked: argparse.Namespace) -> Iterator[list[str]]:
    """Yield one row per data set, model and kernel."""
    kernels: list[tuple[str, Kernel]] = [(f"rank {rank}", Nystrom(RBF("median"), rank)) for rank in asked.ranks]
    if not asked.without_exact:
        kernels.append(("exact", RBF("median")))
    for set_name in asked.sets:
        lists, y = data_set(set_name)
        bags = as_bags(lists)
        for name in asked.models:
            evaluate_kernel(name, Nystrom(RBF("median"), 5), bags, y, 1)  # load the algorithms
            for text, kernel in kernels:
                mean, spread = evaluate_kernel(name, kernel, bags, y, asked.repetitions)
                scores = [f"{mean[k]:.3f} ± {spread[k]:.3f}" for k in (0, 1)]
                size = [str(len(bags)), str(bags.instances.shape[0])]
                yield [set_name, *size, name, text, *scores, *(f"{mean[k]:.2g}" for k in (2, 3))]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["musk2", "birds_brown_creeper", "protein"])
    parser.add_argument("--models", nargs="+", default=["set-kernel-svm", "mi-svm"])
    parser.add_argument("--ranks", nargs="*", type=int, default=[25, 50, 100, 200, 400])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--without-exact", action="store_true", help="only the approximations")
    for row in chain((HEADS, ["---"] * len(HEADS)), rows(parser.parse_args())):
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    single_thread()
    main()
