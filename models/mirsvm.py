"""MIRSVM: maximum-margin separation of bags by one representative instance per bag, in both classes.

    min  1/2 ||f||^2 + C sum_i w_i xi_i   s.t.  y_i max_{x in B_i} (f(x) + b) >= 1 - xi_i,  xi >= 0

The program is that of MI-SVM; the scheme is different. The scheme `representatives` replaces every bag by its most
positive instance, whereas the scheme of MI-SVM keeps the constraints on all instances of a negative bag. With fixed
representatives, the program is the C-SVM, whose dual is  max 1'a - 1/2 sum_ij a_i a_j y_i y_j K_ij  over
0 <= a_i <= C w_i, y'a = 0, where K is the kernel matrix of the representatives. An update of the representative of a
negative bag cannot decrease the slack of this bag. The iteration may therefore cycle; in that case the best iterate is
returned.
"""

from __future__ import annotations

from milopt import Program, bag_max
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import check_positive
from milopt.declaration.kernels.representatives import starting_points
from milopt.models.mi_svm import MISVM
from milopt.schemes.scheme import Scheme


class MIRSVM(MISVM):
    """Bag classifier: support vector machine on one representative instance per bag (MIRSVM).

    Solves the same program as `MISVM`,

        min_{f,b,xi}  1/2 ||f||^2 + C sum_i w_i xi_i
        s.t.  y_i max_{x in B_i} (f(x) + b) >= 1 - xi_i,  xi >= 0

    where w_i is the weight of bag i. The scheme is another one and alternates between two steps: it solves a C-SVM on
    one representative per bag, in both classes, and then chooses the most positive instance of each bag as the new
    representative of the bag. This iteration may cycle. In that case, the best iterate is returned.

    Parameters
    ----------
    start : {"mean", "random"}, default="mean"
        First representative of each bag: the mean of its instances, or, as in the paper, one instance at random.
    scheme : str, Scheme or None, default="representatives"
        Algorithm that reduces the program to convex ones. "representatives" is the algorithm of the paper.

    Attributes
    ----------
    result_ : Result
        Result of the optimisation (two classes).
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.

    References
    ----------
    .. [1] G. Melki, A. Cano and S. Ventura. MIRSVM: Multi-instance support vector machine with bag representatives.
       Pattern Recognition 79, 228-241, 2018.

    Examples
    --------
    The iteration cycles on these bags, so `fit` warns and returns the best iterate:

    >>> import numpy as np
    >>> from milopt.models import MIRSVM
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1, 0] += 4
    >>> model = MIRSVM(C=10.0).fit(bags, y)
    >>> model.score(bags, y)
    1.0
    """

    start: str = "mean"
    scheme: str | Scheme | None = "representatives"

    in_default_comparison = False

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """Build the MIRSVM program stated in the class docstring."""
        C = check_positive("C", self.C)
        program = Program("MIRSVM")
        f = program.function("f", self.kernel)
        b = program.variable("b")
        slack = program.variable("slack", len(bags), lower=0)
        program.minimize(0.5 * f.norm_squared() + C * (weight @ slack))
        # After each SVM on the representatives, the scheme re-optimises the variables outside of `bag_max` for the full
        # bags. b is inside the maximum, so it keeps the value of the SVM, and only the slacks change.
        program.subject_to(y * bag_max(f(bags) + b) >= 1 - slack, name="margin")
        program.score(lambda new: bag_max(f(new) + b), instances=lambda x: f(x) + b)
        program.start = starting_points(self.start, bags, self.kernel, self.random_state)
        return program
