"""MIORDM: the optimal margin distribution machine, with each bag represented by its most positive instance.

    min  1/2 ||f||^2 + sum_i c0_i (xi_i^2 + mu_i eps_i^2)
    s.t. y_i max_{x in B_i} f(x) >= 1 - theta_i - xi_i,   y_i max_{x in B_i} f(x) <= 1 + theta_i + eps_i

c0_i, theta_i and mu_i are defined in `milopt.models.odm`. With a bias (see `bias`), f(x) + b replaces f(x).

The maximum is bounded from below and from above, so one of the two constraints of every bag is not convex: the lower
bound of y_i max f(x) for a positive bag, the upper bound for a negative bag. This constraint needs a representative,
one instance that replaces the bag. With fixed representatives, the program is that of ODM on bags of one instance, with
the dual QP over (alpha, beta) >= 0 stated in `milopt.models.odm`.

`scheme` selects how representatives are found. "ccp", the default, linearises the concave terms, and its objective
never increases. "representatives" is the algorithm of the paper; it may cycle, and then the best iterate is returned.
Both start from the means of the bags by default (see `start`). "exact" proves a global optimum on small data.
"""

from __future__ import annotations

from milopt import Program, bag_max
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.kernels.representatives import starting_points
from milopt.declaration.programs.expression import Expression
from milopt.models.odm import ODM


class MIORDM(ODM):
    """Bag classifier: optimal margin distribution machine on representative instances (MIORDM).

    Solves

        min_{f,xi,eps}  1/2 ||f||^2 + sum_i c_i (xi_i^2 + mu_i eps_i^2)
        s.t.  1 - theta_i - xi_i <= y_i max_{x in B_i} f(x) <= 1 + theta_i + eps_i,

    with c_i = lam w_i / (sum_j w_j (1 - theta_i)^2) and the bag weights w_i. This is the program of `ODM` with the
    maximum over each bag instead of the mean; see `ODM` for lam, theta and mu. With a bias (see `bias`), f(x) + b
    replaces f(x). The result is a stationary point unless ``scheme="exact"``.

    Parameters
    ----------
    start : {"mean", "random"}, default="mean"
        First representative of each bag: the mean of its instances, or one instance at random.

    Attributes
    ----------
    result_ : Result
        Result of the optimisation (two classes).
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.

    Notes
    -----
    `scheme` selects the algorithm. "ccp", the default, linearises the concave terms, and its objective never increases.
    "representatives" is the algorithm of the paper; it may cycle, and then the best iterate is returned. "exact" proves
    a global optimum on small data.

    References
    ----------
    .. [1] T. Luan, T. Luo, W. Zhuge and C. Hou. Optimal representative distribution margin machine for multi-instance
       learning. IEEE Access 8, 2020. https://doi.org/10.1109/ACCESS.2020.2988764

    Examples
    --------
    >>> import numpy as np
    >>> from milopt.models import MIORDM
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1, 0] += 4
    >>> model = MIORDM(lam=100.0).fit(bags, y)
    >>> model.score(bags, y)
    1.0
    """

    start: str = "mean"

    in_default_comparison = True

    @property
    def has_symmetric_classes(self) -> bool:
        """False: every bag is represented by its most positive instance, so negated labels give another program."""
        return False

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """Build the MIORDM program stated in the class docstring."""
        program = self._build_program("MIORDM", bags, y, weight)
        program.start = starting_points(self.start, bags, self.kernel, self.random_state)
        return program

    def _bag_values(self, values: Expression) -> Expression:
        """Return the maximum over each bag of `values`, the values of f + b at all instances."""
        return bag_max(values)
