"""MI-SVM: maximum-margin separation of bags by their most positive instance.

    min  1/2 ||f||^2 + C sum_i w_i xi_i   s.t.  y_i (max_{x in B_i} f(x) + b) >= 1 - xi_i,  xi >= 0

A DC program: negative bags constrain every instance, positive bags need a witness.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from milopt import RBF, BagClassifier, Kernel, Program, bag_max
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import positive


class MISVM(BagClassifier):
    """Maximum-margin separation of bags by their most positive instance."""

    C: float = 10.0
    """Weight of the slacks beside ||f||^2; larger values allow fewer violated margins."""
    kernel: Kernel = RBF("median")
    """Kernel between instances."""

    is_exemplary = True
    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "C": (1.0, 10.0, 100.0),
        "kernel": (RBF(s="0.25/median"), RBF(s="median"), RBF(s="4/median")),
    }
    """C by powers of ten, kernel widths about the median distance of instances."""

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """The program of the module."""
        C = positive("C", self.C)
        program = Program("MI-SVM")
        f = program.function("f", self.kernel)
        b = program.variable("b")
        slack = program.variable("slack", len(bags), lower=0)
        program.minimize(0.5 * f.norm_squared() + C * (weight @ slack))
        program.subject_to(y * (bag_max(f(bags)) + b) >= 1 - slack, name="margin")
        program.score(lambda new: bag_max(f(new) + b), instances=lambda x: f(x) + b)
        return program
