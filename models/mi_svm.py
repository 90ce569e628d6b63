"""MI-SVM: maximum-margin separation of bags by their most positive instance.

    min  1/2 ||f||^2 + C sum_i w_i xi_i   s.t.  y_i (max_{x in B_i} f(x) + b) >= 1 - xi_i,  xi >= 0

w_i is the weight of bag i. This is a DC program (a difference of convex functions). The constraint of a negative bag is
convex and bounds f(x) at all instances of the bag. The constraint of a positive bag is not convex: it needs one
instance, the witness of the bag, with a large f(x).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from milopt import RBF, BagClassifier, Kernel, Program, bag_max
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import check_positive


class MISVM(BagClassifier):
    """Bag classifier: support vector machine on the most positive instance of each bag (MI-SVM).

    Solves

        min_{f,b,xi}  1/2 ||f||^2 + C sum_i w_i xi_i
        s.t.  y_i (max_{x in B_i} f(x) + b) >= 1 - xi_i,  xi >= 0,

    where f is a function in the space of the kernel and w_i is the weight of bag i. The constraint is convex for
    negative bags. For each positive bag, an iterative scheme selects one instance, the witness. The result is a
    stationary point unless ``scheme="exact"``. The score of a bag is the largest score f(x) + b of its instances.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the slacks. Larger values allow fewer violated margins.
    kernel : Kernel, default=RBF("median")
        Kernel between instances.

    Attributes
    ----------
    result_ : Result
        Result of the optimisation (two classes).
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.

    References
    ----------
    .. [1] S. Andrews, I. Tsochantaridis and T. Hofmann. Support vector machines for multiple-instance learning.
       Advances in Neural Information Processing Systems 15, 2002.

    Examples
    --------
    A bag is positive if its first instance is shifted:

    >>> import numpy as np
    >>> from milopt.models import MISVM
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1, 0] += 4
    >>> model = MISVM(C=10.0).fit(bags, y)
    >>> model.score(bags, y)
    1.0
    """

    C: float = 10.0
    kernel: Kernel = RBF("median")

    in_default_comparison = True
    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "C": (1.0, 10.0, 100.0),
        "kernel": (RBF(s="0.25/median"), RBF(s="median"), RBF(s="4/median")),
    }
    """Candidate values: powers of ten for C, and kernel widths around the median distance between instances."""

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """Build the MI-SVM program stated in the class docstring."""
        C = check_positive("C", self.C)
        program = Program("MI-SVM")
        f = program.function("f", self.kernel)
        b = program.variable("b")
        slack = program.variable("slack", len(bags), lower=0)
        program.minimize(0.5 * f.norm_squared() + C * (weight @ slack))
        program.subject_to(y * (bag_max(f(bags)) + b) >= 1 - slack, name="margin")
        program.score(lambda new: bag_max(f(new) + b), instances=lambda x: f(x) + b)
        return program
