"""The set-kernel SVM: maximum-margin separation of bags by sums or means over their instances.

    min  1/2 ||f||^2 + C sum_i w_i xi_i   s.t.  y_i (sum_{x in B_i} f(x) / c_i + b) >= 1 - xi_i,  xi >= 0

w_i is the weight of bag i. The dual is that of the C-SVM on the set kernel

    k_set(B_i, B_j) = sum_{x in B_i, x' in B_j} K(x, x') / (c_i c_j).

`normalise` selects the divisor c_i:

    "mean"      n_i, the number of instances
    "sum"       1
    "feature"   sqrt(sum_{x, x' in B_i} K(x, x')), for which sum_{x in B_i} K(x, .) / c_i has norm 1 (1 if the sum is
                not positive)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from milopt import RBF, BagClassifier, Kernel, Program, bag_mean, bag_sum
from milopt.arrays import Floats
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import check_choice, check_positive
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.leaves import Function


class SetKernelSVM(BagClassifier):
    """Bag classifier: support vector machine on a set kernel, that is, on sums or means over instances.

    Solves

        min_{f,b,xi}  1/2 ||f||^2 + C sum_i w_i xi_i
        s.t.  y_i (sum_{x in B_i} f(x) / c_i + b) >= 1 - xi_i,  xi >= 0,

    where f is a function in the space of the kernel K and w_i is the weight of bag i. The divisor c_i is selected by
    `normalise`. This is the C-SVM on the set kernel k_set(B_i, B_j) = sum_{x in B_i, x' in B_j} K(x, x') / (c_i c_j).

    Parameters
    ----------
    C : float, default=10.0
        Weight of the slacks. Larger values allow fewer violated margins.
    kernel : Kernel, default=RBF("median")
        Kernel between instances.
    normalise : {"mean", "sum", "feature"}, default="mean"
        Divisor c_i: the number of instances of bag i ("mean"), 1 ("sum"), or sqrt(sum_{x, x' in B_i} K(x, x'))
        ("feature"), for which k_set(B_i, B_i) = 1. If this sum is not positive, c_i = 1.

    Attributes
    ----------
    result_ : Result
        Result of the optimisation (two classes).
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.

    References
    ----------
    .. [1] T. Gaertner, P. A. Flach, A. Kowalczyk and A. J. Smola. Multi-instance kernels. International Conference on
       Machine Learning, 179-186, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from milopt.models import SetKernelSVM
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1] += 3
    >>> model = SetKernelSVM(C=10.0).fit(bags, y)
    >>> model.score(bags, y)
    1.0
    """

    C: float = 10.0
    kernel: Kernel = RBF("median")
    normalise: str = "mean"

    in_default_comparison = True
    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "C": (1.0, 10.0, 100.0),
        "kernel": (RBF(s="0.25/median"), RBF(s="median"), RBF(s="4/median")),
    }
    """Candidate values: powers of ten for C, and kernel widths around the median distance between instances."""

    @property
    def has_symmetric_classes(self) -> bool:
        """True: exchanging the classes negates f and b, and therefore all scores."""
        return True

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """Build the program stated in the class docstring."""
        C, normalise = (
            check_positive("C", self.C),
            check_choice("normalise", self.normalise, ("mean", "sum", "feature")),
        )
        program = Program("set-kernel SVM")
        f = program.function("f", self.kernel)
        b = program.variable("b")
        slack = program.variable("slack", len(bags), lower=0)
        program.minimize(0.5 * f.norm_squared() + C * (weight @ slack))
        program.subject_to(y * (aggregate(f, bags, normalise) + b) >= 1 - slack, name="margin")
        program.score(lambda new: aggregate(f, new, normalise) + b, instances=lambda x: f(x) + b)
        return program


def aggregate(f: Function, bags: Bags, normalise: str) -> Expression:
    """Return sum_{x in B_i} f(x) / c_i for each bag B_i, with the divisor c_i selected by `normalise`."""
    if normalise == "mean":
        return bag_mean(f(bags))
    return bag_sum(f(bags)) / (bag_norms(f.kernel, bags) if normalise == "feature" else 1.0)


def bag_norms(kernel: Kernel, bags: Bags) -> Floats:
    """Return sqrt(sum_{x, x' in B_i} K(x, x')) for each bag B_i, or 1 if this sum is not positive."""
    squared = np.array([kernel(bag, bag).sum() for bag in bags])
    return np.sqrt(np.where(squared > 0, squared, 1.0))
