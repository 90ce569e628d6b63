"""MILES: bags described by their similarity to every training instance, separated by few of these.

    min  lambda 1'(u + v) + mu sum_{I+} w_i xi_i + (1 - mu) sum_{I-} w_i xi_i
    s.t. y_i (M_i (u - v) + b) >= 1 - xi_i,   u, v, xi >= 0,      M[i, z] = max_{x in B_i} K(x, z)

A linear program: the maxima are of the data, not of an unknown. Few entries of u - v are not zero, which is the
selection of instances that the method is named for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from milopt import RBF, BagClassifier, Kernel, Program
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import fraction, positive
from milopt.declaration.kernels.similarity import similarity


class MILES(BagClassifier):
    """Sparse linear separation of bags by their similarities to the training instances.

    An instance is scored as the bag of itself alone, sum_z (u_z - v_z) K(x, z) + b. The wider the kernel, the smaller
    lambda must be: with features in [0, 1] and s = 1/D, much wider than the median, 0.2 already leaves no instance.
    """

    lam: float = 0.1
    """Weight of the 1-norm of u - v; larger values select fewer instances."""
    mu: float = 0.5
    """Share of the weight of slacks that belongs to the positive class, between 0 and 1."""
    kernel: Kernel = RBF("median")
    """Similarity between instances."""

    is_exemplary = True
    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "lam": (0.01, 0.1, 1.0),
        "kernel": (RBF(s="0.25/median"), RBF(s="median"), RBF(s="4/median")),
    }
    """lambda by powers of ten, kernel widths about the median distance of instances; both classes cost the same."""

    @property
    def has_symmetric_classes(self) -> bool:
        """Return whether a slack costs the same in both classes: exchanging them then exchanges u and v."""
        return self.mu == 0.5

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """The program of the module."""
        lam, mu = positive("lam", self.lam), fraction("mu", self.mu)
        kernel, Z = self.kernel, bags.instances
        program = Program("MILES")
        u = program.variable("u", Z.shape[0], lower=0)
        v = program.variable("v", Z.shape[0], lower=0)
        b = program.variable("b")
        slack = program.variable("slack", len(bags), lower=0)
        cost = np.where(y > 0, mu, 1 - mu) * weight
        program.minimize(lam * (u.sum() + v.sum()) + cost @ slack)
        program.subject_to(y * (similarity(kernel, bags, Z) @ (u - v) + b) >= 1 - slack, name="margin")
        program.score(
            lambda new: similarity(kernel, new, Z) @ (u - v) + b, instances=lambda x: kernel(x, Z) @ (u - v) + b
        )
        return program
