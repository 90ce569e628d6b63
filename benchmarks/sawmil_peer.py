"""The set-kernel SVM against `NSK` of sawmil: the same program, time and objective.

Both sides solve the C-SVM of the kernel of bag sums, on features that were scaled before. sawmil computes the kernel
matrix of the bags from that of all instances, and gives the dual to OSQP, with tolerances of
1e-8. The objective of both sides is that of the primal: of sawmil, it is computed here from its multipliers, with the
best bias.

Needs `pip install sawmil osqp`, in the environment of milopt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from timing import single_thread, table, time_call

import milopt
from milopt import RBF, Linear
from milopt.models import SetKernelSVM

C = 0.1
BAG_SIZE, FEATURES = 10, 50


def bag_sets() -> Iterator[tuple[str, list[np.ndarray], np.ndarray]]:
    """Yield names, bags and signs of the sets: Musk1, and generated bags of growing number."""
    musk = milopt.load_data("musk1")
    X = np.asarray(musk.bags.instances)
    span = np.ptp(X, axis=0)
    scaled = (X - X.min(axis=0)) / np.where(span > 0, span, 1)
    yield "musk1", np.split(scaled, musk.bags.offsets[1:-1]), np.where(musk.labels == musk.labels.max(), 1.0, -1.0)
    for count in (100, 300, 1000):
        rng = np.random.default_rng(0)
        y = np.where(np.arange(count) % 2, 1.0, -1.0)
        bags = rng.uniform(size=(count, BAG_SIZE, FEATURES))
        bags[y > 0, 0, :5] += 1.0
        yield f"{count} bags", list(bags), y


def primal_objective(model: Any, bags: list[np.ndarray], y: np.ndarray) -> float:
    """Return the primal objective at the solution of sawmil, with the best bias for its function."""
    signed = np.zeros(len(bags))
    signed[model.support_] = model.dual_coef_.ravel()
    gram = model.bag_kernel(model.bags_, model.bags_)
    values = gram @ signed
    biases = y - values
    hinges = [np.maximum(0, 1 - y * (values + b)).sum() for b in biases]
    return float(0.5 * signed @ values + C * min(hinges))


def rows() -> Iterator[list[str]]:
    """Fit both sides to every set with both kernels, and yield the rows of the table."""
    import sawmil

    width = 0.05
    kernels = {"linear": (Linear(), sawmil.Linear()), "RBF": (RBF(width), sawmil.RBF(gamma=width))}
    for name, bags, y in bag_sets():
        for word, (ours, theirs) in kernels.items():
            model = SetKernelSVM(C=C, kernel=ours, normalise="sum", scale="none")
            model.fit(bags[:20] + bags[-20:], np.r_[y[:20], y[-20:]])  # load the algorithms
            seconds, fitted = time_call(model.fit, bags, y)
            result = fitted.result_
            peer = sawmil.NSK(C=C, kernel=theirs, scale_C=False, normalizer="none", solver="osqp")
            peer_seconds, _ = time_call(peer.fit, bags, y)
            yield [
                f"{name}, {word}",
                f"{seconds:.3g}",
                f"{peer_seconds:.3g}",
                f"{peer_seconds / seconds:.2g}",
                f"{result.objective:.6f}",
                f"{primal_objective(peer, bags, y):.6f}",
                f"{result.certificate.worst:.0e}",
            ]


def main() -> None:
    """Print the table."""
    single_thread()
    table(["set, kernel", "milopt s", "sawmil s", "ratio", "milopt", "sawmil", "residual"], rows())


if __name__ == "__main__":
    main()
