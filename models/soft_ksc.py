"""Two-stage classifier: soft kernel spectral clustering of the instances, then a least-squares SVM on the bags.

1. The first `clusters` - 1 directions of kernel spectral clustering score every instance. The most frequent sign
   patterns of the scores, at most `clusters` of them, define the clusters, one each, and every instance has a soft
   membership in each cluster. A bag is described by the mean membership v_i of its instances: one number per cluster,
   with sum 1.
2. min  1/2 ||h||^2 + C/2 sum_i w_i (y_i - h(v_i) - b)^2, where h is a function of memberships, in the space of
   `bag_kernel`, and w_i is the weight of bag i.

The first stage gets the weights of the bags but not their labels (if `class_weight` is given, the weights depend on the
classes). The second stage knows the instances only by their memberships in the clusters.
SAFE solves both stages jointly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from milopt import RBF, BagClassifier, Kernel, Program, quad_form
from milopt.arrays import Floats
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import check_integer, check_positive
from milopt.declaration.kernels.degrees import core_weights
from milopt.declaration.kernels.spectrum import leading_directions, make_code_book
from milopt.errors import ParameterError


class SoftKSC(BagClassifier):
    """Bag classifier: soft kernel spectral clustering of instances, then a least-squares SVM on bags.

    The first stage clusters the instances; it does not get the labels, but the bag weights, which depend on the classes
    if `class_weight` is given. A bag is described by the mean v_i of the soft cluster memberships of its instances. The
    second stage solves

        min_{h,b}  1/2 ||h||^2 + C/2 sum_i w_i (y_i - h(v_i) - b)^2,

    where h is a function in the space of `bag_kernel` and w_i is the weight of bag i. This is a two-stage baseline of
    `SAFE`.

    Parameters
    ----------
    clusters : int, default=3
        Maximum number of clusters of instances, from 2 to the number of instances.
    C : float, default=10.0
        Weight of the squared errors.
    kernel : Kernel, default=RBF("median")
        Kernel between instances, for the clustering.
    bag_kernel : Kernel, default=RBF("median")
        Kernel between the mean memberships of bags, for the classifier.

    Attributes
    ----------
    result_ : Result
        Result of the optimisation (two classes).
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.

    References
    ----------
    .. [1] R. Langone, R. Mall and J. A. K. Suykens. Soft kernel spectral clustering. International Joint Conference on
       Neural Networks, 2013.
    .. [2] R. Langone and J. A. K. Suykens. Supervised aggregated feature learning for multiple instance classification.
       Information Sciences 375, 234-245, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from milopt.models import SoftKSC
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1] += 4
    >>> model = SoftKSC(clusters=2).fit(bags, y)
    >>> model.score(bags, y)
    1.0
    """

    clusters: int = 3
    C: float = 10.0
    kernel: Kernel = RBF("median")
    bag_kernel: Kernel = RBF("median")

    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "clusters": (2, 4, 8),
        "C": (1.0, 10.0, 100.0),
        "kernel": (RBF(s="0.25/median"), RBF(s="median"), RBF(s="4/median")),
    }
    """Candidates: numbers of clusters, powers of ten for C, and kernel widths around the median instance distance."""

    @property
    def receives_fitted_kernels(self) -> bool:
        """False: `declare` fits the kernels, as `bag_kernel` compares memberships, which only `declare` computes."""
        return False

    @property
    def has_symmetric_classes(self) -> bool:
        """True: exchanging the classes changes no weight and no cluster, and negates h and b.

        A `class_weight` belongs to a label, so the weight of a bag does not depend on which class is positive.
        """
        return True

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """Cluster the instances, and build the program of the second stage over the mean memberships.

        Raises
        ------
        ParameterError
            If `C` is not positive, or `clusters` is not an integer from 2 to the number of instances.
        """
        C, clusters = check_positive("C", self.C), check_integer("clusters", self.clusters, 2)
        X = bags.instances
        if clusters > X.shape[0]:
            raise ParameterError(f"clusters={clusters} must be at most the number of instances, {X.shape[0]}.")
        kernel = self.kernel.fitted(X)
        v = core_weights("ksc", kernel, bags, weight[bags.bag_of])
        directions = leading_directions(kernel, X, v, clusters - 1)
        book = make_code_book(directions.scores(X), clusters, weight[bags.bag_of])

        def mean_memberships(new: Bags) -> Floats:
            """Return the mean membership of the instances of each bag, one row per bag and one column per cluster."""
            return new.mean(book.memberships(directions.scores(new.instances)))

        training_memberships = mean_memberships(bags)
        program = Program("soft KSC + LS-SVM")
        # The memberships of equal bags may differ by rounding errors. These must not influence the width of the bag
        # kernel, which is fitted to distances between memberships.
        h = program.function("h", self.bag_kernel.fitted(np.round(training_memberships, 10)))
        b = program.variable("b")
        program.minimize(0.5 * h.norm_squared() + 0.5 * C * quad_form(h(training_memberships) + b - y, weight))
        program.score(lambda new: h(training_memberships if new is bags else mean_memberships(new)) + b)
        return program
