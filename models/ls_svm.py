"""The least-squares SVM on a set kernel: ridge regression of the labels on bag sums or means, with a free bias.

    min  1/2 ||f||^2 + C/2 sum_i w_i (y_i - E_i - b)^2,   E_i = sum_{x in B_i} f(x) / c_i

w_i is the weight of bag i. c_i is the number of instances of bag i if `aggregation` is "mean", and 1 if it is "sum".
The dual, with one variable a_i per bag, is the linear system

    [[k_set + D, 1], [1', 0]] [a; b] = [y; 0],   D = diag(1 / (C w_i)),

with the set kernel k_set(B_i, B_j) = sum_{x in B_i, x' in B_j} K(x, x') / (c_i c_j). If every bag has one instance, the
model is the LS-SVM of instances.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from milopt import RBF, BagClassifier, Kernel, Program, bag_mean, bag_sum, quad_form
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import check_choice, check_positive


class LSSVM(BagClassifier):
    """Bag classifier: least-squares support vector machine on bag means or sums.

    Solves

        min_{f,b}  1/2 ||f||^2 + C/2 sum_i w_i (y_i - E_i - b)^2,    E_i = sum_{x in B_i} f(x) / c_i,

    where w_i is the weight of bag i, and c_i is the number of its instances (``aggregation="mean"``) or 1
    (``aggregation="sum"``).

    Parameters
    ----------
    C : float, default=10.0
        Weight of the squared errors.
    kernel : Kernel, default=RBF("median")
        Kernel between instances.
    aggregation : {"mean", "sum"}, default="mean"
        How the values of f at the instances of a bag are combined into E_i; the score of the bag is E_i + b.

    Attributes
    ----------
    result_ : Result
        Result of the optimisation (two classes).
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.

    References
    ----------
    .. [1] J. A. K. Suykens and J. Vandewalle. Least squares support vector machine classifiers. Neural Processing
       Letters 9, 293-300, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from milopt.models import LSSVM
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1] += 3
    >>> model = LSSVM(C=10.0).fit(bags, y)
    >>> model.score(bags, y)
    1.0
    """

    C: float = 10.0
    kernel: Kernel = RBF("median")
    aggregation: str = "mean"

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
        """Build the least-squares program stated in the class docstring."""
        C = check_positive("C", self.C)
        aggregate = bag_mean if check_choice("aggregation", self.aggregation, ("mean", "sum")) == "mean" else bag_sum
        program = Program("LS-SVM")
        f = program.function("f", self.kernel)
        b = program.variable("b")
        program.minimize(0.5 * f.norm_squared() + 0.5 * C * quad_form(aggregate(f(bags)) + b - y, weight))
        program.score(lambda new: aggregate(f(new), new) + b, instances=lambda x: f(x) + b)
        return program
