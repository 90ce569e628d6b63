"""Soft kernel spectral clustering of the instances, then a least-squares SVM on the bags: two stages.

1. The first Nc - 1 directions of kernel spectral clustering, their signs as code words of Nc clusters, and the soft
   membership of every instance in each; a bag is the mean membership of its instances, Nc numbers that sum to 1.
2.  min  1/2 ||h||^2 + C/2 sum_i w_i (y_i - h(v_i) - b)^2   over these v_i.

What the first stage does not see, the second cannot learn: SAFE does both at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from milopt import RBF, BagClassifier, Kernel, Program, quad_form
from milopt.arrays import Floats
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import positive, whole
from milopt.declaration.kernels.degrees import core_weights
from milopt.declaration.kernels.spectrum import code_book, spectrum
from milopt.declaration.programs.leaves import Function
from milopt.errors import ParameterError


class SoftKSC(BagClassifier):
    """Clusters of instances first, a least-squares SVM on how much of each a bag has second."""

    clusters: int = 3
    """Number of clusters of instances."""
    C: float = 10.0
    """Weight of the squared errors beside ||h||^2."""
    kernel: Kernel = RBF("median")
    """Between instances."""
    bag_kernel: Kernel = RBF("median")
    """Between the memberships of bags."""

    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "clusters": (2, 4, 8),
        "C": (1.0, 10.0, 100.0),
        "kernel": (RBF(s="0.25/median"), RBF(s="median"), RBF(s="4/median")),
    }
    """Clusters by doubling, C by powers of ten, kernel widths about the median distance of instances."""

    @property
    def fits_kernels(self) -> bool:
        """Not here: one of them compares memberships."""
        return False

    @property
    def has_symmetric_classes(self) -> bool:
        """Return True: the clusters do not depend on labels, and exchanging the classes negates h and b."""
        return True

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """The program of the second stage, over the memberships that the first stage finds."""
        C, clusters = positive("C", self.C), whole("clusters", self.clusters, 2)
        X = bags.instances
        if clusters > X.shape[0]:
            raise ParameterError(f"clusters={clusters} are more than the {X.shape[0]} instances.")
        kernel = self.kernel.fitted(X)
        v = np.asarray(core_weights("ksc", Function("f", kernel, None, None), bags, weight[bags.bag_of]))
        found = spectrum(kernel, X, v, clusters - 1)
        book = code_book(found.scores(X), clusters, weight[bags.bag_of])

        def memberships(new: Bags) -> Floats:
            return new.mean(book.memberships(found.scores(new.instances)))

        known = memberships(bags)
        program = Program("soft KSC + LS-SVM")
        # Equal bags have memberships that differ in rounding alone, which a width must not take for different ones.
        h = program.function("h", self.bag_kernel.fitted(np.round(known, 10)))
        b = program.variable("b")
        program.minimize(0.5 * h.norm_squared() + 0.5 * C * quad_form(h(known) + b - y, weight))
        program.score(lambda new: h(known if new is bags else memberships(new)) + b)
        return program
