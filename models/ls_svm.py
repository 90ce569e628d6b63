"""The least-squares SVM on a set kernel: ridge regression of the labels on bag sums or means, with a free bias.

    min  1/2 ||f||^2 + C/2 sum_i w_i (y_i - E_i - b)^2,   E_i = sum_{x in B_i} f(x) / c_i

with c_i = n_i (`mean`) or 1 (`sum`). Its dual is the system  [[k_set + I/C, 1], [1', 0]] [a; b] = [y; 0]; on bags of
one instance it is the LS-SVM itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from milopt import RBF, BagClassifier, Kernel, Program, bag_mean, bag_sum, quad_form
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import one_of, positive


class LSSVM(BagClassifier):
    """Ridge regression of the labels on the mean, or the sum, of a function over the instances."""

    C: float = 10.0
    """Weight of the squared errors beside ||f||^2."""
    kernel: Kernel = RBF("median")
    """Kernel between instances."""
    aggregation: str = "mean"
    """`mean` or `sum`."""

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
        C = positive("C", self.C)
        aggregate = bag_mean if one_of("aggregation", self.aggregation, ("mean", "sum")) == "mean" else bag_sum
        program = Program("LS-SVM")
        f = program.function("f", self.kernel)
        b = program.variable("b")
        program.minimize(0.5 * f.norm_squared() + 0.5 * C * quad_form(aggregate(f(bags)) + b - y, weight))
        program.score(lambda new: aggregate(f(new), new) + b, instances=lambda x: f(x) + b)
        return program
