"""MILES: sparse linear separation of bags described by their similarities to all training instances.

    min  lambda 1'(u + v) + mu sum_{I+} w_i xi_i + (1 - mu) sum_{I-} w_i xi_i
    s.t. y_i (M_i (u - v) + b) >= 1 - xi_i,   u, v, xi >= 0,      M[i, z] = max_{x in B_i} K(x, z)

w_i is the weight of bag i, I+ and I- are the positive and the negative bags, and z runs over all training instances.
M_i is row i of the matrix M of similarities. This is a linear program, because the maxima in M are computed from the
data and do not contain unknowns. Few entries of u - v are nonzero: the method selects instances.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from milopt import RBF, BagClassifier, Kernel, Program
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import check_open_fraction, check_positive
from milopt.declaration.kernels.similarity import similarity


class MILES(BagClassifier):
    """Bag classifier: 1-norm support vector machine on similarities to the training instances (MILES).

    A bag is described by its similarities M[i, z] = max_{x in B_i} K(x, z) to all training instances z. Solves the
    linear program

        min_{u,v,b,xi}  lam 1'(u + v) + mu sum_{y_i = 1} w_i xi_i + (1 - mu) sum_{y_i = -1} w_i xi_i
        s.t.  y_i (M_i (u - v) + b) >= 1 - xi_i,  u, v, xi >= 0,

    where w_i is the weight of bag i. Few entries of u - v are nonzero: the method selects instances. An instance is
    scored like a bag that contains only this instance, sum_z (u_z - v_z) K(x, z) + b.

    Parameters
    ----------
    lam : float, default=0.1
        Weight of the 1-norm of u - v. Larger values select fewer instances. A wider kernel needs a smaller value: for D
        features in [0, 1] and the kernel `RBF(s=1/D)`, which is much wider than the default, ``lam=0.2`` already
        selects no instance.
    mu : float, default=0.5
        Weight of the slacks of positive bags, in (0, 1); the slacks of negative bags have weight 1 - mu.
    kernel : Kernel, default=RBF("median")
        Similarity between instances.

    Attributes
    ----------
    result_ : Result
        Result of the optimisation (two classes).
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.

    References
    ----------
    .. [1] Y. Chen, J. Bi and J. Z. Wang. MILES: Multiple-instance learning via embedded instance selection.
       IEEE Transactions on Pattern Analysis and Machine Intelligence 28(12), 1931-1947, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from milopt.models import MILES
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1, 0] += 4
    >>> model = MILES(lam=0.1).fit(bags, y)
    >>> model.score(bags, y)
    1.0
    """

    lam: float = 0.1
    mu: float = 0.5
    kernel: Kernel = RBF("median")

    in_default_comparison = True
    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "lam": (0.01, 0.1, 1.0),
        "kernel": (RBF(s="0.25/median"), RBF(s="median"), RBF(s="4/median")),
    }
    """Candidate values: powers of ten for `lam`, and kernel widths around the median distance between instances."""

    @property
    def has_symmetric_classes(self) -> bool:
        """True if mu = 1/2, the same slack weight for both classes: exchanging them then negates u - v and b."""
        return self.mu == 0.5

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """Build the linear program stated in the class docstring."""
        lam, mu = check_positive("lam", self.lam), check_open_fraction("mu", self.mu)
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
