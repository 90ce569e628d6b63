"""The set-kernel SVM: maximum-margin separation of bags by what their instances add up to.

    min  1/2 ||f||^2 + C sum_i w_i xi_i   s.t.  y_i (sum_{x in B_i} f(x) / c_i + b) >= 1 - xi_i,  xi >= 0

Its dual is the C-SVM on the set kernel  k_set(B, B') = sum_{x in B, x' in B'} K(x, x') / (c c'), with c_i = n_i
(`mean`), 1 (`sum`), or sqrt(k_set(B_i, B_i)) (`feature`: every bag has length 1 in the kernel's space).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from milopt import RBF, BagClassifier, Kernel, Program, bag_mean, bag_sum
from milopt.arrays import Floats
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import one_of, positive
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.leaves import Function


class SetKernelSVM(BagClassifier):
    """Maximum-margin separation of bags by the sum, or the mean, of a function over their instances."""

    C: float = 10.0
    """Weight of the slacks beside ||f||^2; larger values allow fewer violated margins."""
    kernel: Kernel = RBF("median")
    """Kernel between instances."""
    normalize: str = "mean"
    """Divisor c_i of the sum over a bag: `mean`, `sum` or `feature`."""

    is_exemplary = True
    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "C": (1.0, 10.0, 100.0),
        "kernel": (RBF(s="0.25/median"), RBF(s="median"), RBF(s="4/median")),
    }
    """C by powers of ten, kernel widths about the median distance of instances."""

    @property
    def has_symmetric_classes(self) -> bool:
        """Return True: exchanging the classes negates f and b."""
        return True

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """The program of the module."""
        C, normalize = positive("C", self.C), one_of("normalize", self.normalize, ("mean", "sum", "feature"))
        program = Program("set-kernel SVM")
        f = program.function("f", self.kernel)
        b = program.variable("b")
        slack = program.variable("slack", len(bags), lower=0)
        program.minimize(0.5 * f.norm_squared() + C * (weight @ slack))
        program.subject_to(y * (aggregate(f, bags, normalize) + b) >= 1 - slack, name="margin")
        program.score(lambda new: aggregate(f, new, normalize) + b, instances=lambda x: f(x) + b)
        return program


def aggregate(f: Function, bags: Bags, normalize: str) -> Expression:
    """sum_{x in B_i} f(x) / c_i for each bag."""
    if normalize == "mean":
        return bag_mean(f(bags))
    return bag_sum(f(bags)) / (lengths(f.kernel, bags) if normalize == "feature" else 1.0)


def lengths(kernel: Kernel, bags: Bags) -> Floats:
    """sqrt(k_set(B_i, B_i)); 1 for a bag that adds up to nothing, whose sum is 0 whatever it is divided by."""
    squared = np.array([kernel(bag, bag).sum() for bag in bags])
    return np.sqrt(np.where(squared > 0, squared, 1.0))
